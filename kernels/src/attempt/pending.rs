//! Pending index checks of this thread.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::checks::Check;

thread_local! {
    static CHECKS: RefCell<Option<Vec<Check>>> = const { RefCell::new(None) };
}

/// Replaces the pending checks. `None`: no attempt reads them.
pub fn replace(checks: Option<Vec<Check>>) -> Option<Vec<Check>> {
    CHECKS.replace(checks)
}

/// Calls the function if an enclosing attempt reads the checks.
pub fn with(add: impl FnOnce(&mut Vec<Check>)) {
    CHECKS.with_borrow_mut(|checks| checks.as_mut().map(add));
}
