//! Computes the cost of reading a file from message lengths.
//!
//! An empty message takes two bytes in the file and hundreds in memory. No file of an exporter takes ten times its
//! length.

use std::mem::size_of;

use prost::encoding::{WireType, decode_key, decode_varint};

use super::{
    AttributeProto, Dimension, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, TypeProto, ValueInfoProto,
};

/// Memory and nodes that reading would require.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub bytes: usize,
    pub nodes: usize,
}

/// A message whose fields are examined.
#[derive(Clone, Copy)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Function,
    Tensor,
    Sparse,
    ValueInfo,
    /// The type of a value, stored inside the value's message.
    ValueType,
    Type,
    /// The type of a tensor.
    Tensors,
    /// A type that contains another, in field 1 or 2.
    Holder,
    Shape,
    Dimension,
    Opset,
    Entry,
}

/// The content of a field.
enum Field {
    Message(Kind),
    /// Text, or bytes that remain in the file, with the number of bytes that it takes in addition to its content.
    Slice(usize),
    /// Numbers of eight bytes, packed or not.
    Numbers,
    Other,
}

/// Maximum depth of nested messages that can be read.
const DEEPEST: usize = 100;

/// Computes the cost of reading a model. A file that is not a model has no cost.
pub fn cost(file: &[u8]) -> Cost {
    let mut cost = Cost::default();
    walk(file, Kind::Model, 0, &mut cost);
    cost
}

fn walk(mut rest: &[u8], kind: Kind, depth: usize, cost: &mut Cost) -> Option<()> {
    if depth > DEEPEST {
        return None;
    }
    while !rest.is_empty() {
        let (tag, wire) = decode_key(&mut rest).ok()?;
        match wire {
            WireType::Varint => {
                decode_varint(&mut rest).ok()?;
                cost.bytes += match kind.field(tag) {
                    Field::Numbers => 8,
                    _ => 0,
                };
            }
            WireType::SixtyFourBit => rest = rest.get(8..)?,
            WireType::ThirtyTwoBit => rest = rest.get(4..)?,
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut rest).ok()?).ok()?;
                let (inner, after) = rest.split_at_checked(length)?;
                rest = after;
                match kind.field(tag) {
                    Field::Message(kind) => {
                        cost.bytes += kind.size();
                        cost.nodes += usize::from(matches!(kind, Kind::Node));
                        walk(inner, kind, depth + 1, cost)?;
                    }
                    Field::Slice(size) => cost.bytes += size,
                    // Numbers end in a byte without its highest bit.
                    Field::Numbers => {
                        cost.bytes += 8 * inner.iter().filter(|byte| **byte < 128).count();
                    }
                    Field::Other => {}
                }
            }
            WireType::StartGroup | WireType::EndGroup => return None,
        }
    }
    Some(())
}

const TEXT: Field = Field::Slice(size_of::<String>() + 16);
const BYTES: Field = Field::Slice(size_of::<bytes::Bytes>());

impl Kind {
    fn size(self) -> usize {
        match self {
            Kind::Model => 0,
            Kind::Graph => size_of::<GraphProto>(),
            Kind::Node => size_of::<NodeProto>(),
            Kind::Attribute => size_of::<AttributeProto>(),
            Kind::Function => size_of::<FunctionProto>(),
            Kind::Tensor => size_of::<TensorProto>(),
            Kind::Sparse => size_of::<SparseTensorProto>(),
            Kind::ValueInfo => size_of::<ValueInfoProto>(),
            // Counted with the message that contains it.
            Kind::ValueType | Kind::Tensors | Kind::Shape => 0,
            Kind::Type | Kind::Holder => size_of::<TypeProto>(),
            Kind::Dimension => size_of::<Dimension>(),
            // The list, and the shorter one from which it was reallocated.
            Kind::Opset => 2 * size_of::<OperatorSetIdProto>(),
            Kind::Entry => size_of::<StringStringEntryProto>(),
        }
    }

    fn field(self, tag: u32) -> Field {
        let message = match (self, tag) {
            (Kind::Model, 7) | (Kind::Attribute, 6 | 11) => Kind::Graph,
            (Kind::Model, 8) | (Kind::Function, 9) => Kind::Opset,
            (Kind::Model, 14) | (Kind::Graph, 16) | (Kind::Node, 9) => Kind::Entry,
            (Kind::Function, 14) | (Kind::Tensor, 13 | 16) | (Kind::ValueInfo, 4) => Kind::Entry,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Graph, 1) | (Kind::Function, 7) => Kind::Node,
            (Kind::Graph, 5) | (Kind::Attribute, 5 | 10) | (Kind::Sparse, 1 | 2) => Kind::Tensor,
            (Kind::Graph, 15) | (Kind::Attribute, 22 | 23) => Kind::Sparse,
            (Kind::Graph, 11..=13) | (Kind::Function, 12) => Kind::ValueInfo,
            (Kind::Node, 5) | (Kind::Function, 11) => Kind::Attribute,
            (Kind::ValueInfo, 2) => Kind::ValueType,
            (Kind::Attribute, 14 | 15) => Kind::Type,
            (Kind::Type | Kind::ValueType, 1 | 8) => Kind::Tensors,
            (Kind::Type | Kind::ValueType, 4 | 5 | 9) => Kind::Holder,
            (Kind::Holder, 1 | 2) => Kind::Type,
            (Kind::Tensors, 2) => Kind::Shape,
            (Kind::Shape, 1) => Kind::Dimension,
            (Kind::Node, 1 | 2) | (Kind::Function, 4..=6) => return TEXT,
            (Kind::Attribute, 9) | (Kind::Tensor, 4..=7 | 10 | 11) => return BYTES,
            (Kind::Attribute, 8) | (Kind::Tensor, 1) | (Kind::Sparse, 3) => return Field::Numbers,
            _ => return Field::Other,
        };
        Field::Message(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_messages_cost_what_they_take() {
        // A graph of two empty nodes and an initializer.
        let file = [0x3a, 6, 0x0a, 0, 0x0a, 0, 0x2a, 0];
        let found = cost(&file);
        let expected = size_of::<GraphProto>() + 2 * size_of::<NodeProto>();
        assert_eq!(found.bytes, expected + size_of::<TensorProto>());
        assert_eq!(found.nodes, 2);
    }

    #[test]
    fn the_type_of_a_value_is_part_of_it() {
        // An input of a type, and an attribute of one.
        let file = [0x3a, 12, 0x5a, 2, 0x12, 0, 0x0a, 6, 0x2a, 4, 0x72, 2, 0x0a, 0];
        let parts = [size_of::<GraphProto>(), size_of::<ValueInfoProto>()];
        let node = [size_of::<NodeProto>(), size_of::<AttributeProto>()];
        let expected = [parts, node].concat().iter().sum::<usize>() + size_of::<TypeProto>();
        assert_eq!(cost(&file).bytes, expected);
    }

    #[test]
    fn bytes_of_weights_are_no_messages() {
        // An initializer whose raw data look like nodes.
        let file = [0x3a, 8, 0x2a, 6, 0x4a, 4, 0x0a, 0, 0x0a, 0];
        assert_eq!(cost(&file).nodes, 0);
    }
}
