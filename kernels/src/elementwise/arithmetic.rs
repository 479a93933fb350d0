//! Division, remainders, shifts, clipping and signs.

use burn::tensor::{
    Bool, Int, Tensor,
    kind::{Numeric, Ordered},
};

pub use super::extreme::{max, min};
pub use super::power::{pow_float_float, pow_float_int, pow_int_float, pow_int_int};
pub use super::wrapping::{add_int, add_int_scalar, mul_int, mul_int_scalar, sub_int, sub_int_scalar};
use crate::shape::WithShape;
use crate::{
    ensure,
    shape::expand::{agreed, to_shape, together},
};

/// Integer Div: truncates toward zero; a division by zero yields 0.
///
/// The least integer over -1 is itself. Burn's `div` is equivalent for divisors other than 0 and, in 64 bits, -1.
pub fn div_int<const D: usize>(a: Tensor<D, Int>, b: Tensor<D, Int>) -> Tensor<D, Int> {
    let (a, b) = agreed(a, b);
    if b.dtype().is_uint() {
        let factor = b.clone().clamp_max(1);
        return a.div(nonzero(b)).mul(factor);
    }
    let zero = b.clone().equal_scalar(0);
    let minus = b.clone().equal_scalar(-1);
    let quotient = a.div(b.mask_fill(zero.clone().bool_or(minus.clone()), 1));
    // Negation wraps.
    let negative = quotient.clone().neg();
    quotient.mask_where(minus, negative).mask_fill(zero, 0)
}

/// Integer Mod: the result has the divisor's sign; 0 if the divisor is 0.
pub fn modulo<const D: usize>(a: Tensor<D, Int>, b: Tensor<D, Int>) -> Tensor<D, Int> {
    let (a, b) = agreed(a, b);
    a.remainder(without_units(b))
}

/// Float Mod: the result, even a zero, has the divisor's sign. With an infinite divisor the result is the
/// dividend, or the divisor if their signs differ.
pub fn modulo_float<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    let (a, b) = together(a, b);
    let rest = fmod(a, b.clone());
    let below = b.clone().lower_scalar(0.0);
    let differs = rest.clone().lower_scalar(0.0).not_equal(below.clone());
    let zero = rest.clone().equal_scalar(0.0);
    let adjusted = rest.clone().add(b).mask_where(zero.clone(), rest.zeros_like().mask_fill(below, -0.0));
    rest.mask_where(differs.bool_or(zero), adjusted)
}

/// Integer Mod with `fmod=1`: the result has the dividend's sign; 0 if the divisor is 0.
pub fn fmod_int<const D: usize>(a: Tensor<D, Int>, b: Tensor<D, Int>) -> Tensor<D, Int> {
    let (a, b) = agreed(a, b);
    let b = without_units(b);
    let multiple = a.clone().div(b.clone()).mul(b);
    a.sub(multiple)
}

/// Replaces divisors 0 and -1 by 1, with which the remainder is 0 too. The least integer has no quotient by -1.
fn without_units<const D: usize>(b: Tensor<D, Int>) -> Tensor<D, Int> {
    let mut unit = b.clone().equal_scalar(0);
    if !b.dtype().is_uint() {
        unit = unit.bool_or(b.clone().equal_scalar(-1));
    }
    b.mask_fill(unit, 1)
}

/// Float Mod with `fmod=1`, as C's `fmod`: the result has the dividend's sign.
pub fn fmod<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    let (a, b) = together(a, b);
    let rest = a.clone().abs().remainder(b.abs());
    let negative = a.clone().lower_scalar(0.0);
    let zero = rest.clone().equal_scalar(0.0);
    let signed = rest.clone().mask_where(negative, rest.neg());
    // Comparisons ignore the sign of a zero.
    signed.mask_where(zero, a.mul_scalar(0.0))
}

/// BitShift to the left; a negative shift, or one by the width or more, yields 0.
pub fn shift_left<const D: usize>(a: Tensor<D, Int>, by: Tensor<D, Int>) -> Tensor<D, Int> {
    let (a, by) = together(a, by);
    let out = shifted_out(&by);
    a.bitwise_left_shift(by).mask_fill(out, 0)
}

/// BitShift to the right; a negative shift, or one by the width or more, only keeps the sign.
pub fn shift_right<const D: usize>(a: Tensor<D, Int>, by: Tensor<D, Int>) -> Tensor<D, Int> {
    let (a, by) = together(a, by);
    let out = shifted_out(&by);
    if a.dtype().is_uint() {
        return a.bitwise_right_shift(by).mask_fill(out, 0);
    }
    let most = width(&by) - 1;
    a.bitwise_right_shift(by.mask_fill(out, most))
}

/// Clip with bounds of one element each. If the bounds cross, the upper one applies; NaN stays NaN.
///
/// For bounds known on the host, Burn's `clamp_min` followed by `clamp_max` is equivalent.
pub fn clip<const D: usize, K: Ordered>(
    x: Tensor<D, K>,
    lower: Option<Tensor<1, K>>,
    upper: Option<Tensor<1, K>>,
) -> Tensor<D, K> {
    let shape = x.dims();
    for bound in [&lower, &upper].into_iter().flatten() {
        let bound = bound.dims();
        ensure!(
            bound == [1],
            "expected a bound of one element for the input {shape:?}, found shape {bound:?}"
        );
    }
    let whole = |bound: Tensor<1, K>| to_shape(bound.with_shape([1; D]), shape);
    let x = match lower.map(whole) {
        Some(lower) => x.clone().mask_where(x.lower(lower.clone()), lower),
        None => x,
    };
    match upper.map(whole) {
        Some(upper) => x.clone().mask_where(x.greater(upper.clone()), upper),
        None => x,
    }
}

/// Sign of floats: -1, 0 or 1, and NaN for NaN. For integers Burn's `sign` is correct.
pub fn sign<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let nan = x.clone().is_nan();
    x.clone().sign().mask_where(nan, x)
}

/// IsInf for the selected signs.
pub fn is_inf<const D: usize>(x: Tensor<D>, negative: bool, positive: bool) -> Tensor<D, Bool> {
    match (negative, positive) {
        (true, true) => x.is_inf(),
        (true, false) => x.equal_scalar(f32::NEG_INFINITY),
        (false, true) => x.equal_scalar(f32::INFINITY),
        (false, false) => Tensor::zeros(x.dims(), &x.device()),
    }
}

fn nonzero<const D: usize, K: Numeric>(divisor: Tensor<D, K>) -> Tensor<D, K> {
    let zero = divisor.clone().equal_scalar(0);
    divisor.mask_fill(zero, 1)
}

fn width<const D: usize>(x: &Tensor<D, Int>) -> i64 {
    8 * x.dtype().size() as i64
}

fn shifted_out<const D: usize>(by: &Tensor<D, Int>) -> Tensor<D, Bool> {
    let out = by.clone().greater_equal_scalar(width(by));
    if by.dtype().is_uint() { out } else { out.bool_or(by.clone().lower_scalar(0)) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::testing::{float, has, has_all, int, on_cpu, same};

    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;

    #[test]
    fn division_truncates_and_a_zero_divisor_gives_zero() {
        if !has_all(&[DType::U64, DType::I64]) {
            return;
        }
        let a = int::<1>([7i32, -7, 7, -7, 7, i32::MIN]);
        let b = int::<1>([2i32, 2, -2, -2, 0, -1]);
        same(div_int(a, b), [3i32, -3, -3, 3, 0, i32::MIN]);
        let a = int::<1>([i64::MIN, i64::MIN, i64::MAX, 5]);
        let b = int::<1>([-1i64, 1, -1, 0]);
        same(div_int(a, b), [i64::MIN, i64::MIN, -i64::MAX, 0]);
        let a = int::<1>([u64::MAX, 9, 9]);
        same(div_int(a, int([2u64, 0, 4])), [u64::MAX / 2, 0, 2]);
        same(div_int(int::<1>([200u8, 5]), int([3u8, 0])), [66u8, 0]);
    }

    #[test]
    fn division_broadcasts() {
        let a = int::<2>([[7i64, 8]]);
        let b = int::<2>([[2i64], [0], [-1]]);
        same(div_int(a, b), [[3i64, 4], [0, 0], [-7, -8]]);
    }

    #[test]
    fn modulo_has_the_sign_of_the_divisor() {
        let a = int::<1>([5i32, -5, 5, -5, -4, 3]);
        let b = int::<1>([3i32, 3, -3, -3, 2, 0]);
        same(modulo(a, b), [2i32, 1, -1, -2, 0, 0]);
        let a = int::<1>([u64::MAX, 7]);
        same(modulo(a, int([10u64, 0])), [5u64, 0]);
        let least = || int::<1>([i64::MIN, i64::MIN]);
        if has(DType::I64) {
            same(modulo(least(), int([-1i64, 3])), [0i64, 1]);
            same(fmod_int(least(), int([-1i64, 3])), [0i64, -2]);
        }
    }

    #[test]
    fn float_mod_has_the_sign_of_the_divisor() {
        if !on_cpu("shaders may assume that nothing is NaN or infinite") {
            return;
        }
        let a = float::<1>([-4.3f32, 7.2, 5.0, 4.3, 6.0, -6.0, 0.0, -0.0]);
        let b = float::<1>([2.1f32, -3.4, 8.0, INF, -3.0, 3.0, -1.0, INF]);
        let y = modulo_float(a, b).into_data();
        let expected = [2.0, -3.0, 5.0, 4.3, -0.0, 0.0, -0.0, 0.0f32];
        for (y, expected) in y.iter::<f32>().zip(expected) {
            assert!((y - expected).abs() < 1e-5, "{y} {expected}");
            assert_eq!(y.is_sign_negative(), expected.is_sign_negative());
        }
        let a = float::<1>([-4.3f32, 1.0, INF, NAN]);
        let b = float::<1>([INF, 0.0, 2.0, 2.0]);
        same(modulo_float(a, b), [INF, NAN, NAN, NAN]);
    }

    #[test]
    fn fmod_has_the_sign_of_the_dividend() {
        if !on_cpu("shaders may assume that nothing is NaN or infinite") {
            return;
        }
        let a = int::<1>([5i64, -5, 5, -5, 5, i64::MIN]);
        let b = int::<1>([3i64, 3, -3, -3, 0, -1]);
        same(fmod_int(a, b), [2i64, -2, 2, -2, 0, 0]);
        let zeros = fmod(float::<1>([-0.0f32, 0.0, -4.0]), float([2f32, -2.0, 2.0])).into_data();
        let signs: Vec<bool> = zeros.iter::<f32>().map(f32::is_sign_negative).collect();
        assert_eq!(signs, [true, false, true]);
        let a = float::<1>([5.3f32, -5.3, 5.3, -5.3, 1e30, 5.0, INF, 1.0]);
        let b = float::<1>([2f32, 2.0, -2.0, -2.0, 7.0, INF, 3.0, 0.0]);
        let r = 1.3000002f32;
        same(fmod(a, b), [r, -r, r, -r, 1.0, 5.0, NAN, NAN]);
    }

    #[test]
    fn a_shift_by_the_width_empties() {
        if !has_all(&[DType::U8, DType::I8, DType::U64]) {
            return;
        }
        let a = int::<1>([1u8, 255, 16]);
        let by = int::<1>([1u8, 9, 8]);
        same(shift_left(a.clone(), by.clone()), [2u8, 0, 0]);
        same(shift_right(a, by), [0u8, 0, 0]);
        let a = int::<1>([1u64, u64::MAX]);
        same(shift_left(a.clone(), int([63u64, 1])), [1 << 63, u64::MAX - 1]);
        same(shift_right(a, int([64u64, 60])), [0u64, 15]);
        let (a, by) = (int::<1>([-9i8, 9, -9, -9]), int::<1>([1i8, 8, -1, 8]));
        same(shift_right(a.clone(), by.clone()), [-5i8, 0, -1, -1]);
        same(shift_left(a, by), [-18i8, 0, 0, 0]);
    }

    #[test]
    fn the_upper_bound_of_clip_wins() {
        let x = float::<1>([-1.0f32, 2.0, 5.0, NAN]);
        let low = Some(float::<1>([3.0f32]));
        let high = Some(float::<1>([1.0f32]));
        same(clip(x.clone(), low, high.clone()), [1.0f32, 1.0, 1.0, NAN]);
        same(clip(x, None, high), [-1.0f32, 1.0, 1.0, NAN]);
        let x = int::<2>([[1u64, 9]]);
        same(clip(x, Some(int([4u64])), None), [[4u64, 9]]);
    }

    #[test]
    fn sign_of_nan_is_nan() {
        let x = float::<1>([NAN, -0.0, -2.0, INF]);
        same(sign(x), [NAN, 0.0, -1.0, 1.0]);
    }

    #[test]
    fn infinities_differ_by_sign() {
        let x = float::<1>([NAN, -INF, 0.0, INF]);
        same(is_inf(x.clone(), true, true), [false, true, false, true]);
        same(is_inf(x.clone(), true, false), [false, true, false, false]);
        same(is_inf(x.clone(), false, true), [false, false, false, true]);
        same(is_inf(x, false, false), [false; 4]);
    }
}
