//! GatherBlockQuantized: gathers slices of a quantized tensor and dequantizes them.

use burn::tensor::{DType, FloatDType, Int, Tensor};

use super::{bits::unpacked, blocks};
use crate::shape::WithShape;
use crate::{
    ensure,
    index::gather::gather,
    kind::AnyKind,
    shape::{empty, expand::to_shape},
    spec::{operand, shaped},
};

/// Attributes of GatherBlockQuantized: the gathered axis, and the axis whose blocks share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    pub axis: usize,
    pub blocks_axis: usize,
    pub block: usize,
    /// Number of bits of the integers that are packed into bytes along the last axis.
    pub bits: usize,
    /// Zero point if there are none.
    pub zero: i64,
}

/// Returns gathered integers less their zero points, times their scales. An index out of bounds yields zeros.
/// `O` is `D + I - 1`.
#[inline(never)]
pub fn gather_int<const D: usize, const I: usize, const O: usize>(
    x: Tensor<D, Int>,
    indices: Tensor<I, Int>,
    scales: Tensor<D>,
    zeros: Option<Tensor<D, Int>>,
    how: &Gather,
) -> Tensor<O> {
    let single: FloatDType = DType::F32.into();
    let size = x.dims()[how.axis];
    let length = x.dims()[how.blocks_axis] * (8 / how.bits);
    how.ensure_scaled(&x.dims(), &scales.dims(), length);
    if let Some(zeros) = &zeros {
        let (zeros, mut wanted) = (zeros.dims(), scales.dims());
        wanted[how.blocks_axis] = wanted[how.blocks_axis].div_ceil(8 / how.bits);
        shaped(
            operand("tensor of zero points", &zeros),
            &wanted,
            operand("tensor of scales", &scales.dims()),
        );
    }
    let slices = Slices::new(indices, size, length, how);
    let codes = unpacked(slices.of::<D, O, Int>(x), how.bits).cast(single);
    let codes = match zeros {
        None => codes.sub_scalar(how.zero),
        Some(zeros) => {
            let zeros = match how.bits {
                8 => zeros,
                bits => unpacked(zeros, bits).narrow(how.blocks_axis, 0, scales.dims()[how.blocks_axis]),
            };
            codes.sub(slices.of_blocks::<D, O, Int>(zeros).cast(single))
        }
    };
    slices.finish(codes, scales)
}

/// [`gather_int`] for small floats, which have no zero points.
#[inline(never)]
pub fn gather_float<const D: usize, const I: usize, const O: usize>(
    x: Tensor<D>,
    indices: Tensor<I, Int>,
    scales: Tensor<D>,
    how: &Gather,
) -> Tensor<O> {
    let (size, length) = (x.dims()[how.axis], x.dims()[how.blocks_axis]);
    how.ensure_scaled(&x.dims(), &scales.dims(), length);
    let slices = Slices::new(indices, size, length, how);
    let codes = slices.of::<D, O, _>(x);
    slices.finish(codes, scales)
}

impl Gather {
    /// Fails unless there is a scale for each block along an axis of `length` elements.
    fn ensure_scaled(&self, input: &[usize], scales: &[usize], length: usize) {
        let fits = |axis: usize| match axis {
            _ if axis == self.blocks_axis => scales[axis] == length.div_ceil(self.block),
            _ if axis == self.axis => [1, input[axis]].contains(&scales[axis]),
            _ => scales[axis] == input[axis],
        };
        ensure!(
            (0..input.len()).all(fits),
            "expected a scale for each block of {} elements along axis {} of the input {input:?}, found \
             shape {scales:?}",
            self.block,
            self.blocks_axis
        );
    }
}

/// Indices along an axis, and the same clamped to its bounds.
struct Slices<'a, const I: usize> {
    indices: Tensor<I, Int>,
    within: Tensor<I, Int>,
    size: usize,
    /// Size of the axis that is divided into blocks.
    length: usize,
    how: &'a Gather,
}

impl<'a, const I: usize> Slices<'a, I> {
    fn new(indices: Tensor<I, Int>, size: usize, length: usize, how: &'a Gather) -> Self {
        let last = size.max(1) as i64;
        Self { within: indices.clone().clamp(-last, last - 1), indices, size, length, how }
    }

    fn of<const D: usize, const O: usize, K: AnyKind>(&self, x: Tensor<D, K>) -> Tensor<O, K> {
        if self.indices.dims().contains(&0) || x.dims().contains(&0) {
            return empty(&x, self.shape(x.dims()));
        }
        gather(x, self.how.axis, self.within.clone())
    }

    /// Gathers values of blocks, repeated for each element.
    fn of_blocks<const D: usize, const O: usize, K: AnyKind>(&self, x: Tensor<D, K>) -> Tensor<O, K> {
        let Gather { axis, blocks_axis, block, .. } = *self.how;
        if axis == blocks_axis {
            return self.of(blocks(x, axis, block, self.length));
        }
        let mut shape = x.dims();
        // One scale may apply to all slices.
        shape[axis] = self.size;
        let slices = self.of::<D, O, K>(to_shape(x, shape));
        let at = if blocks_axis < axis { blocks_axis } else { blocks_axis + I - 1 };
        blocks(slices, at, block, self.length)
    }

    fn finish<const D: usize, const O: usize>(&self, codes: Tensor<O>, scales: Tensor<D>) -> Tensor<O> {
        let dtype = scales.dtype();
        let single: FloatDType = DType::F32.into();
        let y = codes.mul(self.of_blocks::<D, O, _>(scales).cast(single));
        let beyond = self.indices.clone().not_equal(self.within.clone());
        let mut shape = [1; O];
        shape[self.how.axis..self.how.axis + I].copy_from_slice(&self.indices.dims());
        let y = if y.dims().contains(&0) {
            y
        } else {
            let dims = y.dims();
            y.mask_fill(to_shape(beyond.with_shape(shape), dims), 0.0)
        };
        y.cast(FloatDType::from(dtype))
    }

    fn shape<const D: usize, const O: usize>(&self, dims: [usize; D]) -> [usize; O] {
        let picked = self.indices.dims();
        let axis = self.how.axis;
        core::array::from_fn(|at| match at {
            at if at < axis => dims[at],
            at if at < axis + I => picked[at - axis],
            at => dims[at + 1 - I],
        })
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::{float, int, same};

    const ROWS: Gather = Gather { axis: 0, blocks_axis: 1, block: 2, bits: 4, zero: 8 };

    #[test]
    fn rows_are_unpacked_after_they_are_taken() {
        let x = || int::<2>([[0x98u8, 0xba], [0x10, 0x32]]);
        let scales = || float::<2>([[1f32, 2.0], [0.5, 4.0]]);
        let y: Tensor<2> = gather_int(x(), int::<1>([1i64, -2]), scales(), None, &ROWS);
        same(y, [[-4f32, -3.5, -24.0, -20.0], [0.0, 1.0, 4.0, 6.0]]);
        let zeros = Some(int([[0x18u8], [0x20]]));
        let y: Tensor<3> = gather_int(x(), int::<2>([[1i32]]), scales(), zeros, &ROWS);
        same(y, [[[0f32, 0.5, 0.0, 4.0]]]);
    }

    #[test]
    fn indices_out_of_bounds_yield_zeros() {
        let (x, scales) = (int::<2>([[0x98u8]]), float::<2>([[f16::ONE]]));
        let y: Tensor<2> = gather_int(x, int::<1>([1i64, 0, -2]), scales, None, &ROWS);
        let expected = [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
        same(y, expected.map(|row| row.map(f16::from_f32)));
    }

    #[test]
    fn any_axis_may_be_gathered_or_in_blocks() {
        let x = || int::<2>([[1i8, 2], [3, 4], [5, 6]]);
        let scales = || float::<2>([[1f32, 10.0], [100.0, 1000.0]]);
        let columns = Gather { axis: 1, blocks_axis: 0, block: 2, bits: 8, zero: 0 };
        let y: Tensor<2> = gather_int(x(), int::<1>([1i64]), scales(), None, &columns);
        same(y, [[20f32], [40.0], [6000.0]]);
        let rows = Gather { axis: 0, ..columns };
        let y: Tensor<2> = gather_int(x(), int::<1>([2i64, 0]), scales(), None, &rows);
        same(y, [[500f32, 6000.0], [1.0, 20.0]]);
    }

    #[test]
    fn one_scale_may_stand_for_all_rows() {
        let x = float::<2>([[1f32, 2.0], [3.0, 4.0]]);
        let how = Gather { bits: 8, ..ROWS };
        let y: Tensor<2> = gather_float(x, int::<1>([1i64]), float([[0.5f32]]), &how);
        same(y, [[1.5f32, 2.0]]);
    }
}
