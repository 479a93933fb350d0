//! Index checks without `std`: always none, because the host can read all tensors.

use alloc::vec::Vec;

use super::checks::Check;

pub fn replace(_: Option<Vec<Check>>) -> Option<Vec<Check>> {
    None
}

pub fn with(_: impl FnOnce(&mut Vec<Check>)) {}
