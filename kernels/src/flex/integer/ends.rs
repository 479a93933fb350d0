//! What follows the sums of a product, but for what zero points add to them.

use super::Operands;
use super::along::Along;
use super::corrections::Zeros;
use super::result::Result;
use super::tile::Outcome;
use crate::flex::simd::DotInstructions;
use crate::{backend::Given, spec::quantize::Ending};

/// Factors, biases and the zero point of a result, which has a number for each column of the tiles.
pub struct Ends {
    pub bias: Along<i32>,
    factor: Along<f32>,
    float_bias: Option<Vec<f32>>,
    zero: Along<i32>,
    ending: Ending,
}

impl Ends {
    /// With the zero points of both operands; `None` where numbers are along other axes, or along several.
    pub fn of(
        operands: Operands,
        ending: Ending,
        [rows, columns]: [usize; 2],
        dot: DotInstructions,
    ) -> Option<(Self, Zeros)> {
        let width = columns.next_multiple_of(dot.columns());
        let numbers = |tensor: Given<_>| Along::<i32>::of(tensor.int());
        let scale = |tensor: Given<_>| Along::<f32>::of(tensor.float());
        let [left_zero, right_zero] = operands.zeros;
        let zeros = [numbers(left_zero)?, numbers(right_zero)?];
        let (bias, float_bias) = match operands.bias {
            bias @ Given::Float(_) => (Along::One(0), Some(scale(bias)?)),
            bias => (numbers(bias)?, None),
        };
        let [left, right, result] = operands.scales;
        let result = match result {
            Given::Missing => None,
            result => Some(scale(result)?),
        };
        let factor = Along::factor(scale(left)?, scale(right)?, result)?;
        let fits = (zeros.iter().chain([&bias])).all(|of| of.fits(rows, columns))
            && (float_bias.iter().chain([&factor])).all(|of| of.fits(rows, columns));
        if !fits {
            return None;
        }
        let float_bias = match float_bias {
            Some(Along::Rows(_)) => return None,
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

    /// The type of the result, and how it comes of the sums.
    pub fn outcome(&self) -> Option<(Result, Outcome<'_>)> {
        let bias = self.float_bias.as_deref();
        Outcome::of(
            &self.ending,
            self.factor.as_factor(),
            self.zero.clone(),
            bias,
        )
    }
}
