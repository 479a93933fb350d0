//! Sums and products of two quantized tensors.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{
    Rounding, RoundingLaunch, difference, is_wide,
    operand_indices::{Axis, axes, operand_indices, steps},
    quantized, sharing, within,
};
use crate::cube::{
    blank,
    launch::{Grid, Strided, launch},
    type_of,
};
use crate::spec::quantize::{Pair, Step};

/// Zero points and factors of both operands.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
struct Numbers {
    first_zero: i32,
    second_zero: i32,
    first: f32,
    second: f32,
    /// The addend, or the scale of the result.
    last: f32,
}

pub fn combine(a: CubeTensor, b: CubeTensor, pair: Pair) -> CubeTensor {
    let y = blank(&a, pair.result(&type_of(&a), &type_of(&b)));
    let count = y.shape().num_elements();
    if count == 0 {
        return y;
    }
    let (first, second, last) = match pair.step {
        Step::Sum => (pair.ratio(pair.a), pair.ratio(pair.b), pair.offset()),
        Step::Product => {
            let ratio = pair.a.scale() * pair.b.scale() / pair.y.scale();
            (ratio, 1.0, pair.y.zero() as f32)
        }
        Step::SumOfFloats | Step::ProductOfFloats => (pair.a.scale(), pair.b.scale(), pair.y.scale()),
    };
    let [first_zero, second_zero] = [pair.a, pair.b].map(|of| of.zero() as i32);
    let numbers = NumbersLaunch::new(first_zero, second_zero, first, second, last);
    let step = sharing(count);
    let axes = axes(&y.shape(), [&steps(&a), &steps(&b), &[]]);
    let dtypes = [a.dtype, b.dtype, y.dtype].map(dtype_to_storage_type);
    let wide = [&a, &b].map(|x| is_wide(x.dtype));
    launch!(Grid::units(step) => pair_kernel(
        Strided(a), Strided(b), &y;
        axes, count, step, numbers, RoundingLaunch::to(pair.y), pair.step, wide, dtypes,
    ));
    y
}

/// A unit combines elements that are `step` apart.
///
/// Units beyond `step` end, and elements beyond `count`, the number of those of `y`. `a` and `b` are read at
/// the [`operand_indices`] of an index, by the sizes of `y` and their strides.
#[cube(launch_unchecked, address_type = "dynamic")]
fn pair_kernel<A: Int, B: Int, O: Int>(
    a: &Tensor<A>,
    b: &Tensor<B>,
    y: &mut Tensor<O>,
    axes: Sequence<Axis>,
    count: usize,
    step: usize,
    numbers: Numbers,
    rounding: Rounding,
    #[comptime] kind: Step,
    #[comptime] are_wide: [bool; 2],
    #[define(A, B, O)] _dtypes: [ElemType; 3],
) {
    if ABSOLUTE_POS >= step {
        terminate!();
    }
    for position in range_stepped(ABSOLUTE_POS, count, step) {
        let at = operand_indices(position, &axes);
        let (a, b) = (a[at.first], b[at.second]);
        let left = difference::<A>(a, numbers.first_zero, comptime!(are_wide[0]));
        let right = difference::<B>(b, numbers.second_zero, comptime!(are_wide[1]));
        let z = match kind {
            Step::Sum => {
                // Products and sums are rounded together, where the device does.
                let inner = fma(f32::cast_from(b), numbers.second, numbers.last);
                let sum = fma(f32::cast_from(a), numbers.first, inner);
                within::<O>(f32::round(sum), &rounding)
            }
            Step::Product => {
                let product = left * right * numbers.first + numbers.last;
                within::<O>(f32::round(product), &rounding)
            }
            Step::SumOfFloats => {
                let sum = left * numbers.first + right * numbers.second;
                quantized::<O>(sum / numbers.last, &rounding)
            }
            Step::ProductOfFloats => {
                let product = (left * numbers.first) * (right * numbers.second);
                quantized::<O>(product / numbers.last, &rounding)
            }
        };
        y[position] = z;
    }
}
