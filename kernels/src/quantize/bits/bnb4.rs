//! MatMulBnb4: matrices of 4-bit codes of floats.

use burn::tensor::{DType, FloatDType, Int, IntDType, Tensor};

use super::unpacked;
use crate::{
    dtype::lowered,
    ensure,
    shape::{WithShape, expand::to_shape},
    spec::{operand, shaped},
};

/// Values of the codes of FP4.
const FP4: [f32; 16] = [
    0.0,
    0.005_208_333_5,
    0.666_666_7,
    1.0,
    0.333_333_34,
    0.5,
    0.166_666_67,
    0.25,
    0.0,
    -0.005_208_333_5,
    -0.666_666_7,
    -1.0,
    -0.333_333_34,
    -0.5,
    -0.166_666_67,
    -0.25,
];
/// Values of the codes of NF4.
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// Layout of a matrix with 4 bits per element: row by row, in blocks of `size` elements, which may begin within a row.
#[derive(Clone, Copy, Debug)]
pub struct FloatCodes {
    pub rows: usize,
    pub columns: usize,
    pub size: usize,
    /// Whether the codes are those of NF4 instead of FP4.
    pub normal: bool,
}

impl FloatCodes {
    /// Returns the matrix in f32, `[rows, columns]`, from its bytes, high bits first, and the largest magnitude of each
    /// block.
    pub fn matrix(&self, bytes: Tensor<1, Int>, largest: Tensor<1>) -> Tensor<2> {
        let count = self.rows.checked_mul(self.columns);
        ensure!(
            count.is_some() && self.size > 0,
            "{self:?} has too many elements or blocks without elements"
        );
        let (count, packed) = (count.unwrap_or_default(), bytes.dims());
        let blocks = count.div_ceil(self.size);
        let of_bytes = operand("tensor of bytes", &packed);
        ensure!(
            packed == [count.div_ceil(2)],
            "expected {of_bytes} to have shape [{}] for a matrix of [{}, {}] weights",
            count.div_ceil(2),
            self.rows,
            self.columns
        );
        shaped(operand("tensor of magnitudes", &largest.dims()), &[blocks], of_bytes);
        let device = bytes.device();
        let index: IntDType = lowered(&device, DType::I32).into();
        let codes = unpacked(bytes, 4).with_shape([packed[0], 2]).flip([1]).with_shape([packed[0] * 2]);
        let values = if self.normal { NF4 } else { FP4 };
        let values = Tensor::<1>::from_data(values, (&device, DType::F32));
        let values = values.select(0, codes.narrow(0, 0, count).cast(index));
        let single: FloatDType = DType::F32.into();
        let scales = largest.cast(single).with_shape([blocks, 1]);
        let scales = to_shape(scales, [blocks, self.size]).with_shape([blocks * self.size]);
        values.mul(scales.narrow(0, 0, count)).with_shape([self.rows, self.columns])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, near};

    #[test]
    fn high_bits_come_first_and_blocks_cross_rows() {
        let layout = FloatCodes { rows: 3, columns: 3, size: 4, normal: true };
        let bytes = || int::<1>([0x0fu8, 0x7e, 0xf1, 0xff, 0x00]);
        let largest = || float::<1>([1f32, 2.0, 4.0]);
        let expected = [[-1f32, 1.0, 0.0], [0.722_956_84, 2.0, -1.392_385_6], [2.0, 2.0, -4.0]];
        near(layout.matrix(bytes(), largest()), expected, 1e-6);
        let layout = FloatCodes { normal: false, ..layout };
        let expected = [[0f32, -0.25, 0.25], [-0.166_666_67, -0.5, 0.010_416_667], [-0.5, -0.5, 0.0]];
        near(layout.matrix(bytes(), largest()), expected, 1e-6);
    }
}
