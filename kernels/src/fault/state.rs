//! Per-thread state of the running node, and catching of panics.

use alloc::boxed::Box;
use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Fault;

/// The running node.
pub mod current {
    use core::cell::Cell;

    use crate::fault::Name;

    thread_local! {
        static CURRENT: Cell<Option<Name>> = const { Cell::new(None) };
    }

    pub fn get() -> Option<Name> {
        CURRENT.get()
    }

    pub fn replace(name: Option<Name>) -> Option<Name> {
        CURRENT.replace(name)
    }
}

/// The innermost node that a panic unwound through.
pub mod passed {
    use core::cell::Cell;

    use crate::fault::Name;

    thread_local! {
        static PASSED: Cell<Option<Name>> = const { Cell::new(None) };
    }

    /// Records the node that is left if a panic unwinds.
    pub fn note(left: Option<Name>) {
        if std::thread::panicking() && PASSED.get().is_none() {
            PASSED.set(left);
        }
    }

    pub fn take() -> Option<Name> {
        PASSED.take()
    }
}

/// Flag of a thread: failures unwind to an enclosing `attempt`, which returns them as errors.
pub mod attempted {
    use core::cell::Cell;

    thread_local! {
        static ATTEMPTED: Cell<bool> = const { Cell::new(false) };
    }

    pub fn get() -> bool {
        ATTEMPTED.get()
    }

    pub fn replace(is_attempted: bool) -> bool {
        ATTEMPTED.replace(is_attempted)
    }
}

/// Returns the value of the function, or the payload of its panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    passed::take();
    catch_unwind(AssertUnwindSafe(run))
}

/// Unwinds to the enclosing attempt, or panics.
#[track_caller]
pub fn unwind(fault: Fault) -> ! {
    if attempted::get() {
        // Does not call the panic hook, so nothing is printed.
        resume_unwind(Box::new(fault));
    }
    panic!("{fault}");
}
