//! QuantizeLinear and DequantizeLinear.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{DType, Shape};

use super::element::{Integer, Rounding, by_dtype};
use super::parts::{Blank, Work, elements, pieces, run_with, tensor, written};
use crate::flex::copy::dense;
use crate::flex::{
    instructions::{Set, Sum},
    widened,
};
use crate::spec::quantize::Affine;

/// `None` where the floats or integers are others.
pub fn quantize(x: FlexTensor, to: Affine) -> Option<FlexTensor> {
    let rounding = Rounding::of(to)?;
    let (x, set) = (single(x)?, Set::best());
    let floats = elements::<f32>(&x);
    by_dtype!(to.dtype(), T => tensor::<T>(x.shape(), |first, y| {
        let x = &floats[first..][..y.len()];
        run_with(set, ToIntegers { x, y, scale: to.scale(), rounding });
    }))
}

/// `None` where the integers are others.
pub fn dequantize(x: FlexTensor, of: Affine) -> Option<FlexTensor> {
    let (x, set, zero) = (dense(x), Set::best(), of.zero() as f32);
    by_dtype!(x.dtype(), T => {
        let integers = elements::<T>(&x);
        let values = written(integers.len(), |first, y| {
            let x = &integers[first..][..y.len()];
            run_with(set, ToFloats { x, y, scale: of.scale(), zero });
        });
        values.tensor(x.shape())
    })
}

/// Scales that differ along neighbouring axes; `None` where they lie otherwise.
pub fn quantize_along(
    x: FlexTensor,
    scale: FlexTensor,
    zero: Option<FlexTensor>,
    dtype: DType,
    bits: u32,
) -> Option<FlexTensor> {
    let scales = Scales::of(&x.shape(), scale, zero)?;
    let rounding = Rounding::new(dtype, bits, 0)?;
    let (x, set) = (single(x)?, Set::best());
    let floats = elements::<f32>(&x);
    by_dtype!(dtype, T => tensor::<T>(x.shape(), |first, y| {
        for (place, count, range) in scales.pieces(first, y.len()) {
            let (x, y) = (&floats[first..][range.clone()], &mut y[range]);
            if count == 1 {
                let (scale, rounding) = (scales.scale[place], rounding.around(scales.zero[place]));
                run_with(set, ToIntegers { x, y, scale, rounding });
            } else {
                let (scale, zero) = (&scales.scale[place..][..count], &scales.zero[place..][..count]);
                run_with(set, EachToInteger { x, y, scale, zero, rounding });
            }
        }
    }))
}

/// Scales that differ along neighbouring axes; `None` where they lie otherwise.
pub fn dequantize_along(
    x: FlexTensor,
    scale: FlexTensor,
    zero: Option<FlexTensor>,
) -> Option<FlexTensor> {
    let scales = Scales::of(&x.shape(), scale, zero)?;
    let (x, set) = (dense(x), Set::best());
    by_dtype!(x.dtype(), T => {
        let integers = elements::<T>(&x);
        let values = written(integers.len(), |first, y| {
            for (place, count, range) in scales.pieces(first, y.len()) {
                let (x, y) = (&integers[first..][range.clone()], &mut y[range]);
                if count == 1 {
                    let (scale, zero) = (scales.scale[place], scales.zero[place]);
                    run_with(set, ToFloats { x, y, scale, zero });
                } else {
                    let (scale, zero) = (&scales.scale[place..][..count], &scales.zero[place..][..count]);
                    run_with(set, EachToFloat { x, y, scale, zero });
                }
            }
        });
        values.tensor(x.shape())
    })
}

/// Floats of single precision, `None` of double.
pub fn single(x: FlexTensor) -> Option<FlexTensor> {
    let x = dense(widened(x));
    (x.dtype() == DType::F32).then_some(x)
}

/// Scales and zero points for places that follow one another, each for as many elements, over and over.
struct Scales {
    scale: Vec<f32>,
    zero: Vec<f32>,
    /// How many elements of a place follow one another.
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
        Some(Self {
            scale: elements(&scale).to_vec(),
            zero,
            inner: shape[last..].iter().product(),
        })
    }

    /// The first place, the number of places and the elements of pieces of a part.
    fn pieces(
        &self,
        first: usize,
        length: usize,
    ) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
        let (count, inner) = (self.scale.len(), self.inner);
        let row = if inner == 1 { count } else { inner };
        pieces(first, length, row).map(move |(number, place, range)| {
            if inner == 1 {
                (place, range.len(), range)
            } else {
                (number % count, 1, range)
            }
        })
    }
}

struct ToIntegers<'a, T> {
    x: &'a [f32],
    y: &'a mut Blank<T>,
    scale: f32,
    rounding: Rounding,
}

impl<T: Integer> Work for ToIntegers<'_, T> {
    #[inline(always)]
    fn run<S: Sum>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            y.write(self.rounding.integer(x / self.scale));
        }
    }
}

struct ToFloats<'a, T> {
    x: &'a [T],
    y: &'a mut Blank<f32>,
    scale: f32,
    zero: f32,
}

impl<T: Integer> Work for ToFloats<'_, T> {
    #[inline(always)]
    fn run<S: Sum>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            y.write((x.float() - self.zero) * self.scale);
        }
    }
}

/// A scale and a zero point for each element.
struct EachToInteger<'a, T> {
    x: &'a [f32],
    y: &'a mut Blank<T>,
    scale: &'a [f32],
    zero: &'a [f32],
    rounding: Rounding,
}

impl<T: Integer> Work for EachToInteger<'_, T> {
    #[inline(always)]
    fn run<S: Sum>(self) {
        let factors = self.scale.iter().zip(self.zero);
        for ((y, x), (scale, zero)) in self.y.iter_mut().zip(self.x).zip(factors) {
            y.write(self.rounding.around(*zero).integer(x / scale));
        }
    }
}

/// A scale and a zero point for each element.
struct EachToFloat<'a, T> {
    x: &'a [T],
    y: &'a mut Blank<f32>,
    scale: &'a [f32],
    zero: &'a [f32],
}

impl<T: Integer> Work for EachToFloat<'_, T> {
    #[inline(always)]
    fn run<S: Sum>(self) {
        let factors = self.scale.iter().zip(self.zero);
        for ((y, x), (scale, zero)) in self.y.iter_mut().zip(self.x).zip(factors) {
            y.write((x.float() - zero) * scale);
        }
    }
}
