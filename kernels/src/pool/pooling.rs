//! Pooling: the maximum, mean or norm of each window.

use burn::tensor::{
    Float, Int, Slice, Tensor,
    kind::{Numeric, Ordered},
    module,
    ops::{MaxPoolOptions, PadMode},
};

use super::slide::{Of, slide};
use crate::{
    backend::call,
    convolution::{addressable, window::Window},
    shape::{WithShape, empty},
    sizes,
};

mod global;
mod indices;
mod sum;

pub use global::{global_average_pool, global_lp_pool, global_max_pool};
pub use indices::{StorageOrder, max_pool_with_indices};
pub use sum::{average_pool, lp_pool};

/// Returns the largest element of each window of `[batch, channels, spatial..]`. See [`Window::positions`] for `ceil`.
pub fn max_pool<const D: usize, const S: usize, K: MaxPool>(
    x: Tensor<D, K>,
    window: Window<S>,
    ceil: bool,
) -> Tensor<D, K> {
    K::max_pool(x, window, ceil)
}

/// Kinds of tensors that have a [`max_pool`].
pub trait MaxPool: Ordered {
    #[doc(hidden)]
    fn max_pool<const D: usize, const S: usize>(
        x: Tensor<D, Self>,
        window: Window<S>,
        ceil: bool,
    ) -> Tensor<D, Self>;
}

impl MaxPool for Float {
    fn max_pool<const D: usize, const S: usize>(x: Tensor<D>, window: Window<S>, ceil: bool) -> Tensor<D> {
        let (dims, window) = (x.dims(), addressable(&x, window));
        let shape = pooled_shape(dims, &window, ceil);
        if shape.contains(&0) {
            return empty(&x, shape);
        }
        if let Some(y) = slide(&x, &window, shape, Of::Largest) {
            return y;
        }
        // Burn copies the input with padding that differs at the two ends.
        sizes::padded(&dims, 2, &window.pads, x.dtype().size());
        match D {
            3 => {
                let flat = x.with_shape([dims[0], dims[1], dims[2]]);
                module::max_pool1d(flat, options(window, ceil)).with_shape(shape)
            }
            4 => {
                let flat = x.with_shape([dims[0], dims[1], dims[2], dims[3]]);
                module::max_pool2d(flat, options(window, ceil)).with_shape(shape)
            }
            _ => largest(x, window, ceil),
        }
    }
}

impl MaxPool for Int {
    fn max_pool<const D: usize, const S: usize>(
        x: Tensor<D, Int>,
        window: Window<S>,
        ceil: bool,
    ) -> Tensor<D, Int> {
        let (dims, window) = (x.dims(), addressable(&x, window));
        let shape = pooled_shape(dims, &window, ceil);
        if shape.contains(&0) {
            return empty(&x, shape);
        }
        if S > 2 || dims.contains(&0) {
            return largest(x, window, ceil);
        }
        let sizes = [last(&dims, 2), last(&dims, 1)];
        let flat = x.clone().with_shape([dims[0], dims[1], sizes[0], sizes[1]]);
        let plane = Window {
            kernel: plane(window.kernel, 1),
            strides: plane(window.strides, 1),
            dilations: plane(window.dilations, 1),
            pads: plane(window.pads, (0, 0)),
        };
        let positions = [last(&shape, 2), last(&shape, 1)];
        match call!(max_pool_int(flat; plane, positions)).tensor() {
            Some(y) => Tensor::<4, Int>::from_dispatch(y).with_shape(shape),
            None => largest(x, window, ceil),
        }
    }
}

/// Returns the values along rows and columns; with a single axis, that along rows is `one`.
fn plane<T: Copy, const S: usize>(own: [T; S], one: T) -> [T; 2] {
    match own[..] {
        [columns] => [one, columns],
        [rows, columns, ..] => [rows, columns],
        [] => [one; 2],
    }
}

/// Returns the spatial size `from_end` axes before the last, 1 for a missing axis.
fn last<const D: usize>(dims: &[usize; D], from_end: usize) -> usize {
    if D >= 2 + from_end { dims[D - from_end] } else { 1 }
}

fn options<const S: usize, const N: usize>(window: Window<S>, ceil: bool) -> MaxPoolOptions<N> {
    MaxPoolOptions::new(core::array::from_fn(|axis| window.kernel[axis]))
        .with_stride(core::array::from_fn(|axis| window.strides[axis]))
        .with_dilation(core::array::from_fn(|axis| window.dilations[axis]))
        .with_padding_pairs(core::array::from_fn(|axis| window.pads[axis]))
        .with_ceil_mode(ceil)
}

fn largest<const D: usize, const S: usize, K: Ordered>(
    x: Tensor<D, K>,
    window: Window<S>,
    ceil: bool,
) -> Tensor<D, K> {
    let lowest = lowest(&x);
    let shape = pooled_shape(x.dims(), &window, ceil);
    let mut y = pad(x, &window, &shape, lowest);
    for axis in 0..S {
        y = taps(&y, &window, axis, shape[2 + axis]).reduce(Tensor::max_pair).expect("a kernel has elements");
    }
    y
}

/// Returns the shape of the output.
fn pooled_shape<const D: usize, const S: usize>(
    dims: [usize; D],
    window: &Window<S>,
    ceil: bool,
) -> [usize; D] {
    assert_eq!(D, S + 2, "a window over {S} axes requires a tensor of rank {}", S + 2);
    let positions = window.positions(core::array::from_fn(|axis| dims[2 + axis]), ceil);
    core::array::from_fn(|dim| if dim < 2 { dims[dim] } else { positions[dim - 2] })
}

/// Fills the padding, and the elements after it that windows of an output of `shape` read, with `value`.
fn pad<const D: usize, const S: usize, K: Numeric>(
    x: Tensor<D, K>,
    window: &Window<S>,
    shape: &[usize; D],
    value: f32,
) -> Tensor<D, K> {
    let dims = x.dims();
    let pads: [(usize, usize); S] = core::array::from_fn(|axis| {
        let needed = (shape[2 + axis].max(1) - 1) * window.strides[axis] + window.reach(axis);
        let begin = window.pads[axis].0;
        (begin, needed.saturating_sub(begin + dims[2 + axis]))
    });
    if pads == [(0, 0); S] {
        return x;
    }
    sizes::padded(&dims, 2, &pads, x.dtype().size());
    x.pad(pads, PadMode::Constant(value))
}

/// Returns for each kernel offset along a spatial axis of a padded input the elements of all windows at this offset.
fn taps<const D: usize, const S: usize, K: Numeric>(
    padded: &Tensor<D, K>,
    window: &Window<S>,
    axis: usize,
    positions: usize,
) -> impl Iterator<Item = Tensor<D, K>> {
    let (stride, dilation) = (window.strides[axis], window.dilations[axis]);
    (0..window.kernel[axis]).map(move |offset| {
        let begin = (offset * dilation) as isize;
        let end = begin + ((positions.max(1) - 1) * stride) as isize + 1;
        let slice = Slice::new(begin, Some(end), stride as isize);
        padded.clone().slice_dim(2 + axis, slice)
    })
}

/// Returns a value that no element of `x` is less than. All of these are exact in f32.
fn lowest<const D: usize, K: Numeric>(x: &Tensor<D, K>) -> f32 {
    let dtype = x.dtype();
    if dtype.is_float() {
        f32::NEG_INFINITY
    } else if dtype.is_uint() {
        0.0
    } else {
        -((1u128 << (8 * dtype.size() - 1)) as f32)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::elementwise::cast::float_to_int;
    use crate::flex::with_each_set;
    use crate::testing::{float, has, indices, int, near, noise, same};

    #[test]
    fn the_last_window_is_dropped_where_it_starts_in_padding() {
        let x = float::<4>([[[[1f32, 2.0], [3.0, 4.0]]]]);
        let window = Window::new([1, 1]).strides([2, 2]);
        same(max_pool(x, window, true), [[[[1f32]]]]);
    }

    #[test]
    fn a_window_without_a_position_gives_no_elements() {
        let window = Window::new([2, 3]);
        let x = || float::<4>([[[[1f32, 2.0, 3.0], [3.0, 4.0, 5.0]]]]).narrow(2, 0, 1);
        let none = || TensorData::new(Vec::<f32>::new(), [1, 1, 0, 1]);
        same(max_pool(x(), window, false), none());
        same(average_pool(x(), window, false, false), none());
        same(lp_pool(x(), window, 2, false), none());
        let (values, indices) = max_pool_with_indices(x(), window, false, StorageOrder::RowMajor);
        same(values, none());
        assert_eq!(indices.dims(), [1, 1, 0, 1]);
        let bytes = max_pool(int::<3>([[[1i8, 2]]]), Window::new([3]), false);
        same(bytes, TensorData::new(Vec::<i8>::new(), [1, 1, 0]));
    }

    #[test]
    fn ceil_reaches_over_the_end() {
        let x = float::<4>([[[
            [1f32, 2.0, 3.0, 4.0],
            [5.0, 6.0, 7.0, 8.0],
            [9.0, 10.0, 11.0, 12.0],
            [13.0, 14.0, 15.0, 16.0],
        ]]]);
        let window = Window::new([3, 3]).strides([2, 2]);
        same(max_pool(x, window, true), [[[[11f32, 12.0], [15.0, 16.0]]]]);
    }

    #[test]
    fn bytes_keep_their_type_and_sign() {
        let x = int::<3>([[[-7i8, -9, -128], [-3, 5, 127]]]);
        let window = Window::new([2]).pads([(1, 0)]);
        same(max_pool(x, window, false), [[[-7i8, -7, -9], [-3, 5, 127]]]);
        let x = int::<3>([[[1u8, 255, 0]]]);
        same(max_pool(x, window, false), [[[1u8, 255, 255]]]);
    }

    #[test]
    fn integers_agree_with_passes_over_the_tensor() {
        for dtype in [DType::U8, DType::I8, DType::U16, DType::I16, DType::I32] {
            if !has(dtype) {
                continue;
            }
            let x = noise::<4>([2, 3, 17, 38], 5).mul_scalar(90.0).add_scalar(30.0);
            let x = x.clamp(if dtype.is_uint() { 0.0 } else { -90.0 }, 120.0);
            let x = float_to_int(x, dtype);
            for window in [
                Window::new([3, 3]).strides([2, 2]),
                Window::new([3, 3]).strides([2, 2]).pads([(1, 1), (1, 1)]),
                Window::new([2, 4]).strides([1, 1]).pads([(1, 0), (0, 3)]),
                Window::new([2, 3]).strides([3, 3]).dilations([2, 5]),
                Window::new([1, 1]).strides([2, 4]).pads([(3, 3), (2, 2)]),
            ] {
                for ceil in [false, true] {
                    with_each_set(|_| {
                        for x in [x.clone(), x.clone().swap_dims(2, 3)] {
                            let expected = largest(x.clone(), window, ceil);
                            same(max_pool(x, window, ceil), expected.into_data());
                        }
                    });
                }
            }
            let line = x.clone().with_shape([3, 2, 17 * 38]);
            let window = Window::new([5]).strides([3]).pads([(2, 4)]);
            let expected = largest(line.clone(), window, true);
            same(max_pool(line, window, true), expected.into_data());
        }
    }

    #[test]
    fn one_dimension_agrees_with_the_definition() {
        for window in [
            Window::new([3]),
            Window::new([3]).strides([2]).pads([(0, 2)]),
            Window::new([2]).dilations([3]).strides([3]).pads([(1, 1)]),
        ] {
            agree(noise([2, 3, 10], 1), window);
        }
    }

    #[test]
    fn two_dimensions_agree_with_the_definition() {
        for window in [
            Window::new([2, 3]),
            Window::new([3, 3]).strides([2, 2]).pads([(1, 1), (1, 1)]),
            Window::new([3, 3]).strides([2, 3]).pads([(0, 1), (2, 0)]),
            Window::new([2, 3]).dilations([2, 1]).pads([(1, 0), (1, 1)]),
        ] {
            agree(noise([2, 3, 8, 7], 2), window);
            agree(noise([7, 3, 8, 2], 3).permute([3, 1, 2, 0]), window);
        }
    }

    #[test]
    fn three_dimensions_agree_with_the_definition() {
        for window in [
            Window::new([2, 3, 1]),
            Window::new([2, 3, 2]).strides([2, 1, 3]).dilations([2, 1, 1]).pads([(1, 0), (0, 1), (1, 1)]),
        ] {
            agree(noise([1, 2, 5, 6, 4], 4), window);
        }
    }

    fn agree<const D: usize, const S: usize>(x: Tensor<D>, window: Window<S>) {
        let dims = x.dims();
        let sizes: [usize; S] = dims[2..].try_into().unwrap();
        let flat = x.clone().with_shape([dims[0] * dims[1], sizes.iter().product()]);
        let planes: Vec<f32> = flat.to_data().try_to_vec().unwrap();
        for ceil in [false, true] {
            let shape = pooled_shape(dims, &window, ceil);
            let positions: [usize; S] = shape[2..].try_into().unwrap();
            let mut expected = Vec::new();
            for plane in planes.chunks(sizes.iter().product()) {
                for position in indices(positions) {
                    let inside = window.taps(sizes, position).into_iter().flatten().flatten();
                    expected.push(
                        inside
                            .map(|at| plane[at.iter().zip(sizes).fold(0, |f, (i, d)| f * d + i)])
                            .fold(f32::NEG_INFINITY, f32::max),
                    );
                }
            }
            let expected = TensorData::new(expected, shape);
            near(max_pool(x.clone(), window, ceil), expected.clone(), 0.0);
            near(largest(x.clone(), window, ceil), expected.clone(), 0.0);
            let half = max_pool(x.clone().cast(DType::F16), window, ceil);
            near(half.cast(DType::F32), expected, 1e-3);
        }
    }
}
