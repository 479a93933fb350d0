//! Operators that read and write elements by index, select and rank them.

pub mod gather;
pub mod nonzero;
pub mod scatter;
pub mod select;
pub mod top_k;
pub mod unique;
