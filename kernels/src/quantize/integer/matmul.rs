//! Integer matrix products.

use burn::tensor::{DType, FloatDType, Int, Tensor};

use super::{Ending, Requantize, Weight, difference, exact};
use crate::shape::WithShape;
use crate::{
    backend::{ByteProduct, Operand, Outcome, call},
    elementwise::cast::float_to_int,
    product::matmul::{matmul, matmul_int},
    quantize::{quantize_dynamic, requantize},
    spec::{broadcasts_to, operand, product},
};

/// The zero points of both operands, shaped so that they broadcast to them.
pub type Zeros<const A: usize, const B: usize> = (Option<Tensor<A, Int>>, Option<Tensor<B, Int>>);

/// MatMulInteger: the product as int32, each operand less its zero point.
#[inline(never)]
pub fn matmul_integer<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A, Int>,
    b: impl Into<Weight<B>>,
    zeros: Zeros<A, B>,
) -> Tensor<O, Int> {
    let b = b.into();
    ensure_fits(&a, &b, &zeros, [&[]; 3]);
    match bytes(&a, &b, &zeros, None::<Tensor<O, Int>>, Default::default(), None, Ending::Sums) {
        Outcome::Int(sums) => Tensor::from_dispatch(sums),
        _ => sums(a, b.values, zeros, None),
    }
}

/// QLinearMatMul, and QGemm with its bias of accumulators: the product in the scale and zero point of the result.
#[inline(never)]
pub fn qlinear_matmul<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A, Int>,
    b: impl Into<Weight<B>>,
    zeros: Zeros<A, B>,
    bias: Option<Tensor<O, Int>>,
    to: Requantize<O>,
) -> Tensor<O, Int> {
    let b = b.into();
    let of_bias = bias.as_ref().map(Tensor::dims);
    let scales = to.scales.each_ref().map(Tensor::dims);
    let scales = scales.each_ref().map(|scale| ("scale", &scale[..]));
    let zero = ("zero point of the result", &to.zero.dims()[..]);
    let of_bias = of_bias.as_ref().map(|bias| ("bias", &bias[..]));
    ensure_fits(&a, &b, &zeros, [&scales, &[zero], of_bias.as_slice()]);
    let scales = to.scales.clone().map(Some);
    let zero = Some(to.zero.clone());
    match bytes(&a, &b, &zeros, bias.clone(), scales, zero, to.ending(&a.device())) {
        Outcome::Int(y) => Tensor::from_dispatch(y),
        _ => {
            let sums = sums(a, b.values, zeros, bias);
            requantize(sums, to.scales, to.zero, to.dtype, to.bits)
        }
    }
}

/// MatMulIntegerToFloat, and QGemm without a scale of the result: the product times the scales of both
/// operands, with a bias of accumulators or floats.
#[inline(never)]
pub fn matmul_to_float<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A, Int>,
    b: impl Into<Weight<B>>,
    zeros: Zeros<A, B>,
    sums_bias: Option<Tensor<O, Int>>,
    [left, right]: [Tensor<O>; 2],
    bias: Option<Tensor<O>>,
) -> Tensor<O> {
    let b = b.into();
    let scales = [left.dims(), right.dims()];
    let scales = scales.each_ref().map(|scale| ("scale", &scale[..]));
    let biases = [sums_bias.as_ref().map(Tensor::dims), bias.as_ref().map(Tensor::dims)];
    let biases = biases.each_ref().map(|bias| bias.as_ref().map(|bias| ("bias", &bias[..])));
    ensure_fits(&a, &b, &zeros, [&scales, biases[0].as_slice(), biases[1].as_slice()]);
    let scales = || [Some(left.clone()), Some(right.clone()), None];
    let y = match (&sums_bias, &bias) {
        // Other dtypes are rounded after the sum.
        _ if left.dtype() != DType::F32 => Outcome::Declined,
        (None, bias) => bytes(&a, &b, &zeros, bias.clone(), scales(), None, Ending::Floats),
        (sums, None) => bytes(&a, &b, &zeros, sums.clone(), scales(), None, Ending::Floats),
        _ => Outcome::Declined,
    };
    match y {
        Outcome::Float(y) => Tensor::from_dispatch(y),
        _ => scaled(sums(a, b.values, zeros, sums_bias), [left, right], bias),
    }
}

/// DynamicQuantizeMatMul: the product with `a` quantized to 8 bits over its range. Callers shape scale, zero
/// point and bias so that they broadcast.
pub fn matmul_dynamic<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A>,
    b: impl Into<Weight<B>>,
    scale: Tensor<O>,
    zero: Option<Tensor<B, Int>>,
    bias: Option<Tensor<O>>,
) -> Tensor<O> {
    let (a, a_scale, a_zero) = quantize_dynamic(a);
    let zeros = (Some(a_zero.with_shape([1; A])), zero);
    matmul_to_float(a, b, zeros, None, [a_scale.with_shape([1; O]), scale], bias)
}

/// Fails unless the operands have a product, zero points broadcast to them, and the other operands to the product.
fn ensure_fits<const A: usize, const B: usize>(
    a: &Tensor<A, Int>,
    b: &Weight<B>,
    zeros: &Zeros<A, B>,
    ends: [&[(&str, &[usize])]; 3],
) {
    let (left, right) = (a.dims(), b.values.dims());
    let product = product::shape(&left, &right);
    if let Some(zero) = &zeros.0 {
        broadcasts_to(operand("zero point of A", &zero.dims()), operand("operand A", &left));
    }
    if let Some(zero) = &zeros.1 {
        broadcasts_to(operand("zero point of B", &zero.dims()), operand("operand B", &right));
    }
    for (name, shape) in ends.into_iter().flatten() {
        broadcasts_to(operand(name, shape), operand("product", &product));
    }
}

/// Computes the product by a kernel of the backend, if it has one.
#[allow(clippy::too_many_arguments)]
fn bytes<const A: usize, const B: usize, const O: usize, K: burn::tensor::kind::Basic>(
    a: &Tensor<A, Int>,
    b: &Weight<B>,
    zeros: &Zeros<A, B>,
    bias: Option<Tensor<O, K>>,
    [a_scale, b_scale, scale]: [Option<Tensor<O>>; 3],
    zero: Option<Tensor<O, Int>>,
    ending: Ending,
) -> Outcome<burn::backend::Dispatch> {
    let integers = b.integers(ending);
    let (left_zero, right_zero) = zeros.clone();
    let operands = ByteProduct {
        left: a.clone().into_primitive(),
        right: b.values.clone().into_primitive(),
        left_zero: left_zero.into_primitive(),
        right_zero: right_zero.into_primitive(),
        bias: bias.into_primitive(),
        left_scale: a_scale.into_primitive(),
        right_scale: b_scale.into_primitive(),
        scale: scale.into_primitive(),
        zero: zero.into_primitive(),
    };
    call!(matmul_bytes(operands; integers))
}

/// Computes the accumulators by primitives.
fn sums<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A, Int>,
    b: Tensor<B, Int>,
    (a_zero, b_zero): Zeros<A, B>,
    bias: Option<Tensor<O, Int>>,
) -> Tensor<O, Int> {
    let device = a.device();
    let (a, b) = (difference(a, a_zero), difference(b, b_zero));
    let sums = match exact(&device, a.dims()[A - 1]) {
        Some(float) => {
            let product = matmul::<A, B, O>(a.cast(float), b.cast(float));
            float_to_int(product, DType::I32)
        }
        None => matmul_int(a, b),
    };
    match bias {
        Some(bias) => sums.add(bias),
        None => sums,
    }
}

/// Multiplies the accumulators by the scales of both operands, and adds a bias.
fn scaled<const D: usize>(
    sums: Tensor<D, Int>,
    [left, right]: [Tensor<D>; 2],
    bias: Option<Tensor<D>>,
) -> Tensor<D> {
    let dtype: FloatDType = left.dtype().into();
    let single: FloatDType = DType::F32.into();
    let factor = left.cast(single).mul(right.cast(single));
    let y = sums.cast(single).mul(factor);
    match bias {
        Some(bias) => y.add(bias.cast(single)).cast(dtype),
        None => y.cast(dtype),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::testing::{float, int, same};

    #[test]
    fn zero_points_are_of_rows_and_columns() {
        let a = int::<2>([[11u8, 7, 3], [10, 6, 2], [9, 5, 1], [8, 4, 0]]);
        let b = int::<2>([[1u8, 4], [2, 5], [3, 6]]);
        let expected = [[-38i32, -83], [-44, -98], [-50, -113], [-56, -128]];
        let twelve = int([[12u8]]);
        let y: Tensor<2, Int> = matmul_integer(a, b, (Some(twelve), None));
        same(y, expected);
        let a = int::<2>([[-128i8], [127]]);
        let zero = int([[127i8], [-128]]);
        let b = int::<2>([[0u8, 255]]);
        let columns = int([[255u8, 0]]);
        let y: Tensor<2, Int> = matmul_integer(a, b, (Some(zero), Some(columns)));
        same(y, [[65025i32, -65025], [-65025, 65025]]);
    }

    #[test]
    fn rows_inside_a_larger_tensor() {
        let a = int::<2>([[1u8, 2], [3, 4], [5, 6], [7, 8]]);
        let one = int::<2>([[1u8, 0], [0, 1]]);
        let y: Tensor<2, Int> = matmul_integer(a.narrow(0, 1, 2), one, (None, None));
        same(y, [[3i32, 4], [5, 6]]);
    }

    #[test]
    fn long_sums_are_exact() {
        let ones = |shape| int::<2>(TensorData::new(vec![255u8; 1001], shape));
        let y: Tensor<2, Int> = matmul_integer(ones([1, 1001]), ones([1001, 1]), (None, None));
        same(y, [[65_090_025i32]]);
    }

    #[test]
    fn sums_become_floats_column_by_column() {
        let a = float::<2>([[0f32, 255.0], [127.0, -0.0]]);
        let b = int::<2>([[2u8, 1], [3, 1]]);
        let (scale, zero) = (float([[1f32, 0.5]]), int([[1u8, 0]]));
        let bias = Some(float([[0f32, 1.0]]));
        let y: Tensor<2> = matmul_dynamic(a, b, scale, Some(zero), bias);
        same(y, [[510f32, 128.5], [127.0, 64.5]]);
    }
}
