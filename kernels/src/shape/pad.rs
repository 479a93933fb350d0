//! Pad: constants, reflections, edges and wraps.

use alloc::vec::Vec;
use burn::tensor::{DType, ElementConversion, Int, Slice, Tensor, TensorData, kind::Basic};

use crate::shape::WithShape;
use crate::{
    dtype::lowered,
    ensure,
    fault::fail,
    index::gather::gather_nonnegative,
    kind::AnyKind,
    shape::{empty, expand::to_shape},
    sizes::elements,
};

/// Source of the elements around a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadMode {
    /// The nearest element.
    Edge,
    /// The mirror image, which does not repeat the outermost element.
    Reflect,
    /// The other end of the axis.
    Wrap,
}

/// Pad with a constant; negative pads remove elements.
pub fn pad_constant<const D: usize, K: Basic, E: ElementConversion>(
    x: Tensor<D, K>,
    pads: [(i64, i64); D],
    value: E,
) -> Tensor<D, K> {
    let options = (&x.device(), x.dtype());
    surround(x, pads, |shape| Tensor::full(shape, value, options))
}

/// Pad with the single element of `value`; negative pads remove elements.
pub fn pad_tensor<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    pads: [(i64, i64); D],
    value: Tensor<1, K>,
) -> Tensor<D, K> {
    let (dims, number) = (x.dims(), value.dims());
    ensure!(
        number == [1],
        "expected a padding value of one element for the input {dims:?}, found shape {number:?}"
    );
    surround(x, pads, |shape| to_shape(value.with_shape([1; D]), shape))
}

/// Pad with elements of the tensor itself; negative pads remove elements first.
///
/// # Panics
/// If an axis of size 0 has positive pads, pads remove more elements than there are, or the result exceeds the memory limit.
pub fn pad<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    pads: [(i64, i64); D],
    mode: PadMode,
) -> Tensor<D, K> {
    let device = x.device();
    let options = (&device, lowered(&device, DType::I64));
    // The source indices of an axis take 8 bytes per element.
    elements(&padded(x.dims(), pads), x.dtype().size().max(8));
    let mut x = cropped(x, pads);
    for (axis, (begin, end)) in pads.into_iter().enumerate() {
        let (begin, end) = (begin.max(0), end.max(0));
        if (begin, end) == (0, 0) {
            continue;
        }
        let size = x.dims()[axis] as i64;
        ensure!(size != 0, "expected elements along axis {axis} to pad with, found none");
        let sources: Vec<i64> = (-begin..size + end).map(|at| source(at, size, mode)).collect();
        let sources: Tensor<1, Int> = Tensor::from_data(TensorData::from(&sources[..]), options);
        x = gather_nonnegative(x, axis, sources);
    }
    x
}

/// Returns the pads of each axis from those of some `axes`, which count from the end if negative.
///
/// # Panics
/// If there are not two pads for each of the axes.
pub fn along<const D: usize>(pads: &[i64], axes: &[i64]) -> [(i64, i64); D] {
    ensure!(
        pads.len() == 2 * axes.len(),
        "expected two pads for each of {1} axes, found {0}",
        pads.len(),
        axes.len()
    );
    let mut pairs = [(0, 0); D];
    for (at, &axis) in axes.iter().enumerate() {
        let axis = if axis < 0 { axis + D as i64 } else { axis } as usize;
        ensure!(axis < D, "axis {} is out of bounds for rank {D}", axes[at]);
        pairs[axis] = (pads[at], pads[at + axes.len()]);
    }
    pairs
}

/// Divides the total number of added or removed elements into two pads; an odd element is at the end.
pub fn around(more: i64) -> (i64, i64) {
    (more / 2, more - more / 2)
}

/// Returns the index within `size` of the element that appears at index `at`, which may be out of bounds.
fn source(at: i64, size: i64, mode: PadMode) -> i64 {
    match mode {
        PadMode::Edge => at.clamp(0, size - 1),
        PadMode::Wrap => at.rem_euclid(size),
        PadMode::Reflect => {
            let period = (2 * (size - 1)).max(1);
            let phase = at.rem_euclid(period);
            phase.min(period - phase)
        }
    }
}

/// Returns the padded sizes.
///
/// # Panics
/// If one is negative.
fn padded<const D: usize>(dims: [usize; D], pads: [(i64, i64); D]) -> [usize; D] {
    core::array::from_fn(|axis| {
        let (begin, end) = pads[axis];
        let size = dims[axis] as i128 + i128::from(begin) + i128::from(end);
        // More elements than can be addressed exceed the memory limit.
        let large = if size < 0 { None } else { Some(usize::MAX) };
        usize::try_from(size).ok().or(large).unwrap_or_else(|| {
            fail(format_args!(
                "pads {begin} and {end} leave {size} elements along axis {axis} of size {}, expected at \
                 least 0",
                dims[axis]
            ))
        })
    })
}

fn surround<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    pads: [(i64, i64); D],
    background: impl FnOnce([usize; D]) -> Tensor<D, K>,
) -> Tensor<D, K> {
    let shape = padded(x.dims(), pads);
    elements(&shape, x.dtype().size());
    let x = cropped(x, pads);
    let dims = x.dims();
    if shape == dims {
        return x;
    }
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    let background = background(shape);
    if dims.contains(&0) {
        return background;
    }
    let inner: [Slice; D] = core::array::from_fn(|axis| {
        let first = pads[axis].0.max(0) as usize;
        (first..first + dims[axis]).into()
    });
    background.slice_assign(inner, x)
}

/// Removes the elements of `x` that negative pads cut off at the start and the end of each axis.
fn cropped<const D: usize, K: Basic>(x: Tensor<D, K>, pads: [(i64, i64); D]) -> Tensor<D, K> {
    if pads.iter().all(|&(begin, end)| begin >= 0 && end >= 0) {
        return x;
    }
    let dims = x.dims();
    let kept: [_; D] = core::array::from_fn(|axis| {
        let (begin, end) = pads[axis];
        let removed = |pad: i64| usize::try_from(pad.min(0).unsigned_abs()).unwrap_or(usize::MAX);
        let start = dims[axis].min(removed(begin));
        start..dims[axis].saturating_sub(removed(end)).max(start)
    });
    let shape = kept.clone().map(|range| range.len());
    if shape.contains(&0) { empty(&x, shape) } else { x.slice(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attempt::attempt,
        testing::{bool, float, int, same},
    };

    #[test]
    fn constants_are_exact_in_every_dtype() {
        let x = int::<2>([[1i64, 2]]);
        let y = pad_constant(x, [(1, 0), (0, 1)], i64::MAX - 1);
        let value = i64::MAX - 1;
        same(y, [[value, value, value], [1, 2, value]]);
        let y = pad_constant(bool::<1>([false]), [(1, 1)], true);
        same(y, [true, false, true]);
        let y = pad_constant(float::<1>([1f64]), [(0, 1)], 0.1f64);
        same(y, [1f64, 0.1]);
        let y = pad_tensor(int::<1>([1u8]), [(2, 0)], int([7u8]));
        same(y, [7u8, 7, 1]);
        let y = pad_tensor(bool::<1>([false]), [(0, 1)], bool([true]));
        same(y, [false, true]);
    }

    #[test]
    fn negative_pads_remove() {
        let x = || int::<1>([1i32, 2, 3, 4]);
        same(pad_constant(x(), [(-1, 2)], 0), [2i32, 3, 4, 0, 0]);
        same(pad_constant(x(), [(-1, -1)], 0), [2i32, 3]);
        same(pad(x(), [(-1, 2)], PadMode::Reflect), [2i32, 3, 4, 3, 2]);
        same(pad(x(), [(1, -2)], PadMode::Edge), [1i32, 1, 2]);
        let none = TensorData::new(Vec::<i32>::new(), [0]);
        same(pad_constant(x(), [(-4, 0)], 0), none);
        same(pad_constant(x(), [(-6, 4)], 0), [0i32, 0]);
        same(pad_constant(x(), [(2, -5)], 0), [0i32]);
    }

    #[test]
    fn sizes_are_bounded() {
        let x = || int::<1>([1i32, 2, 3, 4]);
        let reason = |pads| attempt(|| pad_constant(x(), [pads], 0)).unwrap_err().reason;
        assert_eq!(
            reason((i64::MIN, 0)),
            "pads -9223372036854775808 and 0 leave -9223372036854775804 elements along axis 0 of size 4, \
             expected at least 0"
        );
        assert!(reason((-3, -3)).starts_with("pads -3 and -3 leave -2 elements"));
        for pads in [(i64::MAX, 0), (i64::MAX, i64::MAX), (1 << 45, 0)] {
            assert!(reason(pads).contains("the memory limit is"));
            for mode in [PadMode::Reflect, PadMode::Edge, PadMode::Wrap] {
                let found = attempt(|| pad(x(), [pads], mode)).unwrap_err().reason;
                assert!(found.contains("the memory limit is"), "{found}");
            }
        }
    }

    #[test]
    fn an_empty_axis_grows_from_a_constant() {
        let x = int::<2>(TensorData::new(Vec::<i32>::new(), [2, 0]));
        same(pad_constant(x, [(0, 0), (1, 0)], 5), [[5i32], [5]]);
    }

    #[test]
    fn elements_are_taken_from_the_tensor_itself() {
        let x = || float::<2>([[1f32, 1.2], [2.3, 3.4], [4.5, 5.7]]);
        let pads = [(0, 0), (2, 1)];
        let y = pad(x(), pads, PadMode::Edge);
        let expected = [[1f32, 1.0, 1.0, 1.2, 1.2], [2.3, 2.3, 2.3, 3.4, 3.4], [4.5, 4.5, 4.5, 5.7, 5.7]];
        same(y, expected);
        let y = pad(x(), [(2, 1), (0, 0)], PadMode::Reflect);
        let rows = [[4.5f32, 5.7], [2.3, 3.4], [1.0, 1.2]];
        same(y, [rows[0], rows[1], rows[2], rows[1], rows[0], rows[1]]);
        let y = pad(int::<1>([1i32, 2, 3]), [(2, 1)], PadMode::Wrap);
        same(y, [2i32, 3, 1, 2, 3, 1]);
        let y = pad(bool::<1>([true, false]), [(1, 1)], PadMode::Reflect);
        same(y, [false, true, false, true]);
    }

    #[test]
    fn pads_may_exceed_the_size() {
        let x = || int::<1>([1i32, 2, 3]);
        let y = pad(x(), [(4, 3)], PadMode::Reflect);
        same(y, [1i32, 2, 3, 2, 1, 2, 3, 2, 1, 2]);
        let y = pad(x(), [(0, 5)], PadMode::Wrap);
        same(y, [1i32, 2, 3, 1, 2, 3, 1, 2]);
        let y = pad(int::<1>([7i32]), [(2, 1)], PadMode::Reflect);
        same(y, [7i32; 4]);
    }

    #[test]
    fn pads_may_be_for_some_axes() {
        assert_eq!(along(&[1, 2, 3, 4], &[-1, 0]), [(2, 4), (0, 0), (1, 3)]);
        assert_eq!([around(3), around(-3)], [(1, 2), (-1, -2)]);
    }
}
