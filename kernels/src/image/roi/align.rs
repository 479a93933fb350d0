//! RoiAlign.

use alloc::vec::Vec;
use burn::tensor::{DType, Int, Tensor};

use super::{by_grid, pixels, points::Points, weighted_pixels::WeightedPixels};
use crate::shape::WithShape;
pub use crate::spec::regions::{Mode, RoiAlign};
use crate::{
    attempt::nonnegative,
    backend::call,
    reader::{Blocking, Reader, Waiting, now},
    sizes,
    spec::indices::Axis,
    spec::{operand, shaped},
    widen::widened,
};

/// Returns the mean or maximum of the sampling points of each output element, for regions `[regions, 4]`, x
/// and y of two corners, of `[batch, channels, height, width]`.
///
/// The host reads the regions if the device has no kernel.
pub fn roi_align(x: Tensor<4>, rois: Tensor<2>, batches: Tensor<1, Int>, options: &RoiAlign) -> Tensor<4> {
    now(roi_align_by(x, rois, batches, options, Blocking))
}

/// Async version of [`roi_align`].
pub async fn roi_align_async(
    x: Tensor<4>,
    rois: Tensor<2>,
    batches: Tensor<1, Int>,
    options: &RoiAlign,
) -> Tensor<4> {
    roi_align_by(x, rois, batches, options, Waiting).await
}

async fn roi_align_by(
    x: Tensor<4>,
    rois: Tensor<2>,
    batches: Tensor<1, Int>,
    options: &RoiAlign,
    reader: impl Reader,
) -> Tensor<4> {
    let [batch, channels, height, width] = x.dims();
    let [rows, columns] = options.output;
    let (regions, numbers) = (batches.dims(), rois.dims());
    let numbers = operand("tensor of regions", &numbers);
    shaped(numbers, &[regions[0], 4], operand("tensor of batches", &regions));
    let shape = [regions[0], channels, rows, columns];
    let axis = Axis { number: 0, size: batch };
    let batches = nonnegative(batches, axis);
    if shape.contains(&0) || height * width == 0 {
        return Tensor::zeros(shape, (&x.device(), x.dtype()));
    }
    match on_device(&x, &rois, &batches, options) {
        Some(y) => y,
        None => by_primitives(x, rois, batches, options, reader).await,
    }
}

/// Maximum number of points along an axis that a device computes one by one. Mesa's software Vulkan stops the loops of a thread
/// after 65,535 iterations in total and continues with the values so far: 256 points along both axes exceed that.
const POINTS_ON_DEVICE: usize = 255;

/// Returns the result of the device's kernel, `None` to compute it by primitives.
fn on_device(
    x: &Tensor<4>,
    rois: &Tensor<2>,
    batches: &Tensor<1, Int>,
    options: &RoiAlign,
) -> Option<Tensor<4>> {
    if options.sampling > POINTS_ON_DEVICE {
        return None;
    }
    let (x, rois, batches) = (x.clone(), rois.clone(), batches.clone());
    let y = call!(roi_align(x, rois, batches; *options));
    y.tensor().map(Tensor::from_dispatch)
}

/// [`roi_align`] of operands that are not empty; the host reads the regions.
pub async fn by_primitives(
    x: Tensor<4>,
    rois: Tensor<2>,
    batches: Tensor<1, Int>,
    options: &RoiAlign,
    reader: impl Reader,
) -> Tensor<4> {
    let (dtype, [batch, channels, height, width]) = (x.dtype(), x.dims());
    let count = rois.dims()[0];
    let [rows, columns] = options.output;
    sizes::elements(&[count, rows, columns], size_of::<[usize; 2]>());
    let pixels = pixels(widened(x));
    let round: fn(f64) -> f64 = match pixels.dtype() {
        DType::F64 => |value| value,
        _ => |value| f64::from(value as f32),
    };
    let rois = reader.read(rois.without_autodiff()).await;
    let rois: Vec<f64> = rois.iter::<f64>().collect();
    let batches = reader.read(batches).await;
    let regions: Vec<Region> = rois
        .chunks_exact(4)
        .zip(batches.iter::<i64>())
        .map(|(roi, image)| {
            let offset = if options.half_pixel { 0.5 } else { 0.0 };
            let corner = |at: usize| round(round(roi[at] * f64::from(options.scale)) - offset);
            let points = |axis: usize, size: usize| {
                let begin = corner(axis);
                let length = round(corner(axis + 2) - begin);
                let length = if options.half_pixel { length } else { length.max(1.0) };
                let bin = round(length / options.output[1 - axis] as f64);
                Points::new(begin, bin, options.sampling, size, round)
            };
            // Other devices report wrong batches when results are read.
            let image = usize::try_from(image).unwrap_or(0).min(batch - 1);
            Region { first: image * height * width, y: points(1, height), x: points(0, width) }
        })
        .collect();
    let lengths: Vec<[usize; 2]> = regions
        .iter()
        .flat_map(|region| {
            let length = |points: &Points, at: usize| points.taps(at, options.mode).list.len();
            let across: Vec<usize> = (0..columns).map(|at| length(&region.x, at)).collect();
            (0..rows).flat_map(move |at| {
                let along = length(&region.y, at);
                let lengths = across.clone().into_iter().map(move |across| [along, across]);
                lengths.collect::<Vec<_>>()
            })
        })
        .collect();
    let cost = |[along, across]: [usize; 2]| along * across * channels.max(MIN_CHANNEL_COST);
    let y = by_grid(&lengths, cost, |cells, [along, across]| {
        let length = along * across;
        let mut gathered = WeightedPixels::with_capacity(cells.len() * length);
        for &cell in cells {
            let region = &regions[cell / (rows * columns)];
            let y = region.y.taps(cell / columns % rows, options.mode);
            let x = region.x.taps(cell % columns, options.mode);
            gathered.push(region.first, width, &y, &x, round);
        }
        gathered.read(&pixels, [cells.len(), length], options.mode)
    });
    let y = y.with_shape([count, rows, columns, channels]);
    y.permute([0, 3, 1, 2]).cast(dtype)
}

/// Number of channels whose values take as much memory as the index and the weight of an input element.
const MIN_CHANNEL_COST: usize = 8;

/// Sampling points of a region.
struct Region {
    /// Index of the first pixel of the region's image.
    first: usize,
    y: Points,
    x: Points,
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use burn::tensor::TensorData;

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, indices, int, near, noise};

    const OPTIONS: RoiAlign =
        RoiAlign { output: [2, 3], sampling: 2, scale: 0.5, half_pixel: true, mode: Mode::Average };

    const REGIONS: [[f32; 4]; 5] = [
        [1.0, 2.0, 9.0, 7.0],
        [-4.0, -3.0, 2.0, 30.0],
        [5.0, 5.0, 5.0, 4.0],
        [0.0, 0.0, 14.0, 10.0],
        [3.0, 1.0, 4.0, 8.0],
    ];

    /// Returns the result by the definition, point by point.
    fn expected(x: &[f32], dims: [usize; 4], batches: [i32; 5], options: &RoiAlign) -> Vec<f32> {
        let [_, channels, height, width] = dims;
        let [rows, columns] = options.output;
        let element = |[region, channel, row, column]: [usize; 4]| {
            let offset = if options.half_pixel { 0.5 } else { 0.0 };
            let [x1, y1, x2, y2] = REGIONS[region].map(|at| at * options.scale - offset);
            let least = if options.half_pixel { f32::MIN } else { 1.0 };
            let bin = [(y2 - y1).max(least) / rows as f32, (x2 - x1).max(least) / columns as f32];
            let grid = bin.map(|bin| match options.sampling {
                0 => bin.ceil() as usize,
                points => points,
            });
            let plane = (batches[region] as usize * channels + channel) * height * width;
            let mut found = Vec::new();
            for [i, j] in indices(grid) {
                let at = |begin: f32, bin: f32, cell: usize, i: usize, grid: usize| {
                    begin + bin * (cell as f32 + (i as f32 + 0.5) / grid as f32)
                };
                let y = at(y1, bin[0], row, i, grid[0]);
                let x_ = at(x1, bin[1], column, j, grid[1]);
                let out = |at: f32, size: usize| at < -1.0 || at > size as f32;
                if out(y, height) || out(x_, width) {
                    found.extend([0.0; 4]);
                    continue;
                }
                let taps = |at: f32, size: usize| {
                    let at = at.clamp(0.0, size as f32 - 1.0);
                    let low = at.floor() as usize;
                    let high = (low + 1).min(size - 1);
                    [(low, 1.0 - at.fract()), (high, at.fract())]
                };
                for (h, a) in taps(y, height) {
                    found.extend(taps(x_, width).map(|(w, b)| a * b * x[plane + h * width + w]));
                }
            }
            match options.mode {
                Mode::Max => found.iter().copied().reduce(f32::max).unwrap_or(0.0),
                Mode::Average => found.iter().sum::<f32>() / (grid[0] * grid[1]).max(1) as f32,
            }
        };
        indices([5, channels, rows, columns]).map(element).collect()
    }

    #[test]
    fn regions_agree_with_the_definition() {
        let dims = [2, 3, 6, 7];
        let batches = [1, 0, 1, 1, 0];
        for [sampling, half_pixel, max, negative] in indices([3, 2, 2, 2]) {
            let x = noise([7, 3, 6, 2], 1).permute([3, 1, 2, 0]);
            let x = if negative == 1 { x.abs().neg() } else { x };
            let values: Vec<f32> = x.to_data().try_to_vec().unwrap();
            let options = RoiAlign {
                sampling,
                half_pixel: half_pixel == 1,
                mode: [Mode::Average, Mode::Max][max],
                ..OPTIONS
            };
            let expected = expected(&values, dims, batches, &options);
            let expected = TensorData::new(expected, [5, 3, 2, 3]);
            let y = roi_align(x.clone(), float(REGIONS), int(batches), &options);
            near(y, expected.clone(), 1e-5);
            let x = x.clone().cast(DType::F64);
            let y = roi_align(x, float(REGIONS).cast(DType::F64), int(batches), &options);
            near(y.cast(DType::F32), expected, 1e-5);
        }
    }

    /// Computing each point would run out of memory, or take hours.
    #[test]
    fn regions_and_grids_are_as_large_as_floats_go() {
        let x = || noise([2, 2, 8, 8], 1).abs();
        let begin = Instant::now();
        for end in [1e5f32, 1e12, 1e38, f32::INFINITY, f32::NAN, -1e12] {
            let regions = [[0.0, 0.0, end, end], [-end, 2.0, end, 5.0]];
            for (sampling, mode) in [(0, Mode::Average), (0, Mode::Max), ((1 << 15) - 1, Mode::Max)] {
                let options = RoiAlign { output: [7, 7], sampling, mode, ..OPTIONS };
                let y = roi_align(x(), float(regions), int([0, 1]), &options);
                let y: Vec<f32> = y.into_data().try_to_vec().unwrap();
                assert!(y.iter().all(|value| (0.0..=1.0).contains(value)), "{end}: {y:?}");
            }
        }
        assert!(begin.elapsed().as_secs() < 60);
    }

    #[test]
    fn many_points_are_near_to_infinitely_many() {
        let x = noise::<4>([1, 3, 6, 7], 1);
        for mode in [Mode::Average, Mode::Max] {
            let of = |sampling| {
                let options = RoiAlign { sampling, mode, ..OPTIONS };
                roi_align(x.clone(), float(REGIONS), int([0; 5]), &options)
            };
            // GPUs compute these points one by one.
            let expected = of(256).into_data();
            near(of(300), expected.clone(), 0.02);
            near(of((1 << 15) - 1), expected, 0.02);
        }
    }

    #[test]
    fn other_elements_of_the_image_do_not_matter() {
        let mut values = [1f32; 64];
        (values[0], values[63]) = (f32::NAN, f32::INFINITY);
        let x = || float::<4>(TensorData::new(values.to_vec(), [1, 1, 8, 8]));
        for mode in [Mode::Average, Mode::Max] {
            let options = RoiAlign { scale: 1.0, mode, ..OPTIONS };
            let y = roi_align(x(), float([[2.5f32, 2.5, 5.5, 5.5]]), int([0]), &options);
            let y: Vec<f32> = y.into_data().try_to_vec().unwrap();
            assert!(y.iter().all(|value| (0.2..=1.01).contains(value)), "{y:?}");
        }
    }

    #[test]
    fn no_regions_give_no_results() {
        let rois = float::<2>(TensorData::new(Vec::<f32>::new(), [0, 4]));
        let batches = int::<1>(TensorData::new(Vec::<i64>::new(), [0]));
        let x = noise([1, 2, 3, 3], 1).cast(DType::F16);
        let y = roi_align(x, rois.cast(DType::F16), batches, &OPTIONS);
        assert_eq!((y.dims(), y.dtype()), ([0, 2, 2, 3], DType::F16));
    }

    #[test]
    fn the_maps_of_regions_exist_where_they_have_no_elements() {
        let x = || float::<4>(TensorData::new(Vec::<f32>::new(), [2, 3, 0, 4]));
        let regions = || float::<2>([[0f32, 0.0, 1.0, 1.0]]);
        let y = roi_align(x(), regions(), int([1i64]), &OPTIONS);
        assert_eq!(y.dims(), [1, 3, 2, 3]);
        for outside in [2i64, -1] {
            let failed = attempt(|| roi_align(x(), regions(), int([outside]), &OPTIONS));
            assert!(failed.is_err(), "{outside}");
        }
    }
}
