//! Classical models and their coefficients.

pub mod classes;
pub mod linear;
pub mod svm;
pub mod trees;
