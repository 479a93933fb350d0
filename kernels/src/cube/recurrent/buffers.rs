//! Operands as kernels read them.

use burn::backend::{
    cubecl::dtype_to_storage_type,
    ops::{FloatTensorOps, IntTensorOps},
};
use burn::tensor::{DType, IntDType};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::ir::{AddressType, ElemType};

use super::{
    levels::{Levels, of_inputs},
    plan::Plan,
};
use crate::{
    backend::{Given, Matrices, Recurrence},
    cube::{address, blank, product::product, unwritten},
    spec::epilogue::Activation,
    spec::recurrent::{Cell, Sizes},
};

/// So many steps read weights often enough to lay them out before.
const STEPS: usize = 4;

/// What kernels read, and the outputs of all times, which they write.
pub struct Buffers {
    /// Products of the inputs of all times and directions, in single precision.
    pub projected: CubeTensor,
    pub weights: CubeTensor,
    /// Columns of weights that lie side by side in every gate, and are read at once.
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
    /// Gives the initial states beside them.
    pub fn new(
        operands: Recurrence<CubeBackend>,
        cell: &Cell,
        sizes: &Sizes,
    ) -> (Self, [Option<CubeTensor>; 2]) {
        let mut plan = Plan::new(cell, *sizes);
        let x = operands.x;
        let y = blank(&x, cell.outputs(sizes, x.dtype).all);
        // Read by nobody.
        let none = |dtype| unwritten(&y, [1].into(), dtype);

        let bias = operands.bias.float();
        let peepholes = operands.peepholes.float().filter(|_| plan.is_lstm());
        (plan.has_bias, plan.has_peepholes) = (bias.is_some(), peepholes.is_some());
        let lengths = operands.lengths.int();
        let lengths =
            lengths.map(|lengths| into_contiguous(CubeBackend::int_cast(lengths, IntDType::I32)));
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
                (
                    into_contiguous(CubeBackend::float_mul(sums, scale)),
                    weights,
                )
            }
        };
        plan.is_quantized = scales.is_some();
        let mut constants: Vec<CubeTensor> =
            [bias, scales, peepholes].into_iter().flatten().collect();
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
            times: sizes.times,
            batch: sizes.batch,
        };
        (buffers, [operands.hidden, operands.cell].map(Given::float))
    }

    /// The elements of a state of all sequences.
    pub fn states(&self) -> usize {
        self.batch * self.plan.directions * self.plan.hidden
    }

    /// Wide enough for all of them and two more.
    pub fn address(&self, states: [&CubeTensor; 2]) -> AddressType {
        let Self {
            projected,
            weights,
            constants,
            lengths,
            y,
            ..
        } = self;
        let own = [projected, weights, constants, lengths, y];
        address(own.into_iter().chain(states))
    }

    pub fn dtype(&self) -> ElemType {
        dtype_to_storage_type(self.y.dtype)
    }
}

/// Floats, or levels and the scales of their columns.
fn weights(matrices: Matrices<CubeBackend>) -> (CubeTensor, Option<CubeTensor>) {
    match matrices {
        Matrices {
            weight: Given::Float(weights),
            ..
        } => (weights, None),
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

/// The same weights such that units that are neighbours read neighbours, if there are steps enough to gain by it.
fn in_columns(weights: CubeTensor, times: usize) -> CubeTensor {
    if times < STEPS {
        return weights;
    }
    let columns = into_contiguous(CubeBackend::float_swap_dims(weights, 1, 2));
    CubeBackend::float_swap_dims(columns, 1, 2)
}

/// How many columns a unit reads at once.
fn together(weights: &CubeTensor, hidden: usize) -> usize {
    let &[direction, column, row] = &weights.meta.strides()[..] else {
        unreachable!("weights have three axes");
    };
    let fits = |&together: &usize| {
        [direction, row, hidden]
            .into_iter()
            .all(|size| size.is_multiple_of(together))
    };
    [4, 2]
        .into_iter()
        .find(fits)
        .filter(|_| column == 1)
        .unwrap_or(1)
}

/// The same elements in single precision and memory that nobody else reads.
pub fn exclusive(x: CubeTensor) -> CubeTensor {
    let x = into_contiguous(CubeBackend::float_cast(x, DType::F32.into()));
    if x.can_mut() { x } else { x.copy() }
}
