//! QuantizeLinear and DequantizeLinear.
//!
//! Scales and zero points have one element, one per index of an axis, or one per block of an axis; callers shape them so that
//! they broadcast to the input. `bits` may be fewer than those of the dtype, as for int4 in i8.

use alloc::vec::Vec;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData, kind::Basic};

use crate::{
    backend::call,
    dtype::{computed, lowered},
    elementwise::cast::float_to_float,
    quantize::small::{Small, to_small, to_small_async},
    spec::{broadcasts_to, operand, shaped},
    widen::widened,
};

mod affine;
mod bits;
pub mod float8;
mod gather;
mod integer;
pub(crate) mod passes;
pub mod small;
pub mod steps;

use passes::within;

pub use crate::spec::quantize::{Affine, Ending, Function, Integers, Mean, Pair, Rounded, Step, Unary};
pub use affine::{
    Quantized, add, average_pool, choose, concat, global_average_pool, leaky_relu, mul, reduce_mean, sigmoid,
    softmax, softmax_flat,
};
pub use bits::{
    BitData, BitMatrix, Blocks, Coded, FloatCodes, Zeros, in_bytes, matmul_bits, matmul_coded, matmul_wide,
    unpacked,
};
pub use gather::{Gather, gather_float, gather_int};
pub use integer::{
    Requantize, Weight, conv_integer1d, conv_integer2d, conv_integer3d, matmul_dynamic, matmul_integer,
    matmul_to_float, qlinear_conv1d, qlinear_conv2d, qlinear_conv3d, qlinear_matmul,
};

impl Affine {
    /// Replaces the dtype by the one that a device computes in.
    pub(crate) fn on(self, device: &Device) -> Self {
        Self { dtype: lowered(device, self.dtype), ..self }
    }
}

/// QuantizeLinear: `x / scale`, rounded half to even, plus the zero point, clamped to the range of `bits`.
#[inline(never)]
pub fn quantize<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<D>,
    zero: Option<Tensor<D, Int>>,
    dtype: DType,
    bits: u32,
) -> Tensor<D, Int> {
    ensure_fits(&x, &scale, zero.as_ref());
    let (own, scales, zeros) = (x.clone(), scale.clone(), zero.clone());
    let there = lowered(&x.device(), dtype);
    if x.dims().contains(&0) {
        return Tensor::empty(x.dims(), (&x.device(), there));
    }
    let made = call!(quantize_along(own, scales, zeros; there, bits)).tensor();
    made.map_or_else(|| passes::quantize(x, scale, zero, dtype, bits), Tensor::from_dispatch)
}

/// [`quantize`] with one scale and zero point that are known at compile time.
#[inline(never)]
pub fn quantize_by<const D: usize>(
    x: Tensor<D>,
    scale: f32,
    zero: i64,
    dtype: DType,
    bits: u32,
) -> Tensor<D, Int> {
    let (own, to) = (x.clone(), Affine::new(scale, zero, dtype, bits));
    let there = to.on(&x.device());
    let made = call!(quantize(own; there)).tensor();
    made.map_or_else(|| passes::quantize_by(x, to), Tensor::from_dispatch)
}

/// `x / scale` in the 16-bit type `dtype`: operands and quotients are rounded to it.
pub fn quotient<const D: usize>(x: Tensor<D>, scale: Tensor<D>, dtype: DType) -> Tensor<D> {
    let [x, scale] = [x, scale].map(|x| widened(float_to_float(x, dtype)));
    float_to_float(divided(x, scale), dtype)
}

/// QuantizeLinear to a float of 8 bits or fewer: `x / scale`.
pub fn quantize_small<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<D>,
    small: Small,
    saturate: bool,
) -> Tensor<D> {
    to_small(divided(x, scale), small, saturate)
}

/// Async version of [`quantize_small`].
pub async fn quantize_small_async<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<D>,
    small: Small,
    saturate: bool,
) -> Tensor<D> {
    to_small_async(divided(x, scale), small, saturate).await
}

/// Fails unless scales and zero points broadcast to the input.
fn ensure_fits<const D: usize, K: Basic>(x: &Tensor<D, K>, scale: &Tensor<D>, zero: Option<&Tensor<D, Int>>) {
    let dims = x.dims();
    let input = operand("input", &dims);
    broadcasts_to(operand("scale", &scale.dims()), input);
    if let Some(zero) = zero {
        broadcasts_to(operand("zero point", &zero.dims()), input);
    }
}

fn divided<const D: usize>(x: Tensor<D>, scale: Tensor<D>) -> Tensor<D> {
    ensure_fits(&x, &scale, None);
    let x = widened(x);
    if x.dims().contains(&0) {
        return x;
    }
    let float: FloatDType = x.dtype().into();
    x.div(scale.cast(float))
}

/// DequantizeLinear of a float of 8 bits or fewer: `x * scale`, in `dtype`.
pub fn dequantize_small<const D: usize>(x: Tensor<D>, scale: Tensor<D>, dtype: DType) -> Tensor<D> {
    ensure_fits(&x, &scale, None);
    if x.dims().contains(&0) {
        return computed(x, dtype);
    }
    let float: FloatDType = x.dtype().into();
    computed(x.mul(scale.cast(float)), dtype)
}

/// Converts the accumulators of QLinearMatMul and QLinearConv to the scale and zero point of the result. The
/// scales are those of both operands and of the result.
pub(crate) fn requantize<const D: usize>(
    sums: Tensor<D, Int>,
    [left, right, result]: [Tensor<D>; 3],
    zero: Tensor<D, Int>,
    dtype: DType,
    bits: u32,
) -> Tensor<D, Int> {
    if sums.dims().contains(&0) {
        let there = lowered(&sums.device(), dtype);
        return Tensor::empty(sums.dims(), (&sums.device(), there));
    }
    let float: FloatDType = DType::F32.into();
    let factor = left.cast(float).mul(right.cast(float)).div(result.cast(float));
    let rounded = sums.cast(float).mul(factor).round();
    within(rounded.add(zero.cast(float)), dtype, bits)
}

/// DequantizeLinear: `(x - zero) * scale`, in `dtype`.
#[inline(never)]
pub fn dequantize<const D: usize>(
    x: Tensor<D, Int>,
    scale: Tensor<D>,
    zero: Option<Tensor<D, Int>>,
    dtype: DType,
) -> Tensor<D> {
    ensure_fits(&x, &scale, zero.as_ref());
    if x.dims().contains(&0) {
        let y = Tensor::empty(x.dims(), (&x.device(), DType::F32));
        return computed(y, dtype);
    }
    let (own, scales, zeros) = (x.clone(), scale.clone(), zero.clone());
    let made = call!(dequantize_along(own, scales, zeros)).tensor();
    made.map_or_else(
        || passes::dequantize(x, scale, zero, dtype),
        |y| computed(Tensor::from_dispatch(y), dtype),
    )
}

/// [`dequantize`] with one scale and zero point that are known at compile time.
#[inline(never)]
pub fn dequantize_by<const D: usize>(x: Tensor<D, Int>, scale: f32, zero: i64, dtype: DType) -> Tensor<D> {
    let (own, of) = (x.clone(), Affine::new(scale, zero, x.dtype(), 8));
    let made = call!(dequantize(own; of)).tensor();
    made.map_or_else(|| passes::dequantize_by(x, of, dtype), |y| computed(Tensor::from_dispatch(y), dtype))
}

/// Repeats each element along `axis` `block` times, up to `size` in total.
pub fn blocks<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    axis: usize,
    block: usize,
    size: usize,
) -> Tensor<D, K> {
    let device = x.device();
    let indices: Vec<i64> = (0..size).map(|index| (index / block) as i64).collect();
    let dtype = lowered(&device, DType::I64);
    let indices = Tensor::from_data(TensorData::new(indices, [size]), (&device, dtype));
    x.select(axis, indices)
}

/// [`blocks`] of a tensor with one element per `block` elements along `axis` of `shape`, and otherwise its sizes.
///
/// # Panics
/// If the sizes differ.
pub fn blocks_of<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    axis: usize,
    block: usize,
    shape: [usize; D],
) -> Tensor<D, K> {
    let mut wanted = shape;
    wanted[axis] = shape[axis].div_ceil(block);
    let dims = x.dims();
    shaped(operand("scale or zero point", &dims), &wanted, operand("input", &shape));
    blocks(x, axis, block, shape[axis])
}

/// DynamicQuantizeLinear: the input quantized to unsigned 8-bit integers over a range that includes 0, its
/// scale, and its zero point.
#[inline(never)]
pub fn quantize_dynamic<const D: usize>(x: Tensor<D>) -> (Tensor<D, Int>, Tensor<1>, Tensor<1, Int>) {
    let own = x.clone();
    let dtype = lowered(&x.device(), DType::U8);
    let (y, scale, zero) = call!(quantize_dynamic(own; dtype));
    match (y.tensor(), scale.tensor(), zero.tensor()) {
        (Some(y), Some(scale), Some(zero)) => {
            (Tensor::from_dispatch(y), Tensor::from_dispatch(scale), Tensor::from_dispatch(zero))
        }
        _ => passes::quantize_dynamic(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, has_all, int, near, on_cpu, same};
    use burn::tensor::Int;

    #[test]
    fn ties_round_to_even_and_values_are_clamped() {
        let x = float::<1>([0.5f32, 1.5, -0.5, 254.4, 1000.0, -1000.0]);
        let y = quantize_by(x.clone(), 1.0, 0, DType::U8, 8);
        same(y, [0u8, 2, 0, 254, 255, 0]);
        let y = quantize_by(x.clone(), 1.0, 1, DType::I8, 8);
        same(y, [1i8, 3, 1, 127, 127, -128]);
        let y = quantize_by(x.clone(), 1.0, 0, DType::I8, 4);
        same(y, [0i8, 2, 0, 7, 7, -8]);
        same(quantize_by(x, 0.015625, 0, DType::I16, 16), [32i16, 96, -32, 16282, 32767, -32768]);
    }

    #[test]
    fn quotients_are_rounded_to_16_bits() {
        if !has_all(&[DType::F16, DType::BF16]) {
            return;
        }
        // 1.05 / 0.3 is 3.499 in half precision and 3.5 in bfloat16, whose operands are 1.046875 and 0.30078125.
        let (x, scale) = (float::<1>([1.05f32, 3.0]), float([0.3f32]));
        let y = quotient(x.clone(), scale.clone(), DType::F16);
        same(y, [3.4980469f32, 10.0]);
        let y = quotient(x, scale, DType::BF16);
        same(y, [3.484375f32, 10.0]);
    }

    #[test]
    fn unsigned_integers_below_the_zero_point_are_negative() {
        let x = int::<1>([0u8, 3]);
        let y = dequantize(x.clone(), float([0.5f32]), Some(int([2u8])), DType::F32);
        same(y, [-1f32, 0.5]);
        same(dequantize_by(x, 0.5, 2, DType::F32), [-1f32, 0.5]);
    }

    #[test]
    fn scales_and_zero_points_broadcast() {
        let x = float::<2>([[1f32, 2.0], [3.0, 4.0]]);
        let (scale, zero) = (float([[0.5f32], [2.0]]), int([[10u8], [128]]));
        let y = quantize(x.clone(), scale.clone(), Some(zero.clone()), DType::U8, 8);
        same(y.clone(), [[12u8, 14], [130, 130]]);
        same(dequantize(y, scale, Some(zero), DType::F32), [[1f32, 2.0], [4.0, 4.0]]);
    }

    #[test]
    fn an_axis_of_no_elements_has_no_scales() {
        let none = |shape: [usize; 3]| TensorData::new(Vec::<f32>::new(), shape);
        let (x, scale) = (|| float::<3>(none([3, 0, 6])), || float::<3>(none([1, 0, 1])));
        let zero = || int::<3>(TensorData::new(Vec::<i8>::new(), [1, 0, 1]));
        let y = quantize(x(), scale(), Some(zero()), DType::I8, 8);
        same(y.clone(), TensorData::new(Vec::<i8>::new(), [3, 0, 6]));
        same(dequantize(y, scale(), Some(zero()), DType::F32), none([3, 0, 6]));
        let small = quantize_small(x(), scale(), Small::E4M3Fn, true);
        same(dequantize_small(small, scale(), DType::F32), none([3, 0, 6]));
    }

    #[test]
    fn sums_are_converted_to_another_scale() {
        let sums = int::<2>([[-3i32, 5], [100_000, 7]]);
        let scales = [[[0.5f32, 0.25]], [[2.0, 2.0]], [[2.0, 1.0]]].map(float);
        let y = requantize(sums, scales, int([[3u8]]), DType::U8, 8);
        same(y, [[1u8, 5], [255, 7]]);
    }

    #[test]
    fn integers_of_32_bits_are_subtracted_as_such() {
        if !on_cpu("results of half precision are computed wider on the CPU alone") {
            return;
        }
        let x = int::<1>([i32::MAX, i32::MAX - 1]);
        let y = dequantize_by(x.clone(), 1.0, i64::from(i32::MAX) - 3, DType::F32);
        same(y, [3f32, 2.0]);
        let zero = int([i32::MAX - 3]);
        same(dequantize(x, float([0.5f32]), Some(zero), DType::F16), [1.5f32, 1.0]);
    }

    #[test]
    fn small_floats_have_no_zero_point() {
        if !on_cpu("results of half precision are computed wider on the CPU alone") {
            return;
        }
        let (x, scale) = (float::<1>([0f32, 1.0, 1e5, 200.0]), || float::<1>([2f32]));
        let y = quantize_small(x, scale(), Small::E4M3Fn, true);
        same(y.clone(), [0f32, 0.5, 448.0, 96.0]);
        let y = dequantize_small(y, scale(), DType::F16);
        same(y, [0f32, 1.0, 896.0, 192.0]);
    }

    #[test]
    fn the_last_block_may_be_shorter() {
        let x = int::<2>([[1i32, 2], [3, 4]]);
        let expected = [[1i32, 1, 1, 2, 2], [3, 3, 3, 4, 4]];
        same::<2, Int>(blocks(x.clone(), 1, 3, 5), expected);
        same::<2, Int>(blocks(x.clone(), 0, 1, 2), [[1i32, 2], [3, 4]]);
        same::<2, Int>(blocks_of(x.clone(), 1, 3, [2, 5]), expected);
        for shape in [[2, 7], [2, 3], [3, 5], [1, 5]] {
            let fault = attempt(|| blocks_of(x.clone(), 1, 3, shape)).unwrap_err();
            assert!(fault.reason.starts_with("expected the scale or zero point [2, 2] to have shape"));
        }
    }

    #[test]
    fn dynamic_ranges_hold_zero() {
        let x = float::<1>([0f32, 2.0, -3.0, -2.5, 1.34, 0.5]);
        let (y, scale, zero) = quantize_dynamic(x);
        same(y, [153u8, 255, 0, 26, 221, 179]);
        near(scale, [0.019607844f32], 1e-7);
        same(zero, [153u8]);
        let (y, scale, zero) = quantize_dynamic(float::<1>([0f32, 0.0]));
        same(y, [0u8, 0]);
        same(scale, [1f32]);
        same(zero, [0u8]);
        let (_, scale, zero) = quantize_dynamic(float::<1>([5.1f32]));
        near(scale, [0.02f32], 1e-7);
        same(zero, [0u8]);
    }
}
