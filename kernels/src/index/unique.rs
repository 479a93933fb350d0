//! Unique.

use burn::tensor::{DType, Int, Tensor, TensorData};

use crate::{
    dtype::lowered, index::gather::gather_nonnegative, kind::AnyKind, observe::read, shape::reshape,
};

/// Unique along an axis: the slices that differ, where each stood first, which of them stands at each place, and how often each does.
///
/// They are in ascending order, or with `sorted` false in that of their first places. NaN equals NaN and comes last.
/// Reads the elements back to the host, which alone can tell how many there are.
pub fn unique<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    sorted: bool,
) -> (Tensor<D, K>, Tensor<1, Int>, Tensor<1, Int>, Tensor<1, Int>) {
    let count = x.dims()[axis];
    let groups = groups(x.clone().movedim(axis, 0), count, sorted);
    let mut inverse = vec![0; count];
    for (at, group) in groups.iter().enumerate() {
        group.iter().for_each(|&place| inverse[place] = at as i64);
    }
    let device = x.device();
    let options = (&device, lowered(&device, DType::I64));
    let ints = |ints: Vec<i64>| Tensor::<1, Int>::from_data(TensorData::from(&ints[..]), options);
    let first = ints(groups.iter().map(|group| group[0] as i64).collect());
    let counts = ints(groups.iter().map(|group| group.len() as i64).collect());
    let values = gather_nonnegative(x, axis, first.clone());
    (values, first, ints(inverse), counts)
}

/// [`unique`] of the elements in row-major order.
pub fn unique_flat<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    sorted: bool,
) -> (Tensor<1, K>, Tensor<1, Int>, Tensor<1, Int>, Tensor<1, Int>) {
    let count = x.shape().num_elements();
    unique(reshape(x, [count]), 0, sorted)
}

/// The places of equal rows, ascending within each group.
fn groups<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    rows: usize,
    sorted: bool,
) -> Vec<Vec<usize>> {
    if rows == 0 {
        return Vec::new();
    }
    let keys = keys(read(K::into_number(x)));
    let length = keys.len() / rows;
    let row = |place: usize| &keys[place * length..(place + 1) * length];
    let mut places: Vec<usize> = (0..rows).collect();
    places.sort_by(|&a, &b| row(a).cmp(row(b)));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in places {
        match groups.last_mut() {
            Some(group) if row(group[0]) == row(place) => group.push(place),
            _ => groups.push(vec![place]),
        }
    }
    if !sorted {
        groups.sort_by_key(|group| group[0]);
    }
    groups
}

/// Integers in the order of the elements.
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
    fn elements_may_stay_in_the_order_of_their_first_places() {
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
