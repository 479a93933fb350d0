//! Unique.

use alloc::{vec, vec::Vec};
use burn::backend::{DispatchTensor, TensorMetadata};
use burn::tensor::{DType, Int, IntDType, Tensor, TensorData, kind::Basic};

use crate::{
    backend::{Any, call},
    dtype::lowered,
    index::{
        gather::gather_nonnegative,
        nonzero::indices_of_increase,
        top_k::{self, Top},
    },
    kind::AnyKind,
    reader::{Blocking, Reader, Waiting, now},
    shape::reshape,
};

/// Results of [`unique`].
pub type Unique<const D: usize, K> = (Tensor<D, K>, Tensor<1, Int>, Tensor<1, Int>, Tensor<1, Int>);

/// Groups of equal slices, as integers of any dtype.
struct Groups {
    /// Index of the first slice of each group.
    first: Tensor<1, Int>,
    /// The group of each slice.
    inverse: Tensor<1, Int>,
    /// Number of slices of each group.
    counts: Tensor<1, Int>,
}

/// Unique along an axis: the distinct slices, the index of the first of each, the distinct slice of each
/// slice, and their counts.
///
/// They are in ascending order, or in the order of their first occurrence if `sorted` is false. NaN equals NaN and is last. The
/// host reads their number, which is the size of the results, or all elements if the device has no kernel.
pub fn unique<const D: usize, K: AnyKind>(x: Tensor<D, K>, axis: usize, sorted: bool) -> Unique<D, K> {
    now(unique_by(x, axis, sorted, Blocking))
}

/// Async version of [`unique`].
pub async fn unique_async<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    sorted: bool,
) -> Unique<D, K> {
    unique_by(x, axis, sorted, Waiting).await
}

/// [`unique`] of the elements in row-major order.
pub fn unique_flat<const D: usize, K: AnyKind>(x: Tensor<D, K>, sorted: bool) -> Unique<1, K> {
    let count = x.shape().num_elements();
    unique(reshape(x, [count]), 0, sorted)
}

/// Async version of [`unique_flat`].
pub async fn unique_flat_async<const D: usize, K: AnyKind>(x: Tensor<D, K>, sorted: bool) -> Unique<1, K> {
    let count = x.shape().num_elements();
    unique_async(reshape(x, [count]), 0, sorted).await
}

async fn unique_by<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    sorted: bool,
    reader: impl Reader,
) -> Unique<D, K> {
    let device = x.device();
    let count = x.dims()[axis];
    let rows = K::into_number(x.clone().movedim(axis, 0));
    let groups = match rows.shape().num_elements() {
        0 => None,
        elements => {
            let rows = reshape::<D, 2, K::Number>(rows.clone(), [count, elements / count]);
            on_device(rows.into_dispatch(), sorted, reader).await
        }
    };
    let groups = match groups {
        Some(groups) => groups,
        None => on_host(rows, count, sorted, reader).await,
    };
    let dtype: IntDType = lowered(&device, DType::I64).into();
    let [first, inverse, counts] = [groups.first, groups.inverse, groups.counts].map(|ints| ints.cast(dtype));
    let values = gather_nonnegative(x, axis, first.clone());
    (values, first, inverse, counts)
}

/// Returns the groups of `[rows, length]`, neither 0; `None` if the host has to find them.
async fn on_device(rows: DispatchTensor, sorted: bool, reader: impl Reader) -> Option<Groups> {
    let count = rows.shape()[0];
    i32::try_from(count).ok()?;
    let rows = if rows.dtype().is_float() {
        Any::of(Tensor::<2>::from_dispatch(rows).without_autodiff())
    } else {
        Any::of(Tensor::<2, Int>::from_dispatch(rows))
    };
    let (order, numbers) = call!(groups(rows));
    let [order, numbers] = [order, numbers].map(|found| found.tensor().map(Tensor::from_dispatch));
    let (order, numbers): (Tensor<1, Int>, Tensor<1, Int>) = (order?, numbers?);
    let begins = indices_of_increase(numbers.clone(), reader).await?;
    let found = begins.dims()[0];
    let first = order.clone().select(0, begins.clone());
    let inverse = permuted(numbers.sub_scalar(1), order)?;
    let end = Tensor::full([1], count as i64, (&begins.device(), begins.dtype()));
    let ends = match found {
        1 => end,
        _ => Tensor::cat(vec![begins.clone().narrow(0, 1, found - 1), end], 0),
    };
    let groups = Groups { first, inverse, counts: ends - begins };
    if sorted { Some(groups) } else { groups.by_first_index() }
}

/// Writes each value at its index in the permutation; `None` if the device has no kernel.
fn permuted(values: Tensor<1, Int>, permutation: Tensor<1, Int>) -> Option<Tensor<1, Int>> {
    let y = call!(permuted(values, permutation));
    y.tensor().map(Tensor::from_dispatch)
}

impl Groups {
    /// Sorts the groups by their first occurrence.
    fn by_first_index(self) -> Option<Self> {
        let found = self.first.dims()[0];
        let top = Top { k: found, axis: 0, largest: false };
        let order = top_k::on_device(&self.first, top)?;
        let options = (&order.device(), order.dtype());
        let numbers = Tensor::arange(0..found as i64, options);
        let numbers = permuted(numbers, order.clone())?;
        Some(Self {
            first: self.first.select(0, order.clone()),
            inverse: numbers.select(0, self.inverse),
            counts: self.counts.select(0, order),
        })
    }
}

/// Returns the groups of the slices along the first axis, found by the host.
async fn on_host<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    rows: usize,
    sorted: bool,
    reader: impl Reader,
) -> Groups {
    let device = x.device();
    let keys = match rows {
        0 => Vec::new(),
        _ => keys(reader.read(x).await),
    };
    let groups = equal_rows(&keys, rows, sorted);
    let mut inverse = vec![0; rows];
    for (at, group) in groups.iter().enumerate() {
        group.iter().for_each(|&index| inverse[index] = at as i64);
    }
    let options = (&device, lowered(&device, DType::I64));
    let ints = |ints: Vec<i64>| Tensor::<1, Int>::from_data(TensorData::from(&ints[..]), options);
    Groups {
        first: ints(groups.iter().map(|group| group[0] as i64).collect()),
        inverse: ints(inverse),
        counts: ints(groups.iter().map(|group| group.len() as i64).collect()),
    }
}

/// Returns the indices of equal rows, ascending within each group.
fn equal_rows(keys: &[i128], rows: usize, sorted: bool) -> Vec<Vec<usize>> {
    if rows == 0 {
        return Vec::new();
    }
    let length = keys.len() / rows;
    let row = |index: usize| &keys[index * length..(index + 1) * length];
    let mut indices: Vec<usize> = (0..rows).collect();
    indices.sort_by(|&a, &b| row(a).cmp(row(b)));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in indices {
        match groups.last_mut() {
            Some(group) if row(group[0]) == row(index) => group.push(index),
            _ => groups.push(vec![index]),
        }
    }
    if !sorted {
        groups.sort_by_key(|group| group[0]);
    }
    groups
}

/// Maps elements to integers of the same order.
fn keys(data: TensorData) -> Vec<i128> {
    match data.dtype() {
        DType::F64 | DType::F32 | DType::F16 | DType::BF16 => data.iter::<f64>().map(key).collect(),
        DType::U64 => data.iter::<u64>().map(i128::from).collect(),
        _ => data.iter::<i64>().map(i128::from).collect(),
    }
}

fn key(value: f64) -> i128 {
    if value.is_nan() {
        return i128::MAX;
    }
    let magnitude = i128::from(value.abs().to_bits());
    if value < 0.0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bool, float, int, same};

    #[test]
    fn elements_are_ascending() {
        let x = float::<1>([2f32, 1.0, 1.0, 3.0, 4.0, 3.0]);
        let (values, first, inverse, counts) = unique_flat(x, true);
        same(values, [1f32, 2.0, 3.0, 4.0]);
        same(first, [1i64, 0, 3, 4]);
        same(inverse, [1i64, 0, 0, 2, 3, 2]);
        same(counts, [2i64, 1, 2, 1]);
    }

    #[test]
    fn elements_may_keep_the_order_of_first_occurrence() {
        let (values, _, inverse, _) = unique_flat(int::<2>([[2u64, u64::MAX], [2, 0]]), false);
        same(values, [2u64, u64::MAX, 0]);
        same(inverse, [0i64, 1, 0, 2]);
    }

    #[test]
    fn columns_are_compared_as_a_whole() {
        let x = int::<2>([[1i32, 0, 1], [2, 9, 2]]);
        let (values, first, inverse, counts) = unique(x, 1, true);
        same(values, [[0i32, 1], [9, 2]]);
        same(first, [1i64, 0]);
        same(inverse, [1i64, 0, 1]);
        same(counts, [1i64, 2]);
    }

    #[test]
    fn slices_are_compared_in_the_order_of_their_axes() {
        let x = int::<3>([[[2i32, 1], [0, 3]], [[1, 2], [0, 0]]]);
        let (values, first, ..) = unique(x, 2, true);
        same(values, [[[1i32, 2], [3, 0]], [[2, 1], [0, 0]]]);
        same(first, [1i64, 0]);
    }

    #[test]
    fn zeros_and_nans_are_one_each() {
        let x = float::<1>([f32::NAN, 0.0, -0.0, -1.0, f32::NAN, f32::INFINITY]);
        let (values, ..) = unique_flat(x, true);
        same(values, [-1f32, 0.0, f32::INFINITY, f32::NAN]);
        let (values, ..) = unique_flat(bool::<1>([true, false, true]), true);
        same(values, [false, true]);
    }

    #[test]
    fn nothing_has_no_elements() {
        let x = int::<1>(TensorData::new(Vec::<i64>::new(), [0]));
        let (values, _, inverse, _) = unique_flat(x, true);
        assert_eq!((values.dims(), inverse.dims()), ([0], [0]));
    }
}
