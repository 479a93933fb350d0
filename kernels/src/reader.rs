//! How values of a device come to the host.

use alloc::{boxed::Box, string::String, string::ToString};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use burn::tensor::{Bool, Device, Int, Tensor, TensorData, kind::Basic};

use crate::backend::Runtime;
use crate::observe::{self, Event, note};

/// What reads values of a device, for functions that need them on their way.
///
/// Such a function is written once, over a reader. [`now`] makes of it the one that blocks.
pub trait Reader: Copy + Send {
    /// The values, which the caller needs to go on.
    fn read<const D: usize, K: Basic>(self, x: Tensor<D, K>) -> impl Future<Output = TensorData>;

    /// The values of a result, or why there are none.
    fn result<const D: usize, K: Basic>(
        self,
        x: Tensor<D, K>,
    ) -> impl Future<Output = Result<TensorData, String>> + Send;

    /// Where a condition holds, found by the host.
    fn argwhere<const D: usize>(self, x: Tensor<D, Bool>) -> impl Future<Output = Tensor<2, Int>>;
}

/// Whether values of a device are read without waiting, as they lie in the memory of this process.
pub fn is_immediate(device: &Device) -> bool {
    Runtime::of(device) == Runtime::Flex
}

/// It blocks the thread, so that its futures never wait. A browser does not allow that.
#[derive(Clone, Copy, Debug)]
pub struct Blocking;

/// Its futures wait until the device is done.
///
/// What Burn waits in is boxed: it has room for every backend, and all futures around would have it too.
#[derive(Clone, Copy, Debug)]
pub struct Waiting;

impl Reader for Blocking {
    async fn read<const D: usize, K: Basic>(self, x: Tensor<D, K>) -> TensorData {
        observe::read(x)
    }

    async fn result<const D: usize, K: Basic>(self, x: Tensor<D, K>) -> Result<TensorData, String> {
        x.try_into_data().map_err(|error| error.to_string())
    }

    async fn argwhere<const D: usize>(self, x: Tensor<D, Bool>) -> Tensor<2, Int> {
        note(Event::Read);
        x.argwhere()
    }
}

impl Reader for Waiting {
    async fn read<const D: usize, K: Basic>(self, x: Tensor<D, K>) -> TensorData {
        note(Event::Wait);
        match Box::pin(x.into_data_async()).await {
            Ok(data) => data,
            Err(error) => panic!("the device cannot be read: {error}"),
        }
    }

    async fn result<const D: usize, K: Basic>(self, x: Tensor<D, K>) -> Result<TensorData, String> {
        let data = Box::pin(x.into_data_async()).await;
        data.map_err(|error| error.to_string())
    }

    async fn argwhere<const D: usize>(self, x: Tensor<D, Bool>) -> Tensor<2, Int> {
        note(Event::Wait);
        Box::pin(x.argwhere_async()).await
    }
}

/// What a future over [`Blocking`] gives.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a reader that blocks does not wait"),
    }
}
