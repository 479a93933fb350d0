//! Expand, Tile, and broadcasting of two operands.

use burn::tensor::{Tensor, kind::Basic};

use crate::shape::WithShape;
use crate::{
    fault::fail,
    shape::{empty, lift},
    sizes::{elements, size},
};

/// ONNX Expand: broadcasts `x` to `shape`, except that a 1 keeps the size of `x`; missing leading sizes of `x` count as 1.
///
/// # Panics
/// If `x` has more axes than `shape`, a size of `x` is neither 1 nor the requested one, or the result exceeds
/// the memory limit.
pub fn expand<const D: usize, const D2: usize, K: Basic>(
    x: Tensor<D, K>,
    shape: [usize; D2],
) -> Tensor<D2, K> {
    let x: Tensor<D2, K> = lift(x);
    let shape = common(x.dims(), shape);
    to_shape(x, shape)
}

/// [`expand`] to sizes that are known only at run time. There may be fewer sizes than axes.
///
/// # Panics
/// As [`expand`], and if `D2` is not the greater of the two ranks, or a size is negative.
pub fn expand_to<const D: usize, const D2: usize, K: Basic>(x: Tensor<D, K>, sizes: &[i64]) -> Tensor<D2, K> {
    assert!(sizes.len() <= D2, "rank of Expand's output");
    let mut shape = [1; D2];
    let last = &mut shape[D2 - sizes.len()..];
    last.iter_mut().zip(sizes).for_each(|(to, &from)| *to = size(from));
    expand(x, shape)
}

/// Tile: repeats the tensor along each axis; 0 repeats yield an empty tensor.
///
/// # Panics
/// If the result exceeds the memory limit.
pub fn tile<const D: usize, K: Basic>(x: Tensor<D, K>, repeats: [usize; D]) -> Tensor<D, K> {
    let dims = x.dims();
    let shape: [usize; D] = core::array::from_fn(|axis| dims[axis].saturating_mul(repeats[axis]));
    elements(&shape, x.dtype().size());
    if shape.contains(&0) { empty(&x, shape) } else { x.repeat(&repeats) }
}

/// Broadcasts both operands to their common shape.
pub fn together<const D: usize, K: Basic, L: Basic>(
    a: Tensor<D, K>,
    b: Tensor<D, L>,
) -> (Tensor<D, K>, Tensor<D, L>) {
    let shape = common(a.dims(), b.dims());
    (to_shape(a, shape), to_shape(b, shape))
}

/// Returns the operands unchanged, if their shapes broadcast to a common one.
///
/// # Panics
/// If two sizes differ and neither is 1, or the common shape exceeds the memory limit.
pub fn agreed<const D: usize, K: Basic, L: Basic>(
    a: Tensor<D, K>,
    b: Tensor<D, L>,
) -> (Tensor<D, K>, Tensor<D, L>) {
    let shape = common(a.dims(), b.dims());
    if ![a.dims(), b.dims()].contains(&shape) {
        elements(&shape, a.dtype().size());
    }
    (a, b)
}

/// Returns the common shape that two shapes broadcast to.
///
/// # Panics
/// If two sizes differ and neither is 1.
pub fn common<const D: usize>(a: [usize; D], b: [usize; D]) -> [usize; D] {
    core::array::from_fn(|axis| match (a[axis], b[axis]) {
        (1, size) | (size, 1) => size,
        (size, other) if size == other => size,
        _ => fail(format_args!("shapes {a:?} and {b:?} do not broadcast")),
    })
}

/// Inverse of [`expand`] for gradients: sums `x` over the axes that `shape` lacks, and over those that have size 1 there.
///
/// # Panics
/// If `x` has fewer axes than `shape`, or a size of `shape` is neither 1 nor that of `x`.
pub fn sum_to<const D: usize, const D2: usize>(mut x: Tensor<D>, shape: [usize; D2]) -> Tensor<D2> {
    let sizes = x.dims();
    for (axis, size) in sizes.into_iter().enumerate() {
        let wanted = (axis + D2).checked_sub(D).map_or(1, |own| shape[own]);
        if wanted == 1 && size != 1 {
            x = x.sum_dim(axis);
        }
    }
    x.with_shape(shape)
}

/// Repeats `x` along its axes of size 1 to `shape`, which it must broadcast to.
///
/// # Panics
/// If the result exceeds the memory limit: some devices, and operators that read it, copy the repeated elements.
pub fn to_shape<const D: usize, K: Basic>(x: Tensor<D, K>, shape: [usize; D]) -> Tensor<D, K> {
    if x.dims() == shape {
        return x;
    }
    elements(&shape, x.dtype().size());
    if shape.contains(&0) {
        empty(&x, shape)
    } else {
        #[expect(clippy::disallowed_methods, reason = "no size is 0")]
        x.expand(shape)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Int, TensorData};

    use super::*;
    use crate::{
        attempt::attempt,
        memory_limit::{memory_limit, with_memory_limit},
        sizes::Bytes,
        testing::{bool, float, int, same},
    };

    #[test]
    fn a_one_in_the_shape_keeps_the_size() {
        let x = int::<2>([[1i64], [2], [3]]);
        same(expand(x.clone(), [3, 1]), [[1i64], [2], [3]]);
        same(expand(x, [1, 2]), [[1i64, 1], [2, 2], [3, 3]]);
    }

    #[test]
    fn sums_undo_what_was_repeated() {
        let x = float::<3>([[[1f32, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]);
        same(sum_to(x.clone(), [2, 1]), [[14f32], [22.0]]);
        same(sum_to(x.clone(), [1]), [36f32]);
        same(sum_to(x, [2, 1, 2]), [[[4f32, 6.0]], [[12.0, 14.0]]]);
        let x = float::<2>(TensorData::new(Vec::<f32>::new(), [0, 2]));
        same(sum_to(x, [2]), [0f32, 0.0]);
    }

    #[test]
    fn axes_are_added_in_front() {
        let x = bool::<1>([true, false]);
        same(expand(x, [2, 2]), [[true, false], [true, false]]);
        let x = int::<2>([[1i32], [2]]);
        same(expand(x, [2, 1, 2]), [[[1i32, 1], [2, 2]], [[1, 1], [2, 2]]]);
    }

    #[test]
    fn there_may_be_fewer_sizes_than_axes() {
        let x = int::<2>([[1i64], [2]]);
        same(expand_to::<_, 2, _>(x, &[2]), [[1i64, 1], [2, 2]]);
    }

    #[test]
    fn a_size_may_be_zero() {
        let x = int::<1>([7i64]);
        let empty = TensorData::new(Vec::<i64>::new(), [0, 1]);
        same(expand(x, [0, 1]), empty);
    }

    #[test]
    fn both_operands_grow() {
        let (a, b) = together(int::<2>([[1i32, 2]]), bool::<2>([[true], [false]]));
        same::<2, Int>(a, [[1i32, 2], [1, 2]]);
        same(b, [[true, true], [false, false]]);
    }

    #[test]
    fn sizes_are_bounded() {
        let x = || int::<2>([[1i64, 2, 3, 4]]);
        let reason = |run: &dyn Fn() -> Tensor<2, Int>| attempt(run).unwrap_err().reason;
        assert_eq!(
            reason(&|| expand_to(x(), &[(1 << 62) + 1, 4])),
            format!(
                "shape [4611686018427387905, 4] requires more bytes than can be addressed, \
                 the memory limit is {}",
                Bytes(memory_limit())
            )
        );
        assert_eq!(reason(&|| expand_to(x(), &[-1, 1])), "expected a non-negative size, found -1");
        for repeats in [[1 << 62, 4], [1 << 40, 1], [1 << 63, 2]] {
            assert!(reason(&|| tile(x(), repeats)).contains("the memory limit is"));
        }
        let small = |rows| with_memory_limit(1000, || attempt(|| expand(x(), [rows, 4])));
        assert_eq!(small(31).map(|y| y.dims()), Ok([31, 4]));
        assert_eq!(
            small(32).map(|y| y.dims()).unwrap_err().reason,
            "shape [32, 4] requires 1.0 KiB, the memory limit is 1000 bytes"
        );
    }

    #[test]
    fn axes_repeat_as_a_whole() {
        let x = int::<2>([[1u8, 2], [3, 4]]);
        let y = tile(x.clone(), [1, 2]);
        same(y, [[1u8, 2, 1, 2], [3, 4, 3, 4]]);
        same(tile(x.clone(), [2, 1]), [[1u8, 2], [3, 4], [1, 2], [3, 4]]);
        same(tile(x, [0, 2]), TensorData::new(Vec::<u8>::new(), [0, 4]));
        same(tile(bool::<1>([true, false]), [2]), [true, false, true, false]);
    }
}
