//! Compress and NonZero: selection by conditions.

use alloc::vec::Vec;
use burn::tensor::{Bool, DType, Int, IntDType, Tensor};

use crate::{
    backend::call,
    dtype::lowered,
    index::gather::gather_nonnegative,
    kind::AnyKind,
    reader::{Blocking, Reader, Waiting, now},
    shape::{empty, reshape},
};

/// Compress along an axis: the slices of `x` whose `condition` is true. Missing conditions are false, and
/// those out of bounds are ignored.
///
/// The host reads the number of selected slices, which is the size of the result.
pub fn compress<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    condition: Tensor<1, Bool>,
) -> Tensor<D, K> {
    now(compress_by(x, axis, condition, Blocking))
}

/// Async version of [`compress`].
pub async fn compress_async<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    condition: Tensor<1, Bool>,
) -> Tensor<D, K> {
    compress_by(x, axis, condition, Waiting).await
}

async fn compress_by<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    condition: Tensor<1, Bool>,
    reader: impl Reader,
) -> Tensor<D, K> {
    let size = x.dims()[axis];
    let condition = match condition.dims() {
        [length] if length <= size => condition,
        _ if size == 0 => Tensor::empty([0], &condition.device()),
        _ => condition.narrow(0, 0, size),
    };
    let kept = indices_where(condition, reader).await;
    let count = kept.dims()[0];
    let kept: Tensor<1, Int> = reshape(kept, [count]);
    gather_nonnegative(x, axis, kept)
}

/// Compress without an axis, of the elements in row-major order.
pub fn compress_flat<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    condition: Tensor<1, Bool>,
) -> Tensor<1, K> {
    let count = x.shape().num_elements();
    compress(reshape(x, [count]), 0, condition)
}

/// Async version of [`compress_flat`].
pub async fn compress_flat_async<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    condition: Tensor<1, Bool>,
) -> Tensor<1, K> {
    let count = x.shape().num_elements();
    compress_async(reshape(x, [count]), 0, condition).await
}

/// NonZero: the indices of the elements that are not zero, one column each, in row-major order, as int64.
///
/// The host reads their number.
pub fn nonzero<const D: usize, K: AnyKind>(x: Tensor<D, K>) -> Tensor<2, Int> {
    now(nonzero_by(x, Blocking))
}

/// Async version of [`nonzero`].
pub async fn nonzero_async<const D: usize, K: AnyKind>(x: Tensor<D, K>) -> Tensor<2, Int> {
    nonzero_by(x, Waiting).await
}

async fn nonzero_by<const D: usize, K: AnyKind>(x: Tensor<D, K>, reader: impl Reader) -> Tensor<2, Int> {
    let dtype: IntDType = lowered(&x.device(), DType::I64).into();
    let found = indices_where(K::truth(x), reader).await;
    found.permute([1, 0]).cast(dtype)
}

/// Returns the indices at which a condition is true. The host reads their number, or the whole condition if
/// the device has no kernel.
async fn indices_where<const D: usize>(condition: Tensor<D, Bool>, reader: impl Reader) -> Tensor<2, Int> {
    if condition.shape().num_elements() == 0 {
        return Tensor::empty([0, D], &condition.device());
    }
    match true_indices(&condition, reader).await {
        Some(indices) => coordinates(indices, condition.dims(), None),
        None => reader.argwhere(condition).await,
    }
}

/// Returns the flat indices at which a condition is true, in row-major order; `None` to use Burn's own function.
pub async fn true_indices<const D: usize>(
    condition: &Tensor<D, Bool>,
    reader: impl Reader,
) -> Option<Tensor<1, Int>> {
    let size = condition.shape().num_elements();
    if i32::try_from(size).is_err() {
        return None;
    }
    let operand = condition.clone();
    let counts = call!(counts(operand)).tensor()?;
    indices_of_increase(Tensor::from_dispatch(counts), reader).await
}

/// Returns the indices at which counts, at least one, increase; `None` if the device has no kernel. The host
/// reads their number.
pub async fn indices_of_increase(counts: Tensor<1, Int>, reader: impl Reader) -> Option<Tensor<1, Int>> {
    let size = counts.dims()[0];
    let last = counts.clone().narrow(0, size - 1, 1);
    let last = reader.read(last).await;
    let found = last.iter::<i64>().next().and_then(|found| usize::try_from(found).ok())?;
    if found == 0 {
        return Some(empty::<1, 1, Int>(&counts, [0]));
    }
    call!(compact(counts; found)).tensor().map(Tensor::from_dispatch)
}

/// Returns the indices along each axis of flat indices in row-major order, one row each. Along the last axis,
/// `values` replaces them if given.
pub fn coordinates<const D: usize>(
    indices: Tensor<1, Int>,
    shape: [usize; D],
    values: Option<Tensor<1, Int>>,
) -> Tensor<2, Int> {
    let count = indices.dims()[0];
    if count == 0 {
        return empty::<1, 2, Int>(&indices, [0, D]);
    }
    let (own, others) = (indices.clone(), values.clone());
    if let Some(found) = call!(coordinates(own, others; shape.into())).tensor() {
        return Tensor::from_dispatch(found);
    }
    let last = values.map(|values| reshape(values.select(0, indices.clone()), [count, 1]));
    let indices: Tensor<2, Int> = reshape(indices, [count, 1]);
    let mut after = 1;
    let mut columns = Vec::with_capacity(D);
    for &size in shape.iter().rev() {
        columns.push(indices.clone().div_scalar(after).remainder_scalar(size as i64));
        after *= size as i64;
    }
    if let (Some(last), Some(column)) = (last, columns.first_mut()) {
        *column = last;
    }
    columns.reverse();
    Tensor::cat(columns, 1)
}

/// NonZero of a scalar: no rows, and as many columns as elements that are not zero.
pub fn nonzero_scalar<K: AnyKind>(x: Tensor<1, K>) -> Tensor<2, Int> {
    without_rows(nonzero(x))
}

/// Async version of [`nonzero_scalar`].
pub async fn nonzero_scalar_async<K: AnyKind>(x: Tensor<1, K>) -> Tensor<2, Int> {
    without_rows(nonzero_async(x).await)
}

fn without_rows(found: Tensor<2, Int>) -> Tensor<2, Int> {
    let shape = [0, found.dims()[1]];
    empty(&found, shape)
}
