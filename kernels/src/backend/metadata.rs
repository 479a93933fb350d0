//! Types of results for fusion, which needs them before an operation runs.
//!
//! They are those of the specification in [`spec`](crate::spec).

use burn::tensor::Shape;
use burn_fusion::custom::TensorSpec;

use super::{
    AnyMetadata, ByteProductMetadata, GivenMetadata, OutcomeMetadata, PartsMetadata, RecurrenceMetadata,
};
use crate::spec::{
    integer::ByteShapes,
    quantize::Ending,
    recurrent::{Cell, ElementTypes, Outputs},
    types::TensorType,
};

/// Two results, both declined if the kernel declines.
pub type Two = (OutcomeMetadata, OutcomeMetadata);

/// Three results, all declined if the kernel declines.
pub type Three = (OutcomeMetadata, OutcomeMetadata, OutcomeMetadata);

/// Outputs and final states of a recurrent operator, and the cell states of an LSTM; all declined if the kernel declines.
pub type States = (OutcomeMetadata, OutcomeMetadata, GivenMetadata);

pub fn ty(x: &TensorSpec) -> TensorType {
    TensorType::new(x.shape.clone(), x.dtype)
}

/// Returns the type of an operand, if given.
pub fn given(x: &GivenMetadata) -> Option<TensorType> {
    match x {
        GivenMetadata::Missing => None,
        GivenMetadata::Float(x) | GivenMetadata::Int(x) | GivenMetadata::Bool(x) => Some(ty(x)),
    }
}

/// Returns the type of an operand.
pub fn any(x: &AnyMetadata) -> TensorType {
    match x {
        AnyMetadata::Float(x) | AnyMetadata::Int(x) | AnyMetadata::Bool(x) => ty(x),
    }
}

/// Returns the type and kind of an operand.
pub fn like(x: &AnyMetadata) -> OutcomeMetadata {
    match x {
        AnyMetadata::Float(x) => OutcomeMetadata::Float(x.clone()),
        AnyMetadata::Int(x) => OutcomeMetadata::Int(x.clone()),
        AnyMetadata::Bool(x) => OutcomeMetadata::Bool(x.clone()),
    }
}

pub fn tensor(x: TensorType) -> TensorSpec {
    TensorSpec::new(x.shape, x.dtype)
}

pub fn floats(x: impl Into<Option<TensorType>>) -> OutcomeMetadata {
    x.into().map_or(OutcomeMetadata::Declined, |x| OutcomeMetadata::Float(tensor(x)))
}

pub fn ints(x: impl Into<Option<TensorType>>) -> OutcomeMetadata {
    x.into().map_or(OutcomeMetadata::Declined, |x| OutcomeMetadata::Int(tensor(x)))
}

/// Returns the type of integers that accompany a result.
pub fn given_ints(x: TensorType) -> GivenMetadata {
    GivenMetadata::Int(tensor(x))
}

pub fn two_ints(x: Option<[TensorType; 2]>) -> Two {
    match x {
        Some([first, second]) => (ints(first), ints(second)),
        None => (OutcomeMetadata::Declined, OutcomeMetadata::Declined),
    }
}

/// Returns the types of integers, their scale and their zero point.
pub fn quantized(x: Option<[TensorType; 3]>) -> Three {
    match x {
        Some([y, scale, zero]) => (ints(y), floats(scale), ints(zero)),
        None => (OutcomeMetadata::Declined, OutcomeMetadata::Declined, OutcomeMetadata::Declined),
    }
}

/// Returns the type of an 8-bit matrix product.
pub fn ended(x: Option<TensorType>, ending: Ending) -> OutcomeMetadata {
    match ending {
        Ending::Floats => floats(x),
        Ending::Sums | Ending::Quantized { .. } => ints(x),
    }
}

/// Returns the type of concatenated tensors, of the kind of the first one.
pub fn joined(parts: &PartsMetadata, join: impl FnOnce(&[TensorType]) -> TensorType) -> OutcomeMetadata {
    let types: Vec<TensorType> = parts.all().into_iter().filter_map(given).collect();
    match parts.first {
        GivenMetadata::Missing => OutcomeMetadata::Declined,
        GivenMetadata::Float(_) => OutcomeMetadata::Float(tensor(join(&types))),
        GivenMetadata::Int(_) => OutcomeMetadata::Int(tensor(join(&types))),
        GivenMetadata::Bool(_) => OutcomeMetadata::Bool(tensor(join(&types))),
    }
}

pub fn byte_shapes(operands: &ByteProductMetadata) -> ByteShapes {
    let shape = |x: &GivenMetadata| -> Option<Shape> { given(x).map(|x| x.shape) };
    let ends = [&operands.bias, &operands.left_scale, &operands.right_scale, &operands.scale, &operands.zero];
    ByteShapes {
        left: operands.left.shape.clone(),
        right: operands.right.shape.clone(),
        left_zero: shape(&operands.left_zero),
        right_zero: shape(&operands.right_zero),
        ends: ends.into_iter().filter_map(shape).collect(),
    }
}

pub fn element_types(operands: &RecurrenceMetadata) -> ElementTypes {
    let of = |x: &GivenMetadata| given(x).map(|x| x.dtype);
    let others = [&operands.bias, &operands.peepholes, &operands.hidden, &operands.cell];
    ElementTypes {
        x: operands.x.dtype,
        weights: [&operands.input.weight, &operands.recurrent.weight].map(of),
        others: others.map(of),
        has_lengths: of(&operands.lengths).is_some(),
    }
}

/// Returns the types of all outputs, the last ones, and the final cell states of an LSTM.
pub fn outputs(outputs: Option<Outputs>, cell: &Cell) -> States {
    let Some(Outputs { all, last }) = outputs else {
        return (OutcomeMetadata::Declined, OutcomeMetadata::Declined, GivenMetadata::Missing);
    };
    let memory = match cell {
        Cell::Lstm(_) => GivenMetadata::Float(tensor(last.clone())),
        Cell::Rnn(_) | Cell::Gru(_) => GivenMetadata::Missing,
    };
    (floats(all), floats(last), memory)
}
