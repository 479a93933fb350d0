//! MatMulNBits: packed 2-, 4- or 8-bit weights, in blocks with scales.

mod bnb4;
mod coded;
mod halves;
mod matrix;

use alloc::{vec, vec::Vec};
use burn::tensor::{DType, FloatDType, Int, IntDType, Tensor};

use crate::shape::WithShape;
use crate::spec::bits::LEVELS;
pub use crate::spec::bits::{BitMatrix, Blocks};
use crate::{
    attempt::nonnegative,
    backend::{CodedProduct, Operand, call},
    dtype::lowered,
    ensure,
    observe::by_host,
    product::matmul::linear,
    shape::reshape,
    spec::indices::Axis,
    spec::{equal_axes, operand, shaped},
    widen::widened,
};
pub use bnb4::FloatCodes;
pub use coded::Coded;
pub use matrix::BitData;

/// Zero points of blocks, the middle of the range by default.
#[derive(Clone, Debug)]
pub enum Zeros {
    Middle,
    /// Packed with the same number of bits as the weights; each row starts at a byte.
    Packed(Tensor<1, Int>),
    Plain(Tensor<1>),
}

impl Blocks {
    /// Returns the matrix in f32, `[inputs, outputs]`, from its bytes and scales; `groups` is the block of each input.
    #[inline(never)]
    pub fn matrix(
        &self,
        bytes: Tensor<1, Int>,
        scales: Tensor<1>,
        zeros: Zeros,
        groups: Option<Tensor<1, Int>>,
    ) -> Tensor<2> {
        let single: FloatDType = DType::F32.into();
        let count = self.inputs.div_ceil(self.size);
        let rows = [self.outputs * count * self.size * self.bits / 8];
        let row_of_zeros = (count * self.bits).div_ceil(8);
        let zero_points = match &zeros {
            Zeros::Middle => None,
            Zeros::Plain(zeros) => Some((zeros.dims(), self.outputs * count)),
            Zeros::Packed(zeros) => Some((zeros.dims(), self.outputs * row_of_zeros)),
        };
        let of_bytes = bytes.dims();
        let of_bytes = operand("tensor of bytes", &of_bytes);
        shaped(operand("tensor of scales", &scales.dims()), &[self.outputs * count], of_bytes);
        if let Some((zeros, length)) = zero_points {
            shaped(operand("tensor of zero points", &zeros), &[length], of_bytes);
        }
        if let Some(groups) = &groups {
            let groups = groups.dims();
            ensure!(
                groups[0] >= self.inputs,
                "expected groups for {} inputs of {of_bytes}, found shape {groups:?}",
                self.inputs
            );
        }
        ensure!(
            of_bytes.size(0) == rows[0],
            "expected {of_bytes} to have shape {rows:?} for a matrix of [{}, {}] weights",
            self.inputs,
            self.outputs
        );
        let per_block = |x: Tensor<1>| x.cast(single).with_shape([self.outputs, count]);
        let scales = per_block(scales);
        let zeros = match zeros {
            Zeros::Middle => None,
            Zeros::Plain(zeros) => Some(per_block(zeros)),
            Zeros::Packed(bytes) => {
                let bytes = bytes.with_shape([self.outputs, (count * self.bits).div_ceil(8)]);
                let zeros = unpacked(bytes, self.bits).narrow(1, 0, count);
                Some(zeros.cast(single))
            }
        };
        let codes = unpacked(bytes.with_shape([self.outputs, count * self.size * self.bits / 8]), self.bits);
        let codes = codes.narrow(1, 0, self.inputs).cast(single);
        let axis = Axis { number: 1, size: count };
        let groups = groups.map(|groups| nonnegative(groups, axis));
        let groups = groups.unwrap_or_else(|| {
            let of_input = (0..self.inputs).map(|at| (at / self.size) as i64);
            let groups: Vec<i64> = of_input.collect();
            let dtype = lowered(&codes.device(), DType::I64);
            Tensor::from_data(groups.as_slice(), (&codes.device(), dtype))
        });
        let spread = |x: Tensor<2>| x.select(1, groups.narrow(0, 0, self.inputs));
        let codes = match zeros {
            None => codes.sub_scalar(1u32 << (self.bits - 1)),
            Some(zeros) => codes.sub(spread.clone()(zeros)),
        };
        codes.mul(spread(scales)).transpose()
    }
}

/// Returns `x * matrix + bias` over the last axis of `x`, which is rounded to 8 bits if the matrix requires it.
#[inline(never)]
pub fn matmul_bits<const D: usize>(x: Tensor<D>, matrix: &BitMatrix, bias: Option<Tensor<1>>) -> Tensor<D> {
    // Only the CPU kernel reads this layout of the matrix.
    let Blocks { inputs, outputs, .. } = matrix.panels().blocks;
    ensure_factors(&x, [inputs, outputs], bias.as_ref());
    by_host("matmul_coded");
    if matrix.is_in_bytes() {
        by_host("round_blocks");
    }
    let (own, added) = (x.clone(), bias.clone());
    if let Some(y) = call!(matmul_bits(own, added; matrix.clone())).tensor() {
        return Tensor::from_dispatch(y);
    }
    let floats = matrix.floats(&x.device());
    let x = if matrix.is_in_bytes() { in_bytes(x, matrix.panels().blocks.size) } else { x };
    matmul_wide(x, floats, bias)
}

/// [`matmul_bits`], with the matrix on the device.
#[inline(never)]
pub fn matmul_coded<const D: usize>(
    x: Tensor<D>,
    matrix: &BitMatrix,
    coded: &Coded,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    let Blocks { inputs, outputs, .. } = coded.blocks;
    let (own, added) = (x.clone(), bias.clone());
    ensure_factors(&x, [inputs, outputs], bias.as_ref());
    let mut dims = x.dims();
    dims[D - 1] = outputs;
    let dtype: FloatDType = x.dtype().into();
    let rows = dims[..D - 1].iter().product();
    let operands = CodedProduct {
        rows: reshape(widened(x), [rows, inputs]).into_primitive(),
        codes: coded.codes.clone().into_primitive(),
        scales: coded.scales.clone().into_primitive(),
        zeros: coded.zeros.clone().into_primitive(),
        bias: bias.map(widened).into_primitive(),
    };
    match call!(matmul_coded(operands; coded.blocks, matrix.is_in_bytes())).tensor() {
        Some(y) => reshape(Tensor::<2>::from_dispatch(y), dims).cast(dtype),
        None => matmul_bits(own, matrix, added),
    }
}

/// Fails unless the input and the matrix have a product, and a bias has one value per output.
fn ensure_factors<const D: usize>(x: &Tensor<D>, matrix: [usize; 2], bias: Option<&Tensor<1>>) {
    let of_matrix = operand("matrix", &matrix);
    equal_axes(operand("input", &x.dims()), D - 1, of_matrix, 0);
    if let Some(bias) = bias {
        shaped(operand("bias", &bias.dims()), &matrix[1..], of_matrix);
    }
}

/// Returns `x * matrix + bias`, accumulated in f32.
pub fn matmul_wide<const D: usize>(x: Tensor<D>, matrix: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<D> {
    let dtype: FloatDType = x.dtype().into();
    linear(widened(x), matrix, bias.map(widened)).cast(dtype)
}

/// Rounds the operand as 8-bit products do: each block of `size` elements of the last axis is quantized to 8
/// bits whose range is its largest magnitude.
#[inline(never)]
pub fn in_bytes<const D: usize>(x: Tensor<D>, size: usize) -> Tensor<D> {
    let dtype: FloatDType = x.dtype().into();
    let dims = x.dims();
    let (inputs, rows) = (dims[D - 1], dims[..D - 1].iter().product());
    let blocks = inputs.div_ceil(size);
    if rows * inputs == 0 {
        return x;
    }
    let x = reshape(widened(x), [rows, inputs]);
    let own = x.clone();
    if let Some(y) = call!(round_blocks(own; size)).tensor() {
        let y = Tensor::<2>::from_dispatch(y);
        return reshape(y, dims).cast(dtype);
    }
    let x = match blocks * size - inputs {
        0 => x,
        rest => {
            let zeros = Tensor::zeros([rows, rest], (&x.device(), x.dtype()));
            Tensor::cat(vec![x, zeros], 1)
        }
    };
    let x = reshape(x, [rows, blocks, size]);
    let largest = x.clone().abs().max_dim(2);
    let none = largest.clone().equal_scalar(0.0);
    let finer = Tensor::full_like(&largest, LEVELS).div(largest.clone());
    let codes = x.mul(finer.mask_fill(none, 0.0)).round();
    let y = codes.mul(largest.div_scalar(LEVELS));
    let y = reshape(y, [rows, blocks * size]).narrow(1, 0, inputs);
    reshape(y, dims).cast(dtype)
}

/// Unpacks integers of `bits` bits from bytes along the last axis, lowest bits first.
pub fn unpacked<const D: usize>(bytes: Tensor<D, Int>, bits: usize) -> Tensor<D, Int> {
    if bits == 8 {
        return bytes;
    }
    let per_byte = 8 / bits;
    let mut shape = bytes.dims();
    shape[D - 1] *= per_byte;
    let count: usize = bytes.dims().iter().product();
    let column = reshape(bytes, [count, 1]);
    let dtype: IntDType = column.dtype().into();
    let part = |at: usize| {
        let shifted = column.clone().bitwise_right_shift_scalar((at * bits) as i64);
        shifted.bitwise_and_scalar((1i64 << bits) - 1).cast(dtype)
    };
    let parts = (0..per_byte).map(part).collect();
    reshape(Tensor::cat(parts, 1), shape)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::{float, int, near, same};

    #[test]
    fn low_bits_come_first() {
        let bytes = || int::<2>([[0x21u8, 0xf3]]);
        same(unpacked(bytes(), 4), [[1u8, 2, 3, 15]]);
        same(unpacked(bytes(), 2), [[1u8, 0, 2, 0, 3, 0, 3, 3]]);
        same(unpacked(bytes(), 8), [[0x21u8, 0xf3]]);
    }

    /// Two outputs of three inputs each, in blocks of two.
    const BLOCKS: Blocks = Blocks { inputs: 3, outputs: 2, bits: 4, size: 2 };

    fn bytes() -> Tensor<1, Int> {
        int([0x98u8, 0x0a, 0x70, 0x0f])
    }

    #[test]
    fn blocks_have_scales_and_zero_points() {
        let scales = || float::<1>([1f32, 2.0, 0.5, 4.0]);
        let matrix = BLOCKS.matrix(bytes(), scales(), Zeros::Middle, None);
        same(matrix, [[0f32, -4.0], [1.0, -0.5], [4.0, 28.0]]);
        let packed = Zeros::Packed(int([0xa8u8, 0x07]));
        let matrix = BLOCKS.matrix(bytes(), scales(), packed, None);
        same(matrix, [[0f32, -3.5], [1.0, 0.0], [0.0, 60.0]]);
        let plain = Zeros::Plain(float([7.5f32, 10.0, 0.0, 15.0]));
        let matrix = BLOCKS.matrix(bytes(), scales(), plain, None);
        same(matrix, [[0.5f32, 0.0], [1.5, 3.5], [0.0, 0.0]]);
    }

    #[test]
    fn groups_may_be_in_any_order() {
        let scales = float::<1>([1f32, 2.0, 0.5, 4.0]);
        let groups = Some(int([1i32, 0, 1]));
        let matrix = BLOCKS.matrix(bytes(), scales, Zeros::Middle, groups);
        same(matrix, [[0f32, -32.0], [1.0, -0.5], [4.0, 28.0]]);
    }

    #[test]
    fn operands_are_rounded_block_by_block() {
        let x = float::<2>([[127f32, 0.6, -2.5, 0.0, 0.0, 0.0, 1.27, 0.004, 0.006, -254.0]]);
        let expected = [[127f32, 1.0, -2.0, 0.0, 0.0, 0.0, 1.27, 0.0, 0.01, -254.0]];
        near(in_bytes(x, 3), expected, 1e-6);
    }

    #[test]
    fn half_precision_is_summed_in_single_precision() {
        let x = float::<2>([[1.0, 2.0].map(f16::from_f32)]);
        let (matrix, bias) = (float([[0.1f32], [0.2]]), float([f16::from_f32(1.0)]));
        same(matmul_wide(x, matrix, Some(bias)), [[f16::from_f32(1.5)]]);
    }
}
