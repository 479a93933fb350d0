//! MatMulInteger and ConvInteger, and products whose sums become floats.
//!
//! Differences of 8-bit integers have 9 bits, so that floats hold their products and sums exactly up to a length, and there
//! devices multiply floats faster than integers.

use burn::tensor::{DType, Device, FloatDType, Int, IntDType, Tensor};

use super::quantize_dynamic;
use crate::{
    convolution::{
        conv::{conv1d, conv2d, conv3d},
        window::Window,
    },
    dtype::lowered,
    elementwise::cast::float_to_int,
    product::matmul::{matmul, matmul_int},
};

/// MatMulInteger: the product as int32, each operand less its zero point, which comes shaped so that it broadcasts to it.
pub fn matmul_integer<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A, Int>,
    b: Tensor<B, Int>,
    a_zero: Option<Tensor<A, Int>>,
    b_zero: Option<Tensor<B, Int>>,
) -> Tensor<O, Int> {
    let device = a.device();
    let (a, b) = (difference(a, a_zero), difference(b, b_zero));
    match exact(&device, a.dims()[A - 1]) {
        Some(float) => {
            let product = matmul::<A, B, O>(a.cast(float), b.cast(float));
            float_to_int(product, DType::I32)
        }
        None => matmul_int(a, b),
    }
}

/// The floats that sums of products stand for, by the scales of both operands, and a bias added.
pub fn scaled<const D: usize>(
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

/// DynamicQuantizeMatMul: the product with `a` brought to 8 bits that span its values; scale, zero point and bias come shaped so
/// that they broadcast.
pub fn matmul_dynamic<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A>,
    b: Tensor<B, Int>,
    scale: Tensor<O>,
    zero: Option<Tensor<B, Int>>,
    bias: Option<Tensor<O>>,
) -> Tensor<O> {
    let (a, a_scale, a_zero) = quantize_dynamic(a);
    let sums = matmul_integer::<A, B, O>(a, b, Some(a_zero.reshape([1; A])), zero);
    scaled(sums, [a_scale.reshape([1; O]), scale], bias)
}

macro_rules! conv_integer {
    ($($name:ident $conv:ident $rank:literal $axes:literal;)*) => {$(
        /// ConvInteger: the convolution as int32, the input less its zero point, each output's weight less its own or a common one.
        pub fn $name(
            x: Tensor<$rank, Int>,
            weight: Tensor<$rank, Int>,
            x_zero: Option<Tensor<1, Int>>,
            weight_zero: Option<Tensor<1, Int>>,
            window: Window<$axes>,
            groups: usize,
        ) -> Tensor<$rank, Int> {
            let device = x.device();
            let first = |zero: Tensor<1, Int>| {
                let mut shape = [1; $rank];
                shape[0] = zero.dims()[0];
                zero.reshape(shape)
            };
            let x = difference(x, x_zero.map(first));
            let weight = difference(weight, weight_zero.map(first));
            let length = weight.dims()[1..].iter().product();
            let float = exact(&device, length).unwrap_or(FloatDType::F32);
            let y = $conv(x.cast(float), weight.cast(float), None, window, groups);
            float_to_int(y, DType::I32)
        }
    )*};
}

conv_integer! {
    conv_integer1d conv1d 3 1;
    conv_integer2d conv2d 4 2;
    conv_integer3d conv3d 5 3;
}

fn difference<const D: usize>(x: Tensor<D, Int>, zero: Option<Tensor<D, Int>>) -> Tensor<D, Int> {
    let wide: IntDType = lowered(&x.device(), DType::I32).into();
    let x = x.cast(wide);
    match zero {
        Some(zero) => x.sub(zero.cast(wide)),
        None => x,
    }
}

/// The float that sums `length` products of 9-bit integers exactly, if the device has one.
fn exact(device: &Device, length: usize) -> Option<FloatDType> {
    const LARGEST: usize = 255 * 255;
    let exact_in_single = length.saturating_mul(LARGEST) <= 1 << f32::MANTISSA_DIGITS;
    match lowered(device, DType::F64) {
        _ if exact_in_single => Some(FloatDType::F32),
        DType::F64 => Some(FloatDType::F64),
        _ => None,
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
        let y: Tensor<2, Int> = matmul_integer(a, b, Some(twelve), None);
        same(y, expected);
        let a = int::<2>([[-128i8], [127]]);
        let zero = int([[127i8], [-128]]);
        let b = int::<2>([[0u8, 255]]);
        let columns = int([[255u8, 0]]);
        let y: Tensor<2, Int> = matmul_integer(a, b, Some(zero), Some(columns));
        same(y, [[65025i32, -65025], [-65025, 65025]]);
    }

    #[test]
    fn long_sums_are_exact() {
        let ones = |shape| int::<2>(TensorData::new(vec![255u8; 1001], shape));
        let y: Tensor<2, Int> = matmul_integer(ones([1, 1001]), ones([1001, 1]), None, None);
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

    #[test]
    fn padding_is_the_zero_point() {
        let x = int::<3>([[[2u8, 3, 4]]]);
        let weight = int::<3>([[[1i8, 1]], [[2, 1]]]);
        let window = Window::new([2]).pads([(1, 0)]);
        let zeros = (Some(int([1u8])), Some(int([0i8, 1])));
        let y = conv_integer1d(x, weight, zeros.0, zeros.1, window, 1);
        same(y, [[[1i32, 3, 5], [0, 1, 2]]]);
    }
}
