//! Broadcasting of sizes and elements.

use crate::diagnostics::Problem;
use crate::dim::{Atom, Dim};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

/// Maximum number of known elements that are computed.
pub const MAX_KNOWN_ELEMENTS: usize = 4096;

/// Returns the shape to which operands of these shapes are broadcast, by the rules of NumPy.
pub fn shape(cx: &mut Infer<'_>, shapes: &[Shape]) -> Result<Shape, Problem> {
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    (0..rank).map(|axis| size(cx, shapes, rank, axis)).collect()
}

/// Returns the rank that the second operand has with trailing axes of size 1 if its first axis is aligned with `axis`
/// of the first operand, as before version 7.
pub fn trailing(axis: Option<i64>, first: &TensorType) -> Option<usize> {
    let rank = i64::try_from(first.rank()).ok()?;
    let axis = match axis? {
        axis @ ..0 => axis.checked_add(rank)?,
        axis => axis,
    };
    usize::try_from(rank.checked_sub(axis)?).ok().filter(|&trailing| trailing <= first.rank())
}

/// Returns the second operand with `rank` axes, its first axis at `axis` of the first operand.
pub fn second(cx: &mut Emit<'_, '_>, axis: Option<i64>, rank: usize) -> Result<Code, Problem> {
    let sizes = cx.tensor_type(1)?.shape.clone();
    let trailing = trailing(axis, cx.tensor_type(0)?);
    let Some(trailing) = trailing.filter(|&trailing| trailing > sizes.len()) else {
        return cx.tensor_of_rank(1, rank);
    };
    let tensor = cx.tensor(1)?;
    let mut shape = vec![Dim::from(1); rank.saturating_sub(trailing)];
    shape.extend(sizes);
    shape.resize(rank, Dim::from(1));
    Ok(reshaped(cx, tensor, &shape))
}

/// Returns the tensor in another shape. Burn's function is used only if no size is 0, which Burn reads as "keep this
/// size".
pub fn reshaped(cx: &mut Emit<'_, '_>, tensor: Code, shape: &[Dim]) -> Code {
    let is_filled = |size: &Dim| size.number().is_some_and(|size| size > 0);
    let sizes = cx.shape(shape);
    if shape.iter().all(is_filled) {
        code!(#tensor.reshape(#sizes))
    } else {
        code!(ops::shape::reshape(#tensor, #sizes))
    }
}

fn size(cx: &mut Infer<'_>, shapes: &[Shape], rank: usize, axis: usize) -> Result<Dim, Problem> {
    let mut together = Dim::from(1);
    for shape in shapes {
        let missing = rank.saturating_sub(shape.len());
        let Some(dim) = axis.checked_sub(missing).and_then(|axis| shape.get(axis)) else {
            continue;
        };
        together = match (together.number(), dim.number()) {
            _ if together == *dim || dim.is(1) => together,
            (Some(1), _) => dim.clone(),
            (Some(a), Some(b)) => {
                return Err(Problem::new(format!("sizes {a} and {b} on axis {axis} do not broadcast")));
            }
            // A number other than 1 determines the size; a symbolic size equals it, or is 1.
            (Some(_), None) => together,
            (None, Some(_)) => dim.clone(),
            (None, None) if limits(dim, &together) => together,
            (None, None) if limits(&together, dim) => dim.clone(),
            (None, None) => cx.fresh("broadcast"),
        };
    }
    Ok(together)
}

/// Returns `true` if `dim` is the minimum of `size` and a number. If the two broadcast, they are equal, or `dim` is 1,
/// and the result is `size`.
fn limits(dim: &Dim, size: &Dim) -> bool {
    let mut terms = dim.terms();
    match (terms.next(), terms.next()) {
        (Some(([Atom::Min(a, b)], 1)), None) => **a == *size && b.number().is_some_and(|limit| limit > 0),
        _ => false,
    }
}

/// Returns `true` if the sizes broadcast in every run.
pub fn agree(shapes: &[&Shape]) -> bool {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    (0..rank).all(|axis| {
        let sizes = shapes.iter().filter_map(|shape| {
            let missing = rank.saturating_sub(shape.len());
            axis.checked_sub(missing).and_then(|axis| shape.get(axis))
        });
        let mut sizes = sizes.filter(|size| !size.is(1));
        let first = sizes.next();
        first
            .is_none_or(|first| sizes.all(|size| size == first || limits(size, first) || limits(first, size)))
    })
}

/// Marks the node as fallible if the sizes of its inputs may not broadcast, or if the result may be larger than each
/// input by more than a known factor. Returns `true` if it is infallible.
pub fn check(cx: &mut Emit<'_, '_>) -> Result<bool, Problem> {
    let inputs = (0..cx.inputs()).filter(|&at| cx.has(at));
    let types = inputs.map(|at| Ok(cx.tensor_type(at)?.shape.clone()));
    let shapes: Vec<Shape> = types.collect::<Result<_, Problem>>()?;
    let agree = agree(&shapes.iter().collect::<Vec<_>>()) && !grows(cx, &shapes)?;
    if !agree {
        cx.may_fail();
    }
    Ok(agree)
}

/// Returns `true` if no input has all symbolic sizes of the result.
fn grows(cx: &Emit<'_, '_>, shapes: &[Shape]) -> Result<bool, Problem> {
    let to = &cx.output_tensor(0)?.shape;
    let is_whole = |shape: &Shape| {
        let sizes = to.iter().rev().enumerate();
        sizes
            .filter(|(_, size)| size.number().is_none())
            .all(|(at, size)| shape.len().checked_sub(at + 1).and_then(|axis| shape.get(axis)) == Some(size))
    };
    Ok(!shapes.iter().any(is_whole))
}

/// Marks the node as fallible unless each size of the inputs after the first is known to be 1 or to equal a size of the
/// first, or all are numbers.
///
/// For operators whose `infer` compares these sizes: a run may contradict symbolic sizes.
pub fn check_sizes(cx: &mut Emit<'_, '_>) {
    let shape = |at: usize| cx.tensor_type(at).ok().map(|tensor| &tensor.shape);
    let is_number = |dim: &Dim| dim.number().is_some();
    let known = |dim: &Dim, first: &Shape| {
        dim.is(1) || first.contains(dim) || is_number(dim) && first.iter().all(is_number)
    };
    let agree = shape(0).is_some_and(|first| {
        let mut others = (1..cx.inputs()).filter_map(shape).flatten();
        others.all(|dim| known(dim, first))
    });
    if !agree {
        cx.may_fail();
    }
}

/// Returns, for each element of a tensor of shape `to`, the index of the element of `from` that is broadcast to it.
pub fn positions(from: &[usize], to: &[usize]) -> Vec<usize> {
    let count = to.iter().product::<usize>();
    let missing = to.len().saturating_sub(from.len());
    let position = |mut at: usize| {
        let mut position = 0usize;
        let mut stride = 1usize;
        for (axis, &size) in to.iter().enumerate().rev() {
            let index = at.checked_rem(size).unwrap_or(0);
            at = at.checked_div(size).unwrap_or(0);
            if let Some(&from_size) = axis.checked_sub(missing).and_then(|axis| from.get(axis)) {
                if from_size != 1 {
                    position += index * stride;
                }
                stride *= from_size;
            }
        }
        position
    };
    (0..count).map(position).collect()
}

/// Returns the positions, in row-major order, of the elements whose index along each axis is in `indices`. Returns
/// `None` if there are more than [`MAX_KNOWN_ELEMENTS`].
pub fn grid(shape: &[usize], indices: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut positions = vec![0usize];
    for (size, indices) in shape.iter().zip(indices) {
        let count = positions.len().checked_mul(indices.len())?;
        if count > MAX_KNOWN_ELEMENTS {
            return None;
        }
        let along = |position: usize| indices.iter().map(move |index| position * size + index);
        positions = positions.into_iter().flat_map(along).collect();
    }
    Some(positions)
}

/// Returns the sizes as numbers, if all are known and their product does not overflow.
pub fn fixed(shape: &[Dim]) -> Option<Vec<usize>> {
    let sizes: Vec<usize> = shape.iter().map(Dim::fixed).collect::<Option<_>>()?;
    let product = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size.max(1)));
    product.map(|_| sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_repeated_for_each_row() {
        assert_eq!(positions(&[3], &[2, 3]), [0, 1, 2, 0, 1, 2]);
        assert_eq!(positions(&[2, 1], &[2, 3]), [0, 0, 0, 1, 1, 1]);
        assert_eq!(positions(&[], &[2]), [0, 0]);
    }

    #[test]
    fn a_limit_is_not_reached() {
        let n = Dim::named("n");
        let smaller = |limit: i64| n.smaller(&limit.into()).unwrap();
        assert!(limits(&smaller(512), &n));
        assert!(!limits(&smaller(0), &n) && !limits(&n, &smaller(5)));
    }
}
