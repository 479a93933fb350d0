//! Classical models with their tables.

pub mod classes;
pub mod linear;
pub mod svm;
pub mod trees;
