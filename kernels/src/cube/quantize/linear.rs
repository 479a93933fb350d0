//! QuantizeLinear and DequantizeLinear.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::{kernel::untile, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    Rounding, RoundingLaunch, difference, is_wide,
    operand_indices::{Axis, axes, operand_indices, steps},
    quantized, sharing,
};
use crate::cube::{
    blank,
    launch::{Grid, Strided, launch},
    type_of, unwritten,
};
use crate::spec::quantize::{Affine, integers};

pub fn quantize(x: CubeTensor, to: Affine) -> Option<CubeTensor> {
    let rounding = RoundingLaunch::of(to.dtype(), to.bits(), to.zero());
    to_integers(x, None, None, to.dtype(), to.scale(), rounding)
}

/// Quantizes by scales and zero points that broadcast.
pub fn quantize_along(
    x: CubeTensor,
    scale: CubeTensor,
    zero: Option<CubeTensor>,
    dtype: DType,
    bits: u32,
) -> Option<CubeTensor> {
    let rounding = RoundingLaunch::of(dtype, bits, 0);
    to_integers(x, Some(scale), zero, dtype, 1.0, rounding)
}

pub fn dequantize(x: CubeTensor, of: Affine) -> CubeTensor {
    to_floats(x, None, None, of.scale(), of.zero())
}

/// Dequantizes by scales and zero points that broadcast.
pub fn dequantize_along(x: CubeTensor, scale: CubeTensor, zero: Option<CubeTensor>) -> CubeTensor {
    to_floats(x, Some(scale), zero, 1.0, 0)
}

/// Quantizes by one scale and zero point, or by tensors of these.
fn to_integers(
    x: CubeTensor,
    scales: Option<CubeTensor>,
    zeros: Option<CubeTensor>,
    dtype: DType,
    scale: f32,
    rounding: RoundingLaunch,
) -> Option<CubeTensor> {
    let y = integers(&type_of(&x), dtype)?;
    let x = untile(x);
    let y = blank(&x, y);
    let count = y.shape().num_elements();
    if count == 0 {
        return Some(y);
    }
    let operands = Operands { x, scales, zeros };
    let step = sharing(count);
    let axes = operands.axes();
    let dtypes = [operands.x.dtype, operands.scale_dtype(), operands.zero_dtype(dtype), dtype];
    launch!(Grid::units(step) => integers_kernel(
        Strided(operands.x), operands.scales.map(Strided), operands.zeros.map(Strided), &y;
        axes, count, step, scale, rounding, dtypes.map(dtype_to_storage_type),
    ));
    Some(y)
}

fn to_floats(
    x: CubeTensor,
    scales: Option<CubeTensor>,
    zeros: Option<CubeTensor>,
    scale: f32,
    zero: i64,
) -> CubeTensor {
    let y = unwritten(&x, x.shape(), DType::F32);
    let count = y.shape().num_elements();
    if count == 0 {
        return y;
    }
    let operands = Operands { x, scales, zeros };
    let step = sharing(count);
    let axes = operands.axes();
    let dtype = operands.x.dtype;
    let dtypes = [dtype, operands.scale_dtype(), operands.zero_dtype(dtype)];
    launch!(Grid::units(step) => floats_kernel(
        Strided(operands.x), operands.scales.map(Strided), operands.zeros.map(Strided), &y;
        axes, count, step, scale, zero as i32, is_wide(dtype), dtypes.map(dtype_to_storage_type),
    ));
    y
}

struct Operands {
    x: CubeTensor,
    scales: Option<CubeTensor>,
    zeros: Option<CubeTensor>,
}

impl Operands {
    fn axes(&self) -> SequenceArg<Axis> {
        let of = |operand: &Option<CubeTensor>| operand.as_ref().map(steps).unwrap_or_default();
        let (scales, zeros) = (of(&self.scales), of(&self.zeros));
        axes(&self.x.shape(), [&steps(&self.x), &scales, &zeros])
    }

    fn scale_dtype(&self) -> DType {
        self.scales.as_ref().map_or(DType::F32, |scale| scale.dtype)
    }

    fn zero_dtype(&self, other: DType) -> DType {
        self.zeros.as_ref().map_or(other, |zero| zero.dtype)
    }
}

/// A unit quantizes elements that are `step` apart.
///
/// Units beyond `step` end, and elements beyond `count`, the number of those of `y`. `x`, scales and zero
/// points are read at the [`operand_indices`] of an index, by the sizes of `y` and their strides.
#[cube(launch_unchecked, address_type = "dynamic")]
fn integers_kernel<T: Float, S: Float, Z: Int, I: Int>(
    x: &Tensor<T>,
    scales: ComptimeOption<&[S]>,
    zeros: ComptimeOption<&[Z]>,
    y: &mut Tensor<I>,
    axes: Sequence<Axis>,
    count: usize,
    step: usize,
    scale: f32,
    rounding: Rounding,
    #[define(T, S, Z, I)] _dtypes: [ElemType; 4],
) {
    if ABSOLUTE_POS >= step {
        terminate!();
    }
    for position in range_stepped(ABSOLUTE_POS, count, step) {
        let at = operand_indices(position, &axes);
        let mut divisor = scale;
        #[comptime]
        match scales {
            ComptimeOption::Some(scales) => divisor = f32::cast_from(scales[at.second]),
            ComptimeOption::None => {}
        }
        let mut zero = rounding.zero;
        #[comptime]
        match zeros {
            ComptimeOption::Some(zeros) => zero = f32::cast_from(zeros[at.third]),
            ComptimeOption::None => {}
        }
        let rounding = Rounding { zero, low: rounding.low, high: rounding.high };
        y[position] = quantized::<I>(f32::cast_from(x[at.first]) / divisor, &rounding);
    }
}

/// A unit dequantizes elements that are `step` apart. The bounds are those of [`integers_kernel`].
#[cube(launch_unchecked, address_type = "dynamic")]
fn floats_kernel<I: Int, S: Float, Z: Int>(
    x: &Tensor<I>,
    scales: ComptimeOption<&[S]>,
    zeros: ComptimeOption<&[Z]>,
    y: &mut Tensor<f32>,
    axes: Sequence<Axis>,
    count: usize,
    step: usize,
    scale: f32,
    zero: i32,
    #[comptime] is_wide: bool,
    #[define(I, S, Z)] _dtypes: [ElemType; 3],
) {
    if ABSOLUTE_POS >= step {
        terminate!();
    }
    for position in range_stepped(ABSOLUTE_POS, count, step) {
        let at = operand_indices(position, &axes);
        let mut factor = scale;
        #[comptime]
        match scales {
            ComptimeOption::Some(scales) => factor = f32::cast_from(scales[at.second]),
            ComptimeOption::None => {}
        }
        let mut zero = zero;
        #[comptime]
        match zeros {
            ComptimeOption::Some(zeros) => zero = i32::cast_from(zeros[at.third]),
            ComptimeOption::None => {}
        }
        y[position] = difference::<I>(x[at.first], zero, is_wide) * factor;
    }
}
