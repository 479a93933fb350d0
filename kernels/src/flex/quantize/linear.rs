//! QuantizeLinear and DequantizeLinear.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{DType, Shape};

use super::element::{Integer, Rounding, by_dtype};
use super::parts::{Blank, Work, elements, pieces, run_with, tensor, written};
use crate::flex::copy::dense;
use crate::flex::{
    memory::{SliceWriter, write_each, write_triples},
    simd::InstructionSet,
    simd::MulAdd,
    widened,
};
use crate::spec::quantize::Affine;

/// Returns `None` for unsupported floats or integers.
pub fn quantize(x: FlexTensor, to: Affine) -> Option<FlexTensor> {
    let rounding = Rounding::of(to)?;
    let (x, set) = (single(x)?, InstructionSet::best());
    let floats = elements::<f32>(&x);
    by_dtype!(to.dtype(), T => tensor::<T>(x.shape(), |first, y| {
        let x = &floats[first..][..y.len()];
        run_with(set, ToIntegers { x, y, scale: to.scale(), rounding })
    }))
}

/// Returns `None` for unsupported integers.
pub fn dequantize(x: FlexTensor, of: Affine) -> Option<FlexTensor> {
    let (x, set, zero) = (dense(x), InstructionSet::best(), of.zero() as f32);
    by_dtype!(x.dtype(), T => {
        let integers = elements::<T>(&x);
        let values = written(integers.len(), |first, y| {
            let x = &integers[first..][..y.len()];
            run_with(set, ToFloats { x, y, scale: of.scale(), zero })
        });
        values.tensor(x.shape())
    })
}

/// Quantizes with scales that differ along adjacent axes; returns `None` for other layouts of scales.
pub fn quantize_along(
    x: FlexTensor,
    scale: FlexTensor,
    zero: Option<FlexTensor>,
    dtype: DType,
    bits: u32,
) -> Option<FlexTensor> {
    let scales = Scales::of(&x.shape(), scale, zero)?;
    let rounding = Rounding::new(dtype, bits, 0)?;
    let (x, set) = (single(x)?, InstructionSet::best());
    let floats = elements::<f32>(&x);
    by_dtype!(dtype, T => tensor::<T>(x.shape(), |first, y| {
        let length = y.len();
        let mut y = SliceWriter::new(y);
        for (place, count, range) in scales.pieces(first, length) {
            let x = &floats[first..][range];
            y.write(x.len(), |y| {
                if count == 1 {
                    let (scale, rounding) = (scales.scale[place], rounding.around(scales.zero[place]));
                    return run_with(set, ToIntegers { x, y, scale, rounding });
                }
                let (scale, zero) = (&scales.scale[place..][..count], &scales.zero[place..][..count]);
                run_with(set, EachToInteger { x, y, scale, zero, rounding })
            });
        }
        y.finish()
    }))
}

/// Dequantizes with scales that differ along adjacent axes; returns `None` for other layouts of scales.
pub fn dequantize_along(x: FlexTensor, scale: FlexTensor, zero: Option<FlexTensor>) -> Option<FlexTensor> {
    let scales = Scales::of(&x.shape(), scale, zero)?;
    let (x, set) = (dense(x), InstructionSet::best());
    by_dtype!(x.dtype(), T => {
        let integers = elements::<T>(&x);
        let values = written(integers.len(), |first, y| {
            let length = y.len();
            let mut y = SliceWriter::new(y);
            for (place, count, range) in scales.pieces(first, length) {
                let x = &integers[first..][range];
                y.write(x.len(), |y| {
                    if count == 1 {
                        let (scale, zero) = (scales.scale[place], scales.zero[place]);
                        return run_with(set, ToFloats { x, y, scale, zero });
                    }
                    let (scale, zero) = (&scales.scale[place..][..count], &scales.zero[place..][..count]);
                    run_with(set, EachToFloat { x, y, scale, zero })
                });
            }
            y.finish()
        });
        values.tensor(x.shape())
    })
}

/// Returns the elements in f32, `None` for f64.
pub fn single(x: FlexTensor) -> Option<FlexTensor> {
    let x = dense(widened(x));
    (x.dtype() == DType::F32).then_some(x)
}

/// Scales and zero points, each for `inner` consecutive elements, repeated cyclically.
struct Scales {
    scale: Vec<f32>,
    zero: Vec<f32>,
    /// Number of consecutive elements with the same scale.
    inner: usize,
}

impl Scales {
    fn of(shape: &Shape, scale: FlexTensor, zero: Option<FlexTensor>) -> Option<Self> {
        let own = scale.shape();
        let several = |axis: &usize| own[*axis] != 1;
        let rank = shape.num_dims();
        let first = (0..rank).find(several).unwrap_or(0);
        let last = (0..rank).rev().find(several).map_or(first, |axis| axis + 1);
        let fits = (first..last).all(|axis| own[axis] == shape[axis]);
        let count = own.num_elements();
        if !fits || own.num_dims() != rank || shape.num_elements() == 0 {
            return None;
        }
        let scale = dense(widened(scale));
        if scale.dtype() != DType::F32 {
            return None;
        }
        let zero = match zero {
            None => vec![0.0; count],
            Some(zero) if zero.shape() == own => {
                let zero = dense(zero);
                by_dtype!(zero.dtype(), T => {
                    elements::<T>(&zero).iter().map(|zero| zero.float()).collect()
                })?
            }
            Some(_) => return None,
        };
        Some(Self { scale: elements(&scale).to_vec(), zero, inner: shape[last..].iter().product() })
    }

    /// Splits a range of elements into pieces: the index of the first scale, the number of scales, and the elements.
    fn pieces(
        &self,
        first: usize,
        length: usize,
    ) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
        let (count, inner) = (self.scale.len(), self.inner);
        let row = if inner == 1 { count } else { inner };
        pieces(first, length, row).map(move |(number, place, range)| {
            if inner == 1 { (place, range.len(), range) } else { (number % count, 1, range) }
        })
    }
}

struct ToIntegers<'x, 'y, T> {
    x: &'x [f32],
    y: &'y mut Blank<T>,
    scale: f32,
    rounding: Rounding,
}

impl<'y, T: Integer> Work for ToIntegers<'_, 'y, T> {
    type Output = &'y mut [T];

    #[inline(always)]
    fn run<S: MulAdd>(self) -> &'y mut [T] {
        let Self { x, y, scale, rounding } = self;
        write_each(
            y,
            x,
            #[inline(always)]
            |x| rounding.integer(x / scale),
        )
    }
}

struct ToFloats<'x, 'y, T> {
    x: &'x [T],
    y: &'y mut Blank<f32>,
    scale: f32,
    zero: f32,
}

impl<'y, T: Integer> Work for ToFloats<'_, 'y, T> {
    type Output = &'y mut [f32];

    #[inline(always)]
    fn run<S: MulAdd>(self) -> &'y mut [f32] {
        let Self { x, y, scale, zero } = self;
        write_each(
            y,
            x,
            #[inline(always)]
            |x| (x.float() - zero) * scale,
        )
    }
}

/// One scale and zero point per element.
struct EachToInteger<'x, 'y, T> {
    x: &'x [f32],
    y: &'y mut Blank<T>,
    scale: &'x [f32],
    zero: &'x [f32],
    rounding: Rounding,
}

impl<'y, T: Integer> Work for EachToInteger<'_, 'y, T> {
    type Output = &'y mut [T];

    #[inline(always)]
    fn run<S: MulAdd>(self) -> &'y mut [T] {
        let rounding = self.rounding;
        write_triples(
            self.y,
            (self.x, self.scale, self.zero),
            #[inline(always)]
            |x, scale, zero| rounding.around(zero).integer(x / scale),
        )
    }
}

/// One scale and zero point per element.
struct EachToFloat<'x, 'y, T> {
    x: &'x [T],
    y: &'y mut Blank<f32>,
    scale: &'x [f32],
    zero: &'x [f32],
}

impl<'y, T: Integer> Work for EachToFloat<'_, 'y, T> {
    type Output = &'y mut [f32];

    #[inline(always)]
    fn run<S: MulAdd>(self) -> &'y mut [f32] {
        write_triples(
            self.y,
            (self.x, self.scale, self.zero),
            #[inline(always)]
            |x, scale, zero| (x.float() - zero) * scale,
        )
    }
}
