//! Requantization: factors, biases and the zero point that convert sums of products.

use super::Operands;
use super::corrections::Zeros;
use super::output_type::OutputType;
use super::per_axis::PerAxis;
use crate::flex::{
    simd::DotInstructions,
    tile::{Conversion, Factor},
};
use crate::{
    backend::Given,
    spec::quantize::{self, Ending},
};

/// Factors, biases and the zero point of a result, which has a number for each column of the tiles.
pub struct Requantization {
    pub bias: PerAxis<i32>,
    factor: PerAxis<f32>,
    float_bias: Option<Vec<f32>>,
    zero: PerAxis<i32>,
    ending: Ending,
}

impl Requantization {
    /// The requantization, with the zero points of both operands. Returns `None` if numbers are along other axes, or along several.
    pub fn of(
        operands: Operands,
        ending: Ending,
        [rows, columns]: [usize; 2],
        dot: DotInstructions,
    ) -> Option<(Self, Zeros)> {
        let width = columns.next_multiple_of(dot.nr());
        let numbers = |tensor: Given<_>| PerAxis::<i32>::of(tensor.int());
        let scale = |tensor: Given<_>| PerAxis::<f32>::of(tensor.float());
        let [left_zero, right_zero] = operands.zeros;
        let zeros = [numbers(left_zero)?, numbers(right_zero)?];
        let (bias, float_bias) = match operands.bias {
            bias @ Given::Float(_) => (PerAxis::One(0), Some(scale(bias)?)),
            bias => (numbers(bias)?, None),
        };
        let [left, right, result] = operands.scales;
        let result = match result {
            Given::Missing => None,
            result => Some(scale(result)?),
        };
        let factor = PerAxis::factor(scale(left)?, scale(right)?, result)?;
        let fits = (zeros.iter().chain([&bias])).all(|of| of.fits(rows, columns))
            && (float_bias.iter().chain([&factor])).all(|of| of.fits(rows, columns));
        if !fits {
            return None;
        }
        let float_bias = match float_bias {
            Some(PerAxis::Rows(_)) => return None,
            bias => bias.map(|bias| bias.padded(width).each(width)),
        };
        let [left, right] = zeros;
        let zeros = Zeros::of(left, right.padded(width))?;
        let ends = Self {
            bias: bias.padded(width),
            factor: factor.padded(width),
            float_bias,
            zero: numbers(operands.zero)?,
            ending,
        };
        Some((ends, zeros))
    }

    /// The element type of the result, and the conversion of sums to it.
    pub fn conversion(&self) -> Option<(OutputType, Conversion<'_>)> {
        let bias = self.float_bias.as_deref();
        conversion(&self.ending, self.factor.as_factor(), self.zero.clone(), bias)
    }
}

/// The element type of a result, and the conversion of sums to it. Returns `None` for several zero points,
/// and for quantized types other than bytes.
pub fn conversion<'a>(
    ending: &Ending,
    factor: Factor<'a>,
    zero: PerAxis<i32>,
    bias: Option<&'a [f32]>,
) -> Option<(OutputType, Conversion<'a>)> {
    Some(match ending {
        Ending::Sums => (OutputType::Sums, Conversion::None),
        Ending::Floats => (OutputType::Floats, Conversion::Floats { factor, bias }),
        Ending::Quantized { dtype, bits } => {
            let PerAxis::One(zero) = zero else {
                return None;
            };
            let bytes = Conversion::Bytes {
                factor,
                zero: zero as f32,
                bounds: quantize::range(*dtype, *bits).map(|bound| bound as f32),
            };
            (OutputType::of_bytes(*dtype)?, bytes)
        }
    })
}
