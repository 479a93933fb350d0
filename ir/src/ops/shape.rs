//! Operators that change the shape or order of elements.

pub mod arrange;
pub mod concat;
pub mod expand;
pub mod pad;
pub mod reshape;
pub mod size;
pub mod slice;
pub mod split;
pub mod transpose;

super::families![arrange, concat, expand, pad, reshape, size, slice, split, transpose];
