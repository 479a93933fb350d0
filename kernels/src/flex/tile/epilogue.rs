//! Epilogue of a product of floats: bias, residual input, clamp.

use std::mem::MaybeUninit;

use super::{Epilogue, TilePosition};
use crate::flex::simd::{Floats, Isa, LaneMask};
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

    /// Clamps a number; NaN stays.
    pub fn of_one(self, value: f32) -> f32 {
        if value < self.low {
            self.low
        } else if value > self.high {
            self.high
        } else {
            value
        }
    }
}

impl FloatEpilogue<'_> {
    /// The result of one accumulator.
    pub fn of_one(&self, sum: f32, row: usize, column: usize) -> f32 {
        let mut value = sum;
        value += match self.bias {
            Bias::Zero => 0.0,
            Bias::Rows(bias) => bias[row],
            Bias::Columns(bias) => bias[column],
        };
        value += self.addend.map_or(0.0, |addend| addend.values[row * addend.stride + column]);
        match self.bounds {
            Some(bounds) => bounds.of_one(value),
            None => value,
        }
    }
}

impl<I: Isa> Epilogue<I, f32> for FloatEpilogue<'_> {
    type Element = f32;

    #[inline(always)]
    fn elements_per_column(&self) -> usize {
        1
    }

    #[inline(always)]
    fn write<'a>(
        &self,
        isa: I,
        sums: I::Floats,
        at: TilePosition,
        mask: LaneMask,
        out: &'a mut [MaybeUninit<f32>],
    ) -> &'a mut [f32] {
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
        if let Some(Bounds { low, high }) = self.bounds {
            value = value.clamp(isa.splat(low), isa.splat(high));
        }
        value.write_compressed(out, mask)
    }
}
