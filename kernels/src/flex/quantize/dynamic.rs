//! DynamicQuantizeLinear.

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::{DType, TensorData};

use super::element::Rounding;
use super::linear::{quantize, single};
use super::parts::{Work, elements, run_with};
use crate::backend::{Declined, Outcome};
use crate::flex::{
    memory::on_chunks,
    plan::tuning::elements_per_part,
    simd::{InstructionSet, MulAdd},
};
use crate::spec::quantize::Affine;

/// Greatest unsigned 8-bit integer.
const LEVELS: f32 = 255.0;

/// Number of elements that are compared in parallel.
const LANES: usize = 64;

/// Quantizes to 8 bits; returns the integers, their scale and their zero point.
pub fn quantize_dynamic(x: FlexTensor, _: DType) -> (Outcome<Flex>, Outcome<Flex>, Outcome<Flex>) {
    match quantized(x) {
        Some([y, scale, zero]) => (Outcome::Int(y), Outcome::Float(scale), Outcome::Int(zero)),
        None => Declined::declined(),
    }
}

fn quantized(x: FlexTensor) -> Option<[FlexTensor; 3]> {
    let x = single(x)?;
    let (least, most) = range(elements(&x));
    let scale = match (most - least) / LEVELS {
        // If all elements are 0, any scale is valid.
        0.0 => 1.0,
        scale => scale,
    };
    let zero: u8 = Rounding::new(DType::U8, 8, 0)?.integer(-least / scale);
    let y = quantize(x, Affine::u8(scale, zero.into()))?;
    let scale = FlexTensor::from_data(TensorData::new(vec![scale], [1]));
    Some([y, scale, FlexTensor::from_data(TensorData::new(vec![zero], [1]))])
}

/// Returns the least and the greatest of 0 and all elements; NaN if an element is.
fn range(x: &[f32]) -> (f32, f32) {
    let set = InstructionSet::best();
    let of_part = |x: &[f32]| run_with(set, Range { x });
    let share = elements_per_part();
    if x.len() < 2 * share {
        return of_part(x);
    }
    let mut ranges = vec![(0.0, 0.0); x.len().div_ceil(share)];
    on_chunks(&mut ranges, 1, |at, range| {
        range[0] = of_part(&x[at * share..x.len().min((at + 1) * share)]);
    });
    let both = |a: (f32, f32), b: (f32, f32)| (lesser(a.0, b.0), greater(a.1, b.1));
    ranges.into_iter().fold((0.0, 0.0), both)
}

fn lesser(a: f32, b: f32) -> f32 {
    if a.is_nan() || a < b { a } else { b }
}

fn greater(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { a } else { b }
}

struct Range<'a> {
    x: &'a [f32],
}

impl Work for Range<'_> {
    /// The least and the greatest element.
    type Output = (f32, f32);

    #[inline(always)]
    fn run<S: MulAdd>(self) -> (f32, f32) {
        let (mut least, mut most) = ([0.0; LANES], [0.0; LANES]);
        let mut unordered = [false; LANES];
        let (parts, rest) = self.x.as_chunks::<LANES>();
        for part in parts {
            for lane in 0..LANES {
                let x = part[lane];
                least[lane] = if x < least[lane] { x } else { least[lane] };
                most[lane] = if x > most[lane] { x } else { most[lane] };
                unordered[lane] |= x.is_nan();
            }
        }
        let (mut low, mut high) = (0.0, 0.0);
        for (least, most) in least.iter().zip(&most) {
            (low, high) = (lesser(low, *least), greater(high, *most));
        }
        for x in rest {
            (low, high) = (lesser(low, *x), greater(high, *x));
        }
        if unordered.contains(&true) {
            (low, high) = (f32::NAN, f32::NAN);
        }
        (low, high)
    }
}
