//! Indices within the size of an axis.

use std::fmt;

use burn::tensor::{DType, Int, IntDType, Tensor};

use super::{CHECKS, CURRENT, Fault, Name};
use crate::{backend::call, dtype::lowered, reader::Reader};

/// An axis that indices are places along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub number: usize,
    pub size: usize,
}

/// Indices that another device has, of which the least and the greatest are read when its results are.
#[derive(Debug)]
pub struct Check {
    node: Option<Name>,
    axis: Axis,
    /// The least index that is allowed.
    least: i64,
    /// Among these are the least and the greatest that there are.
    ends: Vec<Tensor<1, Int>>,
}

/// More indices than these have their least and their greatest found on the device.
const FEW: usize = 64;

/// Indices along an axis with the negative ones, which count from the end, replaced.
///
/// Where tensors lie in the memory of this process, an index outside of the axis fails. On other
/// devices it becomes the nearest inside, and fails when [`attempt`](super::attempt) reads its results.
pub fn within<const D: usize>(indices: Tensor<D, Int>, axis: Axis) -> Tensor<D, Int> {
    checked(indices, axis, -(axis.size as i64))
}

/// [`within`] for indices of which none may be negative.
pub fn nonnegative<const D: usize>(indices: Tensor<D, Int>, axis: Axis) -> Tensor<D, Int> {
    checked(indices, axis, 0)
}

fn checked<const D: usize>(indices: Tensor<D, Int>, axis: Axis, least: i64) -> Tensor<D, Int> {
    if indices.shape().num_elements() == 0 {
        return indices;
    }
    let (indices, unchecked) = call!(within(indices; least, axis));
    if let Some(unchecked) = unchecked.tensor() {
        let unchecked = Tensor::<1, Int>::from_dispatch(unchecked);
        CHECKS.with_borrow_mut(|checks| {
            if let Some(checks) = checks {
                Check::add(checks, unchecked, axis, least);
            }
        });
    }
    Tensor::from_dispatch(indices)
}

pub fn outside(index: i64, axis: Axis) -> String {
    format!("index {index} is outside of {axis}")
}

impl Check {
    /// Takes indices among the checks; those of one node in a loop are one check.
    fn add(checks: &mut Vec<Check>, indices: Tensor<1, Int>, axis: Axis, least: i64) {
        let dtype = lowered(&indices.device(), DType::I64);
        let found = ends_of(indices.cast(IntDType::from(dtype)));
        let node = CURRENT.get();
        let same =
            |check: &&mut Check| (check.node, check.axis, check.least) == (node, axis, least);
        let Some(check) = checks.iter_mut().find(same) else {
            let ends = vec![found];
            checks.push(Check {
                node,
                axis,
                least,
                ends,
            });
            return;
        };
        check.ends.push(found);
        if check.count() > FEW {
            check.ends = vec![ends_of(Tensor::cat(check.ends.clone(), 0))];
        }
    }

    /// How many indices there are to read.
    fn count(&self) -> usize {
        self.ends.iter().map(|ends| ends.dims()[0]).sum()
    }

    /// Reads what the checks found, all in one.
    pub(super) async fn all(checks: Vec<Check>, reader: impl Reader) -> Result<(), Fault> {
        if checks.is_empty() {
            return Ok(());
        }
        let ends = checks.iter().flat_map(|check| check.ends.clone()).collect();
        let failed = |reason: String| Fault { node: None, reason };
        let ends = reader.result(Tensor::cat(ends, 0)).await.map_err(failed)?;
        let ends: Vec<i64> = ends.iter::<i64>().collect();
        let mut rest = ends.as_slice();
        for check in &checks {
            let (ends, others) = rest.split_at(check.count().min(rest.len()));
            rest = others;
            let wrong = |end: &&i64| **end < check.least || **end >= check.axis.size as i64;
            if let Some(&index) = ends.iter().filter(wrong).max() {
                return Err(Fault {
                    node: check.node,
                    reason: outside(index, check.axis),
                });
            }
        }
        Ok(())
    }
}

/// Few indices as they are, else the least and the greatest of them.
fn ends_of(indices: Tensor<1, Int>) -> Tensor<1, Int> {
    if indices.dims()[0] <= FEW {
        return indices;
    }
    Tensor::cat(vec![indices.clone().min(), indices.max()], 0)
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => write!(f, "{} rows", self.size),
            number => write!(f, "axis {number} of size {}", self.size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::attempt;
    use crate::testing::{by_flex, int, on_each, same, with_launches, with_reads};

    const ROWS: Axis = Axis { number: 0, size: 3 };

    fn message<const D: usize>(run: impl FnOnce() -> Tensor<D, Int>) -> String {
        attempt(|| run().into_data()).unwrap_err().to_string()
    }

    #[test]
    fn negative_indices_count_from_the_end_in_every_type() {
        same(within(int::<1>([-1i64, 0, -3]), ROWS), [2i64, 0, 0]);
        same(
            within(int::<2>([[-1i32], [1]]).transpose(), ROWS),
            [[2i32, 1]],
        );
        same(within(int::<1>([-1i8, 2]), ROWS), [2i8, 2]);
        same(within(int::<1>([1u8, 2]), ROWS), [1u8, 2]);
    }

    #[test]
    fn what_is_outside_fails() {
        assert_eq!(
            message(|| within(int::<1>([1i64, -4]), ROWS)),
            "cannot run the model: index -4 is outside of 3 rows"
        );
        let columns = Axis { number: 1, size: 0 };
        let found = message(|| within(int::<1>([0i32]), columns));
        let index = if by_flex("other devices do not keep the index into nothing") {
            "index 0"
        } else {
            "an index"
        };
        let expected = format!("cannot run the model: {index} is outside of axis 1 of size 0");
        assert_eq!(found, expected);
        assert_eq!(
            message(|| nonnegative(int::<1>([-1i64]), ROWS)),
            "cannot run the model: index -1 is outside of 3 rows"
        );
    }

    #[test]
    fn one_among_many_fails() {
        on_each(|| {
            for wrong in [0, 70, 4999] {
                let many = (0..5000).map(|at| if at == wrong { 7 } else { at % 3 });
                let many: Vec<i64> = many.collect();
                let all = || within(int::<1>(many.as_slice()), ROWS);
                let expected = "cannot run the model: index 7 is outside of 3 rows";
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
    fn indices_are_a_launch() {
        on_each(|| {
            let indices = int::<2>([[0i64, -1], [2, 1]]);
            let run = || within(indices.clone().transpose(), ROWS).into_data();
            let found = with_reads(0, || with_launches(2, run));
            found.assert_eq(&int::<2>([[0i64, 2], [2, 1]]).into_data(), false);
        });
    }
}
