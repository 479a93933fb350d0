//! Functions of elements that Burn computes by the mathematical library of the device or the system.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Log,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Asinh,
    Acosh,
    Atanh,
}
