//! Numbers of values.

/// Index of a value in a [`Values`](super::Values) arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub(super) u32);

impl ValueId {
    /// Returns the number that makes the value's variable unique in code.
    pub fn number(self) -> u32 {
        self.0
    }
}
