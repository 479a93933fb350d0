//! State of the running node without `std`.
//!
//! It is global: if several threads run models at the same time, a panic may name a node of another thread.

use alloc::boxed::Box;
use core::any::Any;

use super::Fault;

/// The running node.
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

/// The innermost node that a panic unwound through: none, because panics cannot be caught.
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

/// Panics with the fault.
#[track_caller]
pub fn unwind(fault: Fault) -> ! {
    panic!("{fault}");
}
