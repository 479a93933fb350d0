//! Concatenation along an axis.

use super::types::TensorType;
use crate::fault::fail;

/// Fails unless shapes have equal sizes, except along `axis`.
pub fn check<'a>(shapes: impl Iterator<Item = &'a [usize]> + Clone, axis: usize) {
    let others = |shape: &'a [usize]| (&shape[..axis], &shape[axis + 1..]);
    let mut pairs = shapes.clone().zip(shapes.skip(1));
    if let Some((a, b)) = pairs.find(|(a, b)| others(a) != others(b)) {
        fail(format_args!("expected shapes {a:?} and {b:?} to be equal except along axis {axis}"));
    }
}

/// Returns the type of the concatenation of at least one tensor. Dtypes and other sizes are equal.
pub fn result(parts: &[TensorType], axis: usize) -> TensorType {
    let mut joined = parts[0].clone();
    joined.shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    joined
}
