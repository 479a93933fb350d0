//! Input coordinates of the output elements along one axis.

use super::{Coordinates, Rounding, Target};
use crate::{ensure, sizes::elements};
use alloc::vec::Vec;
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

/// One resized axis. Coordinates are computed in f32, as by ONNX Runtime, because rounding decides between neighbors.
pub struct Axis {
    pub dim: usize,
    pub input: usize,
    pub output: usize,
    pub scale: f32,
    /// Input coordinate of each output element.
    pub coordinates: Vec<f32>,
    crops: bool,
}

impl Axis {
    /// Returns the axes that change size, those that shrink most first.
    ///
    /// # Panics
    /// If a scale is not positive and finite, or the result exceeds the memory limit.
    pub fn plan(
        dims: &[usize],
        axes: &[usize],
        target: Target<'_>,
        roi: &[f32],
        coordinates: Coordinates,
    ) -> Vec<Self> {
        let crops = coordinates == Coordinates::TfCropAndResize;
        let count = match target {
            Target::Scales(scales) => scales.len(),
            Target::Sizes(sizes) | Target::NotLarger(sizes) | Target::NotSmaller(sizes) => sizes.len(),
        };
        ensure!(
            count == axes.len(),
            "expected one scale or size for each of {} axes, found {count}",
            axes.len()
        );
        ensure!(
            !crops || roi.is_empty() || roi.len() == 2 * axes.len(),
            "the region has {} elements, expected a start and an end for each of {} axes",
            roi.len(),
            axes.len()
        );
        if let Target::Scales(scales) = target {
            for &scale in scales {
                ensure!(scale > 0.0 && scale.is_finite(), "expected a positive finite scale, found {scale}");
            }
        }
        let shared = shared_scale(dims, axes, target);
        let extent = |at: usize| {
            let input = dims[axes[at]];
            match target {
                Target::Scales(scales) => {
                    let width = scales[at] * input as f32;
                    (scales[at], width as usize, width)
                }
                Target::Sizes(sizes) => {
                    let output = sizes[at];
                    (output as f32 / input as f32, output, output as f32)
                }
                Target::NotLarger(_) | Target::NotSmaller(_) => {
                    let width = shared * input as f32;
                    (shared, (width + 0.5) as usize, width)
                }
            }
        };
        let mut shape = dims.to_vec();
        for (at, &dim) in axes.iter().enumerate() {
            shape[dim] = extent(at).1;
        }
        // Interpolation is computed in single precision.
        elements(&shape, size_of::<f32>());
        let mut plan = Vec::new();
        for (at, &dim) in axes.iter().enumerate() {
            let input = dims[dim];
            let (scale, output, width) = extent(at);
            let crop = if crops && !roi.is_empty() { (roi[at], roi[axes.len() + at]) } else { (0.0, 1.0) };
            if output == input && scale == 1.0 && crop == (0.0, 1.0) {
                continue;
            }
            ensure!(input > 0 || output == 0, "expected elements along axis {dim}, found none");
            let at = |index| original(coordinates, index as f32, input, output, width, scale, crop);
            plan.push(Self { dim, input, output, scale, coordinates: (0..output).map(at).collect(), crops });
        }
        plan.sort_by(|a, b| a.scale.total_cmp(&b.scale));
        plan
    }

    /// Returns the input element nearest to each coordinate.
    pub fn nearest(&self, rounding: Rounding) -> Vec<i32> {
        let last = self.input as f32 - 1.0;
        let round = |x: f32| match rounding {
            Rounding::HalfDown => (x - 0.5).ceil(),
            Rounding::HalfUp => (x + 0.5).floor(),
            Rounding::Floor => x.floor(),
            Rounding::Ceil => x.ceil(),
        };
        let index = |x: &f32| round(*x).clamp(0.0, last) as i32;
        self.coordinates.iter().map(index).collect()
    }

    /// Returns for each coordinate whether it is outside the input and extrapolated.
    pub fn outside(&self) -> Vec<bool> {
        let inside = 0.0..=self.input as f32 - 1.0;
        let outside = |x: &f32| self.crops && !inside.contains(x);
        self.coordinates.iter().map(outside).collect()
    }
}

/// Returns the scale of all axes if the aspect ratio is kept.
fn shared_scale(dims: &[usize], axes: &[usize], target: Target<'_>) -> f32 {
    let scales = |sizes: &[usize]| -> Vec<f32> {
        let scale = |(size, dim): (&usize, &usize)| *size as f32 / dims[*dim] as f32;
        sizes.iter().zip(axes).map(scale).collect()
    };
    match target {
        Target::NotLarger(sizes) => scales(sizes).into_iter().fold(f32::INFINITY, f32::min),
        Target::NotSmaller(sizes) => scales(sizes).into_iter().fold(0.0, f32::max),
        _ => 1.0,
    }
}

/// Returns the input coordinate of output coordinate `x`; `width` is the size of the output before rounding.
fn original(
    coordinates: Coordinates,
    x: f32,
    input: usize,
    output: usize,
    width: f32,
    scale: f32,
    (begin, end): (f32, f32),
) -> f32 {
    let last = input as f32 - 1.0;
    let half_pixel = (x + 0.5) / scale - 0.5;
    match coordinates {
        Coordinates::HalfPixel => half_pixel,
        Coordinates::HalfPixelSymmetric => {
            let center = input as f32 / 2.0;
            center * (1.0 - output as f32 / width) + half_pixel
        }
        Coordinates::PytorchHalfPixel if output > 1 => half_pixel,
        Coordinates::PytorchHalfPixel => 0.0,
        Coordinates::AlignCorners if output > 1 => x * last / (width - 1.0),
        Coordinates::AlignCorners => 0.0,
        Coordinates::Asymmetric => x / scale,
        Coordinates::TfHalfPixelForNn => (x + 0.5) / scale,
        Coordinates::TfCropAndResize if output > 1 => begin * last + x * (end - begin) * last / (width - 1.0),
        Coordinates::TfCropAndResize => 0.5 * (begin + end) * last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;

    #[test]
    fn scales_are_positive_and_sizes_bounded() {
        let reason = |target: Target<'_>| {
            let plan = || Axis::plan(&[1, 1, 4, 4], &[2, 3], target, &[], Coordinates::HalfPixel);
            attempt(|| plan().len()).unwrap_err().reason
        };
        for scale in [-1.0, 0.0, f32::NAN, f32::INFINITY] {
            let found = reason(Target::Scales(&[1.0, scale]));
            assert_eq!(found, format!("expected a positive finite scale, found {scale}"));
        }
        for target in [
            Target::Scales(&[1.0, 1e30]),
            Target::Sizes(&[1 << 30, 1 << 30]),
            Target::NotLarger(&[usize::MAX, usize::MAX]),
        ] {
            assert!(reason(target).contains("the memory limit is"));
        }
    }
}
