//! Pools compared with the elements of each window.

use burn::tensor::{DType, Tensor, TensorData};

use crate::attempt::attempt;
use crate::backend::{Runtime, switches};
use crate::convolution::window::Window;
use crate::memory_limit::with_memory_limit;
use crate::pool::{StorageOrder, average_pool, lp_pool, max_pool, max_pool_with_indices};
use crate::testing::{device, float, has, indices, near, noise, on_each, same, with_launches, with_reads};

/// Returns each window's elements, and the number of its elements including padding.
fn windows<const D: usize, const S: usize>(
    x: &Tensor<D>,
    window: &Window<S>,
    shape: [usize; D],
    of: impl Fn(Vec<f32>, usize) -> f32,
) -> TensorData {
    let (dims, data) = (x.dims(), x.to_data());
    let values = data.as_slice::<f32>().unwrap();
    let results: Vec<f32> = indices(shape)
        .map(|at| {
            let (mut found, mut counted) = (Vec::new(), 0);
            for tap in indices(window.kernel) {
                let coordinates: [usize; S] = std::array::from_fn(|axis| {
                    at[2 + axis] * window.strides[axis] + tap[axis] * window.dilations[axis]
                });
                let counts = |axis: usize| {
                    let (before, after) = window.pads[axis];
                    coordinates[axis] < before + dims[2 + axis] + after
                };
                counted += usize::from((0..S).all(counts));
                let inside = |axis: usize| {
                    let at = coordinates[axis].checked_sub(window.pads[axis].0)?;
                    (at < dims[2 + axis]).then_some(at)
                };
                let start = at[0] * dims[1] + at[1];
                let flat = (0..S).try_fold(start, |sum, axis| Some(sum * dims[2 + axis] + inside(axis)?));
                found.extend(flat.map(|flat| values[flat]));
            }
            of(found, counted)
        })
        .collect();
    TensorData::new(results, shape)
}

fn agree<const D: usize, const S: usize>(x: Tensor<D>, window: Window<S>, ceil: bool) {
    let y = max_pool(x.clone(), window, ceil);
    let largest = |found: Vec<f32>, _| found.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let expected = windows(&x, &window, y.dims(), largest);
    near(y, expected, 1e-6);
    for padding in [false, true] {
        let y = average_pool(x.clone(), window, padding, ceil);
        let mean = |found: Vec<f32>, counted: usize| {
            let count = if padding { counted } else { found.len() };
            found.iter().sum::<f32>() / count.max(1) as f32
        };
        let expected = windows(&x, &window, y.dims(), mean);
        near(y, expected, 1e-5);
    }
}

#[test]
fn every_rank_stride_and_padding() {
    on_each(|| {
        for ceil in [false, true] {
            agree(noise::<3>([2, 3, 11], 1), Window::new([3]).strides([2]).pads([(1, 1)]), ceil);
            let window = Window::new([3, 2]);
            agree(noise::<4>([1, 5, 7, 6], 2), window, ceil);
            let window = window.strides([2, 3]).pads([(1, 0), (0, 1)]);
            agree(noise::<4>([2, 1, 9, 8], 3), window, ceil);
            agree(noise::<4>([1, 2, 9, 8], 4), window.dilations([2, 3]), ceil);
            let cube = Window::new([2, 3, 2]).strides([1, 2, 2]).pads([(1, 1), (1, 1), (0, 1)]);
            agree(noise::<5>([1, 2, 4, 5, 6], 5), cube, ceil);
        }
    });
}

#[test]
fn geometry_beyond_32_bits_is_an_error_of_the_run() {
    on_each(|| {
        let x = noise::<4>([1, 2, 3, 3], 1);
        // The one tap of each window has no use for the dilation.
        let window = Window::new([1, 1]).dilations([1 << 33, 1]);
        same(max_pool(x.clone(), window, false), x.clone().into_data());
        let window = Window::new([2, 1]).pads([(1 << 33, 0), (0, 0)]).strides([1 << 34, 1]);
        let y = attempt(|| max_pool(x.clone(), window, false).into_data());
        if Runtime::of(&device()) == Runtime::Wgpu {
            let fault = y.expect_err("kernels count to 2^31 - 1");
            assert!(fault.reason.contains("8589934595"), "{fault}");
            // The device is as good as before.
            agree(x, Window::new([2, 2]), false);
        } else if switches::is_plain() {
            let fault = y.expect_err("primitives copy the input with its padding");
            assert!(fault.reason.contains("the memory limit is"), "{fault}");
        } else {
            let y = y.expect("it is computed");
            assert!(y.iter::<f32>().all(|y| y == f32::NEG_INFINITY));
        }
    });
}

#[test]
fn copies_with_padding_do_not_exceed_the_memory_limit() {
    on_each(|| {
        let x = || noise::<4>([1, 2, 3, 3], 1);
        let window = Window::new([2, 2]).pads([(1 << 20, 0), (1 << 20, 0)]).strides([1 << 21, 1 << 21]);
        let refused = |run: &dyn Fn()| {
            let fault = attempt(|| with_memory_limit(1 << 20, run)).expect_err("the copy is too large");
            assert!(fault.reason.contains("the memory limit is 1.0 MiB"), "{fault}");
        };
        refused(&|| drop(lp_pool(x(), window, 2, false)));
        refused(&|| drop(max_pool_with_indices(x(), window, false, StorageOrder::RowMajor)));
        refused(&|| drop(max_pool_with_indices(x(), window, true, StorageOrder::RowMajor)));
    });
}

#[test]
fn views_are_read_in_place() {
    on_each(|| {
        let window = Window::new([3, 3]).strides([2, 2]).pads([(1, 1), (1, 1)]);
        let x = || noise::<4>([2, 7, 6, 5], 6);
        agree(x().permute([0, 3, 1, 2]), window, false);
        agree(x().narrow(2, 1, 4), window, false);
        agree(noise::<4>([1, 1, 6, 5], 7).expand([2, 3, 6, 5]), window, false);
        agree(noise::<4>([0, 3, 6, 5], 8), window, false);
    });
}

#[test]
fn nan_is_the_largest() {
    on_each(|| {
        let x = float::<3>([[[1.0f32, f32::NAN, 3.0, f32::NEG_INFINITY, -5.0]]]);
        let y = max_pool(x, Window::new([2]), false);
        near(y, [[[f32::NAN, f32::NAN, 3.0, -5.0]]], 0.0);
    });
}

#[test]
fn a_pool_is_one_launch() {
    on_each(|| {
        let x = noise::<4>([1, 4, 8, 8], 8);
        let run = || max_pool(x, Window::new([2, 2]).strides([2, 2]), false).into_data();
        with_reads(0, || with_launches(1, run));
    });
}

#[test]
fn half_precision_is_summed_in_single_precision() {
    on_each(|| {
        if has(DType::F16) {
            let x = noise::<4>([1, 2, 16, 16], 9).add_scalar(100.0);
            let window = Window::new([16, 16]);
            let expected = average_pool(x.clone(), window, false, false);
            let y = average_pool(x.cast(DType::F16), window, false, false);
            near(y.cast(DType::F32), expected.into_data(), 1e-3);
        }
    });
}
