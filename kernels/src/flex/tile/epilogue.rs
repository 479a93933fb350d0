//! Epilogue of a product of floats: bias, residual input, clamp.

use super::{Epilogue, TilePosition, TileSums};
use crate::flex::{
    memory::{Unwritten, Written},
    simd::{Floats, Isa, LaneMask},
};
use crate::spec::epilogue::Activation;

/// Bias, residual input and clamp of a tile of floats.
#[derive(Clone, Copy)]
pub struct FloatEpilogue<'a> {
    pub bias: Bias<'a>,
    pub addend: Option<Addend<'a>>,
    pub bounds: Option<Bounds>,
}

/// Bias of a tile.
#[derive(Clone, Copy)]
pub enum Bias<'a> {
    Zero,
    /// An element for each row.
    Rows(&'a [f32]),
    /// An element for each output column.
    Columns(&'a [f32]),
}

/// Residual input of a tile, in the layout of the output.
#[derive(Clone, Copy)]
pub struct Addend<'a> {
    /// Begins with the first element of the tile.
    pub values: &'a [f32],
    pub stride: usize,
}

/// Range to which results are clamped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub low: f32,
    pub high: f32,
}

impl Bounds {
    /// The range of an activation that clamps.
    pub fn of(activation: Activation) -> Option<Self> {
        match activation {
            Activation::Relu => Some(Self { low: 0.0, high: f32::INFINITY }),
            Activation::Clip(low, high) => Some(Self { low: low as f32, high: high as f32 }),
            _ => None,
        }
    }

    /// Clamps a number as [`Floats::clamp`] does: NaN stays, and `high` wins where it is less than `low`.
    pub fn of_one(self, value: f32) -> f32 {
        let value = if value < self.low { self.low } else { value };
        if value > self.high { self.high } else { value }
    }
}

impl FloatEpilogue<'_> {
    /// The results of a register of accumulators, in the lanes of the mask.
    #[inline(always)]
    pub fn of_register<I: Isa>(
        &self,
        isa: I,
        sums: I::Floats,
        at: TilePosition,
        mask: LaneMask,
    ) -> I::Floats {
        let mut value = sums;
        match self.bias {
            Bias::Zero => {}
            Bias::Rows(bias) => value = value + isa.splat(bias[at.row]),
            Bias::Columns(bias) => value = value + isa.load_expanded(&bias[at.column..], mask),
        }
        if let Some(addend) = self.addend {
            let addend = &addend.values[at.row * addend.stride + at.column..];
            value = value + isa.load_expanded(addend, mask);
        }
        match self.bounds {
            Some(Bounds { low, high }) => value.clamp(isa.splat(low), isa.splat(high)),
            None => value,
        }
    }

    /// The result of one accumulator.
    pub fn of_one(&self, sum: f32, row: usize, column: usize) -> f32 {
        let mut value = sum;
        // A missing operand is not a zero: -0.0 stays.
        match self.bias {
            Bias::Zero => {}
            Bias::Rows(bias) => value += bias[row],
            Bias::Columns(bias) => value += bias[column],
        }
        if let Some(addend) = self.addend {
            value += addend.values[row * addend.stride + column];
        }
        match self.bounds {
            Some(bounds) => bounds.of_one(value),
            None => value,
        }
    }
}

impl<I: Isa> Epilogue<I, f32> for FloatEpilogue<'_> {
    type Element = f32;

    #[inline(always)]
    fn write<'a, const REGISTERS: usize, const WHOLE: bool>(
        self,
        isa: I,
        sums: TileSums<'_, f32, REGISTERS, WHOLE>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        sums.write(
            isa,
            1,
            out,
            #[inline(always)]
            |sums, at, mask, out| self.of_register(isa, sums, at, mask).write_compressed(out, mask),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::{WIDEST, with_each_set, with_isa};

    #[inline(always)]
    fn of_register<I: Isa>(isa: I, epilogue: &FloatEpilogue<'_>, sums: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; I::LANES];
        let mask = LaneMask::first(I::LANES);
        epilogue.of_register(isa, isa.load(sums), TilePosition::default(), mask).store(&mut out);
        out
    }

    #[test]
    fn narrow_tiles_have_the_same_epilogue() {
        let numbers = [-0.0, 0.0, f32::NAN, -3.0, 1.0, f32::INFINITY, 5.0, -1e-40];
        let sums: Vec<f32> = numbers.into_iter().cycle().take(WIDEST).collect();
        let values = vec![-0.0; WIDEST];
        let bounds = |low, high| Some(Bounds { low, high });
        let all_bounds = [None, bounds(0.0, f32::INFINITY), bounds(-1.0, 2.0), bounds(2.0, -1.0)];
        with_each_set(|set| {
            for bounds in all_bounds {
                for addend in [None, Some(Addend { values: &values, stride: 0 })] {
                    let epilogue = FloatEpilogue { bias: Bias::Zero, addend, bounds };
                    let found = with_isa!(set, isa => of_register(isa, &epilogue, &sums));
                    for (column, (found, sum)) in found.iter().zip(&sums).enumerate() {
                        let expected = epilogue.of_one(*sum, 0, column);
                        let is_nan = found.is_nan() && expected.is_nan();
                        assert!(is_nan || found.to_bits() == expected.to_bits(), "{set:?} {sum} {bounds:?}");
                    }
                }
            }
        });
    }
}
