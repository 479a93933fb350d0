//! Which bodies a call runs, what it launches and what it reads back to the host, for tables and tests.

use alloc::boxed::Box;
use burn::tensor::{Device, Tensor, TensorData, kind::Basic};
use once_cell::race::OnceBox;

use crate::backend::Runtime;

/// What an operator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// It called this operation of the table, on a device that has kernels, or the host did what the operation does.
    Kernel(&'static str),
    /// It blocked for values of the device.
    Read,
    /// It has a future wait for values of the device.
    Wait,
    /// A kernel of this name was launched on a device of CubeCL.
    Launch(&'static str),
}

/// Called for each event, on the thread of the operator, or on that which launches what was fused.
pub type Observer = fn(Event);

static OBSERVER: OnceBox<Observer> = OnceBox::new();

/// Sets the observer of the process; whether it is the first one, which stays.
pub fn observe(observer: Observer) -> bool {
    let is_first = OBSERVER.set(Box::new(observer)).is_ok();
    #[cfg(feature = "cube")]
    if is_first {
        launches::observe();
    }
    is_first
}

#[cfg(feature = "cube")]
mod launches {
    use std::sync::Arc;

    use cubecl::logging::{LaunchObservation, LaunchObserver};

    use super::{Event, note};

    struct Launches;

    impl LaunchObserver for Launches {
        fn launched(&self, kernel: &'static str) {
            note(Event::Launch(kernel));
        }
    }

    /// Observes all launches from now on.
    pub fn observe() {
        core::mem::forget(LaunchObservation::new(Arc::new(Launches)));
    }
}

/// What costs one load where nobody observes.
pub(crate) fn note(event: Event) {
    if let Some(observer) = OBSERVER.get() {
        observer(event);
    }
}

/// The values of a tensor, which the caller needs to go on.
pub fn read<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> TensorData {
    note(Event::Read);
    tensor.into_data()
}

/// The host does what the operation of the table does, and needs none of its tensors.
pub(crate) fn by_host(method: &'static str) {
    note(Event::Kernel(method));
}

/// Whether values of a device are waited for when they are read: those of a CPU's own backend are there.
pub fn waits(device: &Device) -> bool {
    Runtime::of(device) != Runtime::Flex
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::switches,
        testing::{events, float},
    };

    #[test]
    fn kernels_and_reads_are_observed() {
        let (y, events) = events(|| {
            let x = crate::normalize::softmax::softmax(float::<2>([[1f32, 2.0]]), 1);
            read(x)
        });
        assert_eq!(y.shape().to_vec(), [1, 2]);
        assert_eq!(events.last(), Some(&Event::Read));
        if cfg!(feature = "flex") && !switches::is_plain() {
            assert_eq!(events[0], Event::Kernel("softmax"));
        }
        assert!(!observe(|_| ()), "the first observer stays");
    }
}
