//! Shapes.

pub mod concat;
