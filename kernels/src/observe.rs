//! Observable events of a call, for tables and tests.
//!
//! They are the kernels that run, launches on CubeCL devices, and reads by the host.

use alloc::boxed::Box;
use burn::tensor::{Device, Tensor, TensorData, kind::Basic};
use once_cell::race::OnceBox;

use crate::backend::Runtime;

/// An observable action of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The operator called this operation of the table on a device that has kernels, or the host computed it.
    Kernel(&'static str),
    /// The operator blocked to read values of the device.
    Read,
    /// The operator awaited values of the device.
    Wait,
    /// A kernel of this name was launched on a CubeCL device.
    Launch(&'static str),
}

/// Function that is called for each event, on the thread of the operator or on the one that launches the fused kernel.
pub type Observer = fn(Event);

static OBSERVER: OnceBox<Observer> = OnceBox::new();

/// Sets the observer of the process, which cannot be replaced. Returns `true` if there was none.
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

/// Reports an event. Without an observer it costs one load.
pub(crate) fn note(event: Event) {
    if let Some(observer) = OBSERVER.get() {
        observer(event);
    }
}

/// Reads the values of a tensor, which the caller needs to continue.
pub fn read<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> TensorData {
    note(Event::Read);
    tensor.into_data()
}

/// Reports that the host computes the operation of the table, without a tensor of it.
pub(crate) fn by_host(method: &'static str) {
    note(Event::Kernel(method));
}

/// Returns `true` if reading values of a device blocks; those of a CPU's own backend are in memory.
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
