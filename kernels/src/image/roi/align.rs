//! RoiAlign.

use alloc::{vec, vec::Vec};
use burn::tensor::{Int, Tensor, TensorData};

use super::{by_grid, ints, pixels};
use crate::shape::WithShape;
use crate::{
    backend::call,
    fault::{Axis, nonnegative},
    reader::{Blocking, Reader, Waiting, now},
    spec::{operand, shaped},
    widen::widened,
};

/// How [`roi_align`] reads regions.
#[derive(Clone, Copy, Debug)]
pub struct RoiAlign {
    /// Rows and columns of the result.
    pub output: [usize; 2],
    /// Points along each axis of one element of the result; with 0 as many as it spans elements of the input.
    pub sampling: usize,
    /// What the corners of regions are multiplied with.
    pub scale: f32,
    /// Whether whole coordinates are the edges of elements, instead of their centers.
    pub half_pixel: bool,
    pub mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Average,
    /// Of what each neighbour of a point contributes, not of the sums.
    Max,
}

/// The mean or maximum of the points of each element of the regions `[regions, 4]`, x and y of two corners, of `[batch, channels, height, width]`.
///
/// Without a number of points the host reads the regions, where the device has no body for it.
pub fn roi_align(
    x: Tensor<4>,
    rois: Tensor<2>,
    batches: Tensor<1, Int>,
    options: &RoiAlign,
) -> Tensor<4> {
    now(roi_align_by(x, rois, batches, options, Blocking))
}

/// [`roi_align`] without blocking.
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
    shaped(
        numbers,
        &[regions[0], 4],
        operand("tensor of batches", &regions),
    );
    let shape = [rois.dims()[0], channels, rows, columns];
    if shape.contains(&0) || height * width == 0 {
        return Tensor::zeros(shape, (&x.device(), x.dtype()));
    }
    let axis = Axis {
        number: 0,
        size: batch,
    };
    let batches = nonnegative(batches, axis);
    match on_device(&x, &rois, &batches, options) {
        Some(y) => y,
        None => by_primitives(x, rois, batches, options, reader).await,
    }
}

/// None where primitives are to do it.
fn on_device(
    x: &Tensor<4>,
    rois: &Tensor<2>,
    batches: &Tensor<1, Int>,
    options: &RoiAlign,
) -> Option<Tensor<4>> {
    let (x, rois, batches) = (x.clone(), rois.clone(), batches.clone());
    let y = call!(roi_align(x, rois, batches; *options));
    y.tensor().map(Tensor::from_dispatch)
}

/// [`roi_align`] of operands that are not empty.
pub async fn by_primitives(
    x: Tensor<4>,
    rois: Tensor<2>,
    batches: Tensor<1, Int>,
    options: &RoiAlign,
    reader: impl Reader,
) -> Tensor<4> {
    let (dtype, [_, channels, height, width]) = (x.dtype(), x.dims());
    let count = rois.dims()[0];
    let [rows, columns] = options.output;
    let pixels = pixels(widened(x));
    let rois = widened(rois).cast(pixels.dtype()).mul_scalar(options.scale);
    let rois = if options.half_pixel {
        rois.sub_scalar(0.5)
    } else {
        rois
    };
    let begins = rois.clone().narrow(1, 0, 2).flip([1]);
    let sizes = rois.narrow(1, 2, 2).flip([1]) - begins.clone();
    let sizes = if options.half_pixel {
        sizes
    } else {
        sizes.clamp_min(1.0)
    };
    let output = TensorData::from([[rows as f32, columns as f32]]);
    let output = Tensor::<2>::from_data(output, (&sizes.device(), sizes.dtype()));
    let bins = sizes / output;
    let grids = match options.sampling {
        0 => spans(&reader.read(bins.clone().ceil()).await),
        points => vec![[points; 2]; count],
    };
    let cost = |grid: [usize; 2]| grid[0] * rows * grid[1] * columns * channels;
    let y = by_grid(&grids, cost, |regions, grid| {
        let all = regions.len() == count;
        let places = ints(regions.iter().map(|&at| at as i32).collect(), &pixels);
        let chosen = |x: &Tensor<2>| {
            if all {
                x.clone()
            } else {
                x.clone().select(0, places.clone())
            }
        };
        let batches = if all {
            batches.clone()
        } else {
            batches.clone().select(0, places.clone())
        };
        let region = Regions {
            begins: chosen(&begins),
            bins: chosen(&bins),
            grid,
            output: options.output,
        };
        region.read(&pixels, batches, [height, width], options.mode)
    });
    y.permute([0, 3, 1, 2]).cast(dtype)
}

/// How many elements of the input each element of the result spans.
fn spans(bins: &TensorData) -> Vec<[usize; 2]> {
    let spans: Vec<f64> = bins.iter::<f64>().collect();
    spans
        .chunks_exact(2)
        .map(|span| [span[0] as usize, span[1] as usize])
        .collect()
}

/// Regions with equally many points.
struct Regions {
    /// Where each begins, `[regions, 2]`.
    begins: Tensor<2>,
    /// How much of the input an element of the result spans.
    bins: Tensor<2>,
    grid: [usize; 2],
    output: [usize; 2],
}

impl Regions {
    /// `[regions, rows, columns, channels]`.
    fn read(
        &self,
        pixels: &Tensor<2>,
        batches: Tensor<1, Int>,
        [height, width]: [usize; 2],
        mode: Mode,
    ) -> Tensor<4> {
        let (count, channels) = (self.begins.dims()[0], pixels.dims()[1]);
        let [rows, columns] = self.output;
        if self.grid.contains(&0) {
            let shape = [count, rows, columns, channels];
            return Tensor::zeros(shape, (&pixels.device(), pixels.dtype()));
        }
        let [y, x] = [self.taps(0, height), self.taps(1, width)];
        let points = [rows * self.grid[0], columns * self.grid[1]];
        let dtype: burn::tensor::IntDType = y[0].0.dtype().into();
        let first = batches.cast(dtype).mul_scalar((height * width) as i64);
        let first = first.with_shape([count, 1, 1]);
        let mut parts = y.iter().flat_map(|(row, above)| {
            let (first, points) = (&first, points);
            x.iter().map(move |(column, beside)| {
                let row = row.clone().mul_scalar(width as i64).unsqueeze_dim::<3>(2);
                let place = first.clone() + row + column.clone().unsqueeze_dim(1);
                let weight = above.clone().unsqueeze_dim::<3>(2) * beside.clone().unsqueeze_dim(1);
                let flat = count * points[0] * points[1];
                pixels.clone().select(0, place.with_shape([flat])) * weight.with_shape([flat, 1])
            })
        });
        let first_part = parts.next().expect("a point has neighbours");
        let read = match mode {
            Mode::Average => parts.fold(first_part, |sum, part| sum + part),
            Mode::Max => parts.fold(first_part, Tensor::max_pair),
        };
        let shape = [count, rows, columns, channels];
        let read = read.with_shape([count * rows, self.grid[0], columns, self.grid[1], channels]);
        match mode {
            Mode::Average => {
                let points = (self.grid[0] * self.grid[1]) as f64;
                let sum = read.sum_dim(3).sum_dim(1);
                sum.div_scalar(points).with_shape(shape)
            }
            Mode::Max => read.max_dim(3).max_dim(1).with_shape(shape),
        }
    }

    /// The two elements around each point along an axis of `size`, `[regions, points]`, and what they count.
    fn taps(&self, axis: usize, size: usize) -> [(Tensor<2, Int>, Tensor<2>); 2] {
        let (grid, output) = (self.grid[axis], self.output[axis]);
        let points: Vec<f64> = (0..output * grid)
            .map(|at| (at / grid) as f64 + ((at % grid) as f64 + 0.5) / grid as f64)
            .collect();
        let points = TensorData::new(points, [1, output * grid]);
        let options = (&self.bins.device(), self.bins.dtype());
        let points = Tensor::<2>::from_data(points, options);
        let column = |x: &Tensor<2>| x.clone().narrow(1, axis, 1);
        let points = column(&self.begins) + column(&self.bins) * points;
        let beyond = points.clone().greater_scalar(size as f32);
        let outside = points.clone().lower_scalar(-1.0).bool_or(beyond);
        let last = size as f32 - 1.0;
        let points = points.clamp(0.0, last);
        let low = points.clone().floor();
        let high = low.clone().add_scalar(1.0).clamp_max(last);
        let ratio = points - low.clone();
        let rest = ratio.clone().neg().add_scalar(1.0);
        [(low, rest), (high, ratio)]
            .map(|(at, weight)| (at.int(), weight.mask_fill(outside.clone(), 0.0)))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::testing::{float, indices, int, near, noise};

    const OPTIONS: RoiAlign = RoiAlign {
        output: [2, 3],
        sampling: 2,
        scale: 0.5,
        half_pixel: true,
        mode: Mode::Average,
    };

    const REGIONS: [[f32; 4]; 5] = [
        [1.0, 2.0, 9.0, 7.0],
        [-4.0, -3.0, 2.0, 30.0],
        [5.0, 5.0, 5.0, 4.0],
        [0.0, 0.0, 14.0, 10.0],
        [3.0, 1.0, 4.0, 8.0],
    ];

    /// The definition, point by point.
    fn expected(x: &[f32], dims: [usize; 4], batches: [i32; 5], options: &RoiAlign) -> Vec<f32> {
        let [_, channels, height, width] = dims;
        let [rows, columns] = options.output;
        let element = |[region, channel, row, column]: [usize; 4]| {
            let offset = if options.half_pixel { 0.5 } else { 0.0 };
            let [x1, y1, x2, y2] = REGIONS[region].map(|at| at * options.scale - offset);
            let least = if options.half_pixel { f32::MIN } else { 1.0 };
            let bin = [
                (y2 - y1).max(least) / rows as f32,
                (x2 - x1).max(least) / columns as f32,
            ];
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
        let x = noise([7, 3, 6, 2], 1).permute([3, 1, 2, 0]);
        let values: Vec<f32> = x.to_data().try_to_vec().unwrap();
        let batches = [1, 0, 1, 1, 0];
        for [sampling, half_pixel, max] in indices([3, 2, 2]) {
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

    #[test]
    fn no_regions_give_no_results() {
        let rois = float::<2>(TensorData::new(Vec::<f32>::new(), [0, 4]));
        let batches = int::<1>(TensorData::new(Vec::<i64>::new(), [0]));
        let x = noise([1, 2, 3, 3], 1).cast(DType::F16);
        let y = roi_align(x, rois.cast(DType::F16), batches, &OPTIONS);
        assert_eq!((y.dims(), y.dtype()), ([0, 2, 2, 3], DType::F16));
    }
}
