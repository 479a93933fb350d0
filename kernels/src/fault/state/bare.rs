//! State of the step that runs, for programs without `std`.
//!
//! There are no threads to tell apart: where several run models at once, a panic may name the node of another one.

use alloc::boxed::Box;
use core::any::Any;

use super::Fault;

/// The node that runs.
pub mod current {
    use spin::Mutex;

    use crate::fault::Name;

    static CURRENT: Mutex<Option<Name>> = Mutex::new(None);

    pub fn get() -> Option<Name> {
        *CURRENT.lock()
    }

    pub fn replace(name: Option<Name>) -> Option<Name> {
        core::mem::replace(&mut *CURRENT.lock(), name)
    }
}

/// The innermost node that a panic went through: nobody goes on after one.
pub mod passed {
    use crate::fault::Name;

    pub fn note(_: Option<Name>) {}

    pub fn take() -> Option<Name> {
        None
    }
}

/// The same flag without `std`: always false, since panics cannot be caught.
pub mod attempted {
    pub fn get() -> bool {
        false
    }

    pub fn replace(_: bool) -> bool {
        false
    }
}

/// Returns the value of the function. A panic is not caught.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    Ok(run())
}

/// Ends the step that runs.
#[track_caller]
pub fn unwind(fault: Fault) -> ! {
    panic!("{fault}");
}
