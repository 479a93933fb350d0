//! Elementwise arithmetic.

#[cfg(not(feature = "std"))]
use num_traits::Float as _;
use onnx_embed_kernels::small::ties_even;

use super::{Number, Wide, zip};
use crate::Array;

/// Returns `a + b`.
pub fn add<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| a.add(*b))
}

/// Returns `a - b`.
pub fn sub<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| a.sub(*b))
}

/// Returns `a * b`.
pub fn mul<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| a.mul(*b))
}

/// Returns `a / b`, truncated toward zero for integers.
pub fn div<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| a.div(*b))
}

/// Computes ONNX's `Mod` with `fmod=0`: the remainder of the division, with the sign of `b`.
pub fn modulo<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| a.modulo(*b))
}

/// Computes ONNX's `Mod` with `fmod=1`: the remainder of the division, with the sign of `a`.
pub fn remainder<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| a.remainder(*b))
}

/// Returns the smaller of both elements, NaN if either is NaN.
pub fn min<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| smaller(*a, *b))
}

/// Returns the larger of both elements, NaN if either is NaN.
pub fn max<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    zip(a, b, |a, b| larger(*a, *b))
}

/// Raises `base` to the power of `exponent`, in the type of `base`.
pub fn pow<T: Number, E: Number>(base: &Array<T>, exponent: &Array<E>) -> Array<T> {
    zip(base, exponent, |base, exponent| power(*base, exponent.widen()))
}

/// Returns `-a`.
pub fn neg<T: Number>(a: &Array<T>) -> Array<T> {
    a.map(|a| a.neg())
}

/// Returns `|a|`.
pub fn abs<T: Number>(a: &Array<T>) -> Array<T> {
    a.map(|a| match a.widen() {
        Wide::Int(value) => T::narrow(Wide::Int(value.abs())),
        Wide::Float(value) => T::narrow(Wide::Float(value.abs())),
    })
}

/// Returns -1, 0 or 1 by the sign; NaN stays NaN.
pub fn sign<T: Number>(a: &Array<T>) -> Array<T> {
    a.map(|a| match a.widen() {
        Wide::Int(value) => T::narrow(Wide::Int(value.signum())),
        Wide::Float(value) if value == 0.0 || value.is_nan() => *a,
        Wide::Float(value) => T::narrow(Wide::Float(value.signum())),
    })
}

/// Rounds down to an integral value.
pub fn floor<T: Number>(a: &Array<T>) -> Array<T> {
    whole(a, f64::floor)
}

/// Rounds up to an integral value.
pub fn ceil<T: Number>(a: &Array<T>) -> Array<T> {
    whole(a, f64::ceil)
}

/// Rounds to the nearest integral value, ties to even.
pub fn round<T: Number>(a: &Array<T>) -> Array<T> {
    whole(a, ties_even)
}

/// Returns the square root.
pub fn sqrt<T: Number>(a: &Array<T>) -> Array<T> {
    a.map(|a| a.through(f64::sqrt))
}

/// Returns the natural exponential.
pub fn exp<T: Number>(a: &Array<T>) -> Array<T> {
    a.map(|a| a.through(f64::exp))
}

/// Returns the natural logarithm.
pub fn log<T: Number>(a: &Array<T>) -> Array<T> {
    a.map(|a| a.through(f64::ln))
}

/// Returns the smaller of two numbers, NaN if either is NaN.
pub(super) fn smaller<T: Number>(a: T, b: T) -> T {
    if a.is_nan() || a < b { a } else { b }
}

/// Returns the larger of two numbers, NaN if either is NaN.
pub(super) fn larger<T: Number>(a: T, b: T) -> T {
    if a.is_nan() || a > b { a } else { b }
}

fn whole<T: Number>(a: &Array<T>, round: fn(f64) -> f64) -> Array<T> {
    a.map(|a| match a.widen() {
        Wide::Int(_) => *a,
        Wide::Float(_) => a.through(round),
    })
}

/// Raises `base` to a power.
///
/// If base and exponent are integral, the computation is exact except for wrapping. Negative powers of an integer are
/// truncated to 0 except for those of 1 and -1; those of 0 are 0, like its quotients.
fn power<T: Number>(base: T, exponent: Wide) -> T {
    match (base.widen(), exponent) {
        (Wide::Int(-1 | 1), Wide::Int(exponent)) => repeated(base, exponent & 1),
        (Wide::Int(_), Wide::Int(exponent @ 0..)) => repeated(base, exponent),
        (Wide::Int(_), Wide::Int(_)) => T::ZERO,
        (Wide::Int(_), Wide::Float(exponent)) if exponent.fract() == 0.0 => {
            const EVEN: f64 = (1i64 << 62) as f64;
            power(base, Wide::Int(exponent.clamp(-EVEN, EVEN) as i128))
        }
        (Wide::Int(base), Wide::Float(exponent)) => T::narrow(Wide::Float((base as f64).powf(exponent))),
        (Wide::Float(base), Wide::Int(exponent)) => T::narrow(Wide::Float(base.powf(exponent as f64))),
        (Wide::Float(base), Wide::Float(exponent)) => T::narrow(Wide::Float(base.powf(exponent))),
    }
}

/// Returns a power by squaring, which wraps as repeated multiplication does.
fn repeated<T: Number>(mut base: T, mut exponent: i128) -> T {
    let mut product = T::ONE;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product = product.mul(base);
        }
        base = base.mul(base);
        exponent /= 2;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector<T: Clone>(data: &[T]) -> Array<T> {
        Array::vector(data)
    }

    #[test]
    fn integer_division_cuts_off_toward_zero() {
        let quotient = div(&vector(&[-7i64, 7, 8]), &Array::scalar(2));
        assert_eq!(quotient.data(), [-3, 3, 4]);
    }

    #[test]
    fn both_kinds_of_mod_differ_in_the_sign() {
        let (a, b) = (vector(&[-7i64, 7]), vector(&[3, -3]));
        assert_eq!(modulo(&a, &b).data(), [2, -2]);
        assert_eq!(remainder(&a, &b).data(), [-1, 1]);
    }

    #[test]
    fn the_larger_of_nan_and_a_number_is_nan() {
        let nan = Array::scalar(f32::NAN);
        assert!(max(&nan, &Array::scalar(1.0)).item().is_nan());
        assert!(min(&Array::scalar(1.0), &nan).item().is_nan());
    }

    #[test]
    fn integer_powers_are_exact() {
        let base = vector(&[3i64, -2, 2]);
        assert_eq!(pow(&base, &vector(&[39i64, 3, -1])).data(), [4052555153018976267, -8, 0]);
        assert_eq!(pow(&vector(&[2.0f32]), &vector(&[-1i64])).data(), [0.5]);
        let (base, exponent) = (vector(&[0i32, -1, 1, -5]), vector(&[-1i64, -3, i64::MIN, -2]));
        assert_eq!(pow(&base, &exponent).data(), [0, -1, 1, 0]);
        let exponent = vector(&[-1.0, 1e300, f64::NAN, 0.5]);
        assert_eq!(pow(&base, &exponent).data(), [0, 1, 1, 0]);
    }

    #[test]
    fn rounding_goes_to_the_even_one() {
        assert_eq!(round(&vector(&[0.5f32, 1.5, -2.5])).data(), [0.0, 2.0, -2.0]);
        assert_eq!(floor(&vector(&[-0.5f64])).data(), [-1.0]);
        assert_eq!(ceil(&vector(&[i64::MAX])).data(), [i64::MAX]);
    }

    #[test]
    fn the_sign_of_zero_is_zero() {
        assert_eq!(sign(&vector(&[-3i64, 0, 3])).data(), [-1, 0, 1]);
        assert_eq!(abs(&vector(&[-3i8, i8::MIN])).data(), [3, i8::MIN]);
    }
}
