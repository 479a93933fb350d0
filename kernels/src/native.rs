//! Burn's own methods that generated code calls, compared with ONNX.

use burn::tensor::{
    DType, Int, Tensor,
    activation::{celu, elu, gelu, hard_sigmoid, hard_swish, leaky_relu, relu, softsign},
};
use half::{bf16, f16};

use crate::testing::{bool, float, has_all, int, near, on_cpu, same};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn arithmetic_broadcasts_in_every_dtype_and_narrow_integers_wrap() {
    if !has_all(&[DType::U8, DType::I8, DType::U16]) {
        return;
    }
    let column = [[1u8], [2]];
    let sum = int::<2>(column).add(int([[255u8, 3]]));
    same(sum, [[0u8, 4], [1, 5]]);
    same(int::<1>([100i8]).mul(int([3i8])), [44i8]);
    same(int::<1>([0u16]).sub(int([1u16])), [65535u16]);
    let half = float::<2>([[1f32], [2.0]]).cast(DType::F16);
    let sum = half.add(float([[0.5f32, 0.25]]).cast(DType::F16));
    let expected = [[1.5, 1.25], [2.5, 2.25]].map(|row| row.map(f16::from_f32));
    same(sum, expected);
    same(float::<1>([bf16::ONE]).div(float([bf16::from_f32(4.0)])), [bf16::from_f32(0.25)]);
}

#[test]
fn abs_and_neg_wrap_at_the_lowest_integer() {
    if !has_all(&[DType::I8, DType::U64]) {
        return;
    }
    same(int::<1>([-128i8, 5]).abs(), [-128i8, 5]);
    same(int::<1>([-128i8, 5]).neg(), [-128i8, -5]);
    same(int::<1>([i64::MIN]).abs(), [i64::MIN]);
    same(int::<1>([u64::MAX]).abs(), [u64::MAX]);
    same(float::<1>([-0.0f32, NAN]).abs(), [0f32, NAN]);
}

#[test]
fn sign_of_integers() {
    if !has_all(&[DType::I16, DType::U64]) {
        return;
    }
    same(int::<1>([-7i16, 0, 9]).sign(), [-1i16, 0, 1]);
    same(int::<1>([u64::MAX, 0]).sign(), [1u64, 0]);
}

#[test]
fn rounding_is_half_to_even() {
    let x = float::<1>([0.5, 1.5, -0.5, -2.5, 0.49999997, 8388609.0, NAN, INF]);
    let expected = [0.0, 2.0, 0.0, -2.0, 0.0, 8388609.0, NAN, INF];
    same(x.clone().round(), expected);
    let x = float::<1>([-1.5f32, 1.5, NAN]);
    same(x.clone().floor(), [-2f32, 1.0, NAN]);
    same(x.ceil(), [-1f32, 2.0, NAN]);
}

#[test]
fn reciprocals_are_exact_division() {
    let x = float::<1>([3f32, 0.0, -0.0, INF, 7.0, 49.0, 1e-40, NAN]);
    let expected = [3f32, 0.0, -0.0, INF, 7.0, 49.0, 1e-40, NAN].map(|x| 1.0 / x);
    same(x.recip(), expected);
}

#[test]
fn clamping_in_two_steps_keeps_nan_and_the_upper_bound() {
    let x = float::<1>([-1.0f32, 2.0, 5.0, NAN]);
    same(x.clamp_min(3.0).clamp_max(1.0), [1f32, 1.0, 1.0, NAN]);
    same(int::<1>([1u64, u64::MAX]).clamp_max(9), [1u64, 9]);
    same(int::<1>([-5i8, 100]).clamp_min(-2), [-2i8, 100]);
}

#[test]
fn nan_compares_unequal_to_everything() {
    let (a, b) = (float::<1>([NAN, 1.0, 2.0]), float::<1>([NAN, NAN, 2.0]));
    same(a.clone().equal(b.clone()), [false, false, true]);
    same(a.clone().not_equal(b.clone()), [true, true, false]);
    same(a.clone().lower_equal(b.clone()), [false, false, true]);
    same(a.greater_equal(b), [false, false, true]);
    same(float::<1>([NAN, INF]).is_nan(), [true, false]);
}

#[test]
fn comparisons_are_exact_in_64_bits() {
    let (a, b) = (int::<1>([i64::MAX]), int::<1>([i64::MAX - 1]));
    same(a.clone().greater(b.clone()), [true]);
    same(a.equal(b), [false]);
    same(int::<1>([u64::MAX]).greater(int([1u64])), [true]);
}

#[test]
fn logic_broadcasts() {
    let (a, b) = (bool::<2>([[true, false]]), bool::<2>([[true], [false]]));
    same(a.clone().bool_and(b.clone()), [[true, false], [false, false]]);
    same(a.clone().bool_or(b.clone()), [[true, true], [true, false]]);
    same(a.clone().bool_xor(b.clone()), [[false, true], [true, false]]);
    same(a.clone().equal(b.clone()), [[true, false], [false, true]]);
    same(a.clone().not_equal(b), [[false, true], [true, false]]);
    same(a.bool_not(), [[false, true]]);
}

#[test]
fn bits_combine_in_every_dtype() {
    if !has_all(&[DType::U8, DType::U64]) {
        return;
    }
    let (a, b) = (int::<2>([[0b1100u8]]), int::<2>([[0b1010u8], [0xff]]));
    same(a.clone().bitwise_and(b.clone()), [[0b1000u8], [0b1100]]);
    same(a.clone().bitwise_or(b.clone()), [[0b1110u8], [0xff]]);
    same(a.clone().bitwise_xor(b), [[0b0110u8], [0b1111_0011]]);
    same(a.bitwise_not(), [[0b1111_0011u8]]);
    same(int::<1>([-1i64]).bitwise_not(), [0i64]);
    same(int::<1>([0u64]).bitwise_not(), [u64::MAX]);
}

#[test]
fn activations_keep_nan_and_saturate() {
    let x = || float::<1>([NAN, -2.0, 0.0, INF, -INF, 1.0]);
    same(relu(x()), [NAN, 0.0, 0.0, INF, 0.0, 1.0]);
    same(leaky_relu(x(), 0.5), [NAN, -1.0, 0.0, INF, -INF, 1.0]);
    same(softsign(x()), [NAN, -2.0 / 3.0, 0.0, NAN, NAN, 0.5]);
    let expected = [NAN, -1.7293295, 0.0, INF, -2.0, 1.0];
    near(elu(x(), 2.0), expected, 1e-6);
    let expected = [NAN, -1.2642411, 0.0, INF, -2.0, 1.0];
    near(celu(x(), 2.0), expected, 1e-6);
    let expected = [NAN, -0.04550028, 0.0, INF, NAN, 0.8413447];
    near(gelu(x()), expected, 1e-6);
    let expected = [NAN, -1.0 / 3.0, 0.0, INF, NAN, 2.0 / 3.0];
    near(hard_swish(x()), expected, 1e-6);
    let expected = [NAN, 0.1, 0.5, 1.0, 0.0, 0.7];
    near(hard_sigmoid(x(), 0.2, 0.5), expected, 1e-6);
    near(x().erf(), [NAN, -0.9953223, 0.0, 1.0, -1.0, 0.8427008], 1e-6);
}

#[test]
fn elementary_functions_of_half_precision_round_once() {
    if !on_cpu("GPUs compute in half precision") {
        return;
    }
    let x = float::<1>([f16::from_f32(1.5)]);
    let once = |f: fn(f32) -> f32| [f16::from_f32(f(1.5))];
    same(x.clone().exp(), once(f32::exp));
    same(x.clone().sqrt(), once(f32::sqrt));
    same(x.clone().tan(), once(f32::tan));
    same(x.atan(), once(f32::atan));
}

#[test]
fn permutation_and_flips_take_any_kind() {
    let x: Tensor<3, _> = bool([[[true, false, false]], [[false, false, true]]]);
    let expected = [[[true, false]], [[false, false]], [[false, true]]];
    same(x.permute([2, 1, 0]), expected);
}

#[test]
fn einsum_of_integers_knows_diagonals_ellipses_and_implicit_outputs() {
    let x = || int::<3>([[[1i64, 2], [3, 4]], [[5, 6], [7, 8]]]);
    let y = Tensor::<2, Int>::einsum("...ii->...i", [x().into()]);
    same(y, [[1i64, 4], [5, 8]]);
    let y = Tensor::<3, Int>::einsum("bij, bjk -> bik", [x().into(), x().into()]);
    same(y, [[[7i64, 10], [15, 22]], [[67, 78], [91, 106]]]);
    let m = || int::<2>([[1i64, 2], [3, 4]]);
    let y = Tensor::<2, Int>::einsum("ba", [m().into()]);
    same(y, [[1i64, 3], [2, 4]]);
    let y = Tensor::<1, Int>::einsum("i,i", [int::<1>([1i64, 2]).into(), int::<1>([3i64, 4]).into()]);
    same(y, [11i64]);
    let y = Tensor::<1, Int>::einsum("ij->i", [m().into()]);
    same(y, [3i64, 7]);
    let y = Tensor::<1, Int>::einsum("->", [int::<1>([5i64]).into()]);
    same(y, [5i64]);
}
