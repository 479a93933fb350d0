//! QLinearAdd and related operators: quantized tensors with one scale and zero point.
//!
//! Where the order of roundings decides between two integers, it is that of ONNX Runtime on x86.

use alloc::vec::Vec;
use burn::tensor::{Bool, DType, FloatDType, Int, IntDType, Tensor};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::{Affine, Function, Mean, Pair, Rounded, Step, Unary};
use super::{dequantize_by, quantize_by, within};
use crate::elementwise::elementary::exp;
use crate::reduce::sum::sum_dim;
use crate::shape::WithShape;
use crate::{
    backend::call,
    convolution::window::Window,
    dtype::lowered,
    index::select::where_,
    pool,
    product::epilogue::{Activation, finish},
    reduce,
    shape::{expand::agreed, stack},
};

/// Quantized integers, and their scale and zero point.
pub type Quantized<const D: usize> = (Tensor<D, Int>, Affine);

impl Affine {
    /// Dequantizes integers.
    pub(super) fn floats<const D: usize>(self, x: Tensor<D, Int>) -> Tensor<D> {
        dequantize_by(x, self.scale, self.zero, DType::F32)
    }

    /// Quantizes floats; the zero point is added after rounding.
    pub(super) fn integers<const D: usize>(self, x: Tensor<D>) -> Tensor<D, Int> {
        quantize_by(x, self.scale, self.zero, self.dtype, self.bits)
    }

    /// Rounds floats that are scaled and include the zero point.
    fn nearest<const D: usize>(self, x: Tensor<D>) -> Tensor<D, Int> {
        within(x.round(), self.dtype, 8)
    }

    /// Converts integers to this scale and zero point.
    fn convert<const D: usize>(self, (x, of): Quantized<D>) -> Tensor<D, Int> {
        // With other scales, floats overflow or lose digits.
        let usual = (1e-30..1e30).contains(&self.scale);
        if of == self && usual {
            return x;
        }
        self.function((x, of), Activation::Identity)
    }

    /// Applies a function to the floats.
    pub(super) fn function<const D: usize>(
        self,
        (x, of): Quantized<D>,
        activation: Activation,
    ) -> Tensor<D, Int> {
        let made = computed(&x, None, of, self, Function::Each(activation));
        made.unwrap_or_else(|| self.integers(finish(of.floats(x), None, activation)))
    }
}

/// Applies a function to the floats and a bias along the last axis, if the backend has a kernel.
pub(super) fn computed<const D: usize>(
    x: &Tensor<D, Int>,
    bias: Option<Tensor<1>>,
    of: Affine,
    y: Affine,
    function: Function,
) -> Option<Tensor<D, Int>> {
    let y = y.on(&x.device());
    let unary = Unary { of, y, function };
    let own = x.clone();
    let made = call!(quantized_unary(own, bias; unary)).tensor();
    made.map(Tensor::from_dispatch)
}

/// Applies [`Step`] to two tensors, broadcast; without a kernel of the backend `passes` does it.
#[inline(never)]
pub(super) fn combine<const D: usize>(
    (a, of_a): Quantized<D>,
    (b, of_b): Quantized<D>,
    y: Affine,
    step: Step,
    passes: fn(Tensor<D, Int>, Tensor<D, Int>, Pair) -> Tensor<D, Int>,
) -> Tensor<D, Int> {
    let (a, b) = agreed(a, b);
    let pair = Pair { a: of_a, b: of_b, y, step };
    let there = Pair { y: y.on(&a.device()), ..pair };
    let (left, right) = (a.clone(), b.clone());
    let made = call!(quantized_pair(left, right; there)).tensor();
    made.map_or_else(|| passes(a, b, pair), Tensor::from_dispatch)
}

/// QLinearAdd: the sum of floats, broadcast.
pub fn add<const D: usize>(a: Quantized<D>, b: Quantized<D>, y: Affine) -> Tensor<D, Int> {
    combine(a, b, y, Step::Sum, |a, b, pair| {
        let device = a.device();
        let (wide, single): (FloatDType, FloatDType) =
            (lowered(&device, DType::F64).into(), DType::F32.into());
        // Product and sum are rounded once, as by a fused multiply-add.
        let product = |x: Tensor<D, Int>, of| x.cast(wide).mul_scalar(f64::from(pair.ratio(of)));
        let inner = product(b, pair.b).add_scalar(f64::from(pair.offset()));
        let sum = product(a, pair.a).add(inner.cast(single).cast(wide));
        pair.y.nearest(sum.cast(single))
    })
}

/// QLinearMul: the product of floats, broadcast.
pub fn mul<const D: usize>(a: Quantized<D>, b: Quantized<D>, y: Affine) -> Tensor<D, Int> {
    combine(a, b, y, Step::Product, |a, b, pair| {
        let ratio = pair.a.scale * pair.b.scale / pair.y.scale;
        let single: FloatDType = DType::F32.into();
        let difference = |x: Tensor<D, Int>, of: Affine| x.cast(single).sub_scalar(of.zero);
        let product = difference(a, pair.a).mul(difference(b, pair.b));
        let y = pair.y;
        y.nearest(product.mul_scalar(ratio).add_scalar(y.zero))
    })
}

/// QLinearSigmoid.
pub fn sigmoid<const D: usize>(x: Quantized<D>, y: Affine) -> Tensor<D, Int> {
    y.function(x, Activation::Sigmoid)
}

/// QLinearLeakyRelu: multiplies negative values by `alpha`.
pub fn leaky_relu<const D: usize>(x: Quantized<D>, y: Affine, alpha: f64) -> Tensor<D, Int> {
    y.function(x, Activation::LeakyRelu(alpha))
}

/// QLinearWhere: `a` where the condition is true, otherwise `b`, broadcast.
pub fn choose<const D: usize>(
    condition: Tensor<D, Bool>,
    a: Quantized<D>,
    b: Quantized<D>,
    y: Affine,
) -> Tensor<D, Int> {
    where_(condition, y.convert(a), y.convert(b))
}

/// QLinearConcat: concatenation along an axis.
pub fn concat<const D: usize>(parts: Vec<Quantized<D>>, y: Affine, axis: usize) -> Tensor<D, Int> {
    let parts = parts.into_iter().map(|part| y.convert(part));
    stack::concat(parts.collect(), axis)
}

/// QLinearSoftmax along one axis.
#[inline(never)]
pub fn softmax<const D: usize>((x, of): Quantized<D>, y: Affine, axis: usize) -> Tensor<D, Int> {
    if x.dims().contains(&0) {
        return x;
    }
    let last = D - 1;
    let rows = x.clone().swap_dims(axis, last);
    if let Some(y) = computed(&rows, None, of, y, Function::Softmax(Rounded::Once)) {
        return y.swap_dims(axis, last);
    }
    let x = of.floats(x);
    let powers = exp(x.clone().sub(x.max_dim(axis)));
    let sum = sum_dim(powers.clone(), axis);
    let levels = (1.0 / y.scale).floor();
    let parts = powers.mul_scalar(levels).div(sum).round();
    within(parts.add_scalar(y.zero), y.dtype, 8)
}

/// [`softmax`] over all axes from `axis` on, as before version 13.
pub fn softmax_flat<const D: usize>(x: Quantized<D>, y: Affine, axis: usize) -> Tensor<D, Int> {
    let dims = x.0.dims();
    if dims.contains(&0) {
        return x.0;
    }
    let rows: usize = dims[..axis].iter().product();
    let columns: usize = dims[axis..].iter().product();
    let flat = x.0.with_shape([rows, columns]);
    softmax((flat, x.1), y, 1).with_shape(dims)
}

/// QLinearAveragePool: the mean of each window.
pub fn average_pool<const D: usize, const S: usize>(
    (x, of): Quantized<D>,
    y: Affine,
    window: Window<S>,
    include_padding: bool,
    ceil: bool,
) -> Tensor<D, Int> {
    let mean = pool::average_pool(of.floats(x), window, include_padding, ceil);
    y.nearest(mean.div_scalar(y.scale).add_scalar(y.zero))
}

/// QLinearGlobalAveragePool: the mean of each channel; every spatial size becomes 1.
pub fn global_average_pool<const D: usize>((x, of): Quantized<D>, y: Affine) -> Tensor<D, Int> {
    if let Some(means) = mean((&x, of), y, 2, Rounded::Once) {
        return means;
    }
    let dims = x.dims();
    let count: usize = dims[2..].iter().product();
    let wide: IntDType = lowered(&x.device(), DType::I32).into();
    let axes: Vec<usize> = (2..D).collect();
    let difference = x.cast(wide).sub_scalar(of.zero);
    let sum: Tensor<D, Int> = reduce::reduce_sum(difference, &axes);
    let single: FloatDType = DType::F32.into();
    let ratio = of.scale / (y.scale * count as f32);
    let rounded = sum.cast(single).mul_scalar(ratio).round();
    within(rounded.add_scalar(y.zero), y.dtype, 8)
}

/// Returns the mean over the axes from `axis` on, whose sizes become 1, if the backend has a kernel.
pub(super) fn mean<const D: usize>(
    (x, of): (&Tensor<D, Int>, Affine),
    y: Affine,
    axis: usize,
    rounded: Rounded,
) -> Option<Tensor<D, Int>> {
    let mean = Mean { of, y: y.on(&x.device()), axis, rounded };
    let own = x.clone();
    let made = call!(quantized_mean(own; mean)).tensor();
    made.map(Tensor::from_dispatch)
}

/// QLinearReduceMean. `O` is `D` if the axes are kept with size 1, otherwise `D` less their number, at least 1.
pub fn reduce_mean<const D: usize, const O: usize>(
    (x, of): Quantized<D>,
    y: Affine,
    axes: &[usize],
) -> Tensor<O, Int> {
    let first = D - axes.len();
    if axes.iter().copied().eq(first..D)
        && let Some(means) = mean((&x, of), y, first, Rounded::InSteps)
    {
        let dims: [usize; D] = means.dims();
        let shape: [usize; O] = core::array::from_fn(|axis| dims[axis]);
        return means.with_shape(shape);
    }
    y.integers(reduce::reduce_mean(of.floats(x), axes))
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::testing::{bool, int, same};

    const X: Affine = Affine::u8(0.5, 10);
    const Y: Affine = Affine::u8(1.0, 3);

    #[test]
    fn sums_and_products_broadcast_and_end_at_the_bounds() {
        let (a, b) = (int::<2>([[10u8, 13, 255]]), int::<2>([[11u8], [250]]));
        let sum = add((a.clone(), X), (b.clone(), X), Y);
        // 0.5 and 2.0 times the steps of `a`; halves round to even, including the zero point.
        same(sum, [[4u8, 5, 126], [123, 124, 246]]);
        let product = mul((a, X), (b, X), Y);
        same(product, [[3u8, 4, 64], [3, 183, 255]]);
    }

    #[test]
    fn sums_are_rounded_once() {
        // Expected values are those of ONNX Runtime.
        let (a, b, y) = (Affine::i8(0.1, -7), Affine::i8(0.05, 22), Affine::i8(0.025, 1));
        let x = int::<1>([-128i8, -8, -7, -6, 0, 127]);
        let sum = add((x.clone(), a), (x, b), y);
        same(sum, [-128i8, -63, -57, -51, -15, 127]);
    }

    #[test]
    fn functions_go_through_floats() {
        let x = || int::<1>([0u8, 8, 10, 12, 255]);
        let y = Affine::u8(1.0 / 256.0, 0);
        same(sigmoid((x(), X), y), [2u8, 69, 128, 187, 255]);
        let y = Affine::u8(0.25, 100);
        same(leaky_relu((x(), X), y, 0.5), [90u8, 98, 100, 104, 255]);
    }

    #[test]
    fn equal_scales_copy() {
        let condition = bool::<2>([[true], [false]]);
        let (a, b) = (int::<2>([[1u8, 2]]), int::<2>([[20u8, 30]]));
        let y = choose(condition, (a.clone(), Y), (b.clone(), X), Y);
        same(y, [[1u8, 2], [8, 13]]);
        let y = concat(vec![(a, X), (b, Y)], X, 1);
        same(y, [[1u8, 2, 44, 64]]);
    }

    #[test]
    fn probabilities_are_parts_of_whole_levels() {
        let x = int::<2>([[10u8, 11, 12], [255, 0, 255]]);
        let y = Affine::u8(1.0 / 256.0, 0);
        same(softmax((x.clone(), X), y, 1), [[48u8, 79, 130], [128, 0, 128]]);
        let signed = Affine::i8(1.0 / 256.0, -128);
        let flat = softmax_flat((x.clone().with_shape([2, 1, 3]), X), signed, 1);
        same(flat, [[[-80i8, -49, 2]], [[0, -128, 0]]]);
        let none = int::<2>(TensorData::new(Vec::<u8>::new(), [2, 0]));
        same(softmax((none.clone(), X), y, 1), none.into_data());
    }

    #[test]
    fn means_are_of_windows_channels_and_axes() {
        let x = || int::<4>([[[[10u8, 12], [14, 17]], [[0, 0], [0, 0]]]]);
        let y = average_pool((x(), X), Y, Window::new([1, 2]), false, false);
        same(y, [[[[4u8], [6]], [[0], [0]]]]);
        same(global_average_pool((x(), X), Y), [[[[5u8]], [[0]]]]);
        let mean: Tensor<2, Int> = reduce_mean((x(), X), Y, &[2, 3]);
        same(mean, [[5u8, 0]]);
    }
}
