//! Computes the cost of reading a file from message lengths.
//!
//! An empty message takes two bytes in the file and hundreds in memory. No file of an exporter takes ten times its
//! length.

use std::mem::size_of;

use prost::encoding::{WireType, decode_key, decode_varint};

use super::{
    AttributeProto, Dimension, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, TypeProto, ValueInfoProto, list::Run,
};

/// Memory and nodes that reading would require.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub bytes: usize,
    pub nodes: usize,
}

/// A message whose fields are examined.
#[derive(Clone, Copy)]
enum MessageKind {
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
    Message(MessageKind),
    /// Text, or bytes that remain in the file, with the number of bytes that it takes in addition to its content.
    Slice(usize),
    /// Numbers of eight bytes, packed or not.
    Numbers,
    Other,
}

/// Maximum depth of nested messages that can be read.
const MAX_MESSAGE_DEPTH: usize = 100;

/// Computes the cost of reading a model. A file that is not a model has no cost.
pub fn cost(file: &[u8]) -> Cost {
    let mut cost = Cost::default();
    walk(file, MessageKind::Model, 0, &mut cost);
    cost
}

fn walk(mut rest: &[u8], kind: MessageKind, depth: usize, cost: &mut Cost) -> Option<()> {
    if depth > MAX_MESSAGE_DEPTH {
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
                        cost.nodes += usize::from(matches!(kind, MessageKind::Node));
                        walk(inner, kind, depth + 1, cost)?;
                    }
                    Field::Slice(size) => cost.bytes += size,
                    // Numbers end in a byte without its highest bit.
                    Field::Numbers => {
                        let count = inner.iter().filter(|byte| **byte < 128).count();
                        cost.bytes += 8 * count + size_of::<Run>();
                    }
                    Field::Other => {}
                }
            }
            // No message of ONNX has a group.
            WireType::StartGroup => skip_group(&mut rest, tag, depth)?,
            WireType::EndGroup => return None,
        }
    }
    Some(())
}

/// Skips the fields of a group up to its end, as the decoder does.
fn skip_group(rest: &mut &[u8], group: u32, depth: usize) -> Option<()> {
    if depth > MAX_MESSAGE_DEPTH {
        return None;
    }
    loop {
        let (tag, wire) = decode_key(rest).ok()?;
        let length = match wire {
            WireType::Varint => {
                decode_varint(rest).ok()?;
                0
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => usize::try_from(decode_varint(rest).ok()?).ok()?,
            WireType::StartGroup => {
                skip_group(rest, tag, depth + 1)?;
                0
            }
            WireType::EndGroup => return (tag == group).then_some(()),
        };
        *rest = rest.get(length..)?;
    }
}

const TEXT: Field = Field::Slice(size_of::<String>() + 16);
const BYTES: Field = Field::Slice(size_of::<bytes::Bytes>());

impl MessageKind {
    fn size(self) -> usize {
        match self {
            MessageKind::Model => 0,
            MessageKind::Graph => size_of::<GraphProto>(),
            MessageKind::Node => size_of::<NodeProto>(),
            MessageKind::Attribute => size_of::<AttributeProto>(),
            MessageKind::Function => size_of::<FunctionProto>(),
            MessageKind::Tensor => size_of::<TensorProto>(),
            MessageKind::Sparse => size_of::<SparseTensorProto>(),
            MessageKind::ValueInfo => size_of::<ValueInfoProto>(),
            // Counted with the message that contains it.
            MessageKind::ValueType | MessageKind::Tensors | MessageKind::Shape => 0,
            MessageKind::Type | MessageKind::Holder => size_of::<TypeProto>(),
            MessageKind::Dimension => size_of::<Dimension>(),
            // The list, and the shorter one from which it was reallocated.
            MessageKind::Opset => 2 * size_of::<OperatorSetIdProto>(),
            MessageKind::Entry => size_of::<StringStringEntryProto>(),
        }
    }

    fn field(self, tag: u32) -> Field {
        let message = match (self, tag) {
            (MessageKind::Model, 7) | (MessageKind::Attribute, 6 | 11) => MessageKind::Graph,
            (MessageKind::Model, 8) | (MessageKind::Function, 9) => MessageKind::Opset,
            (MessageKind::Model, 14) | (MessageKind::Graph, 16) | (MessageKind::Node, 9) => {
                MessageKind::Entry
            }
            (MessageKind::Function, 14) | (MessageKind::Tensor, 13 | 16) | (MessageKind::ValueInfo, 4) => {
                MessageKind::Entry
            }
            (MessageKind::Model, 25) => MessageKind::Function,
            (MessageKind::Graph, 1) | (MessageKind::Function, 7) => MessageKind::Node,
            (MessageKind::Graph, 5) | (MessageKind::Attribute, 5 | 10) | (MessageKind::Sparse, 1 | 2) => {
                MessageKind::Tensor
            }
            (MessageKind::Graph, 15) | (MessageKind::Attribute, 22 | 23) => MessageKind::Sparse,
            (MessageKind::Graph, 11..=13) | (MessageKind::Function, 12) => MessageKind::ValueInfo,
            (MessageKind::Node, 5) | (MessageKind::Function, 11) => MessageKind::Attribute,
            (MessageKind::ValueInfo, 2) => MessageKind::ValueType,
            (MessageKind::Attribute, 14 | 15) => MessageKind::Type,
            (MessageKind::Type | MessageKind::ValueType, 1 | 8) => MessageKind::Tensors,
            (MessageKind::Type | MessageKind::ValueType, 4 | 5 | 9) => MessageKind::Holder,
            (MessageKind::Holder, 1 | 2) => MessageKind::Type,
            (MessageKind::Tensors, 2) => MessageKind::Shape,
            (MessageKind::Shape, 1) => MessageKind::Dimension,
            (MessageKind::Node, 1 | 2) | (MessageKind::Function, 4..=6) => return TEXT,
            (MessageKind::Attribute, 7) => return Field::Slice(size_of::<Run>()),
            (MessageKind::Attribute, 9) | (MessageKind::Tensor, 4..=7 | 10 | 11) => return BYTES,
            (MessageKind::Attribute, 8) | (MessageKind::Tensor, 1) | (MessageKind::Sparse, 3) => {
                return Field::Numbers;
            }
            _ => return Field::Other,
        };
        Field::Message(message)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

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
    fn groups_are_skipped_as_the_decoder_does() {
        let graph = [0x3a, 6, 0x0a, 0, 0x0a, 0, 0x2a, 0];
        let nodes = |group: &[u8]| cost(&[group, &graph].concat()).nodes;
        assert_eq!(nodes(&[0x9b, 6, 0x9c, 6]), 2);
        // A number, eight and four bytes, text, and another group.
        assert_eq!(
            nodes(
                &[&[0x9b, 6, 8, 1, 9], &[0; 8][..], &[13], &[0; 4], &[18, 1, 7, 0x13, 0x14, 0x9c, 6]]
                    .concat()
            ),
            2
        );
        // The end of another group, and no end.
        assert_eq!(nodes(&[0x9b, 6, 0x14]), 0);
        assert_eq!(nodes(&[0x9b, 6]), 0);
        let decoded = |group: &[u8]| super::super::ModelProto::decode(&*[group, &graph].concat());
        assert_eq!(decoded(&[0x9b, 6, 0x9c, 6]).unwrap().graph.unwrap().node.len(), 2);
        assert!(decoded(&[0x9b, 6, 0x14]).is_err());
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
