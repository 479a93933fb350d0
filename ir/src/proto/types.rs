//! The types of values: tensors, sequences, maps, optionals.

use super::StringStringEntryProto;

/// The name and type of a graph's input, output or inner value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueInfoProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
    #[prost(message, repeated, tag = "4")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TypeProto {
    #[prost(oneof = "TypeValue", tags = "1, 4, 5, 7, 8, 9")]
    pub value: Option<TypeValue>,
    #[prost(string, tag = "6")]
    pub denotation: String,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum TypeValue {
    #[prost(message, tag = "1")]
    Tensor(TensorType),
    #[prost(message, tag = "4")]
    Sequence(SequenceType),
    #[prost(message, tag = "5")]
    Map(MapType),
    #[prost(message, tag = "7")]
    Opaque(OpaqueType),
    #[prost(message, tag = "8")]
    SparseTensor(SparseTensorType),
    #[prost(message, tag = "9")]
    Optional(OptionalType),
}

/// A dense tensor; without a shape its rank is unknown.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorType {
    /// One of [`super::DataType`].
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SparseTensorType {
    /// One of [`super::DataType`].
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SequenceType {
    #[prost(message, optional, boxed, tag = "1")]
    pub elem_type: Option<Box<TypeProto>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MapType {
    /// One of [`super::DataType`].
    #[prost(int32, tag = "1")]
    pub key_type: i32,
    #[prost(message, optional, boxed, tag = "2")]
    pub value_type: Option<Box<TypeProto>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct OptionalType {
    #[prost(message, optional, boxed, tag = "1")]
    pub elem_type: Option<Box<TypeProto>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct OpaqueType {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(string, tag = "2")]
    pub name: String,
}

/// The sizes of a tensor whose rank is known.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// One size: a number, a name, or unknown.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Dimension {
    #[prost(oneof = "DimensionValue", tags = "1, 2")]
    pub value: Option<DimensionValue>,
    #[prost(string, tag = "3")]
    pub denotation: String,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum DimensionValue {
    #[prost(int64, tag = "1")]
    Value(i64),
    #[prost(string, tag = "2")]
    Name(String),
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn a_size_of_zero_differs_from_an_unknown_size() {
        assert_eq!(Dimension::decode(&[8, 0][..]).unwrap().value, Some(DimensionValue::Value(0)));
        assert_eq!(Dimension::decode(&[][..]).unwrap().value, None);
    }

    #[test]
    fn rank_zero_differs_from_an_unknown_rank() {
        assert_eq!(TensorType::decode(&[8, 1, 18, 0][..]).unwrap().shape, Some(TensorShapeProto::default()));
        assert_eq!(TensorType::decode(&[8, 1][..]).unwrap().shape, None);
    }
}
