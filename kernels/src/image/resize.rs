//! Resize: interpolation along any axes.

use alloc::vec::Vec;
use burn::tensor::{Bool, DType, Int, Tensor, TensorData, kind::Basic};

use crate::{
    backend::{Any, call},
    elementwise::cast::float_to_int,
    shape::expand::to_shape,
    widen::widened,
};

mod axis;
mod taps;

use axis::Axis;
use taps::Taps;

/// Interpolation of [`resize`].
#[derive(Clone, Copy, Debug)]
pub struct Resize {
    pub mode: Mode,
    pub coordinates: Coordinates,
    /// Elements outside the input have weight 0, instead of the value at the edge.
    pub exclude_outside: bool,
    /// Widens the filter when shrinking, so that no element is skipped; not for [`Mode::Nearest`].
    pub antialias: bool,
    /// The value outside the input for [`Coordinates::TfCropAndResize`].
    pub extrapolation: f32,
}

impl Resize {
    pub const fn new(mode: Mode, coordinates: Coordinates) -> Self {
        Self { mode, coordinates, exclude_outside: false, antialias: false, extrapolation: 0.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Nearest(Rounding),
    Linear,
    /// Keys' cubic convolution. `a` is -0.75 by default.
    Cubic {
        a: f32,
    },
}

/// Rounding of coordinates to the nearest element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    HalfDown,
    HalfUp,
    Floor,
    Ceil,
}

/// Transformation of output coordinates to input coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    /// Half-pixel coordinates of the output on integral ones of the input, for [`Mode::Nearest`].
    TfHalfPixelForNn,
    TfCropAndResize,
}

/// Size of the output, with one value per resized axis.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Factors; the size is their product with the input size in f32, rounded down.
    Scales(&'a [f32]),
    Sizes(&'a [usize]),
    /// One scale for all axes, so that no size is exceeded.
    NotLarger(&'a [usize]),
    /// One scale for all axes, so that every size is reached.
    NotSmaller(&'a [usize]),
}

/// Resizes `axes`; `roi` is empty, or the starts and then the ends of these axes for [`Coordinates::TfCropAndResize`].
pub fn resize<const D: usize>(
    x: Tensor<D>,
    axes: &[usize],
    target: Target<'_>,
    roi: &[f32],
    options: &Resize,
) -> Tensor<D> {
    let dtype = x.dtype();
    let plan = Axis::plan(&x.dims(), axes, target, roi, options.coordinates);
    let y = match options.mode {
        Mode::Nearest(rounding) => nearest(x, &plan, rounding),
        _ => plan.iter().fold(widened(x), |x, axis| Taps::new(axis, options).apply(x, axis.dim)).cast(dtype),
    };
    outside(&plan, &y).into_iter().fold(y, |y, mask| y.mask_fill(mask, options.extrapolation))
}

/// [`resize`] for integers: interpolated values saturate and are truncated.
pub fn resize_int<const D: usize>(
    x: Tensor<D, Int>,
    axes: &[usize],
    target: Target<'_>,
    roi: &[f32],
    options: &Resize,
) -> Tensor<D, Int> {
    let Mode::Nearest(rounding) = options.mode else {
        let dtype = x.dtype();
        let y = resize(x.cast(burn::tensor::FloatDType::F32), axes, target, roi, options);
        return float_to_int(y, dtype);
    };
    let plan = Axis::plan(&x.dims(), axes, target, roi, options.coordinates);
    let y = nearest(x, &plan, rounding);
    outside(&plan, &y).into_iter().fold(y, |y, mask| y.mask_fill(mask, options.extrapolation as i64))
}

fn nearest<const D: usize, K: Basic>(x: Tensor<D, K>, plan: &[Axis], rounding: Rounding) -> Tensor<D, K> {
    if let Some(y) = nearest_of_planes(&x, plan, rounding) {
        return y;
    }
    plan.iter().fold(x, |x, axis| {
        let indices = axis.nearest(rounding);
        let device = x.device();
        let data = TensorData::new(indices, [axis.output]);
        x.select(axis.dim, Tensor::from_data(data, (&device, DType::I32)))
    })
}

/// [`nearest`] along the last two axes, if the device has a kernel for it.
fn nearest_of_planes<const D: usize, K: Basic>(
    x: &Tensor<D, K>,
    plan: &[Axis],
    rounding: Rounding,
) -> Option<Tensor<D, K>> {
    let dims = x.dims();
    let outer = D.checked_sub(2)?;
    if plan.is_empty() || plan.iter().any(|axis| axis.dim < outer) {
        return None;
    }
    let sources = |dim: usize| match plan.iter().find(|axis| axis.dim == dim) {
        Some(axis) => axis.nearest(rounding).iter().map(|index| *index as usize).collect(),
        None => (0..dims[dim]).collect::<Vec<_>>(),
    };
    let (rows, columns, operand) = (sources(outer), sources(outer + 1), Any::of(x.clone()));
    let y = call!(@copy nearest(operand; rows, columns));
    y.tensor().map(Tensor::from_dispatch)
}

/// Returns a mask of the extrapolated elements for each axis with coordinates outside the input.
fn outside<const D: usize, K: Basic>(plan: &[Axis], y: &Tensor<D, K>) -> Vec<Tensor<D, Bool>> {
    let mask = |axis: &Axis| {
        let outside = axis.outside();
        outside.contains(&true).then(|| {
            let mut shape = [1; D];
            shape[axis.dim] = axis.output;
            let mask = TensorData::new(outside, shape);
            to_shape(Tensor::from_data(mask, &y.device()), y.dims())
        })
    };
    plan.iter().filter_map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, near, noise, same};

    fn square() -> Tensor<4> {
        let values: Vec<f32> = (1..=16).map(|v| v as f32).collect();
        float(TensorData::new(values, [1, 1, 4, 4]))
    }

    fn pairs() -> Tensor<4> {
        float([[[[1f32, 2.0], [3.0, 4.0]]]])
    }

    const NEAREST: Mode = Mode::Nearest(Rounding::HalfDown);
    const CUBIC: Mode = Mode::Cubic { a: -0.75 };

    #[test]
    fn corners_stay_where_they_are() {
        let options = Resize::new(Mode::Linear, Coordinates::AlignCorners);
        let row = [1f32, 4.0 / 3.0, 5.0 / 3.0, 2.0];
        let y = resize(pairs(), &[0, 1, 2, 3], Target::Scales(&[1.0, 1.0, 2.0, 2.0]), &[], &options);
        let rows = [0.0, 2.0 / 3.0, 4.0 / 3.0, 2.0].map(|down| row.map(|v| v + down));
        near(y, [[rows]], 1e-6);
    }

    #[test]
    fn the_fraction_of_a_scaled_size_counts_although_it_is_cut() {
        let x = float::<4>([[[[1f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]]);
        let options = Resize::new(Mode::Linear, Coordinates::AlignCorners);
        let y = resize(x, &[2, 3], Target::Scales(&[0.6, 0.6]), &[], &options);
        near(y, [[[[1f32, 3.142_857]]]], 1e-6);

        let options = Resize::new(Mode::Linear, Coordinates::HalfPixelSymmetric);
        let y = resize(pairs(), &[3], Target::Scales(&[2.94]), &[], &options);
        let row = [1f32, 1.159_864, 1.5, 1.840_136, 2.0];
        near(y, [[[row, row.map(|v| v + 2.0)]]], 1e-6);
    }

    #[test]
    fn cubic_weights_outside_may_go_to_those_inside() {
        let options =
            Resize { exclude_outside: true, ..Resize::new(Mode::Cubic { a: -0.5 }, Coordinates::HalfPixel) };
        let y = resize(square(), &[2, 3], Target::Scales(&[0.8, 0.8]), &[], &options);
        near(
            y,
            [[[
                [1.3681267f32, 2.6695013, 4.0133367],
                [6.573625, 7.875, 9.218835],
                [11.948966, 13.250341, 14.594176],
            ]]],
            1e-6,
        );
    }

    #[test]
    fn cubic_weights_outside_continue_the_edge() {
        let options = Resize::new(CUBIC, Coordinates::AlignCorners);
        let y = resize(square(), &[2, 3], Target::Scales(&[0.8, 0.8]), &[], &options);
        near(
            y,
            [[[
                [1.0f32, 2.3951917, 3.790383],
                [6.580766, 7.975958, 9.371149],
                [12.161532, 13.556724, 14.951916],
            ]]],
            1e-6,
        );
    }

    #[test]
    fn antialiasing_skips_no_element() {
        for (mode, expected) in [
            (
                Mode::Linear,
                [
                    [2.3636363f32, 3.590909, 4.818182],
                    [7.2727275, 8.5, 9.727273],
                    [12.181818, 13.409091, 14.636364],
                ],
            ),
            (
                CUBIC,
                [
                    [1.7750092f32, 3.1200073, 4.4650054],
                    [7.1550016, 8.5, 9.844998],
                    [12.534994, 13.8799925, 15.224991],
                ],
            ),
        ] {
            let options = Resize { antialias: true, ..Resize::new(mode, Coordinates::HalfPixel) };
            let y = resize(square(), &[2, 3], Target::Sizes(&[3, 3]), &[], &options);
            near(y, [[expected]], 1e-6);
        }
    }

    #[test]
    fn one_element_lies_at_the_begin_for_pytorch() {
        let options = Resize::new(Mode::Linear, Coordinates::PytorchHalfPixel);
        let y = resize(square(), &[2, 3], Target::Sizes(&[3, 1]), &[], &options);
        near(y, [[[[5f32 / 3.0], [7.0], [37.0 / 3.0]]]], 1e-6);
    }

    #[test]
    fn crops_extrapolate_outside_the_input() {
        let options =
            Resize { extrapolation: 10.0, ..Resize::new(Mode::Linear, Coordinates::TfCropAndResize) };
        let roi = [0.4, 0.6, 1.2, 1.7];
        let y = resize(square(), &[2, 3], Target::Sizes(&[3, 3]), &roi, &options);
        near(y, [[[[7.6f32, 10.0, 10.0], [12.4, 10.0, 10.0], [10.0, 10.0, 10.0]]]], 1e-6);
    }

    #[test]
    fn ties_round_as_the_mode_says() {
        let x = float::<1>([0f32, 1.0, 2.0]);
        for (rounding, expected) in [
            (Rounding::HalfDown, [0f32, 0.0, 1.0, 1.0, 2.0, 2.0]),
            (Rounding::HalfUp, [0.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
            (Rounding::Floor, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]),
            (Rounding::Ceil, [0.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
        ] {
            let options = Resize::new(Mode::Nearest(rounding), Coordinates::Asymmetric);
            let y = resize(x.clone(), &[0], Target::Scales(&[2.0]), &[], &options);
            same(y, expected);
        }
    }

    #[test]
    fn the_aspect_ratio_is_kept_within_or_beyond_the_sizes() {
        let options = Resize::new(NEAREST, Coordinates::HalfPixel);
        let y = resize(pairs(), &[3, 2], Target::NotLarger(&[8, 7]), &[], &options);
        assert_eq!(y.dims(), [1, 1, 7, 7]);
        let y = resize(square(), &[2, 3], Target::NotSmaller(&[1, 3]), &[], &options);
        assert_eq!(y.dims(), [1, 1, 3, 3]);
    }

    #[test]
    fn integers_saturate_and_are_cut() {
        let x = int::<1>([0u8, 255, 0]);
        let options = Resize::new(CUBIC, Coordinates::HalfPixel);
        let y = resize_int(x.clone(), &[0], Target::Scales(&[2.0]), &[], &options);
        same(y, [0u8, 66, 224, 224, 66, 0]);
        let options = Resize::new(NEAREST, Coordinates::HalfPixel);
        let y = resize_int(x, &[0], Target::Scales(&[2.0]), &[], &options);
        same(y, [0u8, 0, 255, 255, 0, 0]);
    }

    #[test]
    fn unchanged_axes_and_halves_stay() {
        let x = noise::<3>([2, 3, 4], 1).cast(DType::F16);
        let options = Resize::new(Mode::Linear, Coordinates::HalfPixel);
        let y = resize(x.clone(), &[0, 1, 2], Target::Sizes(&[2, 3, 4]), &[], &options);
        same(y, x.clone().into_data());
        let y = resize(x.clone(), &[1], Target::Scales(&[2.0]), &[], &options);
        assert_eq!((y.dims(), y.dtype()), ([2, 6, 4], DType::F16));
    }
}
