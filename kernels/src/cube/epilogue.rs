//! The epilogue of a product, on the elements of a unit.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    launch::{Grid, launch},
    unwritten,
};
use crate::spec::epilogue::Activation;

/// An activation. Its parameters are scalars of the kernel, so that one shader serves all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Identity,
    Relu,
    Clip,
    LeakyRelu,
    ThresholdedRelu,
    HardSigmoid,
    HardSwish,
    Swish,
    Sigmoid,
    Tanh,
    Gelu,
    GeluTanh,
    Softplus,
    Softsign,
    Mish,
    Elu,
    Celu,
    Selu,
}

impl Function {
    /// Returns the function of an activation, and its parameters.
    pub fn of(activation: Activation) -> (Self, [f32; 2]) {
        let (function, parameters) = match activation {
            Activation::Identity => (Self::Identity, [0.0; 2]),
            Activation::Relu => (Self::Relu, [0.0; 2]),
            Activation::Clip(low, high) => (Self::Clip, [low, high]),
            Activation::LeakyRelu(alpha) => (Self::LeakyRelu, [alpha, 0.0]),
            Activation::ThresholdedRelu(alpha) => (Self::ThresholdedRelu, [alpha, 0.0]),
            Activation::HardSigmoid(alpha, beta) => (Self::HardSigmoid, [alpha, beta]),
            Activation::HardSwish => (Self::HardSwish, [0.0; 2]),
            Activation::Sigmoid => (Self::Sigmoid, [0.0; 2]),
            Activation::Tanh => (Self::Tanh, [0.0; 2]),
            Activation::Silu => (Self::Swish, [1.0, 0.0]),
            Activation::Swish(alpha) => (Self::Swish, [alpha, 0.0]),
            Activation::Gelu => (Self::Gelu, [0.0; 2]),
            Activation::GeluTanh => (Self::GeluTanh, [0.0; 2]),
            Activation::Softplus => (Self::Softplus, [0.0; 2]),
            Activation::Softsign => (Self::Softsign, [0.0; 2]),
            Activation::Mish => (Self::Mish, [0.0; 2]),
            Activation::Elu(alpha) => (Self::Elu, [alpha, 0.0]),
            Activation::Celu(alpha) => (Self::Celu, [alpha, 0.0]),
            Activation::Selu(alpha, gamma) => (Self::Selu, [alpha, gamma]),
        };
        (function, parameters.map(|parameter| parameter as f32))
    }

    /// Returns `true` if its code, repeated for each element of a tile, makes a shader slow to compile.
    pub fn is_long(self) -> bool {
        matches!(
            self,
            Self::Swish
                | Self::Sigmoid
                | Self::Tanh
                | Self::Gelu
                | Self::GeluTanh
                | Self::Softplus
                | Self::Mish
                | Self::Elu
                | Self::Celu
                | Self::Selu
        )
    }
}

/// `activation(x + bias + sum)`, with a bias along the last axis.
pub fn finish(
    x: CubeTensor,
    bias: Option<CubeTensor>,
    sum: Option<CubeTensor>,
    activation: Activation,
) -> CubeTensor {
    if bias.is_none() && sum.is_none() && activation == Activation::Identity {
        return x;
    }
    let x = into_contiguous(x);
    let y = unwritten(&x, x.shape(), x.dtype);
    let count = y.shape().num_elements();
    let (function, [alpha, beta]) = Function::of(activation);
    let columns = x.shape().last().copied().unwrap_or(1);
    let [bias, sum] = [bias, sum].map(|operand| operand.map(into_contiguous));
    let dtype = dtype_to_storage_type(x.dtype);
    launch!(Grid::units(count) => finish_kernel(
        x, bias, sum, &y;
        count, columns, alpha, beta, function, dtype,
    ));
    y
}

/// A unit finishes an element.
///
/// Units beyond `count`, the number of elements of `x`, `sum` and `y`, end. `bias` has `columns` elements.
#[cube(launch_unchecked, address_type = "dynamic")]
fn finish_kernel<T: Float>(
    x: &Tensor<T>,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    count: usize,
    columns: usize,
    alpha: f32,
    beta: f32,
    #[comptime] function: Function,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let mut total = f32::cast_from(x[ABSOLUTE_POS]);
    #[comptime]
    match bias {
        ComptimeOption::Some(bias) => total += f32::cast_from(bias[ABSOLUTE_POS % columns]),
        ComptimeOption::None => {}
    }
    #[comptime]
    match sum {
        ComptimeOption::Some(sum) => total += f32::cast_from(sum[ABSOLUTE_POS]),
        ComptimeOption::None => {}
    }
    y[ABSOLUTE_POS] = T::cast_from(activated(total, alpha, beta, function));
}

/// Returns the function of one element. NaN stays NaN: bounds are comparisons, as `min` and `max` of shaders
/// may drop it.
#[cube]
pub fn activated(x: f32, alpha: f32, beta: f32, #[comptime] function: Function) -> f32 {
    match function {
        Function::Identity => x,
        Function::Relu => select(x < 0.0f32, 0.0f32, x),
        Function::Clip => bounded(x, alpha, beta),
        Function::LeakyRelu => select(x < 0.0f32, alpha * x, x),
        Function::ThresholdedRelu => select(x <= alpha, 0.0f32, x),
        Function::HardSigmoid => bounded(alpha * x + beta, 0.0f32, 1.0f32),
        Function::HardSwish => x * bounded(x * (1.0f32 / 6.0f32) + 0.5f32, 0.0f32, 1.0f32),
        Function::Swish => x * sigmoid(alpha * x),
        Function::Sigmoid => sigmoid(x),
        Function::Tanh => tanh::<f32>(x),
        Function::Gelu => 0.5f32 * x * (1.0f32 + Erf::erf(x * comptime!(std::f32::consts::FRAC_1_SQRT_2))),
        Function::GeluTanh => {
            let inner = 0.797_884_6f32 * (x + 0.044_715f32 * x * x * x);
            0.5f32 * x * (1.0f32 + tanh::<f32>(inner))
        }
        Function::Softplus => softplus(x),
        Function::Softsign => x / (1.0f32 + f32::abs(x)),
        Function::Mish => x * tanh::<f32>(softplus(x)),
        Function::Elu => select(x < 0.0f32, alpha * (f32::exp(x) - 1.0f32), x),
        Function::Celu => select(x <= 0.0f32, alpha * (f32::exp(x / alpha) - 1.0f32), x),
        Function::Selu => beta * select(x <= 0.0f32, alpha * (f32::exp(x) - 1.0f32), x),
    }
}

#[cube]
fn bounded(x: f32, low: f32, high: f32) -> f32 {
    let x = select(x < low, low, x);
    select(x > high, high, x)
}

/// Returns the hyperbolic tangent. Devices may divide two powers of e for it, and those of large numbers are infinite.
#[cube]
pub fn tanh<F: Float>(x: F) -> F {
    let x = select(x < F::new(-20.0f32), F::new(-20.0f32), x);
    F::tanh(select(x > F::new(20.0f32), F::new(20.0f32), x))
}

#[cube]
fn sigmoid(x: f32) -> f32 {
    1.0f32 / (1.0f32 + f32::exp(-x))
}

/// `ln(1 + exp(x))` without overflow on one side or lost digits on the other.
#[cube]
fn softplus(x: f32) -> f32 {
    select(x < 0.0f32, 0.0f32, x) + f32::log1p(f32::exp(-f32::abs(x)))
}
