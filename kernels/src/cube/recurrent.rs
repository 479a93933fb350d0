//! Recurrent operators: one product for the inputs of all times, then launches that walk over them.

mod buffers;
mod columns;
mod gates;
mod levels;
mod places;
mod plan;
mod products;
mod sequence;
mod steps;

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeBackend;
use burn_fusion::custom::TensorSpec;

use crate::{
    backend::{Optional, OptionalMetadata, Recurrence, RecurrenceMetadata},
    spec::recurrent::{Cell, Sizes},
};
use buffers::Buffers;

/// So many sequences, and more terms than these in a step, gain by products that share what they read.
const SEQUENCES: usize = 8;
const TERMS: usize = 1 << 20;

/// The outputs of all times, the last one, and the memory of an LSTM.
type Outputs<T> = (T, T, T);

/// The shapes of the outputs.
struct Shapes {
    all: Shape,
    last: Shape,
}

/// What comes of a call, before it is there.
pub fn described(
    operands: &RecurrenceMetadata,
    cell: &Cell,
    sizes: &Sizes,
) -> Outputs<OptionalMetadata> {
    let of = |operand: &OptionalMetadata| match operand {
        OptionalMetadata::Float(x) | OptionalMetadata::Int(x) => Some(x.dtype),
        _ => None,
    };
    let dtype = operands.x.dtype;
    let weights = [&operands.input.weight, &operands.recurrent.weight].map(of);
    let others = [
        &operands.bias,
        &operands.peepholes,
        &operands.hidden,
        &operands.cell,
    ];
    if !is_covered(dtype, weights, others.map(of), cell)
        || (sizes.batch > 1 && is_integer(weights) && of(&operands.lengths).is_some())
    {
        return (
            OptionalMetadata::None,
            OptionalMetadata::None,
            OptionalMetadata::None,
        );
    }
    let Shapes { all, last } = Shapes::of(cell, sizes);
    let float = |shape| OptionalMetadata::Float(TensorSpec::new(shape, dtype));
    let memory = match cell {
        Cell::Lstm(_) => float(last.clone()),
        Cell::Rnn(_) | Cell::Gru(_) => OptionalMetadata::None,
    };
    (float(all), float(last), memory)
}

/// None for numbers that are neither of single nor of half precision, and for weights of integers of other cells than LSTM's.
pub fn recurrence(
    operands: Recurrence<CubeBackend>,
    cell: &Cell,
    sizes: Sizes,
) -> Outputs<Optional<CubeBackend>> {
    let of = |operand: &Optional<CubeBackend>| match operand {
        Optional::Float(x) | Optional::Int(x) => Some(x.dtype),
        _ => None,
    };
    let dtype = operands.x.dtype;
    let weights = [&operands.input.weight, &operands.recurrent.weight].map(of);
    let others = [
        &operands.bias,
        &operands.peepholes,
        &operands.hidden,
        &operands.cell,
    ];
    if !is_covered(dtype, weights, others.map(of), cell)
        || (sizes.batch > 1 && is_integer(weights) && of(&operands.lengths).is_some())
    {
        return (Optional::None, Optional::None, Optional::None);
    }
    let (buffers, initial) = Buffers::new(operands, cell, &sizes);
    let last = Shapes::of(cell, &sizes).last;
    let terms = buffers.states() * buffers.plan.columns();
    // The states of all sequences together determine their levels.
    let is_joint = buffers.plan.is_quantized && sizes.batch > 1;
    let walk = if sizes.batch >= SEQUENCES && terms > TERMS && !buffers.plan.is_quantized {
        products::walk
    } else if sizes.hidden <= sequence::HIDDEN && !is_joint {
        sequence::walk
    } else {
        steps::walk
    };
    let [hidden, memory] = walk(&buffers, initial);
    let state = |x| {
        let x = CubeBackend::float_reshape(x, last.clone());
        Optional::Float(CubeBackend::float_cast(x, dtype.into()))
    };
    let memory = match cell {
        Cell::Lstm(_) => state(memory),
        Cell::Rnn(_) | Cell::Gru(_) => Optional::None,
    };
    (Optional::Float(buffers.y), state(hidden), memory)
}

/// Whether states are quantized. The kernels here would take the range of the states of several sequences with lengths in
/// another order than ONNX Runtime does.
fn is_integer(weights: [Option<DType>; 2]) -> bool {
    weights.iter().flatten().any(|dtype| !dtype.is_float())
}

/// Whether there is a body for operands of these dtypes.
fn is_covered(
    x: DType,
    weights: [Option<DType>; 2],
    others: [Option<DType>; 4],
    cell: &Cell,
) -> bool {
    let is_quantized = |dtype: &Option<DType>| dtype.is_some_and(|dtype| !dtype.is_float());
    let goes_with = if weights.iter().all(is_quantized) {
        x == DType::F32 && matches!(cell, Cell::Lstm(_))
    } else {
        weights.iter().all(|&dtype| dtype == Some(x))
    };
    matches!(x, DType::F32 | DType::F16 | DType::BF16)
        && goes_with
        && others.iter().flatten().all(|&dtype| dtype == x)
}

impl Shapes {
    fn of(cell: &Cell, sizes: &Sizes) -> Self {
        let &Sizes {
            times,
            batch,
            directions,
            hidden,
            ..
        } = sizes;
        if cell.batch_first() {
            Self {
                all: [batch, times, directions, hidden].into(),
                last: [batch, directions, hidden].into(),
            }
        } else {
            Self {
                all: [times, directions, batch, hidden].into(),
                last: [directions, batch, hidden].into(),
            }
        }
    }
}
