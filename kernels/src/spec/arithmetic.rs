//! Arithmetic of integers.

/// An operation on two integers, whose result wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Sum,
    Difference,
    Product,
}
