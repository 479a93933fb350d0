//! Switches without `std`: there is no environment, and nothing is disabled.

/// Returns `true` if all operations are computed by primitives.
pub const fn is_plain() -> bool {
    false
}

/// Does nothing: there are no variables.
pub fn settle() {}
