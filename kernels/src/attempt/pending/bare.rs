//! Checks for programs without `std`: there are none, as indices are in the memory of this program.

use alloc::vec::Vec;

use super::checks::Check;

pub fn replace(_: Option<Vec<Check>>) -> Option<Vec<Check>> {
    None
}

pub fn with(_: impl FnOnce(&mut Vec<Check>)) {}
