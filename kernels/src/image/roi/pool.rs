//! MaxRoiPool.

use alloc::vec::Vec;
use burn::tensor::{Bool, DType, Int, Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::{by_grid, ints, pixels};
use crate::shape::{WithShape, expand::to_shape};
use crate::{
    attempt::nonnegative,
    backend::call,
    ensure,
    reader::{Blocking, Reader, Waiting, now},
    spec::indices::Axis,
};

/// Returns the greatest element of each cell of a grid of `output` rows and columns over each region; 0 for empty cells.
///
/// Regions are `[regions, 5]`: batch, and x and y of the first and last elements, of `[batch, channels,
/// height, width]`. The host reads the regions if the device has no kernel.
pub fn max_roi_pool(x: Tensor<4>, rois: Tensor<2>, output: [usize; 2], scale: f32) -> Tensor<4> {
    now(max_roi_pool_by(x, rois, output, scale, Blocking))
}

/// Async version of [`max_roi_pool`].
pub async fn max_roi_pool_async(x: Tensor<4>, rois: Tensor<2>, output: [usize; 2], scale: f32) -> Tensor<4> {
    max_roi_pool_by(x, rois, output, scale, Waiting).await
}

async fn max_roi_pool_by(
    x: Tensor<4>,
    rois: Tensor<2>,
    output: [usize; 2],
    scale: f32,
    reader: impl Reader,
) -> Tensor<4> {
    let [batch, channels, height, width] = x.dims();
    let regions @ [count, numbers] = rois.dims();
    ensure!(
        numbers == 5,
        "expected regions of 5 elements for the input {:?}, found shape {regions:?}",
        x.dims()
    );
    let shape = [count, channels, output[0], output[1]];
    if shape.contains(&0) || height * width == 0 {
        return Tensor::zeros(shape, (&x.device(), x.dtype()));
    }
    let rois = rois.without_autodiff();
    let axis = Axis { number: 0, size: batch };
    let batches: Tensor<1, Int> = rois.clone().narrow(1, 0, 1).with_shape([count]).int();
    let batches = nonnegative(batches, axis);
    match on_device(&x, &rois, batches, output, scale) {
        Some(y) => y,
        None => on_host(x, rois, output, scale, reader).await,
    }
}

/// `None`: the host has to read the regions.
fn on_device(
    x: &Tensor<4>,
    rois: &Tensor<2>,
    batches: Tensor<1, Int>,
    output: [usize; 2],
    scale: f32,
) -> Option<Tensor<4>> {
    let (x, rois) = (x.clone(), rois.clone());
    let y = call!(max_roi_pool(x, rois, batches; output, scale));
    y.tensor().map(Tensor::from_dispatch)
}

/// [`max_roi_pool`] of operands that are not empty; the host reads the regions.
pub async fn on_host(
    x: Tensor<4>,
    rois: Tensor<2>,
    output: [usize; 2],
    scale: f32,
    reader: impl Reader,
) -> Tensor<4> {
    let [batch, channels, height, width] = x.dims();
    let round: fn(f64) -> f64 = match rois.dtype() {
        DType::F64 => |value| value,
        _ => |value| f64::from(value as f32),
    };
    let rois: Vec<f64> = reader.read(rois).await.iter::<f64>().collect();
    let regions: Vec<Region> = rois
        .chunks_exact(5)
        .map(|roi| {
            let corner = |at: usize| round(roi[at] * f64::from(scale)).round();
            Region {
                first: (roi[0] as usize).min(batch - 1) * height * width,
                rows: windows(corner(2), corner(4), output[0], height, round),
                columns: windows(corner(1), corner(3), output[1], width, round),
            }
        })
        .collect();
    let longest = |windows: &[(usize, usize)]| {
        let lengths = windows.iter().map(|(begin, end)| end - begin);
        lengths.max().unwrap_or(0)
    };
    let grids: Vec<[usize; 2]> =
        regions.iter().map(|region| [longest(&region.rows), longest(&region.columns)]).collect();
    let cost = |grid: [usize; 2]| grid[0] * output[0] * grid[1] * output[1] * channels;
    let pixels = pixels(x);
    let y = by_grid(&grids, cost, |chosen, grid| {
        let shape = [chosen.len(), output[0], output[1], channels];
        if grid.contains(&0) {
            return Tensor::zeros(shape, (&pixels.device(), pixels.dtype()));
        }
        let chosen = chosen.iter().map(|&at| &regions[at]);
        let indices = chosen.clone().flat_map(|region| region.pixel_indices(grid, width));
        let read = pixels.clone().select(0, ints(indices.collect(), &pixels));
        let read = read.with_shape([shape[0] * shape[1], grid[0], shape[2], grid[1], channels]);
        let empty: Vec<bool> = chosen.flat_map(Region::empty).collect();
        let empty = TensorData::new(empty, [shape[0], shape[1], shape[2], 1]);
        let empty = Tensor::<4, Bool>::from_data(empty, &pixels.device());
        let greatest = read.max_dim(3).max_dim(1).with_shape(shape);
        greatest.mask_fill(to_shape(empty, shape), 0)
    });
    y.permute([0, 3, 1, 2])
}

/// Bounds of the windows of a region.
struct Region {
    /// Index of the first pixel of the region's image.
    first: usize,
    rows: Vec<(usize, usize)>,
    columns: Vec<(usize, usize)>,
}

impl Region {
    /// Returns the pixels of all windows; shorter ones repeat their last pixel.
    fn pixel_indices(&self, grid: [usize; 2], width: usize) -> Vec<i32> {
        let along = |windows: &[(usize, usize)], length: usize| -> Vec<usize> {
            let spread = |&(begin, end): &(usize, usize)| {
                let last = end.max(begin + 1) - 1;
                (begin..begin + length).map(move |at| at.min(last))
            };
            windows.iter().flat_map(spread).collect()
        };
        let columns = along(&self.columns, grid[1]);
        let row = |row: usize| {
            let first = self.first + row * width;
            columns.iter().map(move |column| (first + column) as i32)
        };
        along(&self.rows, grid[0]).into_iter().flat_map(row).collect()
    }

    /// Returns for each window whether it is empty.
    fn empty(&self) -> impl Iterator<Item = bool> {
        let none = |&(begin, end): &(usize, usize)| begin == end;
        self.rows.iter().flat_map(move |row| self.columns.iter().map(move |at| none(row) || none(at)))
    }
}

/// Divides the elements from `first` to `last` into `count` windows, clipped to `size`; the start of an empty
/// window is an element too.
fn windows(first: f64, last: f64, count: usize, size: usize, round: fn(f64) -> f64) -> Vec<(usize, usize)> {
    let bin = round((last - first + 1.0).max(1.0) / count as f64);
    let within = |at: f64| (at + first).clamp(0.0, size as f64) as usize;
    (0..count)
        .map(|part| {
            let begin = within(round(part as f64 * bin).floor());
            let end = within(round((part + 1) as f64 * bin).ceil());
            if begin < end { (begin, end) } else { (0, 0) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near, noise, same};

    fn image() -> Tensor<4> {
        let values: Vec<f32> = (0..2 * 12).map(|at| at as f32 - 30.0).collect();
        float(TensorData::new(values, [2, 1, 3, 4]))
    }

    #[test]
    fn windows_share_elements_that_both_contain() {
        let rois = float([[0f32, 0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 0.0, 3.0, 1.0]]);
        let y = max_roi_pool(image(), rois, [2, 2], 1.0);
        let expected = [[[[-25f32, -24.0], [-21.0, -20.0]]], [[[-16.0, -15.0], [-12.0, -11.0]]]];
        same(y, expected);
    }

    #[test]
    fn points_outside_are_zero() {
        let rois = float([[0f32, 2.0, 1.0, 5.0, 1.0], [0.0, 9.0, 9.0, 9.0, 9.0]]);
        let y = max_roi_pool(image(), rois, [1, 2], 1.0);
        same(y, [[[[-23f32, 0.0]]], [[[0.0, 0.0]]]]);
    }

    #[test]
    fn halves_round_away_from_zero_and_regions_have_an_element() {
        let rois = float([[0f32, 1.0, 3.0, 0.0, 2.0]]).cast(DType::F16);
        let y = max_roi_pool(image().cast(DType::F16), rois, [1, 1], 0.5);
        same(y.cast(DType::F32), [[[[-21f32]]]]);
    }

    #[test]
    fn many_regions_keep_their_order() {
        let x = noise([2, 3, 8, 9], 1);
        let rois: Vec<[f32; 5]> = (0..7)
            .map(|at| [at % 2, at, 1 + at % 3, (at * 3) % 9 + 1, 4 + at % 4].map(|at| at as f32))
            .collect();
        let all = |rois: &[[f32; 5]]| {
            let data = TensorData::new(rois.concat(), [rois.len(), 5]);
            max_roi_pool(x.clone(), float(data), [3, 2], 1.0)
        };
        let one_by_one = rois.iter().map(|roi| all(&[*roi])).collect();
        near(all(&rois), Tensor::cat(one_by_one, 0).into_data(), 0.0);
    }
}
