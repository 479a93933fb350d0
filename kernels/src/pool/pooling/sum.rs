//! Mean and norm of each window.

use alloc::vec::Vec;
use burn::tensor::{Tensor, TensorData, module, ops::AvgPoolOptions};

use super::{pad, pooled_shape, taps};
use crate::shape::{WithShape, empty};
use crate::{
    convolution::{addressable, window::Window},
    elementwise::elementary::power_by,
    pool::slide::{Of, slide},
    sizes,
    widen::widened,
};

/// Returns the mean of each window. `include_padding` also counts the zeros of the padding, but nothing beyond it.
pub fn average_pool<const D: usize, const S: usize>(
    x: Tensor<D>,
    window: Window<S>,
    include_padding: bool,
    ceil: bool,
) -> Tensor<D> {
    let dtype = x.dtype();
    let (dims, window) = (x.dims(), addressable(&x, window));
    let shape = pooled_shape(dims, &window, ceil);
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    let of = Of::Mean { padding: include_padding };
    if let Some(y) = slide(&x, &window, shape, of) {
        return y;
    }
    let x = widened(x);
    sizes::padded(&dims, 2, &window.pads, x.dtype().size());
    let dense = window.dilations == [1; S];
    let y = match D {
        3 if dense => {
            let flat = x.with_shape([dims[0], dims[1], dims[2]]);
            let options = options(window, include_padding, ceil);
            module::avg_pool1d(flat, options).with_shape(shape)
        }
        4 if dense => {
            let flat = x.with_shape([dims[0], dims[1], dims[2], dims[3]]);
            let options = options(window, include_padding, ceil);
            module::avg_pool2d(flat, options).with_shape(shape)
        }
        _ => mean(x, window, include_padding, shape),
    };
    y.cast(dtype)
}

/// Returns the `p`-norm of each window.
pub fn lp_pool<const D: usize, const S: usize>(
    x: Tensor<D>,
    window: Window<S>,
    p: u32,
    ceil: bool,
) -> Tensor<D> {
    let (dtype, window) = (x.dtype(), addressable(&x, window));
    let shape = pooled_shape(x.dims(), &window, ceil);
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    root(sum(power(widened(x), p), window, shape), p).cast(dtype)
}

/// Returns `|x|^p`.
pub(super) fn power<const D: usize>(x: Tensor<D>, p: u32) -> Tensor<D> {
    match p {
        1 => x.abs(),
        2 => x.square(),
        _ => power_by(x.abs(), f64::from(p)),
    }
}

/// Returns the `p`-th root of `x`.
pub(super) fn root<const D: usize>(x: Tensor<D>, p: u32) -> Tensor<D> {
    match p {
        1 => x,
        2 => x.sqrt(),
        _ => power_by(x, 1.0 / f64::from(p)),
    }
}

fn options<const S: usize, const N: usize>(
    window: Window<S>,
    include_padding: bool,
    ceil: bool,
) -> AvgPoolOptions<N> {
    AvgPoolOptions::new(core::array::from_fn(|axis| window.kernel[axis]))
        .with_stride(core::array::from_fn(|axis| window.strides[axis]))
        .with_padding_pairs(core::array::from_fn(|axis| window.pads[axis]))
        .with_count_include_pad(include_padding)
        .with_ceil_mode(ceil)
}

fn mean<const D: usize, const S: usize>(
    x: Tensor<D>,
    window: Window<S>,
    include_padding: bool,
    shape: [usize; D],
) -> Tensor<D> {
    let (device, dtype, dims) = (x.device(), x.dtype(), x.dims());
    let mut y = sum(x, window, shape);
    for axis in 0..S {
        let (begin, end) = window.pads[axis];
        let size = dims[2 + axis];
        let counted = if include_padding { 0..begin + size + end } else { begin..begin + size };
        let count = |position: usize| {
            let taps = (0..window.kernel[axis])
                .map(|k| position * window.strides[axis] + k * window.dilations[axis])
                .filter(|tap| counted.contains(tap));
            taps.count().max(1) as f32
        };
        let counts: Vec<f32> = (0..shape[2 + axis]).map(count).collect();
        let mut along = [1; D];
        along[2 + axis] = shape[2 + axis];
        let counts = TensorData::new(counts, along).convert_dtype(dtype);
        y = y / Tensor::from_data(counts, (&device, dtype));
    }
    y
}

fn sum<const D: usize, const S: usize>(x: Tensor<D>, window: Window<S>, shape: [usize; D]) -> Tensor<D> {
    let mut y = pad(x, &window, &shape, 0.0);
    for axis in 0..S {
        y = taps(&y, &window, axis, shape[2 + axis])
            .reduce(|sum, tap| sum + tap)
            .expect("a kernel has elements");
    }
    y
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::testing::{float, indices, near, noise, same};

    #[test]
    fn padding_counts_only_if_asked() {
        let x = float::<3>([[[2f32, 4.0, 6.0]]]);
        let window = Window::new([2]).pads([(1, 0)]);
        same(average_pool(x.clone(), window, false, false), [[[2f32, 3.0, 5.0]]]);
        same(average_pool(x, window, true, false), [[[1f32, 3.0, 5.0]]]);
    }

    #[test]
    fn elements_beyond_the_padding_never_count() {
        let x = float::<3>([[[2f32, 4.0, 6.0, 8.0]]]);
        let window = Window::new([3]).strides([2]);
        same(average_pool(x, window, true, true), [[[4f32, 7.0]]]);
    }

    #[test]
    fn the_norm_of_a_window_grows_with_its_elements() {
        let x = float::<3>([[[3f32, -4.0, 0.0]]]);
        let window = Window::new([2]);
        near(lp_pool(x.clone(), window, 2, false), [[[5f32, 4.0]]], 1e-6);
        near(lp_pool(x.clone(), window, 1, false), [[[7f32, 4.0]]], 1e-6);
        near(lp_pool(x, window, 3, false), [[[4.497_941_4_f32, 4.0]]], 1e-6);
    }

    #[test]
    fn every_option_agrees_with_the_definition() {
        for window in
            [Window::new([3]).strides([2]).pads([(0, 2)]), Window::new([3]).dilations([2]).pads([(2, 1)])]
        {
            agree(noise([2, 3, 10], 1), window);
        }
        for window in [
            Window::new([2, 3]),
            Window::new([3, 3]).strides([2, 2]).pads([(1, 1), (1, 1)]),
            Window::new([3, 3]).strides([2, 3]).pads([(0, 1), (2, 0)]),
            Window::new([2, 3]).dilations([2, 1]).pads([(1, 0), (1, 1)]),
        ] {
            agree(noise([2, 3, 8, 7], 2), window);
            agree(noise([7, 3, 8, 2], 3).permute([3, 1, 2, 0]), window);
        }
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
        let plane: usize = sizes.iter().product();
        let flat = x.clone().with_shape([dims[0] * dims[1] * plane]);
        let values: Vec<f32> = flat.to_data().try_to_vec().unwrap();
        for (include, ceil) in [(false, false), (false, true), (true, false), (true, true)] {
            let shape = pooled_shape(dims, &window, ceil);
            let positions: [usize; S] = shape[2..].try_into().unwrap();
            let mut expected = Vec::new();
            for values in values.chunks(plane) {
                for position in indices(positions) {
                    let taps = window.taps(sizes, position).into_iter().flatten();
                    let taps: Vec<_> = taps.filter(|tap| include || tap.is_some()).collect();
                    let sum: f32 = taps
                        .iter()
                        .flatten()
                        .map(|at| values[at.iter().zip(sizes).fold(0, |f, (i, d)| f * d + i)])
                        .sum();
                    expected.push(sum / taps.len() as f32);
                }
            }
            let expected = TensorData::new(expected, shape);
            near(average_pool(x.clone(), window, include, ceil), expected.clone(), 1e-6);
            near(mean(x.clone(), window, include, shape), expected.clone(), 1e-6);
            let half = average_pool(x.clone().cast(DType::F16), window, include, ceil);
            near(half.cast(DType::F32), expected, 1e-3);
        }
    }
}
