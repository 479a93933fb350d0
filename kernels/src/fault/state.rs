//! What is known of the step that runs, by thread, and how its panics are caught.

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

/// What [`attempt`](super::attempt) has still to check, where it is called.
pub mod checks {
    use alloc::vec::Vec;
    use core::cell::RefCell;

    use crate::fault::Check;

    thread_local! {
        static CHECKS: RefCell<Option<Vec<Check>>> = const { RefCell::new(None) };
    }

    pub fn replace(checks: Option<Vec<Check>>) -> Option<Vec<Check>> {
        CHECKS.replace(checks)
    }

    /// Calls the function if there is an attempt.
    pub fn with(add: impl FnOnce(&mut Vec<Check>)) {
        CHECKS.with_borrow_mut(|checks| checks.as_mut().map(add));
    }

    pub fn are_collected() -> bool {
        CHECKS.with_borrow(Option::is_some)
    }
}

/// What the function gives, or its panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    passed::take();
    catch_unwind(AssertUnwindSafe(run))
}

/// Ends the step that runs.
#[track_caller]
pub fn unwind(fault: Fault) -> ! {
    if checks::are_collected() {
        // Nothing of it is printed.
        resume_unwind(Box::new(fault));
    }
    panic!("{fault}");
}
