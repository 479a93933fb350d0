//! Types with fewer bits than any that Burn has.
//!
//! 8- and 4-bit floats are stored in f32, 4- and 2-bit integers in i8 and u8.

use alloc::vec::Vec;
use burn::tensor::{DType, Int, IntDType, Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

pub use crate::spec::small::{Small, Toward};
use crate::{
    backend::call,
    dtype::lowered,
    reader::{Blocking, Reader, Waiting, now},
};

/// Rounds to the nearest values of a type, ties to even. Values out of range become the largest if
/// `saturate`, otherwise infinite or NaN.
///
/// The host reads the values if the device has no kernel.
#[inline(never)]
pub fn to_small<const D: usize>(x: Tensor<D>, small: Small, saturate: bool) -> Tensor<D> {
    now(to_small_by(x, small, saturate, Blocking))
}

/// Async version of [`to_small`].
pub async fn to_small_async<const D: usize>(x: Tensor<D>, small: Small, saturate: bool) -> Tensor<D> {
    to_small_by(x, small, saturate, Waiting).await
}

async fn to_small_by<const D: usize>(
    x: Tensor<D>,
    small: Small,
    saturate: bool,
    reader: impl Reader,
) -> Tensor<D> {
    if x.dtype() != DType::F64 && !x.dims().contains(&0) {
        let x = x.clone();
        if let Some(y) = call!(to_small(x; small, saturate)).tensor() {
            return Tensor::from_dispatch(y);
        }
    }
    rounded(x, small, saturate, reader).await
}

/// [`to_small`] on the host.
pub(crate) async fn rounded<const D: usize>(
    x: Tensor<D>,
    small: Small,
    saturate: bool,
    reader: impl Reader,
) -> Tensor<D> {
    let (device, dims) = (x.device(), x.dims());
    let values = reader.read(x).await;
    let values: Vec<f32> = values.iter::<f64>().map(|value| nearest(value, small, saturate)).collect();
    Tensor::from_data(TensorData::new(values, dims), (&device, DType::F32))
}

/// Returns the low `bits` as an integer in `dtype`.
pub fn to_bits<const D: usize>(x: Tensor<D, Int>, dtype: DType, bits: u32) -> Tensor<D, Int> {
    let wide: IntDType = lowered(&x.device(), DType::I32).into();
    let low = x.cast(wide).bitwise_and_scalar((1i64 << bits) - 1);
    let value = if dtype.is_uint() {
        low
    } else {
        let sign = 1i64 << (bits - 1);
        low.bitwise_xor_scalar(sign).sub_scalar(sign)
    };
    let dtype: IntDType = lowered(&value.device(), dtype).into();
    value.cast(dtype)
}

fn nearest(value: f64, small: Small, saturate: bool) -> f32 {
    let (mantissa, lowest, largest, infinite) = match small {
        Small::E4M3Fn => (3, -6, 448.0, f64::NAN),
        Small::E4M3Fnuz => (3, -7, 240.0, f64::NAN),
        Small::E5M2 => (2, -14, 57344.0, f64::INFINITY),
        Small::E5M2Fnuz => (2, -15, 57344.0, f64::NAN),
        Small::E2M1 => (1, 0, 6.0, 6.0),
        Small::E8M0(toward) => return power(value, toward, saturate),
    };
    if value.is_nan() {
        return if small == Small::E2M1 { 0.0 } else { f32::NAN };
    }
    let step = 2f64.powi(exponent(value).max(lowest) - mantissa);
    let rounded = if value.is_infinite() { value } else { ties_even(value / step) * step };
    let kept = match (rounded.abs() > largest, saturate) {
        (false, _) => rounded,
        (true, true) => largest.copysign(rounded),
        (true, false) => infinite.copysign(rounded),
    };
    match small {
        // Only a negative zero changes.
        Small::E4M3Fnuz | Small::E5M2Fnuz => kept as f32 + 0.0,
        _ => kept as f32,
    }
}

fn power(value: f64, toward: Toward, saturate: bool) -> f32 {
    const MAX_E8M0: f64 = 1.701_411_834_604_692_3e38;
    const MIN_E8M0: f64 = 5.877_471_754_111_438e-39;
    let value = value.abs();
    if value.is_nan() {
        return f32::NAN;
    }
    if !(MIN_E8M0..=MAX_E8M0).contains(&value) {
        return match (saturate, value > 1.0) {
            (true, true) => MAX_E8M0 as f32,
            (true, false) => MIN_E8M0 as f32,
            (false, _) => f32::NAN,
        };
    }
    let below = 2f64.powi(exponent(value));
    let up = match toward {
        Toward::Up => value > below,
        Toward::Down => false,
        Toward::Nearest => value >= below * 1.5,
    };
    let power = if up { below * 2.0 } else { below };
    power.min(MAX_E8M0) as f32
}

/// Returns the exponent of the greatest power of two that is not greater; very low for 0.
fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> (f64::MANTISSA_DIGITS - 1)) & 0x7ff) as i32 - 1023
}

/// Rounds to the nearest integer, ties to even.
#[cfg(feature = "std")]
pub fn ties_even(x: f64) -> f64 {
    x.round_ties_even()
}

/// Rounds to the nearest integer, ties to even.
///
/// Floats from 2^52 on have no fraction, so adding 2^52 rounds by the default mode.
#[cfg(not(feature = "std"))]
pub fn ties_even(x: f64) -> f64 {
    const WHOLE: f64 = (1u64 << 52) as f64;
    if x.abs() < WHOLE { ((x.abs() + WHOLE) - WHOLE).copysign(x) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, same};

    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;

    fn check(small: Small, saturate: bool, expected: [f32; 6]) {
        let x = float::<1>([0.4803, 1e6, -INF, NAN, 464.0, -0.82]);
        same(to_small(x, small, saturate), expected);
    }

    #[test]
    fn overflow_ends_at_the_largest_or_beyond() {
        use Small::*;
        check(E4M3Fn, true, [0.46875, 448.0, -448.0, NAN, 448.0, -0.8125]);
        check(E4M3Fn, false, [0.46875, NAN, NAN, NAN, 448.0, -0.8125]);
        check(E4M3Fnuz, true, [0.46875, 240.0, -240.0, NAN, 240.0, -0.8125]);
        check(E5M2, true, [0.5, 57344.0, -57344.0, NAN, 448.0, -0.875]);
        check(E5M2, false, [0.5, INF, -INF, NAN, 448.0, -0.875]);
        check(E5M2Fnuz, false, [0.5, NAN, NAN, NAN, 448.0, -0.875]);
        check(E2M1, true, [0.5, 6.0, -6.0, 0.0, 6.0, -1.0]);
    }

    #[test]
    fn subnormals_are_evenly_spaced() {
        let x = float::<1>([0.001f32, 0.003, -0.0009, 0.002]);
        let step = 2f32.powi(-9);
        same(to_small(x, Small::E4M3Fn, true), [step, step * 2.0, -0.0, step]);
    }

    #[test]
    fn powers_of_two_are_taken_from_either_side() {
        let x = || float::<1>([1.1f32, 1.5, 1.4, 2.0, 0.0, INF]);
        let check = |toward, saturate, expected: [f32; 6]| {
            same(to_small(x(), Small::E8M0(toward), saturate), expected);
        };
        let (least, most) = (2f32.powi(-127), 2f32.powi(127));
        check(Toward::Up, true, [2.0, 2.0, 2.0, 2.0, least, most]);
        check(Toward::Down, true, [1.0, 1.0, 1.0, 2.0, least, most]);
        check(Toward::Nearest, false, [1.0, 2.0, 1.0, 2.0, NAN, NAN]);
    }

    #[test]
    fn low_bits_are_twos_complement() {
        let x = || int::<1>([-9i64, 7, 8, 300]);
        same(to_bits(x(), DType::I8, 4), [7i8, 7, -8, -4]);
        same(to_bits(x(), DType::U8, 4), [7u8, 7, 8, 12]);
        same(to_bits(x(), DType::I8, 2), [-1i8, -1, 0, 0]);
    }
}
