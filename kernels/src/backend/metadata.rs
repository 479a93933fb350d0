//! Types of results for fusion, which needs them before an operation runs: those of the specification.

use burn::tensor::Shape;
use burn_fusion::custom::TensorSpec;

use super::{ByteProductMetadata, OptionalMetadata, PartsMetadata, RecurrenceMetadata};
use crate::spec::{
    integer::ByteShapes,
    quantize::Ending,
    recurrent::{Cell, ElementTypes, Outputs},
    types::TensorType,
};

/// Two results, or none of them.
pub type Two = (OptionalMetadata, OptionalMetadata);

/// Three results, or none of them.
pub type Three = (OptionalMetadata, OptionalMetadata, OptionalMetadata);

pub fn ty(x: &TensorSpec) -> TensorType {
    TensorType::new(x.shape.clone(), x.dtype)
}

/// The type of an operand, if it is given.
pub fn given(x: &OptionalMetadata) -> Option<TensorType> {
    match x {
        OptionalMetadata::None => None,
        OptionalMetadata::Float(x) | OptionalMetadata::Int(x) | OptionalMetadata::Bool(x) => {
            Some(ty(x))
        }
    }
}

/// The type of an operand of numbers, if it is given.
pub fn numbers(x: &OptionalMetadata) -> Option<TensorType> {
    match x {
        OptionalMetadata::Float(x) | OptionalMetadata::Int(x) => Some(ty(x)),
        OptionalMetadata::Bool(_) | OptionalMetadata::None => None,
    }
}

pub fn tensor(x: TensorType) -> TensorSpec {
    TensorSpec::new(x.shape, x.dtype)
}

pub fn floats(x: impl Into<Option<TensorType>>) -> OptionalMetadata {
    x.into().map_or(OptionalMetadata::None, |x| {
        OptionalMetadata::Float(tensor(x))
    })
}

pub fn ints(x: impl Into<Option<TensorType>>) -> OptionalMetadata {
    x.into()
        .map_or(OptionalMetadata::None, |x| OptionalMetadata::Int(tensor(x)))
}

pub fn two_ints(x: Option<[TensorType; 2]>) -> Two {
    match x {
        Some([first, second]) => (ints(first), ints(second)),
        None => (OptionalMetadata::None, OptionalMetadata::None),
    }
}

/// Scores, and the numbers of their votes.
pub fn scores_and_votes(x: Option<[TensorType; 2]>) -> Two {
    match x {
        Some([scores, votes]) => (floats(scores), ints(votes)),
        None => (OptionalMetadata::None, OptionalMetadata::None),
    }
}

/// Integers, their scale and their zero point.
pub fn quantized(x: Option<[TensorType; 3]>) -> Three {
    match x {
        Some([y, scale, zero]) => (ints(y), floats(scale), ints(zero)),
        None => (
            OptionalMetadata::None,
            OptionalMetadata::None,
            OptionalMetadata::None,
        ),
    }
}

/// The result of a product of bytes.
pub fn ended(x: Option<TensorType>, ending: Ending) -> OptionalMetadata {
    match ending {
        Ending::Floats => floats(x),
        Ending::Sums | Ending::Quantized { .. } => ints(x),
    }
}

/// The type of joined tensors, of the kind of the first one.
pub fn joined(
    parts: &PartsMetadata,
    join: impl FnOnce(&[TensorType]) -> TensorType,
) -> OptionalMetadata {
    let types: Vec<TensorType> = parts.all().into_iter().filter_map(given).collect();
    match parts.first {
        OptionalMetadata::None => OptionalMetadata::None,
        OptionalMetadata::Float(_) => OptionalMetadata::Float(tensor(join(&types))),
        OptionalMetadata::Int(_) => OptionalMetadata::Int(tensor(join(&types))),
        OptionalMetadata::Bool(_) => OptionalMetadata::Bool(tensor(join(&types))),
    }
}

pub fn byte_shapes(operands: &ByteProductMetadata) -> ByteShapes {
    let shape = |x: &OptionalMetadata| -> Option<Shape> { given(x).map(|x| x.shape) };
    let ends = [
        &operands.bias,
        &operands.left_scale,
        &operands.right_scale,
        &operands.scale,
        &operands.zero,
    ];
    ByteShapes {
        left: operands.left.shape.clone(),
        right: operands.right.shape.clone(),
        left_zero: shape(&operands.left_zero),
        right_zero: shape(&operands.right_zero),
        ends: ends.into_iter().filter_map(shape).collect(),
    }
}

pub fn element_types(operands: &RecurrenceMetadata) -> ElementTypes {
    let of = |x: &OptionalMetadata| numbers(x).map(|x| x.dtype);
    let others = [
        &operands.bias,
        &operands.peepholes,
        &operands.hidden,
        &operands.cell,
    ];
    ElementTypes {
        x: operands.x.dtype,
        weights: [&operands.input.weight, &operands.recurrent.weight].map(of),
        others: others.map(of),
        has_lengths: of(&operands.lengths).is_some(),
    }
}

/// The outputs of all times, the last ones, and the last cell states of an LSTM.
pub fn outputs(outputs: Option<Outputs>, cell: &Cell) -> Three {
    let Some(Outputs { all, last }) = outputs else {
        return (
            OptionalMetadata::None,
            OptionalMetadata::None,
            OptionalMetadata::None,
        );
    };
    let memory = matches!(cell, Cell::Lstm(_)).then(|| last.clone());
    (floats(all), floats(last), floats(memory))
}
