//! Products with matrices of few bits.
//!
//! Few rows are multiplied with the codes in place: the units of a cube share the blocks of a panel of outputs. For more
//! rows the matrix is converted to floats during the product.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::blocks::{levels, round_blocks};
use crate::cube::{
    launch::{Grid, launch},
    product::product,
    unwritten,
};
use crate::{
    backend::CodedProduct,
    spec::bits::{Blocks, PANEL},
    spec::epilogue::Activation,
};

/// Largest number of rows that are multiplied with codes.
const FEW: usize = 8;

/// Number of units that share the blocks of an output.
const SLICES: usize = 4;

/// Largest number of elements that each cube rounds in its shared memory; more are rounded once for all.
const ROUNDED: usize = 2048;

/// Returns `rows * matrix + bias`. The rows are rounded to 8 bits if `in_bytes`.
pub fn matmul_coded(operands: CodedProduct<CubeBackend>, blocks: Blocks, in_bytes: bool) -> CubeTensor {
    let CodedProduct { rows: x, codes, scales, zeros, bias } = operands;
    let [codes, scales, zeros] = [codes, scales, zeros].map(into_contiguous);
    let rows = x.shape()[0];
    let rounds = in_bytes && rows <= FEW && rows * blocks.inputs <= ROUNDED;
    let x = if in_bytes && !rounds { round_blocks(x, blocks.size) } else { x };
    if rows > FEW {
        let matrix = unwritten(&x, [blocks.inputs, blocks.outputs].into(), x.dtype);
        let count = blocks.inputs.div_ceil(blocks.size) * blocks.size * blocks.outputs;
        let dtype = dtype_to_storage_type(x.dtype);
        launch!(Grid::units(count) => floats_kernel(
            codes, scales, zeros, &matrix;
            count, blocks.inputs, blocks.outputs, blocks.size, blocks.bits as u32, dtype,
        ));
        return product(x, matrix, bias.float(), None, Activation::Identity);
    }
    let x = into_contiguous(x);
    let y = unwritten(&x, [rows, blocks.outputs].into(), x.dtype);
    if rows == 0 {
        return y;
    }
    let cubes = blocks.outputs.div_ceil(PANEL);
    let bias = bias.float().map(into_contiguous);
    let dtype = dtype_to_storage_type(x.dtype);
    let most = rows.next_power_of_two();
    let rounded = if rounds { (rows * blocks.inputs).next_power_of_two() } else { 0 };
    let shared = (rounded.max(1) + PANEL * SLICES * most) * size_of::<f32>();
    launch!(Grid::cubes(cubes, PANEL * SLICES).shared(shared) => rows_kernel(
        x, codes, scales, zeros, bias, &y;
        cubes, rows, blocks.inputs, blocks.outputs, blocks.size, blocks.bits as u32, most, rounded,
        dtype,
    ));
    y
}

/// A cube multiplies all rows with a panel of outputs.
///
/// Cubes beyond the panels end. A panel has `inputs.div_ceil(size)` blocks of `size` inputs in `codes`, and
/// as many scales and zero points. Inputs beyond the last one are not read, and outputs beyond the last one
/// not written; rows beyond the last one are read as the last one.
#[cube(launch_unchecked, address_type = "dynamic")]
fn rows_kernel<T: Float>(
    x: &Tensor<T>,
    codes: &Tensor<u32>,
    scales: &Tensor<f32>,
    zeros: &Tensor<f32>,
    bias: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    cubes: usize,
    rows: usize,
    inputs: usize,
    outputs: usize,
    size: usize,
    bits: u32,
    #[comptime] most: usize,
    #[comptime] rounded: usize,
    #[define(T)] _dtype: ElemType,
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let (lane, slice) = (unit % PANEL, unit / PANEL);
    let blocks = inputs.div_ceil(size);
    let per_word = 32u32 / bits;
    let words = size / per_word as usize;
    let mask = (1u32 << bits) - 1u32;
    let mut near = Shared::<[f32]>::new_slice(comptime!(rounded.max(1)));
    if comptime!(rounded > 0) {
        for piece in range_stepped(unit, rows * blocks, comptime!(PANEL * SLICES)) {
            let begin = piece % blocks * size;
            let row = piece / blocks * inputs;
            let (first, last) = (row + begin, row + min(begin + size, inputs));
            let (finer, step) = levels(x, first, last);
            for at in first..last {
                near[at] = f32::round(f32::cast_from(x[at]) * finer) * step;
            }
        }
        sync_cube();
    }
    let mut sums = Array::<f32>::new(most);
    #[unroll]
    for row in 0..most {
        sums[row] = 0.0f32;
    }
    for block in range_stepped(slice, blocks, SLICES) {
        let at = (CUBE_POS * blocks + block) * PANEL + lane;
        let (scale, zero) = (scales[at], zeros[at]);
        for word in 0..words {
            let code = codes[((CUBE_POS * blocks + block) * words + word) * PANEL + lane];
            let first = block * size + word * per_word as usize;
            for place in 0..per_word {
                let input = first + place as usize;
                if input < inputs {
                    let weight = (f32::cast_from((code >> (place * bits)) & mask) - zero) * scale;
                    #[unroll]
                    for row in 0..most {
                        let at = min(row, rows - 1) * inputs + input;
                        if comptime!(rounded > 0) {
                            sums[row] += near[at] * weight;
                        } else {
                            sums[row] += f32::cast_from(x[at]) * weight;
                        }
                    }
                }
            }
        }
    }

    let mut shared = Shared::<[f32]>::new_slice(comptime!(PANEL * SLICES * most));
    #[unroll]
    for row in 0..most {
        shared[row * comptime!(PANEL * SLICES) + unit] = sums[row];
    }
    sync_cube();
    let output = CUBE_POS * PANEL + lane;
    if slice == 0 && output < outputs {
        for row in 0..rows {
            let mut total = 0.0f32;
            for other in 0..SLICES {
                total += shared[row * comptime!(PANEL * SLICES) + other * PANEL + lane];
            }
            #[comptime]
            match bias {
                ComptimeOption::Some(bias) => total += f32::cast_from(bias[output]),
                ComptimeOption::None => {}
            }
            y[row * outputs + output] = T::cast_from(total);
        }
    }
}

/// A unit writes an element of the matrix.
///
/// Units beyond `count`, the inputs of all blocks times `outputs`, end, and inputs beyond the last one write
/// nothing. Codes, scales and zero points have whole blocks of whole panels.
#[cube(launch_unchecked, address_type = "dynamic")]
fn floats_kernel<T: Float>(
    codes: &Tensor<u32>,
    scales: &Tensor<f32>,
    zeros: &Tensor<f32>,
    matrix: &mut Tensor<T>,
    count: usize,
    inputs: usize,
    outputs: usize,
    size: usize,
    bits: u32,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let (input, output) = (ABSOLUTE_POS / outputs, ABSOLUTE_POS % outputs);
    if input < inputs {
        let (panel, lane) = (output / PANEL, output % PANEL);
        let (block, place) = (input / size, input % size);
        let per_word = (32u32 / bits) as usize;
        let block = panel * inputs.div_ceil(size) + block;
        let word = codes[(block * (size / per_word) + place / per_word) * PANEL + lane];
        let code = (word >> ((place % per_word) as u32 * bits)) & ((1u32 << bits) - 1u32);
        let at = block * PANEL + lane;
        matrix[input * outputs + output] = T::cast_from((f32::cast_from(code) - zeros[at]) * scales[at]);
    }
}
