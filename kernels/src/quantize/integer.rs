//! Matrix products and convolutions of quantized integers.
//!
//! The result is the accumulators, or integers or floats of a scale. Differences of 8-bit integers have 9 bits, so floats
//! represent their products and sums exactly up to a length. Without a kernel of the backend, devices multiply floats faster than
//! integers.

mod conv;
mod matmul;

use burn::tensor::{DType, Device, FloatDType, Int, IntDType, Tensor};

pub use crate::spec::quantize::{Ending, Integers};
use crate::{backend::call, dtype::lowered, spec::packed::Packed};
pub use conv::{
    conv_integer1d, conv_integer2d, conv_integer3d, qlinear_conv1d, qlinear_conv2d, qlinear_conv3d,
};
pub use matmul::{matmul_dynamic, matmul_integer, matmul_to_float, qlinear_matmul};

/// An integer weight, and its packed form.
#[derive(Clone, Debug)]
pub struct Weight<const D: usize> {
    pub values: Tensor<D, Int>,
    packed: Option<Packed>,
}

/// Scale and zero point of a result, and the scales of both operands.
#[derive(Clone, Debug)]
pub struct Requantize<const D: usize> {
    /// Scales of both operands and of the result.
    pub scales: [Tensor<D>; 3],
    pub zero: Tensor<D, Int>,
    pub dtype: DType,
    pub bits: u32,
}

impl<const D: usize> Weight<D> {
    /// Returns a weight whose layer keeps the packed form.
    pub fn packed(values: Tensor<D, Int>, packed: Packed) -> Self {
        Self { values, packed: Some(packed) }
    }

    fn integers(&self, ending: Ending) -> Integers {
        Integers { ending, packed: self.packed.clone() }
    }
}

impl<const D: usize> Weight<D> {
    /// Returns the weight of a convolution in the layout that the device reads.
    pub fn filters(values: Tensor<D, Int>) -> Tensor<D, Int> {
        Tensor::from_dispatch(call!(@copy byte_filters(values)))
    }
}

impl Weight<2> {
    /// Packs operand B of a matrix product before its first use, if the device packs it.
    pub fn pack_matrix(&self) {
        if let Some(packed) = &self.packed {
            let values = self.values.clone();
            call!(@copy byte_factor(values; packed.clone()));
        }
    }
}

impl<const D: usize> From<Tensor<D, Int>> for Weight<D> {
    fn from(values: Tensor<D, Int>) -> Self {
        Self { values, packed: None }
    }
}

impl<const D: usize> Requantize<D> {
    fn ending(&self, device: &Device) -> Ending {
        Ending::Quantized { dtype: lowered(device, self.dtype), bits: self.bits }
    }
}

fn difference<const D: usize>(x: Tensor<D, Int>, zero: Option<Tensor<D, Int>>) -> Tensor<D, Int> {
    let wide: IntDType = lowered(&x.device(), DType::I32).into();
    let x = x.cast(wide);
    match zero {
        Some(zero) => x.sub(zero.cast(wide)),
        None => x,
    }
}

/// Returns the float type that sums `length` products of 9-bit integers exactly, if the device has one.
fn exact(device: &Device, length: usize) -> Option<FloatDType> {
    const MAX_PRODUCT: usize = 255 * 255;
    let exact_in_single = length.saturating_mul(MAX_PRODUCT) <= 1 << f32::MANTISSA_DIGITS;
    match lowered(device, DType::F64) {
        _ if exact_in_single => Some(FloatDType::F32),
        DType::F64 => Some(FloatDType::F64),
        _ => None,
    }
}
