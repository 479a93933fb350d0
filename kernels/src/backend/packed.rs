//! Weights as backends read them fastest.

use core::fmt;

/// What a backend makes of a weight when it is first used, and again when the weight changes.
///
/// A layer has it beside its weight; copies share it.
#[derive(Clone, Default)]
pub struct Packed {
    #[cfg(feature = "flex")]
    cell: std::sync::Arc<crate::flex::packed::Cell>,
}

impl Packed {
    #[cfg(feature = "flex")]
    pub(crate) fn cell(&self) -> &crate::flex::packed::Cell {
        &self.cell
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packed")
    }
}
