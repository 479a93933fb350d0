//! Without `std` there is no environment, and nothing is turned off.

/// Whether every backend computes by primitives.
pub const fn is_plain() -> bool {
    false
}

/// There is nothing to obey.
pub fn settle() {}
