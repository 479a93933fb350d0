//! The operations of the table by Burn's primitives, for any backend.

mod attention;
mod finish;
mod integers;

use alloc::vec;
use burn::backend::{
    Backend, TensorMetadata, get_or_init_device_settings,
    tensor::{FloatTensor, IntTensor},
};
use burn::tensor::{
    DType, Scalar, Shape,
    ops::{ConvOptions, ConvTransposeOptions},
};

use super::{Given, switches};
use crate::{
    ensure, sizes,
    spec::indices::Axis,
    spec::{
        arithmetic::Arithmetic,
        epilogue::{Activation, Epilogue},
        function::Function,
        packed::Packed,
    },
};
pub use attention::attention;
#[cfg(feature = "flex")]
pub use attention::attention_in_steps;
pub use finish::finish;

pub fn exp<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    B::float_exp(x)
}

pub fn function<B: Backend>(x: FloatTensor<B>, function: Function) -> FloatTensor<B> {
    match function {
        Function::Log => B::float_log(x),
        Function::Log1p => B::float_log1p(x),
        Function::Sin => B::float_sin(x),
        Function::Cos => B::float_cos(x),
        Function::Tan => B::float_tan(x),
        Function::Asin => B::float_asin(x),
        Function::Acos => B::float_acos(x),
        Function::Atan => B::float_atan(x),
        Function::Sinh => B::float_sinh(x),
        Function::Cosh => B::float_cosh(x),
        Function::Asinh => B::float_asinh(x),
        Function::Acosh => B::float_acosh(x),
        Function::Atanh => B::float_atanh(x),
    }
}

pub fn power<B: Backend>(base: FloatTensor<B>, exponent: FloatTensor<B>) -> FloatTensor<B> {
    B::float_powf(base, exponent)
}

pub fn power_by<B: Backend>(x: FloatTensor<B>, exponent: f64) -> FloatTensor<B> {
    B::float_powf_scalar(x, exponent.into())
}

pub fn sum<B: Backend>(x: FloatTensor<B>, axis: usize, mean: bool) -> FloatTensor<B> {
    if mean { B::float_mean_dim(x, axis) } else { B::float_sum_dim(x, axis) }
}

pub fn int_to_single<B: Backend>(x: IntTensor<B>) -> FloatTensor<B> {
    B::int_into_float(x, DType::F32.into())
}

pub fn erf<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    B::float_erf(x)
}

pub fn wrapping<B: Backend>(a: IntTensor<B>, b: IntTensor<B>, arithmetic: Arithmetic) -> IntTensor<B> {
    if switches::is_plain() {
        return integers::wrapping::<B>(a, b, arithmetic);
    }
    match arithmetic {
        Arithmetic::Sum => B::int_add(a, b),
        Arithmetic::Difference => B::int_sub(a, b),
        Arithmetic::Product => B::int_mul(a, b),
    }
}

pub fn wrapping_number<B: Backend>(x: IntTensor<B>, number: i64, arithmetic: Arithmetic) -> IntTensor<B> {
    let scalar = match x.dtype() {
        DType::U64 => Scalar::UInt(number as u64),
        _ => Scalar::Int(number),
    };
    if switches::is_plain() {
        let numbers = B::int_full(x.shape(), scalar, &x.device(), x.dtype().into());
        return integers::wrapping::<B>(x, numbers, arithmetic);
    }
    match arithmetic {
        Arithmetic::Sum => B::int_add_scalar(x, scalar),
        Arithmetic::Difference => B::int_sub_scalar(x, scalar),
        Arithmetic::Product => B::int_mul_scalar(x, scalar),
    }
}

pub fn wrapping_fold<B: Backend>(x: IntTensor<B>, axis: usize, product: bool) -> IntTensor<B> {
    match (switches::is_plain(), product) {
        (true, _) => integers::fold::<B>(x, axis, product),
        (false, true) => B::int_prod_dim(x, axis),
        (false, false) => B::int_sum_dim(x, axis),
    }
}

pub fn extreme<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>, greatest: bool) -> FloatTensor<B> {
    let dtype = get_or_init_device_settings::<B>(&a.device()).bool_dtype;
    let compare = if greatest { B::float_lower } else { B::float_greater };
    let passes = compare(a.clone(), b.clone(), dtype);
    let takes_b = B::bool_or(passes, B::float_is_nan(b.clone(), dtype));
    B::float_mask_where(a, takes_b, b)
}

pub fn softmax<B: Backend>(x: FloatTensor<B>, axis: usize) -> FloatTensor<B> {
    let dtype = x.dtype();
    narrowed::<B>(B::softmax(widened::<B>(x), axis), dtype)
}

pub fn log_softmax<B: Backend>(x: FloatTensor<B>, axis: usize) -> FloatTensor<B> {
    let dtype = x.dtype();
    narrowed::<B>(B::log_softmax(widened::<B>(x), axis), dtype)
}

pub fn layer_norm<B: Backend>(
    rows: FloatTensor<B>,
    scale: FloatTensor<B>,
    bias: Given<B>,
    epsilon: f32,
) -> FloatTensor<B> {
    let dtype = rows.dtype();
    let [rows, scale] = [rows, scale].map(widened::<B>);
    let bias = bias.float().map(widened::<B>);
    narrowed::<B>(B::layer_norm(rows, scale, bias, f64::from(epsilon)), dtype)
}

/// Casts half precision to f32, because Burn accumulates in half precision.
pub fn widened<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    match x.dtype() {
        DType::F16 | DType::BF16 => B::float_cast(x, DType::F32.into()),
        _ => x,
    }
}

/// Casts the result of [`widened`] operands back to their dtype.
pub fn narrowed<B: Backend>(y: FloatTensor<B>, dtype: DType) -> FloatTensor<B> {
    if y.dtype() == dtype { y } else { B::float_cast(y, dtype.into()) }
}

pub fn group_norm<B: Backend>(
    x: FloatTensor<B>,
    scale: FloatTensor<B>,
    bias: FloatTensor<B>,
    groups: usize,
    epsilon: f32,
) -> FloatTensor<B> {
    let (dtype, shape) = (x.dtype(), x.shape());
    let [x, scale, bias] = [x, scale, bias].map(widened::<B>);
    let length = shape[1] / groups * shape[2];
    let ones = B::float_ones(Shape::from([length]), &x.device(), x.dtype().into());
    let rows = B::float_reshape(x, Shape::from([shape[0] * groups, length]));
    let y = B::layer_norm(rows, ones, None, f64::from(epsilon));
    let channels = || Shape::from([1, shape[1], 1]);
    let y = B::float_mul(B::float_reshape(y, shape.clone()), B::float_reshape(scale, channels()));
    let y = B::float_add(y, B::float_reshape(bias, channels()));
    narrowed::<B>(y, dtype)
}

pub fn scale_channels<B: Backend>(
    x: FloatTensor<B>,
    factor: FloatTensor<B>,
    offset: FloatTensor<B>,
    activation: Activation,
) -> FloatTensor<B> {
    let mut channels = vec![1; x.shape().num_dims()];
    channels[1] = x.shape()[1];
    let along = |values| B::float_reshape(values, Shape::from(channels.clone()));
    let y = B::float_add(B::float_mul(x, along(factor)), along(offset));
    finish::<B>(y, Given::Missing, activation)
}

pub fn rms_norm<B: Backend>(rows: FloatTensor<B>, scale: FloatTensor<B>, epsilon: f32) -> FloatTensor<B> {
    let dtype = rows.dtype();
    let [rows, scale] = [rows, scale].map(widened::<B>);
    let length = scale.shape().num_elements();
    let mean = B::float_mean_dim(B::float_mul(rows.clone(), rows.clone()), 1);
    let root = B::float_sqrt(B::float_add_scalar(mean, epsilon.into()));
    let scale = B::float_reshape(scale, Shape::from([1, length]));
    narrowed::<B>(B::float_mul(B::float_div(rows, root), scale), dtype)
}

pub fn matmul<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    let (left, right) = (a.shape(), b.shape());
    let rank = left.num_dims();
    // Rows that share a matrix are rows of one product.
    if rank >= 3 && left[rank - 2] == 1 && right[rank - 3] == 1 {
        let rows = B::float_swap_dims(a, rank - 3, rank - 2);
        return B::float_swap_dims(B::float_matmul(rows, b), rank - 3, rank - 2);
    }
    B::float_matmul(a, b)
}

pub fn linear<B: Backend>(
    x: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: Given<B>,
    sum: Given<B>,
    epilogue: Epilogue,
) -> FloatTensor<B> {
    let y = B::linear(x, weight, bias.float());
    finish::<B>(y, sum, epilogue.activation)
}

macro_rules! convolutions {
    ($($name:ident $axes:literal;)*) => {$(
        pub fn $name<B: Backend>(
            x: FloatTensor<B>,
            weight: FloatTensor<B>,
            bias: Given<B>,
            sum: Given<B>,
            options: ConvOptions<$axes>,
            epilogue: Epilogue,
        ) -> FloatTensor<B> {
            // Burn copies the input with padding that differs at the two ends.
            sizes::padded(x.shape().as_slice(), 2, &options.padding, x.dtype().size());
            let y = B::$name(x, weight, bias.float(), options);
            finish::<B>(y, sum, epilogue.activation)
        }
    )*};
}

convolutions! {
    conv1d 1;
    conv2d 2;
    conv3d 3;
}

macro_rules! transposed {
    ($($name:ident $axes:literal;)*) => {$(
        pub fn $name<B: Backend>(
            x: FloatTensor<B>,
            weight: FloatTensor<B>,
            bias: Given<B>,
            options: ConvTransposeOptions<$axes>,
            _: Option<Packed>,
        ) -> FloatTensor<B> {
            B::$name(x, weight, bias.float(), options)
        }
    )*};
}

transposed! {
    conv_transpose1d 1;
    conv_transpose2d 2;
    conv_transpose3d 3;
}

pub fn filters<B: Backend>(weight: FloatTensor<B>, _: usize, _: Epilogue) -> FloatTensor<B> {
    weight
}

pub fn factor<B: Backend>(weight: FloatTensor<B>, _: Epilogue) -> FloatTensor<B> {
    weight
}

pub fn byte_factor<B: Backend>(weight: IntTensor<B>, _: Packed) -> IntTensor<B> {
    weight
}

pub fn byte_filters<B: Backend>(weight: IntTensor<B>) -> IntTensor<B> {
    weight
}

pub fn within<B: Backend>(indices: IntTensor<B>, least: i64, axis: Axis) -> (IntTensor<B>, Given<B>) {
    ensure!(axis.size > 0, "an index is out of bounds for {axis}");
    let found = indices.clone();
    let size = axis.size as i64;
    let indices = if least < 0 && !indices.dtype().is_uint() {
        let dtype = get_or_init_device_settings::<B>(&indices.device()).bool_dtype;
        let negative = B::int_lower_elem(indices.clone(), 0.into(), dtype);
        let counted = B::int_add_scalar(indices.clone(), size.into());
        B::int_mask_where(indices, negative, counted)
    } else {
        indices
    };
    let inside = B::int_clamp(indices, 0.into(), (size - 1).into());
    let count = found.shape().num_elements();
    let found = B::int_reshape(found, [count].into());
    (inside, Given::Int(found))
}
