//! Operands as kernels read them.

use burn::backend::{
    cubecl::dtype_to_storage_type,
    ops::{FloatTensorOps, IntTensorOps},
};
use burn::tensor::{DType, IntDType};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::ir::ElemType;

use super::{
    levels::{Levels, of_inputs},
    plan::Plan,
};
use crate::{
    backend::{Given, Matrices, Recurrence},
    cube::{blank, product::product, sizes::within_i32, unwritten},
    spec::epilogue::Activation,
    spec::recurrent::{Cell, Sizes},
};

/// Number of steps from which on copying the weights to columns pays.
const STEPS: usize = 4;

/// Operands of the kernels, and the outputs of all times.
pub struct Buffers {
    /// Products of the inputs of all times and directions, in single precision.
    pub projected: CubeTensor,
    pub weights: CubeTensor,
    /// Number of adjacent columns of weights that are read at once.
    pub together: usize,
    /// Biases, scales of columns and peepholes of each direction.
    pub constants: CubeTensor,
    pub lengths: CubeTensor,
    pub y: CubeTensor,
    pub plan: Plan,
    pub times: usize,
    pub batch: usize,
}

impl Buffers {
    /// Returns the buffers and the initial states.
    pub fn new(
        operands: Recurrence<CubeBackend>,
        cell: &Cell,
        sizes: &Sizes,
    ) -> (Self, [Option<CubeTensor>; 2]) {
        let mut plan = Plan::new(cell, *sizes);
        let x = operands.x;
        let y = blank(&x, cell.outputs(sizes, x.dtype).all);
        // Unused by the kernels.
        let none = |dtype| unwritten(&y, [1].into(), dtype);

        let bias = operands.bias.float();
        let peepholes = operands.peepholes.float().filter(|_| plan.is_lstm());
        (plan.has_bias, plan.has_peepholes) = (bias.is_some(), peepholes.is_some());
        let lengths = operands.lengths.int();
        let lengths = lengths.map(|lengths| into_contiguous(CubeBackend::int_cast(lengths, IntDType::I32)));
        plan.has_lengths = lengths.is_some();
        let (input, input_scales) = weights(operands.input);
        let (weights, scales) = weights(operands.recurrent);
        let (projected, weights) = match input_scales {
            None => (projected(x, input, sizes), in_columns(weights, sizes.times)),
            Some(input_scales) => {
                let (x, scale) = of_inputs(x, lengths.as_ref(), plan.batch_first, sizes);
                let columns = sizes.directions * plan.columns();
                let scale = CubeBackend::float_mul(
                    CubeBackend::float_reshape(input_scales, [1, columns].into()),
                    CubeBackend::float_reshape(scale, [1, 1].into()),
                );
                let sums = projected(x, input, sizes);
                (into_contiguous(CubeBackend::float_mul(sums, scale)), weights)
            }
        };
        plan.is_quantized = scales.is_some();
        let mut constants: Vec<CubeTensor> = [bias, scales, peepholes].into_iter().flatten().collect();
        let constants = match constants.pop() {
            None => none(y.dtype),
            Some(one) if constants.is_empty() => one,
            Some(last) => {
                constants.push(last);
                CubeBackend::float_cat(constants, 1)
            }
        };
        let buffers = Self {
            projected,
            together: together(&weights, sizes.hidden),
            weights,
            constants: into_contiguous(constants),
            lengths: lengths.unwrap_or_else(|| none(DType::I32)),
            y,
            plan,
            // Times are compared with lengths, which are `i32`.
            times: within_i32(sizes.times),
            batch: sizes.batch,
        };
        (buffers, [operands.hidden, operands.cell].map(Given::float))
    }

    /// The elements of a state of all sequences.
    pub fn states(&self) -> usize {
        self.batch * self.plan.directions * self.plan.hidden
    }

    pub fn dtype(&self) -> ElemType {
        dtype_to_storage_type(self.y.dtype)
    }
}

/// Floats, or levels and the scales of their columns.
fn weights(matrices: Matrices<CubeBackend>) -> (CubeTensor, Option<CubeTensor>) {
    match matrices {
        Matrices { weight: Given::Float(weights), .. } => (weights, None),
        matrices => match Levels::of(matrices) {
            Some(levels) => (levels.weights, Some(levels.scales)),
            None => unreachable!("weights are floats, or integers with scales"),
        },
    }
}

/// Products of the inputs of all times with the weights of all directions.
fn projected(x: CubeTensor, weights: CubeTensor, sizes: &Sizes) -> CubeTensor {
    let columns = sizes.directions * sizes.gates * sizes.hidden;
    let wide = |x| CubeBackend::float_cast(x, DType::F32.into());
    let rows = [sizes.times * sizes.batch, sizes.features];
    let rows = CubeBackend::float_reshape(wide(x), rows.into());
    let weights = CubeBackend::float_reshape(wide(weights), [columns, sizes.features].into());
    let weights = CubeBackend::float_swap_dims(weights, 0, 1);
    product(rows, weights, None, None, Activation::Identity)
}

/// Returns the weights with adjacent columns, which adjacent units read, if there are enough steps to gain by it.
fn in_columns(weights: CubeTensor, times: usize) -> CubeTensor {
    if times < STEPS {
        return weights;
    }
    let columns = into_contiguous(CubeBackend::float_swap_dims(weights, 1, 2));
    CubeBackend::float_swap_dims(columns, 1, 2)
}

/// Returns the number of columns that a unit reads at once.
fn together(weights: &CubeTensor, hidden: usize) -> usize {
    let &[direction, column, row] = &weights.meta.strides()[..] else {
        unreachable!("weights have three axes");
    };
    let fits =
        |&together: &usize| [direction, row, hidden].into_iter().all(|size| size.is_multiple_of(together));
    [4, 2].into_iter().find(fits).filter(|_| column == 1).unwrap_or(1)
}

/// Returns the elements in single precision, in memory that no other tensor uses.
pub fn exclusive(x: CubeTensor) -> CubeTensor {
    let x = into_contiguous(CubeBackend::float_cast(x, DType::F32.into()));
    if x.can_mut() { x } else { x.copy() }
}
