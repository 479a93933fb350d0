//! Reads of device values by the host, blocking or async.

use alloc::{boxed::Box, string::String, string::ToString};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use burn::tensor::{Bool, Device, Int, Tensor, TensorData, kind::Basic};

use crate::backend::Runtime;
use crate::observe::{self, Event, note};

/// Reads values of a device, for functions that need them midway.
///
/// Such a function is written once, generic over the reader. [`now`] runs it with a blocking one.
pub trait Reader: Copy + Send {
    /// Reads the values, which the caller needs to continue.
    fn read<const D: usize, K: Basic>(self, x: Tensor<D, K>) -> impl Future<Output = TensorData>;

    /// Reads the values of a result, or returns why they cannot be read.
    fn result<const D: usize, K: Basic>(
        self,
        x: Tensor<D, K>,
    ) -> impl Future<Output = Result<TensorData, String>> + Send;

    /// Returns the indices at which a condition holds, found by the host.
    fn argwhere<const D: usize>(self, x: Tensor<D, Bool>) -> impl Future<Output = Tensor<2, Int>>;
}

/// Returns `true` if reading values of a device does not block, because they are in the memory of this process.
pub fn is_immediate(device: &Device) -> bool {
    Runtime::of(device) == Runtime::Flex
}

/// Reader that blocks the thread, so its futures never return `Pending`. Browsers do not allow blocking.
#[derive(Clone, Copy, Debug)]
pub struct Blocking;

/// Reader whose futures wait for the device.
///
/// Burn's future is boxed: it is as large as that of the largest backend, and would enlarge all futures around it.
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
            Err(error) => panic!("cannot read from the device: {error}"),
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

/// Returns the output of a future over [`Blocking`].
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a reader that blocks does not wait"),
    }
}
