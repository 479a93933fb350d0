//! Runs that fail with errors instead of panics.

use alloc::string::ToString;

use onnx_embed_kernels::fault::{self, Fault, Name};

use crate::Error;

/// The error that ended the step of an [`attempt`].
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

/// Without `std` no error ends a step: nothing catches what unwinds.
#[cfg(not(feature = "std"))]
mod ended {
    use crate::Error;

    pub fn set(_: Error) {}

    pub fn take() -> Option<Error> {
        None
    }
}

/// What `run` gives; where a node fails in it, an error that names the node.
pub fn attempt<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    ended::take();
    fault::attempt(run).unwrap_or_else(|fault| Err(ended::take().unwrap_or_else(|| fault.into())))
}

/// [`attempt`], of what may wait, once its inputs are seen to be those of the model: another thread may end
/// it than the one where a step failed, so that errors of an entry would not keep their type.
pub fn attempt_async<T>(
    run: impl Future<Output = Result<T, Error>>,
) -> impl Future<Output = Result<T, Error>> {
    let run = fault::attempt_async(run);
    async { run.await? }
}

impl Error {
    /// Ends a step: with this error if an [`attempt`] is around it, else with a panic of its text.
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
            Some(Name { node, operator }) => Error::Run {
                node,
                operator,
                reason,
            },
            None => Error::Panic { reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_an_attempt_keeps_its_type() {
        let attempt = || attempt::<()>(|| Error::UnknownSize { size: "n".into() }.end());
        assert!(matches!(attempt(), Err(Error::UnknownSize { .. })));
        let outside = std::panic::catch_unwind(|| Error::UnknownSize { size: "n".into() }.end());
        let Err(text) = outside;
        let text = text.downcast::<String>().unwrap();
        assert_eq!(*text, "no input has a size `n`");
        let other = super::attempt::<()>(|| fault::fail("no memory")).unwrap_err();
        assert_eq!(other.to_string(), "cannot run the model: no memory");
    }
}
