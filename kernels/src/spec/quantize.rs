//! Quantized operations.

use burn::tensor::{DType, Shape};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::{epilogue::Activation, packed::Packed, types::TensorType};

/// Scale and zero point of quantized integers, whose real values are `(integer - zero) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    pub(crate) scale: f32,
    pub(crate) zero: i64,
    pub(crate) dtype: DType,
    pub(crate) bits: u32,
}

/// A sum or product of two quantized tensors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub a: Affine,
    pub b: Affine,
    pub y: Affine,
    pub step: Step,
}

/// The operation of a [`Pair`], and its rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// QLinearAdd.
    Sum,
    /// QLinearMul.
    Product,
    /// Addition of floats, between DequantizeLinear and QuantizeLinear.
    SumOfFloats,
    ProductOfFloats,
}

/// A function of real values, from quantized integers to quantized integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unary {
    pub of: Affine,
    pub y: Affine,
    pub function: Function,
}

/// A function of real values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Each(Activation),
    /// Along the last axis.
    Softmax(Rounded),
}

/// A mean over `axis` and all axes after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub of: Affine,
    pub y: Affine,
    pub axis: usize,
    pub rounded: Rounded,
}

/// Rounding of a mean or a softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounded {
    /// Scaled and rounded at once, as by QLinearGlobalAveragePool and QLinearSoftmax.
    Once,
    /// Rounded to a float, then to an integer.
    InSteps,
}

/// Conversion of the accumulators of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Sums,
    /// Quantized integers of `bits` bits.
    Quantized {
        dtype: DType,
        bits: u32,
    },
    Floats,
}

/// Epilogue of a product of integers, and its packed weight.
#[derive(Clone, Debug)]
pub struct Integers {
    pub ending: Ending,
    /// The packed weight, for a weight that is used again.
    pub packed: Option<Packed>,
}

/// Returns the least and the greatest integer of `bits`.
pub fn range(dtype: DType, bits: u32) -> [f64; 2] {
    let levels = 2f64.powi(bits as i32);
    let least = if dtype.is_uint() { 0.0 } else { -levels / 2.0 };
    [least, least + levels - 1.0]
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
        Self { scale, zero, dtype, bits }
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
    /// Returns the constant that QLinearAdd adds to the scaled integers of both operands.
    pub(crate) fn offset(&self) -> f32 {
        let shift = |of: Affine| self.ratio(of) * of.zero as f32;
        self.y.zero as f32 - (shift(self.a) + shift(self.b))
    }

    /// Returns the scale of an operand divided by that of the result.
    pub(crate) fn ratio(&self, of: Affine) -> f32 {
        of.scale / self.y.scale
    }
}

impl Pair {
    /// Returns the type of the result of operands of one rank, which broadcast.
    pub fn result(&self, a: &TensorType, b: &TensorType) -> TensorType {
        let mut shape = a.shape.clone();
        for axis in 0..shape.num_dims() {
            if shape[axis] == 1 {
                shape[axis] = b.shape[axis];
            }
        }
        TensorType::new(shape, self.y.dtype)
    }
}

impl Mean {
    /// Maximum number of 16-bit integers whose sum fits 32 bits.
    const MAX_I32_TERMS: usize = 1 << 15;

    /// Returns the number of integers in each mean.
    pub fn count(&self, shape: &Shape) -> usize {
        shape.iter().skip(self.axis).product()
    }

    /// Returns the type of the means; `None` for means of no integers, or of too many.
    pub fn result(&self, x: &TensorType) -> Option<TensorType> {
        let mut shape = x.shape.clone();
        for axis in self.axis..shape.num_dims() {
            shape[axis] = 1;
        }
        let is_covered = (1..=Self::MAX_I32_TERMS).contains(&self.count(&x.shape));
        is_covered.then(|| TensorType::new(shape, self.y.dtype))
    }
}

/// Returns the type of quantized floats; `None` for f64.
pub fn integers(x: &TensorType, dtype: DType) -> Option<TensorType> {
    (x.dtype != DType::F64).then(|| x.with_dtype(dtype))
}

/// Returns the types of quantized floats, of their scale and of their zero point; `None` if there are no
/// elements, or if they are not f32.
pub fn dynamic(x: &TensorType, dtype: DType) -> Option<[TensorType; 3]> {
    let is_covered = x.dtype == DType::F32 && x.shape.num_elements() > 0;
    is_covered.then(|| {
        let one = |dtype| TensorType::new([1], dtype);
        [x.with_dtype(dtype), one(DType::F32), one(dtype)]
    })
}
