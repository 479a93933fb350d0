//! Activation functions, each a single pass over the elements.

use burn::tensor::{FloatDType, Int, Tensor};

use super::wrapping::mul_int;
use crate::shape::{WithShape, empty, lift};
use crate::{
    elementwise::elementary::gelu,
    product::epilogue::{Activation, finish},
    shape::expand::to_shape,
    spec::{broadcasts_to, divisible, equal_shapes, operand, shaped},
    widen::widened,
};

/// Relu: `max(x, 0)`.
pub fn relu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activated(x, Activation::Relu)
}

/// LeakyRelu: `x` if at least 0, otherwise `alpha * x`.
pub fn leaky_relu<const D: usize>(x: Tensor<D>, alpha: f64) -> Tensor<D> {
    activated(x, Activation::LeakyRelu(alpha))
}

/// HardSigmoid: `alpha * x + beta`, clamped to 0 and 1.
pub fn hard_sigmoid<const D: usize>(x: Tensor<D>, alpha: f64, beta: f64) -> Tensor<D> {
    activated(x, Activation::HardSigmoid(alpha, beta))
}

/// HardSwish, `x * hard_sigmoid(x, 1 / 6, 0.5)`.
pub fn hard_swish<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activated(x, Activation::HardSwish)
}

/// Softsign, `x / (1 + |x|)`.
pub fn softsign<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activated(x, Activation::Softsign)
}

/// Celu: `x` if greater than 0, otherwise `alpha * (exp(x / alpha) - 1)`.
pub fn celu<const D: usize>(x: Tensor<D>, alpha: f64) -> Tensor<D> {
    activated(x, Activation::Celu(alpha))
}

/// Elu: `x` if greater than 0, otherwise `alpha * (exp(x) - 1)`.
pub fn elu<const D: usize>(x: Tensor<D>, alpha: f64) -> Tensor<D> {
    activated(x, Activation::Elu(alpha))
}

/// Gelu with `approximate="tanh"`.
pub fn gelu_tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activated(x, Activation::GeluTanh)
}

/// Selu: `gamma * x` if greater than 0, otherwise `gamma * alpha * (exp(x) - 1)`.
pub fn selu<const D: usize>(x: Tensor<D>, alpha: f64, gamma: f64) -> Tensor<D> {
    activated(x, Activation::Selu(alpha, gamma))
}

/// PRelu: `x` if at least 0, otherwise `slope * x`, with a slope that broadcasts to `x`.
///
/// Burn's own `prelu` is a single pass, for a single slope or slopes of axis 1.
pub fn prelu<const D: usize>(x: Tensor<D>, slope: Tensor<D>) -> Tensor<D> {
    let [dims, slopes] = [x.dims(), slope.dims()];
    broadcasts_to(operand("slope", &slopes), operand("input", &dims));
    if dims.contains(&0) {
        return x;
    }
    let count: usize = slopes.iter().product();
    let per_channel = D > 1 && slopes[1] == dims[1] && slopes[1] == count;
    if count == 1 || per_channel {
        return burn::tensor::activation::prelu(x, slope.with_shape([count]));
    }
    let negative = x.clone().lower_scalar(0.0);
    let scaled = x.clone().mul(to_shape(slope, dims));
    x.mask_where(negative, scaled)
}

/// PRelu of integers.
pub fn prelu_int<const D: usize>(x: Tensor<D, Int>, slope: Tensor<D, Int>) -> Tensor<D, Int> {
    let dims = x.dims();
    broadcasts_to(operand("slope", &slope.dims()), operand("input", &dims));
    let slope = to_shape(slope, dims);
    let negative = x.clone().lower_scalar(0);
    x.clone().mask_where(negative, mul_int(x, slope))
}

/// Softplus, `ln(1 + exp(x))`, without overflow of large inputs or lost digits of small ones.
pub fn softplus<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activated(x, Activation::Softplus)
}

/// Mish, `x * tanh(softplus(x))`.
pub fn mish<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activated(x, Activation::Mish)
}

/// ThresholdedRelu: `x` if greater than `alpha`, otherwise 0, also for NaN.
pub fn thresholded_relu<const D: usize>(x: Tensor<D>, alpha: f64) -> Tensor<D> {
    activated(x, Activation::ThresholdedRelu(alpha))
}

/// Shrink: `x + bias` below `-lambda`, `x - bias` above `lambda`, otherwise 0, also for NaN.
pub fn shrink<const D: usize>(x: Tensor<D>, lambda: f64, bias: f64) -> Tensor<D> {
    let below = x.clone().lower_scalar(-lambda);
    let above = x.clone().greater_scalar(lambda);
    x.zeros_like().mask_where(above, x.clone().sub_scalar(bias)).mask_where(below, x.add_scalar(bias))
}

/// Swish, `x * sigmoid(alpha * x)`.
pub fn swish<const D: usize>(x: Tensor<D>, alpha: f64) -> Tensor<D> {
    activated(x, Activation::Swish(alpha))
}

/// Silu: [`swish`] with `alpha` 1.
pub fn silu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    activated(x, Activation::Silu)
}

/// BiasGelu: Gelu of `x + bias`.
pub fn bias_gelu<const D: usize>(x: Tensor<D>, bias: Tensor<1>) -> Tensor<D> {
    ensure_row(&x, &bias);
    in_single(x, |x| gelu(x.add(lift(widened(bias)))))
}

/// FastGelu: [`gelu_tanh`] of `x + bias`.
pub fn fast_gelu<const D: usize>(x: Tensor<D>, bias: Tensor<1>) -> Tensor<D> {
    ensure_row(&x, &bias);
    in_single(x, |x| gelu_tanh(x.add(lift(widened(bias)))))
}

/// BiasAdd: `x + bias + skip`.
pub fn bias_add<const D: usize>(x: Tensor<D>, bias: Tensor<1>, skip: Tensor<D>) -> Tensor<D> {
    ensure_row(&x, &bias);
    equal_shapes(operand("input", &x.dims()), operand("skipped input", &skip.dims()));
    in_single(x, |x| x.add(lift(widened(bias))).add(widened(skip)))
}

/// BiasSplitGelu: the first half of the last axis of `x + bias`, times Gelu of the second half.
pub fn bias_split_gelu<const D: usize>(x: Tensor<D>, bias: Tensor<1>) -> Tensor<D> {
    ensure_row(&x, &bias);
    let dims = x.dims();
    divisible(operand("input", &dims), D - 1, 2, "halves");
    let half = dims[D - 1] / 2;
    if dims.contains(&0) {
        let mut shape = dims;
        shape[D - 1] = half;
        return empty(&x, shape);
    }
    in_single(x, |x| {
        let sum = x.add(lift(widened(bias)));
        let left = sum.clone().narrow(D - 1, 0, half);
        left.mul(gelu(sum.narrow(D - 1, half, half)))
    })
}

/// Fails unless a bias has one value per feature of the last axis.
fn ensure_row<const D: usize>(x: &Tensor<D>, bias: &Tensor<1>) {
    let dims = x.dims();
    shaped(operand("bias", &bias.dims()), &dims[D - 1..], operand("input", &dims));
}

/// SwiGLU, the product of `swish(a)` and `b`.
pub fn swiglu<const D: usize>(a: Tensor<D>, b: Tensor<D>, alpha: f64) -> Tensor<D> {
    let dtype: FloatDType = a.dtype().into();
    equal_shapes(operand("input", &a.dims()), operand("gate", &b.dims()));
    swish(widened(a), alpha).mul(widened(b)).cast(dtype)
}

fn activated<const D: usize>(x: Tensor<D>, activation: Activation) -> Tensor<D> {
    in_single(x, |x| finish(x, None, activation))
}

/// Computes half precision in single precision, so that it is rounded only once.
pub fn in_single<const D: usize>(x: Tensor<D>, run: impl FnOnce(Tensor<D>) -> Tensor<D>) -> Tensor<D> {
    let dtype: FloatDType = x.dtype().into();
    run(widened(x)).cast(dtype)
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use std::f32::consts::LN_2;

    use super::*;
    use crate::testing::{float, int, near, noise, on_cpu, same};

    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;

    #[test]
    fn gelu_by_tanh() {
        let x = float::<1>([NAN, -2.0, 0.0, INF, -INF, 1.0]);
        let expected = [NAN, -0.04540235, 0.0, INF, NAN, 0.841192];
        near(gelu_tanh(x), expected, 1e-6);
    }

    #[test]
    fn selu_scales_both_sides() {
        let x = float::<1>([NAN, -2.0, 0.0, INF, -INF, 1.0]);
        let expected = [NAN, -1.5201665, 0.0, INF, -1.7580993, 1.050701];
        let (alpha, gamma) = (1.673_263_192_176_819, 1.050_701_022_148_132_3);
        near(selu(x, alpha, gamma), expected, 1e-6);
        near(selu(float::<1>([-1f32, 2.0]), 2.0, 3.0), [-3.7927234f32, 6.0], 1e-6);
    }

    #[test]
    fn elu_alone_keeps_the_sign_of_zero() {
        let bits = |y: Tensor<1>| -> Vec<u32> { y.into_data().iter::<f32>().map(f32::to_bits).collect() };
        let x = || float::<1>([-0.0f32, 0.0]);
        assert_eq!(bits(elu(x(), 2.0)), [(-0.0f32).to_bits(), 0]);
        assert_eq!(bits(selu(x(), 2.0, 3.0)), [0, 0]);
        assert_eq!(bits(celu(x(), 2.0)), [0, 0]);
        let kept = [elu(float::<1>([NAN]), 2.0), selu(float([NAN]), 2.0, 3.0), celu(float([NAN]), 2.0)];
        for y in kept {
            same(y, [NAN]);
        }
    }

    #[test]
    fn the_second_half_of_a_row_gates_the_first() {
        let (x, bias) = (noise::<3>([2, 3, 8], 1), noise::<1>([8], 2));
        let sum = x.clone() + bias.clone().unsqueeze();
        let expected = sum.clone().narrow(2, 0, 4) * gelu(sum.narrow(2, 4, 4));
        near(bias_split_gelu(x.clone(), bias.clone()), expected.into_data(), 1e-6);
        let skip = noise::<3>([2, 3, 8], 3);
        let expected = x.clone() + bias.clone().unsqueeze() + skip.clone();
        near(bias_add(x, bias, skip), expected.into_data(), 1e-6);
    }

    #[test]
    fn prelu_slopes_broadcast_along_any_axis() {
        let x = float::<3>([[[-1f32, 2.0], [-3.0, -4.0]]]);
        let per_channel = float::<3>([[[10f32], [100.0]]]);
        let expected = [[[-10f32, 2.0], [-300.0, -400.0]]];
        same(prelu(x.clone(), per_channel), expected);
        let last = float::<3>([[[10f32, 100.0]]]);
        let expected = [[[-10f32, 2.0], [-30.0, -400.0]]];
        same(prelu(x.clone(), last), expected);
        let none = || float::<3>(burn::tensor::TensorData::new(Vec::<f32>::new(), [2, 0, 4]));
        let no_slopes = float::<3>(burn::tensor::TensorData::new(Vec::<f32>::new(), [1, 0, 1]));
        same(prelu(none(), no_slopes), none().into_data());
        let one = float::<3>([[[2f32]]]);
        same(prelu(x, one), [[[-2f32, 2.0], [-6.0, -8.0]]]);
        same(prelu_int(int::<1>([-3i32, 3]), int([2i32])), [-6i32, 3]);
    }

    #[test]
    fn softplus_keeps_both_tails() {
        if !on_cpu("GPUs take the logarithm of 1 + x") {
            return;
        }
        let x = float::<1>([NAN, -100.0, 100.0, 1000.0, 0.0, INF, -INF]);
        let expected = [NAN, 3.8e-44, 100.0, 1000.0, LN_2, INF, 0.0];
        near(softplus(x), expected, 1e-6);
        let tail = softplus(float::<1>([-20f32])).mul_scalar(1e9);
        near(tail, [2.0611537f32], 1e-6);
        let x = float::<1>([20f64]);
        near(softplus(x), [20.000000002061153f64], 1e-16);
    }

    #[test]
    fn mish_of_large_values_is_the_value() {
        let x = float::<1>([NAN, 100.0, INF, 1.0, -1.0]);
        let expected = [NAN, 100.0, INF, 0.8650984, -0.3034015];
        near(mish(x), expected, 1e-6);
    }

    #[test]
    fn thresholds_turn_nan_into_zero() {
        let x = float::<1>([NAN, -2.0, 1.0, 1.5]);
        same(thresholded_relu(x.clone(), 1.0), [0f32, 0.0, 0.0, 1.5]);
        same(shrink(x.clone(), 1.0, 0.5), [0f32, -1.5, 0.0, 1.0]);
        same(shrink(x, 1.5, 0.0), [0f32, -2.0, 0.0, 0.0]);
    }

    #[test]
    fn half_precision_is_rounded_once() {
        if !on_cpu("GPUs compute in half precision") {
            return;
        }
        let x = || float::<1>([half::bf16::from_f32(-0.5859375)]);
        let once = |value: f32| [half::bf16::from_f32(value)];
        same(celu(x(), 1.0), once((-0.5859375f32).exp() - 1.0));
        same(elu(x(), 2.0), once(2.0 * ((-0.5859375f32).exp() - 1.0)));
        same(softplus(x()), once((-0.5859375f32).exp().ln_1p()));
    }

    #[test]
    fn gates_multiply_in_single_precision() {
        let x = || float::<1>([-5.0f32, 0.0, 1.0]);
        let y = float::<1>([2f32, 3.0, -1.0]);
        let expected = [-4.539787e-4f32, 0.0, -0.880797];
        near(swiglu(x(), y.clone(), 2.0), expected, 1e-6);
        let half = |x: Tensor<1>| x.cast(DType::F16);
        let once = swiglu(x(), y.clone(), 2.0).into_data();
        let once = once.convert_dtype(DType::F16);
        same(swiglu(half(x()), half(y), 2.0), once);
    }

    #[test]
    fn swish_scales_inside_the_sigmoid() {
        let x = float::<1>([NAN, -5.0, 0.0, 1.0]);
        let expected = [NAN, -2.2698934e-4, 0.0, 0.880797];
        near(swish(x, 2.0), expected, 1e-6);
    }
}
