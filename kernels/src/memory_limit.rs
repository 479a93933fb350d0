//! The memory limit: the maximum number of bytes of one tensor.
//!
//! Sizes from data or inputs are checked against it before memory is allocated ([`crate::sizes`]). It limits each tensor, not
//! their sum.

#[cfg_attr(not(feature = "std"), path = "memory_limit/bare.rs")]
mod state;

use alloc::boxed::Box;
use core::future::{Future, poll_fn};

/// Returns the limit of this thread in bytes.
///
/// By default it is half of the memory that the process may use: the physical memory, the limit of the control group or of the
/// address space, whichever is least. If the system does not report these, it is 4 GiB. [`with_memory_limit`] sets another one.
pub fn memory_limit() -> usize {
    state::get().unwrap_or_else(state::default)
}

/// Runs `run` with a limit of `bytes` for each tensor whose sizes are from data or inputs.
///
/// The limit applies to this thread until `run` returns or unwinds. It overrides the attribute `memory_limit` of models.
pub fn with_memory_limit<T>(bytes: usize, run: impl FnOnce() -> T) -> T {
    let _outer = Restore(state::replace(Some(bytes)));
    run()
}

/// Async version of [`with_memory_limit`]: the limit applies while the future is polled, on any thread.
pub fn with_memory_limit_async<T>(bytes: usize, run: impl Future<Output = T>) -> impl Future<Output = T> {
    let mut run = Box::pin(run);
    poll_fn(move |context| with_memory_limit(bytes, || run.as_mut().poll(context)))
}

/// [`with_memory_limit`], unless the caller has set a limit. For the limit of a model.
pub fn or_memory_limit<T>(bytes: u64, run: impl FnOnce() -> T) -> T {
    match state::get() {
        Some(_) => run(),
        None => with_memory_limit(usize::try_from(bytes).unwrap_or(usize::MAX), run),
    }
}

/// Async version of [`or_memory_limit`].
pub fn or_memory_limit_async<T>(bytes: u64, run: impl Future<Output = T>) -> impl Future<Output = T> {
    let mut run = Box::pin(run);
    poll_fn(move |context| or_memory_limit(bytes, || run.as_mut().poll(context)))
}

/// Guard that restores the limit of the caller.
struct Restore(Option<usize>);

impl Drop for Restore {
    fn drop(&mut self) {
        state::replace(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::task::{Context, Poll, Waker};
    use std::thread;

    use super::*;

    #[test]
    fn a_limit_ends_with_its_step() {
        let default = memory_limit();
        assert!(default > 1 << 20 && default <= isize::MAX as usize);
        with_memory_limit(1000, || {
            assert_eq!(memory_limit(), 1000);
            with_memory_limit(2000, || assert_eq!(memory_limit(), 2000));
            assert_eq!(memory_limit(), 1000);
            assert_eq!(thread::spawn(memory_limit).join().unwrap(), default);
        });
        let _ = catch_unwind(|| with_memory_limit(1000, || std::panic::resume_unwind(Box::new("oh"))));
        assert_eq!(memory_limit(), default);
    }

    #[test]
    fn the_limit_of_a_caller_overrides_that_of_a_model() {
        assert_eq!(or_memory_limit(1000, memory_limit), 1000);
        assert_eq!(with_memory_limit(5, || or_memory_limit(1000, memory_limit)), 5);
    }

    #[test]
    fn a_future_has_its_limit_at_each_poll() {
        let mut context = Context::from_waker(Waker::noop());
        let mut polls = 0;
        let future = poll_fn(|_| {
            polls += 1;
            assert_eq!(memory_limit(), 1000);
            if polls < 2 { Poll::Pending } else { Poll::Ready(()) }
        });
        let mut future = Box::pin(with_memory_limit_async(1000, future));
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert_ne!(memory_limit(), 1000);
        assert!(future.as_mut().poll(&mut context).is_ready());
    }
}
