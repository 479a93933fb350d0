//! Where, OneHot, Trilu, EyeLike and Range.

use alloc::vec::Vec;
use burn::tensor::{Bool, DType, Device, Int, IntDType, Tensor, TensorData, kind::Basic};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::shape::WithShape;
use crate::{
    dtype::lowered,
    ensure,
    shape::{
        expand::{common, to_shape},
        reshape,
    },
    sizes::elements,
};

pub use super::nonzero::{
    compress, compress_async, compress_flat, compress_flat_async, nonzero, nonzero_async, nonzero_scalar,
    nonzero_scalar_async,
};

/// Where: `a` where `condition` is true, otherwise `b`, all three broadcast.
pub fn where_<const D: usize, K: Basic>(
    condition: Tensor<D, Bool>,
    a: Tensor<D, K>,
    b: Tensor<D, K>,
) -> Tensor<D, K> {
    let shape = common(condition.dims(), common(a.dims(), b.dims()));
    to_shape(b, shape).mask_where(to_shape(condition, shape), to_shape(a, shape))
}

/// OneHot: `values` are off and on; the new axis of size `depth` is `axis`. `O` is `I + 1`, or 1 for an index of rank 0.
///
/// Negative indices count from the end; rows of indices out of range are off.
///
/// # Panics
/// If the result exceeds the memory limit.
pub fn one_hot<const I: usize, const O: usize, K: Basic>(
    indices: Tensor<I, Int>,
    depth: usize,
    values: Tensor<1, K>,
    axis: usize,
) -> Tensor<O, K> {
    let (dims, numbers) = (indices.dims(), values.dims());
    ensure!(
        numbers == [2],
        "expected 2 values, off and on, for indices of shape {dims:?}, found shape {numbers:?}"
    );
    assert!(O == I + 1 || dims == [1; I], "rank of OneHot's output");
    let mut along = [1; O];
    along[axis] = depth;
    let mut across = [1; O];
    if O == I + 1 {
        across = core::array::from_fn(|at| match at {
            at if at < axis => dims[at],
            at if at == axis => 1,
            at => dims[at - 1],
        });
    }
    let shape = common(along, across);
    // Indices and classes are compared in the result's shape.
    elements(&shape, values.dtype().size().max(indices.dtype().size()));
    // Burn counts down by -1, which unsigned integers do not have.
    let signed = lowered(&indices.device(), DType::I64);
    let classes = Tensor::<1, Int>::arange(0..depth as i64, (&indices.device(), signed));
    let classes = classes.cast(IntDType::from(indices.dtype()));
    let classes: Tensor<O, Int> = reshape(classes, along);
    let indices = reshape(from_start(indices, depth), across);
    let hot = to_shape(indices, shape).equal(to_shape(classes, shape));
    let value = |at: usize| values.clone().narrow(0, at, 1).with_shape([1; O]);
    where_(hot, value(1), value(0))
}

/// Returns indices along an axis of `size` with negative ones, which count from the end, replaced.
fn from_start<const I: usize>(indices: Tensor<I, Int>, size: usize) -> Tensor<I, Int> {
    if indices.dtype().is_uint() {
        return indices;
    }
    let negative = indices.clone().lower_scalar(0);
    indices.clone().mask_where(negative, indices.add_scalar(size as i64))
}

/// Trilu: sets elements below (`upper`) or above the `k`-th diagonal of the last two axes to zero.
pub fn trilu<const D: usize, K: Basic>(x: Tensor<D, K>, k: i64, upper: bool) -> Tensor<D, K> {
    let dims = x.dims();
    if dims.contains(&0) {
        return x;
    }
    let (rows, columns) = (dims[D - 2], dims[D - 1]);
    let k = k.clamp(-(rows as i64), columns as i64);
    let cleared = if upper {
        Tensor::<2, Bool>::triu_mask([rows, columns], k, &x.device())
    } else {
        Tensor::<2, Bool>::tril_mask([rows, columns], k, &x.device())
    };
    let mut shape = [1; D];
    shape[D - 2..].copy_from_slice(&[rows, columns]);
    x.mask_fill(to_shape(cleared.with_shape(shape), dims), 0)
}

/// EyeLike: true on the `k`-th diagonal, to be cast to the requested dtype.
///
/// # Panics
/// If the matrix exceeds the memory limit with elements of 4 bytes.
#[inline(never)]
pub fn eye_like(shape: [usize; 2], k: i64, device: &Device) -> Tensor<2, Bool> {
    if elements(&shape, size_of::<f32>()) == 0 {
        return Tensor::zeros(shape, device);
    }
    let k = k.clamp(-(shape[0] as i64), shape[1] as i64);
    Tensor::<2, Bool>::diag_mask(shape, k, device).bool_not()
}

/// Range of integers: from `start` to before `limit`, in steps of `delta`.
///
/// # Panics
/// If `delta` is 0, or the range exceeds the memory limit.
#[inline(never)]
pub fn range_int(start: i64, limit: i64, delta: i64, dtype: DType, device: &Device) -> Tensor<1, Int> {
    ensure!(delta != 0, "expected a nonzero step for a range, found 0");
    let distance = i128::from(limit) - i128::from(start);
    let step = i128::from(delta);
    let whole = distance / step;
    let count = (whole + i128::from(whole * step != distance)).max(0);
    let count = if (distance < 0) == (step < 0) { count } else { 0 };
    let count = elements(&[usize::try_from(count).unwrap_or(usize::MAX)], size_of::<i64>());
    let values: Vec<i64> = (0..count).map(|at| (i128::from(start) + at as i128 * step) as i64).collect();
    Tensor::from_data(TensorData::new(values, [count]), (device, lowered(device, dtype)))
}

/// Range of floats: from `start` to before `limit`, in steps of `delta`.
///
/// # Panics
/// If `delta` is 0, the number of elements is not finite, or the range exceeds the memory limit.
#[inline(never)]
pub fn range_float(start: f64, limit: f64, delta: f64, dtype: DType, device: &Device) -> Tensor<1> {
    ensure!(delta != 0.0, "expected a nonzero step for a range, found 0");
    let count = ((limit - start) / delta).ceil();
    ensure!(count.is_finite(), "expected a finite range, found {start} to {limit} in steps of {delta}");
    let count = elements(&[count.max(0.0) as usize], size_of::<f64>());
    let values: Vec<f64> = (0..count).map(|at| start + at as f64 * delta).collect();
    Tensor::from_data(TensorData::new(values, [count]), (device, lowered(device, dtype)))
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::{
        attempt::attempt,
        testing::{bool, float, int, same},
    };

    fn none<E: burn::tensor::Element>(shape: impl Into<burn::tensor::Shape>) -> TensorData {
        TensorData::new(Vec::<E>::new(), shape)
    }

    #[test]
    fn all_operands_of_where_broadcast() {
        let condition = bool::<2>([[true], [false]]);
        let y = where_(condition, int([[1u8, 2]]), int([[9u8]]));
        same(y, [[1u8, 2], [9, 9]]);
        let y = where_(bool::<1>([true, false]), bool([false]), bool([true, true]));
        same(y, [false, true]);
        let half = |x: f32| float::<1>([f16::from_f32(x)]);
        let y = where_(bool([true, false]), half(1.0), half(2.0));
        same(y, [1.0, 2.0].map(f16::from_f32));
    }

    #[test]
    fn compress_keeps_slices_and_missing_conditions_drop() {
        let x = || float::<2>([[1f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        let y = compress(x(), 0, bool([false, true, true]));
        same(y, [[3f32, 4.0], [5.0, 6.0]]);
        same(compress(x(), 1, bool([false, true])), [[2f32], [4.0], [6.0]]);
        let y = compress_flat(x(), bool([false, true, false, false, true]));
        same(y, [2f32, 5.0]);
        same(compress(x(), 0, bool([false])), none::<f32>([0, 2]));
    }

    #[test]
    fn nonzero_lists_one_column_per_element() {
        let y = nonzero(float::<2>([[1f32, 0.0], [f32::NAN, 1.0]]));
        same(y, [[0i64, 1, 1], [0, 0, 1]]);
        same(nonzero(bool::<1>([false, true])), [[1i64]]);
        same(nonzero(int::<2>([[0i8, 0]])), none::<i64>([2, 0]));
    }

    #[test]
    fn one_hot_inserts_any_axis_and_out_of_range_is_off() {
        let indices = || int::<1>([1i64, -1, 7]);
        let y: Tensor<2, Int> = one_hot(indices(), 3, int([2i32, 5]), 1);
        same(y, [[2i32, 5, 2], [2, 2, 5], [2, 2, 2]]);
        let y: Tensor<2, Int> = one_hot(int::<1>([1u8, 7]), 3, int([2i32, 5]), 1);
        same(y, [[2i32, 5, 2], [2, 2, 2]]);
        let y: Tensor<2> = one_hot(indices(), 3, float([0f32, 1.0]), 0);
        same(y, [[0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        let y: Tensor<1, Bool> = one_hot(int::<1>([2i64]), 3, bool([false, true]), 0);
        same(y, [false, false, true]);
    }

    #[test]
    fn triangles_of_any_offset_and_kind() {
        let x = || int::<3>([[[1i64, 2, 3], [4, 5, 6]]]);
        same(trilu(x(), 0, true), [[[1i64, 2, 3], [0, 5, 6]]]);
        same(trilu(x(), 1, true), [[[0i64, 2, 3], [0, 0, 6]]]);
        same(trilu(x(), -7, true), [[[1i64, 2, 3], [4, 5, 6]]]);
        same(trilu(x(), 7, true), [[[0i64, 0, 0], [0, 0, 0]]]);
        same(trilu(x(), 0, false), [[[1i64, 0, 0], [4, 5, 0]]]);
        same(trilu(x(), -1, false), [[[0i64, 0, 0], [4, 0, 0]]]);
        same(trilu(x(), i64::MIN, false), [[[0i64, 0, 0], [0, 0, 0]]]);
        let flags = bool::<2>([[true, true], [true, true]]);
        same(trilu(flags, 0, false), [[true, false], [true, true]]);
        same(trilu(int::<2>(none::<i64>([0, 2])), 0, true), none::<i64>([0, 2]));
    }

    #[test]
    fn the_diagonal_may_be_shifted() {
        let device = Device::flex();
        let expected = [[false, true, false], [false, false, true]];
        same(eye_like([2, 3], 1, &device), expected);
        same(eye_like([2, 1], -1, &device), [[false], [true]]);
        same(eye_like([1, 1], 9, &device), [[false]]);
    }

    #[test]
    fn sizes_are_bounded() {
        let device = Device::flex();
        let floats = |start, limit, delta| {
            let found = attempt(|| range_float(start, limit, delta, DType::F32, &device));
            found.map(|y| y.dims()).map_err(|fault| fault.reason)
        };
        for (start, limit, delta) in [
            (0.0, f64::NAN, 1.0),
            (f64::NAN, 1.0, 1.0),
            (0.0, 1.0, f64::NAN),
            (0.0, f64::INFINITY, 1.0),
            (0.0, -f64::INFINITY, 1.0),
        ] {
            let found = floats(start, limit, delta).unwrap_err();
            assert!(found.starts_with("expected a finite range, found "), "{found}");
        }
        assert_eq!(floats(0.0, 1.0, 0.0).unwrap_err(), "expected a nonzero step for a range, found 0");
        assert_eq!(floats(0.0, 5.0, f64::INFINITY), Ok([0]));
        let large = floats(0.0, 1e15, 1.0).unwrap_err();
        assert!(large.starts_with("shape [1000000000000000] requires 7.1 PiB"), "{large}");
        let ints = attempt(|| range_int(i64::MIN, i64::MAX, 1, DType::I64, &device));
        assert!(ints.unwrap_err().reason.contains("the memory limit is"));
        let hot = || one_hot::<1, 2, _>(int([0i64]), 1 << 50, float([0f32, 1.0]), 0);
        assert!(attempt(hot).unwrap_err().reason.contains("the memory limit is"));
        let eye = attempt(|| eye_like([1 << 40, 1 << 40], 0, &device));
        assert!(eye.unwrap_err().reason.contains("can be addressed"));
    }

    #[test]
    fn ranges_stop_short_of_the_limit() {
        let device = Device::flex();
        let ints = |start, limit, delta| range_int(start, limit, delta, DType::I32, &device);
        same(ints(10, 6, -3), [10i32, 7]);
        same(ints(1, 7, 3), [1i32, 4]);
        same(ints(5, 5, 1), none::<i32>([0]));
        same(ints(0, 5, -2), none::<i32>([0]));
        same(ints(0, 1, 5), [0i32]);
        let floats = |start, limit, delta| range_float(start, limit, delta, DType::F32, &device);
        same(floats(1.0, 5.0, 2.0), [1f32, 3.0]);
        same(floats(1.0, 2.0, 0.3), [1f32, 1.3, 1.6, 1.9]);
        same(floats(0.0, -1.0, 0.5), none::<f32>([0]));
    }
}
