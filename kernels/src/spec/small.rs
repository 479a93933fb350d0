//! Floats of 8 bits or fewer.

/// A float type, named by its numbers of exponent and mantissa bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// No infinity.
    E4M3Fn,
    /// No infinity, no negative zero.
    E4M3Fnuz,
    E5M2,
    /// No infinity, no negative zero.
    E5M2Fnuz,
    /// No infinity, no NaN.
    E2M1,
    /// Powers of two from 2^-127 to 2^127.
    E8M0(Toward),
}

/// Rounding to powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Toward {
    Up,
    Down,
    /// To the nearer power, ties to the greater one.
    Nearest,
}
