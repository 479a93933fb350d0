//! Products of matrices in tiles that stay in registers.
//!
//! A tile multiplies a panel of rows, packed so that the values of all its rows for one term follow one
//! another, with columns that lie anywhere: [`Steps`] says how far each term's columns are from the
//! first ones. So packed matrices, matrices as they lie and the windows of a convolution are read by
//! the same loop.

mod end;
mod few;
mod pack;
mod packed_row;
mod product;
mod row;
mod tile;
mod worth;

pub use end::End;
pub use few::FEW;
pub use pack::{Right, pack_left, panel_rows, panels};
pub use product::{few_rows, multiply, multiply_packed, multiply_part, multiply_unpacked};
pub use row::multiply_row;
pub use tile::{Addend, Bounds, LINE, Start, Steps, Tile, masks};
pub use worth::{threads, threads_reading};
