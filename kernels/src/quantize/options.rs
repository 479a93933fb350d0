//! Scales and zero points, and what is computed between them.

use burn::tensor::{DType, Device};

use crate::{dtype::lowered, product::epilogue::Activation};

/// What integers stand for: `(integer - zero) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    pub(super) scale: f32,
    pub(super) zero: i64,
    pub(super) dtype: DType,
    pub(super) bits: u32,
}

/// How the integers of two tensors become those of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub a: Affine,
    pub b: Affine,
    pub y: Affine,
    pub step: Step,
}

/// What two numbers become, and where that is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// QLinearAdd.
    Sum,
    /// QLinearMul.
    Product,
    /// Of floats, between DequantizeLinear and QuantizeLinear.
    SumOfFloats,
    ProductOfFloats,
}

/// A function of floats, from integers that stand for them to others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unary {
    pub of: Affine,
    pub y: Affine,
    pub function: Function,
}

/// What becomes of floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Each(Activation),
    /// Along the last axis.
    Softmax(Rounded),
}

/// A mean over the axes from one on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub of: Affine,
    pub y: Affine,
    pub axis: usize,
    pub rounded: Rounded,
}

/// Where a mean or a softmax is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounded {
    /// By one factor, as QLinearGlobalAveragePool and QLinearSoftmax do.
    Once,
    /// As a float, then as an integer.
    InSteps,
}

impl Affine {
    pub const fn u8(scale: f32, zero: i64) -> Self {
        Self::new(scale, zero, DType::U8, 8)
    }

    pub const fn i8(scale: f32, zero: i64) -> Self {
        Self::new(scale, zero, DType::I8, 8)
    }

    pub const fn u16(scale: f32, zero: i64) -> Self {
        Self::new(scale, zero, DType::U16, 16)
    }

    pub const fn i16(scale: f32, zero: i64) -> Self {
        Self::new(scale, zero, DType::I16, 16)
    }

    pub(crate) const fn new(scale: f32, zero: i64, dtype: DType, bits: u32) -> Self {
        Self {
            scale,
            zero,
            dtype,
            bits,
        }
    }

    /// The same integers in the dtype that stands for theirs on a device.
    pub(crate) fn on(self, device: &Device) -> Self {
        Self {
            dtype: lowered(device, self.dtype),
            ..self
        }
    }

    pub(crate) const fn scale(self) -> f32 {
        self.scale
    }

    pub(crate) const fn zero(self) -> i64 {
        self.zero
    }

    pub(crate) const fn dtype(self) -> DType {
        self.dtype
    }

    pub(crate) const fn bits(self) -> u32 {
        self.bits
    }
}

impl Pair {
    /// What is added to the multiples of both integers that QLinearAdd sums.
    pub(crate) fn offset(&self) -> f32 {
        let shift = |of: Affine| self.ratio(of) * of.zero as f32;
        self.y.zero as f32 - (shift(self.a) + shift(self.b))
    }

    /// How many steps of the result a step of an operand is.
    pub(crate) fn ratio(&self, of: Affine) -> f32 {
        of.scale / self.y.scale
    }
}
