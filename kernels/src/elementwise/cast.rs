//! Cast between all kinds and dtypes.

use burn::tensor::{Bool, DType, FloatDType, Int, IntDType, Tensor, kind::Numeric};

use crate::backend::call;
use crate::dtype::{computed, lowered, stored};
use crate::{quantize::small::to_bits, spec::quantize::range};

/// Rounds to the nearest value of `dtype`, ties to even. Values that are too large become infinite.
pub fn float_to_float<const D: usize>(x: Tensor<D>, dtype: DType) -> Tensor<D> {
    let nearest: FloatDType = stored(&x.device(), dtype).into();
    computed(x.cast(nearest), dtype)
}

/// Truncates toward zero. Values out of range are clamped; NaN becomes 0 on CPUs, any value on GPUs.
pub fn float_to_int<const D: usize>(x: Tensor<D>, dtype: DType) -> Tensor<D, Int> {
    let there = lowered(&x.device(), dtype);
    let y = x.cast(IntDType::from(there));
    if there.size() <= dtype.size() {
        return y;
    }
    // A wider dtype replaces it, so its bounds are applied explicitly.
    let [least, most] = range(dtype, 8 * dtype.size() as u32);
    y.clamp(least as i64, most as i64)
}

/// Rounds to the nearest value of `dtype`.
pub fn int_to_float<const D: usize>(x: Tensor<D, Int>, dtype: DType) -> Tensor<D> {
    if dtype == DType::F32 {
        return Tensor::from_dispatch(call!(int_to_single(x)));
    }
    let nearest: FloatDType = stored(&x.device(), dtype).into();
    computed(x.cast(nearest), dtype)
}

/// Truncates to the low bits, as two's complement.
pub fn int_to_int<const D: usize>(x: Tensor<D, Int>, dtype: DType) -> Tensor<D, Int> {
    let there = lowered(&x.device(), dtype);
    if there.size() > dtype.size() {
        return to_bits(x, dtype, 8 * dtype.size() as u32);
    }
    x.cast(IntDType::from(there))
}

/// Returns `true` for elements other than 0, NaN included.
pub fn to_bool<const D: usize, K: Numeric>(x: Tensor<D, K>) -> Tensor<D, Bool> {
    x.not_equal_scalar(0)
}

/// Converts `true` to 1 and `false` to 0.
pub fn bool_to_float<const D: usize>(x: Tensor<D, Bool>, dtype: DType) -> Tensor<D> {
    let dtype: FloatDType = lowered(&x.device(), dtype).into();
    x.cast(dtype)
}

/// Converts `true` to 1 and `false` to 0.
pub fn bool_to_int<const D: usize>(x: Tensor<D, Bool>, dtype: DType) -> Tensor<D, Int> {
    let dtype: IntDType = lowered(&x.device(), dtype).into();
    x.cast(dtype)
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::testing::{bool, float, has_all, int, on_cpu, same};

    #[test]
    fn float_to_int_truncates_toward_zero() {
        let x = float::<1>([1.9f32, -1.9, 0.5, -0.5, 2.0]);
        same(float_to_int(x, DType::I64), [1i64, -1, 0, 0, 2]);
    }

    #[test]
    fn float_to_int_saturates_and_maps_nan_to_zero() {
        if !has_all(&[DType::I8, DType::U8]) {
            return;
        }
        let x = float::<1>([300.0f32, -300.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
        same(float_to_int(x.clone(), DType::I8), [127i8, -128, 127, -128, 0]);
        same(float_to_int(x.clone(), DType::U8), [255u8, 0, 255, 0, 0]);
        let bounds = [300, -300, i64::MAX, i64::MIN, 0];
        same(float_to_int(x, DType::I64), bounds);
    }

    #[test]
    fn half_floats_cast_to_ints() {
        same(float_to_int(float::<1>([f16::from_f32(-3.75)]), DType::I32), [-3i32]);
        same(float_to_int(float::<1>([bf16::from_f32(3.75)]), DType::U16), [3u16]);
    }

    #[test]
    fn int_to_int_wraps() {
        let x = int::<1>([300i64, -1, -129, 1 << 40]);
        same(int_to_int(x.clone(), DType::U8), [44u8, 255, 127, 0]);
        same(int_to_int(x.clone(), DType::I8), [44i8, -1, 127, 0]);
        same(int_to_int(x, DType::U32), [300u32, u32::MAX, u32::MAX - 128, 0]);
    }

    #[test]
    fn int_to_float_rounds_to_nearest() {
        let x = int::<1>([16_777_217i64, -3]);
        same(int_to_float(x.clone(), DType::F32), [16_777_216f32, -3.0]);
        same(int_to_float(x, DType::F64), [16_777_217f64, -3.0]);
        let x = int::<1>([u64::MAX]);
        same(int_to_float(x, DType::F64), [18_446_744_073_709_551_615f64]);
    }

    #[test]
    fn float_to_half_rounds_ties_to_even_and_overflows_to_infinity() {
        if !on_cpu("it has values beyond half precision, computed wider on the CPU alone") {
            return;
        }
        let x = float::<1>([2049.0f32, 2051.0, 1e6]);
        let expected = [2048.0, 2052.0, f32::INFINITY];
        same(float_to_float(x, DType::F16), expected);
        let x = float::<1>([1.0f64 + 2f64.powi(-9)]);
        same(float_to_float(x, DType::BF16), [1f32]);
        let x = int::<1>([2049i64, 70_000]);
        same(int_to_float(x, DType::F16), [2048.0, f32::INFINITY]);
    }

    #[test]
    fn nan_and_nonzero_are_true() {
        let x = float::<1>([0.0f32, -0.0, 1e-40, f32::NAN, -1.0]);
        same(to_bool(x), [false, false, true, true, true]);
        same(to_bool(int::<1>([0u8, 1, 255])), [false, true, true]);
    }

    #[test]
    fn bool_becomes_zero_or_one_of_any_dtype() {
        if !has_all(&[DType::U8, DType::F64]) {
            return;
        }
        let x = bool::<1>([true, false]);
        same(bool_to_float(x.clone(), DType::F16), [1f32, 0.0]);
        same(bool_to_float(x.clone(), DType::F64), [1f64, 0.0]);
        same(bool_to_int(x.clone(), DType::U8), [1u8, 0]);
        let sum = bool_to_int(x, DType::I64) + 1;
        same(sum, [2i64, 1]);
    }
}
