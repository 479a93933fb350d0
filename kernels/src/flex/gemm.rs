//! Matrix products of floats.
//!
//! Operand A is packed in panels of MR rows. Operand B is packed in panels of NR columns, read in place, or decoded panel by
//! panel. `tile` has the microkernel.

mod epilogue;
mod pack;
mod packed_row;
mod product;
mod row;

pub use epilogue::ProductEpilogue;
pub use pack::{Right, pack_left, panels};
pub use product::{multiply, multiply_packed, multiply_part, multiply_unpacked};
pub use row::multiply_row;
