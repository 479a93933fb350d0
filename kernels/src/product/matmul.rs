//! MatMul of any ranks, and Gemm.

use alloc::vec::Vec;
use burn::tensor::{
    DType, Float, FloatDType, Int, IntDType, Tensor,
    kind::{Basic, Numeric},
    module,
};

use crate::shape::WithShape;
use crate::{
    backend::call,
    dtype::lowered,
    elementwise::{cast::float_to_int, wrapping::add_int},
    fault::fail,
    product::{
        epilogue::{Epilogue, ensure_addable, finish},
        factors::ensure_factors,
    },
    shape::{empty, lift, reshape},
    spec::{broadcasts_to, operand, shaped},
};

/// MatMul of floats. Operands of rank 1 lose their axis, other axes broadcast. `O` is the rank of the result, at least 1.
pub fn matmul<const A: usize, const B: usize, const O: usize>(a: Tensor<A>, b: Tensor<B>) -> Tensor<O> {
    let (left, right) = (a.dims(), b.dims());
    ensure_factors(&left, &right);
    if A == 1 || B == 1 || is_empty(&a) || is_empty(&b) {
        return broadcast_product(a, b);
    }
    let (rows, inner, columns) = (left[A - 2], left[A - 1], right[B - 1]);
    let (left, right) = (&left[..A - 2], &right[..B - 2]);
    if right.iter().all(|size| *size == 1) {
        // One large product is faster than many with the same operand B.
        let shape: [usize; O] = result_shape(left, right, Some(rows), Some(columns));
        let rows = left.iter().product::<usize>() * rows;
        let (a, b) = (flat_matrix(a, [rows, inner]), flat_matrix(b, [inner, columns]));
        product(a, b).with_shape(shape)
    } else {
        product(lift::<A, O, _>(a), lift(b))
    }
}

/// MatMul of floats of the same rank.
#[inline(never)]
pub fn product<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    ensure_factors(&a.dims(), &b.dims());
    if is_empty(&a) || is_empty(&b) {
        // Flex reads and writes out of bounds of empty batches.
        broadcast_product(a, b)
    } else if D == 1 || is_quantized(&a) || is_quantized(&b) {
        #[expect(clippy::disallowed_methods, reason = "there are no kernels for quantized matrices")]
        a.matmul(b)
    } else {
        Tensor::from_dispatch(call!(matmul(a, b)))
    }
}

/// Returns `x * weight + bias` over the last axis of `x`, with a weight `[inputs, outputs]`.
pub fn linear<const D: usize>(x: Tensor<D>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<D> {
    linear_then(x, weight, bias, None, Epilogue::default())
}

/// Returns [`linear`] plus a residual addend of the result's shape, with an activation applied.
#[inline(never)]
pub fn linear_then<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    sum: Option<Tensor<D>>,
    epilogue: Epilogue,
) -> Tensor<D> {
    ensure_factors(&x.dims(), &weight.dims());
    let mut dims = x.dims();
    dims[D - 1] = weight.dims()[1];
    if let Some(bias) = &bias {
        shaped(operand("bias", &bias.dims()), &dims[D - 1..], operand("weight", &weight.dims()));
    }
    ensure_addable(&dims, sum.as_ref());
    if is_empty(&x) {
        let y = broadcast_product::<D, 2, D, _>(x, weight);
        let y = match bias {
            Some(bias) => y.add(lift(bias)),
            None => y,
        };
        return finish(y, sum, epilogue.activation);
    }
    if is_quantized(&weight) {
        return finish(module::linear(x, weight, bias), sum, epilogue.activation);
    }
    if D == 1 {
        let (x, sum) = (lift::<D, 2, _>(x), sum.map(lift::<D, 2, _>));
        return linear_then(x, weight, bias, sum, epilogue).with_shape(dims);
    }
    Tensor::from_dispatch(call!(linear(x, weight, bias, sum; epilogue)))
}

fn is_empty<const D: usize>(x: &Tensor<D>) -> bool {
    x.dims().contains(&0)
}

fn is_quantized<const D: usize>(x: &Tensor<D>) -> bool {
    matches!(x.dtype(), DType::QFloat(_))
}

/// MatMul of integers, which wraps on overflow.
pub fn matmul_int<const A: usize, const B: usize, const O: usize>(
    a: Tensor<A, Int>,
    b: Tensor<B, Int>,
) -> Tensor<O, Int> {
    let dtype = a.dtype();
    // Flex only multiplies matrices of these dtypes.
    if matches!(dtype, DType::I32 | DType::I64) {
        return broadcast_product(a, b);
    }
    let wide: IntDType = lowered(&a.device(), DType::I64).into();
    let dtype: IntDType = dtype.into();
    broadcast_product::<A, B, O, _>(a.cast(wide), b.cast(wide)).cast(dtype)
}

/// Gemm of floats: `alpha * a * b + beta * c`, with `c` broadcast to the product.
#[inline(never)]
pub fn gemm(
    a: Tensor<2>,
    b: Tensor<2>,
    c: Option<Tensor<2>>,
    alpha: f64,
    beta: f64,
    trans_a: bool,
    trans_b: bool,
) -> Tensor<2> {
    let product = matmul(transposed(a, trans_a), transposed(b, trans_b));
    let product = scaled(product, alpha);
    ensure_added(c.as_ref(), &product);
    match c {
        Some(c) if beta != 0.0 => product.add(scaled(c, beta)),
        _ => product,
    }
}

/// Gemm of integers; factors other than 1 are applied in f64 and the result is truncated toward zero.
#[inline(never)]
pub fn gemm_int(
    a: Tensor<2, Int>,
    b: Tensor<2, Int>,
    c: Option<Tensor<2, Int>>,
    alpha: f64,
    beta: f64,
    trans_a: bool,
    trans_b: bool,
) -> Tensor<2, Int> {
    let dtype = a.dtype();
    let product: Tensor<2, Int> = matmul_int(transposed(a, trans_a), transposed(b, trans_b));
    ensure_added(c.as_ref(), &product);
    if (alpha, beta) == (1.0, 1.0) {
        return match c {
            Some(c) => add_int(product, c),
            None => product,
        };
    }
    let wide: FloatDType = lowered(&product.device(), DType::F64).into();
    let product = product.cast(wide).mul_scalar(alpha);
    let sum = match c {
        Some(c) => product.add(c.cast(wide).mul_scalar(beta)),
        None => product,
    };
    float_to_int(sum, dtype)
}

/// Fails unless the addend broadcasts to the product.
fn ensure_added<K: Basic>(c: Option<&Tensor<2, K>>, product: &Tensor<2, K>) {
    if let Some(c) = c {
        broadcasts_to(operand("addend", &c.dims()), operand("product", &product.dims()));
    }
}

fn transposed<K: Basic>(x: Tensor<2, K>, transpose: bool) -> Tensor<2, K> {
    if transpose { x.transpose() } else { x }
}

fn scaled(x: Tensor<2>, factor: f64) -> Tensor<2> {
    if factor == 1.0 { x } else { x.mul_scalar(factor) }
}

fn broadcast_product<const A: usize, const B: usize, const O: usize, K: Factors>(
    a: Tensor<A, K>,
    b: Tensor<B, K>,
) -> Tensor<O, K> {
    let (left, right) = (a.dims(), b.dims());
    ensure_factors(&left, &right);
    let rows = if A == 1 { 1 } else { left[A - 2] };
    let inner = left[A - 1];
    let columns = if B == 1 { 1 } else { right[B - 1] };
    let batches = |dims: &[usize]| dims[..dims.len().saturating_sub(2)].to_vec();
    let (left, right) = (batches(&left), batches(&right));
    let shape: [usize; O] = result_shape(&left, &right, (A > 1).then_some(rows), (B > 1).then_some(columns));
    if shape.contains(&0) {
        return empty(&a, shape);
    }
    if inner == 0 {
        return Tensor::zeros(shape, (&a.device(), a.dtype()));
    }
    let left_count: usize = left.iter().product();
    let right_count: usize = right.iter().product();
    // One large product is faster than many with the same operand B.
    if right_count == 1 {
        let a: Tensor<2, K> = flat_matrix(a, [left_count * rows, inner]);
        let b = flat_matrix(b, [inner, columns]);
        return K::times(a, b).with_shape(shape);
    }
    if A == 1 {
        let b = reshape(b, [right_count, inner, columns]);
        return K::times(reshape(a, [1, 1, inner]), b).with_shape(shape);
    }
    K::times(lift::<A, O, K>(a), lift(b))
}

/// Kinds of elements of matrix products.
trait Factors: Numeric {
    /// The product of tensors of one rank, none empty.
    fn times<const D: usize>(a: Tensor<D, Self>, b: Tensor<D, Self>) -> Tensor<D, Self>;
}

impl Factors for Float {
    fn times<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
        product(a, b)
    }
}

impl Factors for Int {
    fn times<const D: usize>(a: Tensor<D, Int>, b: Tensor<D, Int>) -> Tensor<D, Int> {
        #[expect(clippy::disallowed_methods, reason = "integers are exact")]
        a.matmul(b)
    }
}

/// Flattens `x` to one matrix, without a copy if it is one, even permuted.
fn flat_matrix<const D: usize, K: Basic>(x: Tensor<D, K>, shape: [usize; 2]) -> Tensor<2, K> {
    if D == 2 { lift(x) } else { x.with_shape(shape) }
}

/// Returns the broadcast batch axes, followed by the rows and columns, unless these are removed.
fn result_shape<const O: usize>(
    left: &[usize],
    right: &[usize],
    rows: Option<usize>,
    columns: Option<usize>,
) -> [usize; O] {
    let rank = left.len().max(right.len());
    let size = |batch: &[usize], at: usize| match (at + batch.len()).checked_sub(rank) {
        Some(at) => batch[at],
        None => 1,
    };
    let batch = (0..rank).map(|at| match (size(left, at), size(right, at)) {
        (1, size) | (size, 1) => size,
        (size, other) if size == other => size,
        _ => fail(format_args!("batches {left:?} and {right:?} do not broadcast")),
    });
    let mut sizes: Vec<usize> = batch.chain(rows).chain(columns).collect();
    if sizes.is_empty() {
        sizes.push(1);
    }
    let rank = sizes.len();
    let shape = sizes.try_into();
    shape.unwrap_or_else(|_| panic!("the product has rank {rank}, expected rank {O}"))
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use half::{bf16, f16};

    use super::*;
    use crate::testing::{float, has_all, int, near, noise, same};

    #[test]
    fn vectors_lose_their_axis() {
        let (v, w) = (|| float::<1>([1f32, 2.0]), || float::<1>([3f32, 4.0]));
        let m = || float::<2>([[1f32, 2.0], [3.0, 4.0]]);
        let dot: Tensor<1> = matmul(v(), w());
        same(dot, [11f32]);
        let row: Tensor<1> = matmul(v(), m());
        same(row, [7f32, 10.0]);
        let column: Tensor<1> = matmul(m(), v());
        same(column, [5f32, 11.0]);
        let x = || float::<3>([[[0f32, 1.0, 2.0], [3.0, 4.0, 5.0]], [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]]);
        let rows: Tensor<2> = matmul(v(), x());
        same(rows, [[6f32, 9.0, 12.0], [24.0, 27.0, 30.0]]);
        let columns: Tensor<2> = matmul(x(), float::<1>([1f32, 0.0, 1.0]));
        same(columns, [[2f32, 8.0], [14.0, 20.0]]);
    }

    #[test]
    fn batches_broadcast_on_both_sides() {
        let check = |y: Tensor<4>, a: [usize; 4], b: [usize; 4], x: &Tensor<4>, w: &Tensor<4>| {
            let pick = |t: &Tensor<4>, [p, q]: [usize; 2], dims: [usize; 4]| {
                let (p, q) = (p % dims[0], q % dims[1]);
                t.clone().slice([p..p + 1, q..q + 1])
            };
            for (p, q) in [(0, 0), (1, 0), (0, 2), (1, 2)] {
                let expected = pick(x, [p, q], a).matmul(pick(w, [p, q], b));
                near(pick(&y, [p, q], [2, 3, 0, 0]), expected.into_data(), 1e-6);
            }
        };
        for (a, b) in [
            ([2, 3, 4, 5], [1, 1, 5, 6]),
            ([1, 1, 4, 5], [2, 3, 5, 6]),
            ([2, 1, 4, 5], [1, 3, 5, 6]),
            ([2, 3, 4, 5], [2, 3, 5, 6]),
            ([2, 3, 4, 5], [1, 3, 5, 6]),
        ] {
            let (x, w) = (noise(a, 1), noise(b, 2));
            check(matmul(x.clone(), w.clone()), a, b, &x, &w);
        }
    }

    #[test]
    fn ranks_may_differ() {
        let (x, w) = (noise([2, 3, 4], 1), noise([4, 5], 2));
        let y: Tensor<3> = matmul(x.clone(), w.clone());
        assert_eq!(y.dims(), [2, 3, 5]);
        let transposed: Tensor<3> = matmul(w.transpose(), x.permute([0, 2, 1]));
        near(transposed.permute([0, 2, 1]), y.into_data(), 1e-6);
        let y: Tensor<4> = matmul(noise([3, 1, 2, 4], 3), noise([5, 4, 6], 4));
        assert_eq!(y.dims(), [3, 5, 2, 6]);
    }

    #[test]
    fn integers_of_every_dtype_wrap() {
        if !has_all(&[DType::U8, DType::U64]) {
            return;
        }
        let y: Tensor<2, Int> = matmul_int(int::<2>([[1 << 63]] as [[u64; 1]; 1]), int::<2>([[3u64]]));
        same(y, [[1u64 << 63]]);
        let y: Tensor<1, Int> = matmul_int(int::<2>([[1i32, 2], [3, 4]]), int::<1>([1i32, 1]));
        same(y, [3i32, 7]);
        let y: Tensor<2, Int> = matmul_int(int::<2>([[200u8]]), int::<2>([[2u8]]));
        same(y, [[144u8]]);
    }

    #[test]
    fn half_precision_keeps_its_dtype() {
        let one = float::<2>([[f16::ONE, f16::ONE]]);
        let y: Tensor<2> = matmul(one.clone(), one.transpose());
        same(y, [[f16::from_f32(2.0)]]);
        let y: Tensor<1> = matmul(float::<1>([bf16::ONE]), float::<1>([bf16::ONE]));
        same(y, [bf16::ONE]);
    }

    #[test]
    fn a_sum_of_nothing_is_zero() {
        let none = |shape: [usize; 2]| float::<2>(TensorData::new(Vec::<f32>::new(), shape));
        let y: Tensor<2> = matmul(none([2, 0]), none([0, 3]));
        same(y, [[0f32; 3]; 2]);
        let y: Tensor<2> = matmul(none([0, 1]), float::<2>([[1f32, 2.0]]));
        same(y, TensorData::new(Vec::<f32>::new(), [0, 2]));
    }

    #[test]
    fn an_empty_batch_gives_nothing() {
        let none = float::<3>(TensorData::new(Vec::<f32>::new(), [0, 4, 2]));
        let y = product(none, float::<3>([[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]]));
        same(y, TensorData::new(Vec::<f32>::new(), [0, 4, 3]));
    }

    #[test]
    fn gemm_turns_scales_and_broadcasts() {
        let m = || float::<2>([[1f32, 2.0], [3.0, 4.0]]);
        let y = gemm(m(), m(), None, 1.0, 1.0, false, false);
        same(y, [[7f32, 10.0], [15.0, 22.0]]);
        let c = Some(float::<2>([[10f32, 20.0]]));
        let y = gemm(m(), m(), c, 0.5, 2.0, true, false);
        same(y, [[25f32, 47.0], [27.0, 50.0]]);
        let c = Some(float::<2>([[1f32], [2.0]]));
        let y = gemm(m(), m(), c, 1.0, 1.0, false, true);
        same(y, [[6f32, 12.0], [13.0, 27.0]]);
        let n = || int::<2>([[1i32, 2], [3, 4]]);
        let y = gemm_int(n(), n(), None, 0.5, 1.0, false, false);
        same(y, [[3i32, 5], [7, 11]]);
        let y = gemm_int(n(), n(), Some(n()), 1.0, 1.0, false, true);
        same(y, [[6i32, 13], [14, 29]]);
    }
}
