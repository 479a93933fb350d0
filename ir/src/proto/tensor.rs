//! Constant tensors and the locations of their bytes.

use bytes::Bytes;

use super::StringStringEntryProto;

/// A constant tensor, whose values are in `raw_data`, a typed `*_data` field or an external file.
///
/// The typed numeric fields contain the packed chunks of the file: little-endian IEEE numbers in `float_data` and
/// `double_data`, varints in the others. Files with unpacked fields cannot be decoded.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    /// One of [`DataType`].
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    #[prost(message, optional, tag = "3")]
    pub segment: Option<Segment>,
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub float_data: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub int32_data: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "6")]
    pub string_data: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub int64_data: Vec<Bytes>,
    #[prost(string, tag = "8")]
    pub name: String,
    /// Little-endian fixed-width values. Absent and empty differ: an empty tensor may have either.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: Option<Bytes>,
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// One of [`DataLocation`].
    #[prost(int32, tag = "14")]
    pub data_location: i32,
    #[prost(bytes = "bytes", repeated, tag = "10")]
    pub double_data: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    pub uint64_data: Vec<Bytes>,
    #[prost(message, repeated, tag = "16")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// The part of a larger tensor that a chunk contains. No known writer produces it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Segment {
    #[prost(int64, tag = "1")]
    pub begin: i64,
    #[prost(int64, tag = "2")]
    pub end: i64,
}

/// A tensor that is zero except for `values` at `indices`: flat indices, or a row of coordinates for each value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SparseTensorProto {
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
    #[prost(message, optional, tag = "2")]
    pub indices: Option<TensorProto>,
    #[prost(int64, repeated, packed = "false", tag = "3")]
    pub dims: Vec<i64>,
}

/// Element types of ONNX tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DataType {
    Undefined = 0,
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Double = 11,
    Uint32 = 12,
    Uint64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    Bfloat16 = 16,
    Float8e4m3fn = 17,
    Float8e4m3fnuz = 18,
    Float8e5m2 = 19,
    Float8e5m2fnuz = 20,
    Uint4 = 21,
    Int4 = 22,
    Float4e2m1 = 23,
    Float8e8m0 = 24,
    Uint2 = 25,
    Int2 = 26,
    Float6e2m3 = 27,
    Float6e3m2 = 28,
}

/// Location of the values of a tensor: the message or another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DataLocation {
    Default = 0,
    External = 1,
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    fn within(file: &Bytes, slice: &Bytes) -> bool {
        file.as_ptr_range().contains(&slice.as_ptr())
    }

    #[test]
    fn raw_data_is_a_slice_of_the_file() {
        let file = Bytes::from_static(&[0x4a, 4, 1, 2, 3, 4]);
        let raw = TensorProto::decode(file.clone()).unwrap().raw_data.unwrap();
        assert_eq!(raw[..], [1, 2, 3, 4]);
        assert!(within(&file, &raw));
    }

    #[test]
    fn raw_data_of_a_nested_tensor_is_a_slice_of_the_file() {
        let file = Bytes::from_static(&[0x0a, 6, 0x4a, 4, 1, 2, 3, 4]);
        let tensor = SparseTensorProto::decode(file.clone()).unwrap().values.unwrap();
        assert!(within(&file, &tensor.raw_data.unwrap()));
    }

    #[test]
    fn each_packed_chunk_is_a_slice_of_the_file() {
        let file = Bytes::from_static(&[0x22, 4, 0, 0, 0x80, 0x3f, 0x22, 4, 0, 0, 0, 0x40]);
        let chunks = TensorProto::decode(file.clone()).unwrap().float_data;
        assert_eq!(chunks, [&[0, 0, 0x80, 0x3f][..], &[0, 0, 0, 0x40]]);
        assert!(chunks.iter().all(|chunk| within(&file, chunk)));
    }

    #[test]
    fn unpacked_values_are_an_error() {
        let float = [0x25, 0, 0, 0x80, 0x3f];
        let int32 = [0x28, 1];
        assert!(TensorProto::decode(&float[..]).is_err());
        assert!(TensorProto::decode(&int32[..]).is_err());
    }

    #[test]
    fn empty_raw_data_differs_from_none() {
        assert_eq!(TensorProto::decode(&[0x4a, 0][..]).unwrap().raw_data, Some(Bytes::new()));
        assert_eq!(TensorProto::decode(&[][..]).unwrap().raw_data, None);
    }
}
