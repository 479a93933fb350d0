//! Softmax and norms of rows in one launch.
//!
//! The units of a cube share a row.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    ensure_alike, first,
    launch::{Grid, Strided, launch},
    summed,
    units::{UNITS, greatest, total},
    unwritten,
};

/// Kind of a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Norm {
    /// Rows get mean 0 and variance 1.
    Mean,
    /// Rows are divided by the root of their mean square.
    Root,
}

/// Returns the softmax along an axis.
pub fn softmax(x: CubeTensor, axis: usize) -> CubeTensor {
    let x = into_contiguous(x);
    let shape = x.shape();
    let y = unwritten(&x, shape.clone(), x.dtype);
    let elements = shape.num_elements();
    if elements == 0 {
        return y;
    }
    let size = shape[axis];
    let inner: usize = shape.iter().skip(axis + 1).product();
    let rows = elements / size;
    let dtypes = [x.dtype, summed(x.dtype)].map(dtype_to_storage_type);
    let shared = UNITS * summed(x.dtype).size();
    launch!(Grid::cubes(rows, UNITS).shared(shared) => softmax_kernel(
        x, &y;
        rows, size, inner, dtypes,
    ));
    y
}

/// Rows of mean 0 and variance 1, times `scale`, plus `bias`, which have an element for each one of a row.
pub fn layer_norm(rows: CubeTensor, scale: CubeTensor, bias: Option<CubeTensor>, epsilon: f32) -> CubeTensor {
    let size = scale.shape().num_elements();
    norm(rows, scale, bias, [size, 1, 1], epsilon, Norm::Mean)
}

/// Rows divided by the root of their mean square, times `scale`.
pub fn rms_norm(rows: CubeTensor, scale: CubeTensor, epsilon: f32) -> CubeTensor {
    let size = scale.shape().num_elements();
    norm(rows, scale, None, [size, 1, 1], epsilon, Norm::Root)
}

/// Groups of channels of `[batch, channels, elements]` of mean 0 and variance 1, times `scale`, plus `bias`.
pub fn group_norm(
    x: CubeTensor,
    scale: CubeTensor,
    bias: CubeTensor,
    groups: usize,
    epsilon: f32,
) -> CubeTensor {
    let shape = x.shape();
    let size = shape[1] / groups * shape[2];
    norm(x, scale, Some(bias), [size, groups, shape[2]], epsilon, Norm::Mean)
}

/// Normalizes rows of `size` elements. The scale repeats after `groups` rows, and `each` elements share one
/// of its elements.
fn norm(
    x: CubeTensor,
    scale: CubeTensor,
    bias: Option<CubeTensor>,
    [size, groups, each]: [usize; 3],
    epsilon: f32,
    norm: Norm,
) -> CubeTensor {
    ensure_alike(&x, [Some(&scale), bias.as_ref()]);
    let x = into_contiguous(x);
    let y = unwritten(&x, x.shape(), x.dtype);
    let elements = x.shape().num_elements();
    if elements == 0 {
        return y;
    }
    let rows = elements / size;
    let dtypes = [x.dtype, summed(x.dtype)].map(dtype_to_storage_type);
    let bias = bias.map(into_contiguous);
    // The stride is 0 if the scale was expanded from one element.
    let next_scale = scale.meta.strides()[0];
    let shared = UNITS * summed(x.dtype).size();
    launch!(Grid::cubes(rows, UNITS).shared(shared) => norm_kernel(
        x, Strided(scale), bias, &y;
        rows, size, groups, each, next_scale, epsilon, norm, dtypes,
    ));
    y
}

/// A cube computes the softmax of a row.
///
/// Cubes beyond `rows` end. `x` and `y` have `rows * size` elements, and the rows of an axis are whole groups
/// of `inner`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn softmax_kernel<T: Float, S: Float>(
    x: &Tensor<T>,
    y: &mut Tensor<T>,
    rows: usize,
    size: usize,
    inner: usize,
    #[define(T, S)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= rows {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first = first(CUBE_POS, size, inner);
    let mut shared = Shared::<[S]>::new_slice(UNITS);
    let mut most = S::min_value();
    for at in range_stepped(unit, size, UNITS) {
        let element = S::cast_from(x[first + at * inner]);
        most = select(element > most, element, most);
    }
    let most = greatest(most, &mut shared);
    let mut sum = S::from_int(0);
    for at in range_stepped(unit, size, UNITS) {
        sum += S::exp(S::cast_from(x[first + at * inner]) - most);
    }
    let sum = total(sum, &mut shared);
    for at in range_stepped(unit, size, UNITS) {
        let power = S::exp(S::cast_from(x[first + at * inner]) - most);
        y[first + at * inner] = T::cast_from(power / sum);
    }
}

/// A cube normalizes a row.
///
/// Cubes beyond `rows` end. `x` and `y` have `rows * size` elements; `scale` and `bias` `size / each` for
/// each of `groups`, which are `next_scale` apart in `scale`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn norm_kernel<T: Float, S: Float>(
    x: &Tensor<T>,
    scale: &Tensor<T>,
    bias: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    rows: usize,
    size: usize,
    groups: usize,
    each: usize,
    next_scale: usize,
    epsilon: f32,
    #[comptime] norm: Norm,
    #[define(T, S)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= rows {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * size;
    let mut shared = Shared::<[S]>::new_slice(UNITS);
    let mut mean = S::from_int(0);
    if comptime!(norm == Norm::Mean) {
        let mut sum = S::from_int(0);
        for at in range_stepped(unit, size, UNITS) {
            sum += S::cast_from(x[first + at]);
        }
        mean = total(sum, &mut shared) / S::cast_from(size);
    }
    let mut squares = S::from_int(0);
    for at in range_stepped(unit, size, UNITS) {
        let element = S::cast_from(x[first + at]) - mean;
        squares += element * element;
    }
    let variance = total(squares, &mut shared) / S::cast_from(size);
    let root = S::sqrt(variance + S::cast_from(epsilon));
    let begin = CUBE_POS % groups * (size / each);
    for at in range_stepped(unit, size, UNITS) {
        let of = begin + at / each;
        let mut element = (S::cast_from(x[first + at]) - mean) / root * S::cast_from(scale[of * next_scale]);
        #[comptime]
        match bias {
            ComptimeOption::Some(bias) => element += S::cast_from(bias[of]),
            ComptimeOption::None => {}
        }
        y[first + at] = T::cast_from(element);
    }
}
