//! Indices within the size of an axis.

use alloc::{format, string::String, vec, vec::Vec};

use burn::tensor::{DType, Int, IntDType, Tensor};

use super::pending;
use crate::{
    backend::call,
    dtype::lowered,
    fault::{Fault, Name, current_node, fail},
    observe::waits,
    reader::Reader,
    shape::lift,
    spec::indices::{Axis, outside},
};

/// Pending check of indices on a device. Their bounds are read together with the results.
#[derive(Debug)]
pub struct Check {
    node: Option<Name>,
    axes: Vec<Axis>,
    kind: Kind,
    /// Indices of each axis, one row per axis: all of them, or only the least and the greatest.
    ends: Vec<Tensor<2, Int>>,
}

/// Kind of the integers that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Indices. Negative ones count from the end.
    FromEnd,
    Nonnegative,
    /// Lengths, as indices of an axis with one more element than the greatest length.
    Lengths,
}

impl Kind {
    fn least(self, axis: Axis) -> i64 {
        match self {
            Kind::FromEnd => axis.least(),
            Kind::Nonnegative | Kind::Lengths => 0,
        }
    }

    /// Returns the error of an index or a length.
    fn outside(self, found: i64, axis: Axis) -> String {
        match self {
            Kind::FromEnd | Kind::Nonnegative => outside(found, axis),
            Kind::Lengths => {
                let most = axis.size.saturating_sub(1);
                format!("expected a length from 0 to {most}, found {found}")
            }
        }
    }
}

/// Maximum number of indices that are read by the host; of more, the device computes the least and the greatest.
const HOST_CHECKED_INDICES: usize = 64;

/// Returns the indices along an axis with negative ones, which count from the end, replaced.
///
/// If the host can read the tensor without waiting, an index out of bounds fails immediately. On other
/// devices it is clamped to the axis, and [`attempt`](super::attempt) fails when it reads its results.
pub fn within<const D: usize>(indices: Tensor<D, Int>, axis: Axis) -> Tensor<D, Int> {
    checked(indices, axis, Kind::FromEnd)
}

/// [`within`] for indices that must not be negative.
pub fn nonnegative<const D: usize>(indices: Tensor<D, Int>, axis: Axis) -> Tensor<D, Int> {
    checked(indices, axis, Kind::Nonnegative)
}

/// Checks that each length is in `0..=most`, as [`within`] checks indices.
pub fn lengths<const D: usize>(lengths: Tensor<D, Int>, most: usize) -> Tensor<D, Int> {
    let axis = Axis { number: 0, size: most.saturating_add(1) };
    if waits(&lengths.device()) {
        return checked(lengths, axis, Kind::Lengths);
    }
    let data = lengths.to_data();
    let wrong =
        data.iter::<i64>().find(|length| usize::try_from(*length).map_or(true, |length| length > most));
    if let Some(length) = wrong {
        fail(Kind::Lengths.outside(length, axis));
    }
    lengths
}

fn checked<const D: usize>(indices: Tensor<D, Int>, axis: Axis, kind: Kind) -> Tensor<D, Int> {
    if indices.shape().num_elements() == 0 {
        return indices;
    }
    let least = kind.least(axis);
    let (indices, unchecked) = call!(within(indices; least, axis));
    if let Some(unchecked) = unchecked.tensor() {
        let unchecked = Tensor::<1, Int>::from_dispatch(unchecked);
        check(&[axis], kind, || lift(unchecked));
    }
    Tensor::from_dispatch(indices)
}

/// Returns the flat index of each index tuple, a row of `[batches, count, axes]`, among the slices of tensors
/// of these axes, one tensor per batch. Negative indices count from the end.
///
/// Returns `None` if the tuples have to be resolved axis by axis.
pub fn flatten_indices(tuples: &Tensor<3, Int>, axes: &[Axis]) -> Option<Tensor<1, Int>> {
    if tuples.shape().num_elements() == 0 {
        return None;
    }
    let operand = tuples.clone();
    let (flat, ends) = call!(flat_indices(operand; axes.to_vec()));
    let (flat, ends) = (flat.tensor()?, ends.tensor()?);
    check(axes, Kind::FromEnd, || Tensor::from_dispatch(ends));
    Some(Tensor::from_dispatch(flat))
}

/// Adds a pending check if an enclosing attempt reads it.
fn check(axes: &[Axis], kind: Kind, ends: impl FnOnce() -> Tensor<2, Int>) {
    pending::with(|checks| Check::add(checks, axes, kind, ends()));
}

impl Check {
    /// Adds indices to the checks. The checks of one node in a loop are merged.
    fn add(checks: &mut Vec<Check>, axes: &[Axis], kind: Kind, indices: Tensor<2, Int>) {
        let dtype = lowered(&indices.device(), DType::I64);
        let found = ends_of(indices.cast(IntDType::from(dtype)));
        let node = current_node();
        let same = |check: &&mut Check| check.node == node && check.axes == axes && check.kind == kind;
        let Some(check) = checks.iter_mut().find(same) else {
            checks.push(Check { node, axes: axes.to_vec(), kind, ends: vec![found] });
            return;
        };
        check.ends.push(found);
        let count: usize = check.ends.iter().map(elements).sum();
        if count > HOST_CHECKED_INDICES {
            check.ends = vec![ends_of(Tensor::cat(check.ends.clone(), 1))];
        }
    }

    /// Reads the bounds of all checks in one transfer.
    pub(super) async fn all(checks: Vec<Check>, reader: impl Reader) -> Result<(), Fault> {
        if checks.is_empty() {
            return Ok(());
        }
        let ends = checks.iter().flat_map(|check| &check.ends);
        let ends = ends.map(|ends| ends.clone().flatten::<1>(0, 1)).collect();
        let failed = |reason: String| Fault { node: None, reason };
        let ends = reader.result(Tensor::cat(ends, 0)).await.map_err(failed)?;
        let ends: Vec<i64> = ends.iter::<i64>().collect();
        let mut rest = ends.as_slice();
        for check in &checks {
            for ends in &check.ends {
                let [_, each] = ends.dims();
                let found;
                (found, rest) = rest.split_at(elements(ends).min(rest.len()));
                for (&axis, found) in check.axes.iter().zip(found.chunks(each.max(1))) {
                    let least = check.kind.least(axis);
                    let wrong = |end: &&i64| **end < least || **end >= axis.size as i64;
                    if let Some(&index) = found.iter().filter(wrong).max() {
                        return Err(Fault { node: check.node, reason: check.kind.outside(index, axis) });
                    }
                }
            }
        }
        Ok(())
    }
}

fn elements(ends: &Tensor<2, Int>) -> usize {
    ends.shape().num_elements()
}

/// Returns few indices unchanged, otherwise the least and the greatest of each axis.
fn ends_of(indices: Tensor<2, Int>) -> Tensor<2, Int> {
    if elements(&indices) <= HOST_CHECKED_INDICES {
        return indices;
    }
    Tensor::cat(vec![indices.clone().min_dim(1), indices.max_dim(1)], 1)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::attempt::attempt;
    use crate::index::gather::gather_nd;
    use crate::testing::{by_flex, int, on_each, same, with_launches, with_reads};

    const ROWS: Axis = Axis { number: 0, size: 3 };

    fn message<const D: usize>(run: impl FnOnce() -> Tensor<D, Int>) -> String {
        attempt(|| run().into_data()).unwrap_err().to_string()
    }

    #[test]
    fn negative_indices_count_from_the_end_in_every_type() {
        same(within(int::<1>([-1i64, 0, -3]), ROWS), [2i64, 0, 0]);
        same(within(int::<2>([[-1i32], [1]]).transpose(), ROWS), [[2i32, 1]]);
        same(within(int::<1>([-1i8, 2]), ROWS), [2i8, 2]);
        same(within(int::<1>([1u8, 2]), ROWS), [1u8, 2]);
    }

    #[test]
    fn an_index_out_of_bounds_fails() {
        assert_eq!(
            message(|| within(int::<1>([1i64, -4]), ROWS)),
            "cannot run the model: index -4 is out of bounds for axis 0 of size 3"
        );
        let columns = Axis { number: 1, size: 0 };
        let found = message(|| within(int::<1>([0i32]), columns));
        let index =
            if by_flex("other devices do not keep the index into nothing") { "index 0" } else { "an index" };
        let expected = format!("cannot run the model: {index} is out of bounds for axis 1 of size 0");
        assert_eq!(found, expected);
        assert_eq!(
            message(|| nonnegative(int::<1>([-1i64]), ROWS)),
            "cannot run the model: index -1 is out of bounds for axis 0 of size 3"
        );
    }

    #[test]
    fn one_of_many_indices_out_of_bounds_fails() {
        on_each(|| {
            for wrong in [0, 70, 4999] {
                let many = (0..5000).map(|at| if at == wrong { 7 } else { at % 3 });
                let many: Vec<i64> = many.collect();
                let all = || within(int::<1>(many.as_slice()), ROWS);
                let expected = "cannot run the model: index 7 is out of bounds for axis 0 of size 3";
                assert_eq!(message(all), expected);
                let each = || {
                    let parts = many[..80].chunks(2);
                    parts.fold(int::<1>([0i64]), |_, part| within(int::<1>(part), ROWS))
                };
                if wrong < 80 {
                    assert_eq!(message(each), expected);
                }
            }
        });
    }

    #[test]
    fn tuples_have_flat_indices() {
        on_each(|| {
            let axes = [ROWS, Axis { number: 1, size: 4 }];
            let tuples = || int::<3>([[[0i64, -1], [2, 1]], [[-3, 0], [1, 3]]]);
            if let Some(found) = flatten_indices(&tuples(), &axes) {
                // The second batch begins after the 12 slices of the first one.
                same(found, [3i64, 9, 12, 19]);
                let run = || flatten_indices(&tuples(), &axes).map(Tensor::into_data);
                with_reads(0, || with_launches(1, run));
            }
        });
    }

    #[test]
    fn a_tuple_out_of_bounds_fails_with_its_axis() {
        on_each(|| {
            let x = int::<2>([[0i64, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
            let pick = |tuples: Vec<i64>| {
                let count = tuples.len() / 2;
                let tuples = int::<2>(TensorData::new(tuples, [count, 2]));
                message(|| gather_nd::<2, 2, 1, Int>(x.clone(), tuples, 0))
            };
            let rows = "cannot run the model: index 3 is out of bounds for axis 0 of size 3";
            assert_eq!(pick(vec![0, 1, 3, 0]), rows);
            let columns = "cannot run the model: index -5 is out of bounds for axis 1 of size 4";
            assert_eq!(pick(vec![0, 1, 2, -5]), columns);
            let many = (0..10_000).flat_map(|at| [at % 3, if at == 9_000 { 4 } else { at % 4 }]);
            let columns = "cannot run the model: index 4 is out of bounds for axis 1 of size 4";
            assert_eq!(pick(many.collect()), columns);
            let each = || {
                let tuples = (0..80).map(|at| int::<2>([[at % 3, if at == 7 { 4 } else { 0 }]]));
                let found = tuples.map(|tuple| gather_nd::<2, 2, 1, Int>(x.clone(), tuple, 0));
                Tensor::cat(found.collect(), 0)
            };
            assert_eq!(message(each), columns);
        });
    }

    #[test]
    fn checking_indices_is_one_launch() {
        on_each(|| {
            let indices = int::<2>([[0i64, -1], [2, 1]]);
            let run = || within(indices.clone().transpose(), ROWS).into_data();
            let found = with_reads(0, || with_launches(2, run));
            found.assert_eq(&int::<2>([[0i64, 2], [2, 1]]).into_data(), false);
        });
    }
}
