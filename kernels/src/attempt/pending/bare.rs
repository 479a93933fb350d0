//! Index checks without `std`: always none.
//!
//! The host can read all tensors, so indices are checked immediately.

use alloc::vec::Vec;

use super::checks::Check;

pub fn replace(_: Option<Vec<Check>>) -> Option<Vec<Check>> {
    None
}

pub fn with(_: impl FnOnce(&mut Vec<Check>)) {}
