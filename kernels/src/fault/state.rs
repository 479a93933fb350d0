//! State of the step that runs, for each thread, and how its panics are caught.

use alloc::boxed::Box;
use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Fault;

/// The node that runs.
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

/// The innermost node that a panic went through.
pub mod passed {
    use core::cell::Cell;

    use crate::fault::Name;

    thread_local! {
        static PASSED: Cell<Option<Name>> = const { Cell::new(None) };
    }

    /// A node is left.
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

/// Returns the value of the function, or its panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    passed::take();
    catch_unwind(AssertUnwindSafe(run))
}

/// Ends the step that runs.
#[track_caller]
pub fn unwind(fault: Fault) -> ! {
    if attempted::get() {
        // Nothing of it is printed.
        resume_unwind(Box::new(fault));
    }
    panic!("{fault}");
}
