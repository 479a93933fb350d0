//! Sums and products of what integers of two tensors stand for.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{
    Rounding, RoundingLaunch, difference, integer, is_wide,
    places::{Axis, axes, places, steps},
    shared, within,
};
use crate::cube::{address, blank, type_of};
use crate::spec::quantize::{Pair, Step};

/// What the integers of both operands are multiplied by or stand for.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
struct Numbers {
    first_zero: i32,
    second_zero: i32,
    first: f32,
    second: f32,
    /// What is added, or the scale of the result.
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
        Step::SumOfFloats | Step::ProductOfFloats => {
            (pair.a.scale(), pair.b.scale(), pair.y.scale())
        }
    };
    let [first_zero, second_zero] = [pair.a, pair.b].map(|of| of.zero() as i32);
    let numbers = NumbersLaunch::new(first_zero, second_zero, first, second, last);
    let client = y.client.clone();
    let (cubes, units, step) = shared(&client, count);
    let axes = axes(&y.shape(), [&steps(&a), &steps(&b), &[]]);
    let dtypes = [a.dtype, b.dtype, y.dtype].map(dtype_to_storage_type);
    let (address, wide) = (address([&a, &b, &y]), [&a, &b].map(|x| is_wide(x.dtype)));
    // Safety: units end with the result, and operands have an element for each one of it.
    unsafe {
        pair_kernel::launch_unchecked(
            &client,
            cubes,
            units,
            address,
            a.into_tensor_arg(),
            b.into_tensor_arg(),
            y.clone().into_tensor_arg(),
            axes,
            count,
            step,
            numbers,
            RoundingLaunch::to(pair.y),
            pair.step,
            wide,
            dtypes,
        );
    }
    y
}

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
        let at = places(position, &axes);
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
                integer::<O>(sum / numbers.last, &rounding)
            }
            Step::ProductOfFloats => {
                let product = (left * numbers.first) * (right * numbers.second);
                integer::<O>(product / numbers.last, &rounding)
            }
        };
        y[position] = z;
    }
}
