//! Runs whose failures are errors instead of panics.

use alloc::string::ToString;
use core::future::poll_fn;
use core::pin::pin;

use onnx_embed_kernels::attempt;
use onnx_embed_kernels::fault::{self, Fault, Name};
use onnx_embed_kernels::threads;

use crate::Error;

/// Storage for the error that ended the step of an [`attempt`].
#[cfg(feature = "std")]
mod ended {
    use core::cell::Cell;

    use crate::Error;

    thread_local! {
        static ENDED: Cell<Option<Error>> = const { Cell::new(None) };
    }

    pub fn set(error: Error) {
        ENDED.set(Some(error));
    }

    pub fn take() -> Option<Error> {
        ENDED.take()
    }
}

/// Storage without `std`: it stores no error, because nothing catches unwinding.
#[cfg(not(feature = "std"))]
mod ended {
    use crate::Error;

    pub fn set(_: Error) {}

    pub fn take() -> Option<Error> {
        None
    }
}

/// Returns the result of `run`. If a node fails, the error names the node.
pub fn attempt<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    ended::take();
    threads::enter();
    attempt::attempt(run).unwrap_or_else(|fault| Err(ended::take().unwrap_or_else(|| fault.into())))
}

/// Async version of [`attempt`].
pub fn attempt_async<T>(
    run: impl Future<Output = Result<T, Error>>,
) -> impl Future<Output = Result<T, Error>> {
    let run = attempt::attempt_async(run);
    async move {
        let mut run = pin!(run);
        // The next poll may run on another thread than the one on which a step ended.
        let mut error = None;
        poll_fn(|context| {
            ended::take();
            threads::enter();
            let polled = run.as_mut().poll(context);
            error = ended::take().or(error.take());
            polled.map(|result| {
                result.unwrap_or_else(|fault| Err(error.take().unwrap_or_else(|| fault.into())))
            })
        })
        .await
    }
}

impl Error {
    /// Ends a step: with this error inside an [`attempt`], otherwise with a panic that has the same text.
    #[track_caller]
    pub(crate) fn end(self) -> ! {
        let text = self.to_string();
        if fault::is_attempted() {
            ended::set(self);
            fault::fail(text)
        }
        panic!("{text}")
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let Fault { node, reason } = fault;
        match node {
            Some(Name { node, operator }) => Error::Run { node, operator, reason },
            None => Error::Panic { reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use core::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn an_error_of_an_attempt_keeps_its_type() {
        let attempt = || attempt::<()>(|| Error::UnknownSize { size: "n".into() }.end());
        assert!(matches!(attempt(), Err(Error::UnknownSize { .. })));
        let outside = std::panic::catch_unwind(|| Error::UnknownSize { size: "n".into() }.end());
        let Err(text) = outside;
        let text = text.downcast::<String>().unwrap();
        assert_eq!(*text, "the model has no size `n`");
        let other = super::attempt::<()>(|| fault::fail("no memory")).unwrap_err();
        assert_eq!(other.to_string(), "cannot run the model: no memory");
    }

    #[test]
    fn an_error_of_an_attempt_that_waits_keeps_its_type() {
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = |run: &mut dyn FnMut() -> Result<(), Error>| {
            let mut waited = false;
            let mut attempt = pin!(attempt_async(poll_fn(|_| {
                if core::mem::replace(&mut waited, true) { Poll::Ready(run()) } else { Poll::Pending }
            })));
            assert!(attempt.as_mut().poll(&mut context).is_pending());
            // Another failure on this thread in the meantime is not the error of this attempt.
            ended::set(Error::UnknownSize { size: "m".into() });
            attempt.as_mut().poll(&mut context)
        };
        let typed = poll(&mut || Error::UnknownSize { size: "n".into() }.end());
        let Poll::Ready(Err(Error::UnknownSize { size })) = typed else {
            panic!("{typed:?}");
        };
        assert_eq!(size, "n");
        let other = poll(&mut || fault::fail("no memory"));
        assert!(matches!(other, Poll::Ready(Err(Error::Panic { .. }))), "{other:?}");
    }
}
