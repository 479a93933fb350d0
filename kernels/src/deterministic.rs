//! Calls whose results have the same bits on every CPU.
//!
//! Sums of floats depend on the order of their terms, and products on whether the processor rounds a product before it is
//! added. Within [`deterministic`], kernels for CPUs add in an order that depends on neither the instruction set, the number of
//! threads nor the number of rows, round a product and its sum once, and use no functions of the system's mathematical
//! library. On other devices nothing changes.

#[cfg_attr(not(all(feature = "deterministic", feature = "flex")), path = "deterministic/none.rs")]
mod state;

use alloc::boxed::Box;
use core::future::{Future, poll_fn};

#[cfg(feature = "flex")]
pub(crate) use state::{inherited, is_on};

/// Runs `run`, whose kernels for CPUs compute the same bits on every CPU.
pub fn deterministic<T>(run: impl FnOnce() -> T) -> T {
    let _outer = Restore(state::replace(true));
    run()
}

/// Async version of [`deterministic`].
pub fn deterministic_async<T>(run: impl Future<Output = T>) -> impl Future<Output = T> {
    let mut run = Box::pin(run);
    poll_fn(move |context| deterministic(|| run.as_mut().poll(context)))
}

/// Guard that restores the state of the caller.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        state::replace(self.0);
    }
}

#[cfg(all(test, feature = "deterministic", feature = "flex"))]
mod tests;
