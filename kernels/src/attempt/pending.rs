//! Checks of indices that wait until the results of this thread are read.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::checks::Check;

thread_local! {
    static CHECKS: RefCell<Option<Vec<Check>>> = const { RefCell::new(None) };
}

/// Replaces the checks that are collected; `None` where nobody will read them.
pub fn replace(checks: Option<Vec<Check>>) -> Option<Vec<Check>> {
    CHECKS.replace(checks)
}

/// Calls the function if somebody will read the checks.
pub fn with(add: impl FnOnce(&mut Vec<Check>)) {
    CHECKS.with_borrow_mut(|checks| checks.as_mut().map(add));
}
