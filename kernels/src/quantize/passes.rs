//! QuantizeLinear and DequantizeLinear by primitives, each a pass over the tensor.

use burn::tensor::{DType, FloatDType, Int, Tensor};

use crate::shape::WithShape;
use crate::spec::quantize::{Affine, range};
use crate::{dtype::computed, elementwise::cast::float_to_int, widen::widened};

pub fn quantize<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<D>,
    zero: Option<Tensor<D, Int>>,
    dtype: DType,
    bits: u32,
) -> Tensor<D, Int> {
    let x = widened(x);
    let float: FloatDType = x.dtype().into();
    let rounded = x.div(widened(scale).cast(float)).round();
    let shifted = match zero {
        Some(zero) => rounded.add(zero.cast(float)),
        None => rounded,
    };
    within(shifted, dtype, bits)
}

pub fn quantize_by<const D: usize>(x: Tensor<D>, to: Affine) -> Tensor<D, Int> {
    let rounded = widened(x).div_scalar(to.scale()).round();
    let shifted = match to.zero() {
        0 => rounded,
        zero => rounded.add_scalar(zero),
    };
    within(shifted, to.dtype(), to.bits())
}

pub fn dequantize<const D: usize>(
    x: Tensor<D, Int>,
    scale: Tensor<D>,
    zero: Option<Tensor<D, Int>>,
    dtype: DType,
) -> Tensor<D> {
    let float: FloatDType = DType::F32.into();
    let difference = match zero {
        Some(zero) if has_32_bits(x.dtype()) => x.sub(zero).cast(float),
        Some(zero) => x.cast(float).sub(zero.cast(float)),
        None => x.cast(float),
    };
    computed(difference.mul(scale.cast(float)), dtype)
}

pub fn dequantize_by<const D: usize>(x: Tensor<D, Int>, of: Affine, dtype: DType) -> Tensor<D> {
    let float: FloatDType = DType::F32.into();
    let difference = match of.zero() {
        0 => x.cast(float),
        zero if has_32_bits(x.dtype()) => x.sub_scalar(zero).cast(float),
        zero => x.cast(float).sub_scalar(zero),
    };
    computed(difference.mul_scalar(of.scale()), dtype)
}

/// Returns `true` if only differences of values fit a float. Values of u32 do fit: it replaces 8- and 16-bit
/// integers on devices without these.
fn has_32_bits(dtype: DType) -> bool {
    dtype.size() >= 4 && !dtype.is_uint()
}

pub fn quantize_dynamic<const D: usize>(x: Tensor<D>) -> (Tensor<D, Int>, Tensor<1>, Tensor<1, Int>) {
    const LEVELS: f32 = 255.0;
    let zero = Tensor::zeros([1], (&x.device(), x.dtype()));
    let (least, most) = if x.dims().contains(&0) {
        (zero.clone(), zero)
    } else {
        (x.clone().min().clamp_max(0.0), x.clone().max().clamp_min(0.0))
    };
    let scale = most.sub(least.clone()).div_scalar(LEVELS);
    // If all values are 0, any scale is valid.
    let none = scale.clone().equal_scalar(0.0);
    let scale = scale.mask_fill(none, 1.0);
    let zero = within(least.neg().div(scale.clone()).round(), DType::U8, 8);
    let one = [1; D];
    let (wide_scale, wide_zero) = (scale.clone().with_shape(one), zero.clone().with_shape(one));
    let y = quantize(x, wide_scale, Some(wide_zero), DType::U8, 8);
    (y, scale, zero)
}

/// Clamps rounded values to the range of integers of `bits`.
pub fn within<const D: usize>(x: Tensor<D>, dtype: DType, bits: u32) -> Tensor<D, Int> {
    let [least, most] = range(dtype, bits);
    float_to_int(x.clamp(least, most), dtype)
}
