//! Messages of an ONNX file.
//!
//! Field numbers are those of `onnx.proto`, IR version 14. Decoding from a [`bytes::Bytes`] does not copy weights:
//! every field that may be large is a slice of the input. Parts that do not affect the computation (documentation
//! except that of the whole file, training information, quantization annotations, device configurations) are skipped
//! like unknown fields.

mod cost;
mod list;
mod tensor;
mod types;

use bytes::Bytes;

pub use cost::{Cost, cost};
pub use list::{Elements, List, Run};
pub use tensor::{DataLocation, DataType, Segment, SparseTensorProto, TensorProto};
pub use types::{
    Dimension, DimensionValue, MapType, OpaqueType, OptionalType, SequenceType, SparseTensorType,
    TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};

/// A whole file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelProto {
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    #[prost(string, tag = "2")]
    pub producer_name: String,
    #[prost(string, tag = "3")]
    pub producer_version: String,
    #[prost(string, tag = "4")]
    pub domain: String,
    #[prost(int64, optional, tag = "5")]
    pub model_version: Option<i64>,
    /// Text, which may not be UTF-8.
    #[prost(bytes = "bytes", tag = "6")]
    pub doc_string: Bytes,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
}

/// The version of an operator domain that the model uses. The empty domain is `ai.onnx`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OperatorSetIdProto {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StringStringEntryProto {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// The main graph, or a body in an attribute of `If`, `Loop`, `Scan` and other operators.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "16")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// A call of an operator or function. An empty input or output name means that it is absent.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub op_type: String,
    #[prost(string, tag = "7")]
    pub domain: String,
    #[prost(string, tag = "8")]
    pub overload: String,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    #[prost(message, repeated, tag = "9")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// A named constant of a node, or inside a function a reference to an attribute of the function.
///
/// Scalars are optional because files of IR version 1 lack `type`, and the field that is present determines it. A
/// writer may omit zeros: if `type` is specified, an absent scalar is 0 or empty.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "21")]
    pub ref_attr_name: String,
    /// One of [`AttributeType`].
    #[prost(int32, optional, tag = "20")]
    pub r#type: Option<i32>,
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: Option<Bytes>,
    #[prost(message, optional, boxed, tag = "5")]
    pub t: Option<Box<TensorProto>>,
    #[prost(message, optional, boxed, tag = "6")]
    pub g: Option<Box<GraphProto>>,
    #[prost(message, optional, boxed, tag = "22")]
    pub sparse_tensor: Option<Box<SparseTensorProto>>,
    #[prost(message, optional, boxed, tag = "14")]
    pub tp: Option<Box<TypeProto>>,
    /// `floats`, `ints` or `strings`.
    #[prost(oneof = "List", tags = "7, 8, 9")]
    pub list: Option<List>,
    #[prost(message, repeated, tag = "10")]
    pub tensors: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub graphs: Vec<GraphProto>,
    #[prost(message, repeated, tag = "23")]
    pub sparse_tensors: Vec<SparseTensorProto>,
    #[prost(message, repeated, tag = "15")]
    pub type_protos: Vec<TypeProto>,
}

/// The value of an attribute that is not read from a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Int(i64),
    Float(f32),
    Text(String),
    Ints(Vec<i64>),
}

impl Setting {
    /// Returns the attribute with this name.
    pub fn named(&self, name: &str) -> AttributeProto {
        let mut attribute = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
        attribute.r#type = Some(i32::from(match self {
            Setting::Int(value) => {
                attribute.i = Some(*value);
                AttributeType::Int
            }
            Setting::Float(value) => {
                attribute.f = Some(*value);
                AttributeType::Float
            }
            Setting::Text(value) => {
                attribute.s = Some(value.clone().into_bytes().into());
                AttributeType::String
            }
            Setting::Ints(values) => {
                attribute.list = Some(List::new(Elements::Ints(values.clone())));
                AttributeType::Ints
            }
        }));
        attribute
    }
}

impl AttributeProto {
    pub fn floats(&self) -> &[f32] {
        match self.list.as_ref().map(|list| &list.elements) {
            Some(Elements::Floats(floats)) => floats,
            _ => &[],
        }
    }

    pub fn ints(&self) -> &[i64] {
        match self.list.as_ref().map(|list| &list.elements) {
            Some(Elements::Ints(ints)) => ints,
            _ => &[],
        }
    }

    pub fn strings(&self) -> &[Bytes] {
        match self.list.as_ref().map(|list| &list.elements) {
            Some(Elements::Strings(strings)) => strings,
            _ => &[],
        }
    }
}

/// The field of an [`AttributeProto`] that contains its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AttributeType {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    TypeProto = 13,
    TypeProtos = 14,
}

/// A model-local function. `attribute` contains the names of attributes without a default value, `attribute_proto` the
/// attributes with one.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FunctionProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    #[prost(string, repeated, tag = "6")]
    pub attribute: Vec<String>,
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<AttributeProto>,
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<NodeProto>,
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSetIdProto>,
    #[prost(string, tag = "10")]
    pub domain: String,
    #[prost(string, tag = "13")]
    pub overload: String,
    #[prost(message, repeated, tag = "12")]
    pub value_info: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    fn length_delimited(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![tag << 3 | 2];
        prost::encode_length_delimiter(body.len(), &mut out).unwrap();
        out.extend_from_slice(body);
        out
    }

    fn nested_graphs(depth: usize) -> Vec<u8> {
        let mut graph = Vec::new();
        for _ in 0..depth {
            let attribute = length_delimited(6, &graph);
            let node = length_delimited(5, &attribute);
            graph = length_delimited(1, &node);
        }
        length_delimited(7, &graph)
    }

    /// Decodes on a thread with the smallest stack that a caller may have.
    fn decode_on_a_small_stack(file: Vec<u8>) -> Result<ModelProto, prost::DecodeError> {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        thread.spawn(|| ModelProto::decode(Bytes::from(file))).unwrap().join().unwrap()
    }

    #[test]
    fn floats_of_an_attribute_are_read_packed_and_unpacked() {
        let unpacked = [0x3d, 0, 0, 0x80, 0x3f, 0x3d, 0, 0, 0, 0x40];
        let packed = [0x3a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40];
        assert_eq!(AttributeProto::decode(&unpacked[..]).unwrap().floats(), [1.0, 2.0]);
        assert_eq!(AttributeProto::decode(&packed[..]).unwrap().floats(), [1.0, 2.0]);
    }

    #[test]
    fn ints_of_an_attribute_are_read_packed_and_unpacked() {
        assert_eq!(AttributeProto::decode(&[0x40, 1, 0x40, 2][..]).unwrap().ints(), [1, 2]);
        assert_eq!(AttributeProto::decode(&[0x42, 2, 1, 2][..]).unwrap().ints(), [1, 2]);
    }

    #[test]
    fn absent_scalars_differ_from_zero() {
        let attribute = AttributeProto::decode(&[0x18, 0][..]).unwrap();
        assert_eq!((attribute.i, attribute.f, attribute.r#type), (Some(0), None, None));
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error() {
        let name = length_delimited(3, &[0xff, 0xfe]);
        assert!(NodeProto::decode(&name[..]).is_err());
    }

    #[test]
    fn unknown_fields_are_skipped() {
        let training = length_delimited(1, b"anything");
        let mut file = vec![0x08, 8, 20 << 3 & 0x7f | 0x82, 1];
        file.push(training.len() as u8);
        file.extend(training);
        assert_eq!(ModelProto::decode(&file[..]).unwrap().ir_version, Some(8));
    }

    #[test]
    fn thirty_nested_graphs_are_read() {
        assert!(decode_on_a_small_stack(nested_graphs(30)).is_ok());
    }

    #[test]
    fn a_thousand_nested_graphs_are_an_error() {
        assert!(decode_on_a_small_stack(nested_graphs(1000)).is_err());
    }

    #[test]
    fn a_cut_file_is_an_error() {
        let mut file = nested_graphs(3);
        file.pop();
        assert!(ModelProto::decode(&file[..]).is_err());
    }
}
