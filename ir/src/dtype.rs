//! Element types of ONNX tensors.

use std::fmt;

/// Element type of a tensor, as ONNX numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DType {
    F32,
    U8,
    I8,
    U16,
    I16,
    I32,
    I64,
    String,
    Bool,
    F16,
    F64,
    U32,
    U64,
    C64,
    C128,
    Bf16,
    F8E4M3Fn,
    F8E4M3Fnuz,
    F8E5M2,
    F8E5M2Fnuz,
    U4,
    I4,
    F4E2M1,
    F8E8M0,
    U2,
    I2,
}

/// The kind of Burn tensor or host value that represents an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementClass {
    Float,
    Int,
    Bool,
    String,
    Complex,
}

/// `(type, number in ONNX, name, bits)`, one row per type.
const TABLE: [(DType, i32, &str, u32); 26] = [
    (DType::F32, 1, "float32", 32),
    (DType::U8, 2, "uint8", 8),
    (DType::I8, 3, "int8", 8),
    (DType::U16, 4, "uint16", 16),
    (DType::I16, 5, "int16", 16),
    (DType::I32, 6, "int32", 32),
    (DType::I64, 7, "int64", 64),
    (DType::String, 8, "string", 0),
    (DType::Bool, 9, "bool", 8),
    (DType::F16, 10, "float16", 16),
    (DType::F64, 11, "float64", 64),
    (DType::U32, 12, "uint32", 32),
    (DType::U64, 13, "uint64", 64),
    (DType::C64, 14, "complex64", 64),
    (DType::C128, 15, "complex128", 128),
    (DType::Bf16, 16, "bfloat16", 16),
    (DType::F8E4M3Fn, 17, "float8e4m3fn", 8),
    (DType::F8E4M3Fnuz, 18, "float8e4m3fnuz", 8),
    (DType::F8E5M2, 19, "float8e5m2", 8),
    (DType::F8E5M2Fnuz, 20, "float8e5m2fnuz", 8),
    (DType::U4, 21, "uint4", 4),
    (DType::I4, 22, "int4", 4),
    (DType::F4E2M1, 23, "float4e2m1", 4),
    (DType::F8E8M0, 24, "float8e8m0", 8),
    (DType::U2, 25, "uint2", 2),
    (DType::I2, 26, "int2", 2),
];

impl DType {
    /// Returns the type with this number in ONNX's `TensorProto.DataType`.
    pub fn from_onnx(number: i32) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == number).map(|row| row.0)
    }

    /// Returns the type with this name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    /// Returns the number in ONNX's `TensorProto.DataType`.
    pub fn number(self) -> i32 {
        self.row().1
    }

    /// Returns the name of the type in numpy and ONNX Runtime.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Returns the number of bits of an element in `raw_data`, 0 for strings.
    pub fn bits(self) -> u32 {
        self.row().3
    }

    /// Returns the bytes of `count` elements in `raw_data`, `None` on overflow or for strings.
    pub fn bytes(self, count: usize) -> Option<usize> {
        match self.bits() as usize {
            0 => None,
            bits => count.checked_mul(bits).map(|bits| bits.div_ceil(8)),
        }
    }

    /// Returns the kind of value that represents this type.
    pub fn kind(self) -> ElementClass {
        use DType::*;
        match self {
            F32 | F16 | F64 | Bf16 => ElementClass::Float,
            F8E4M3Fn | F8E4M3Fnuz | F8E5M2 | F8E5M2Fnuz | F4E2M1 | F8E8M0 => ElementClass::Float,
            U8 | I8 | U16 | I16 | I32 | I64 | U32 | U64 | U4 | I4 | U2 | I2 => ElementClass::Int,
            Bool => ElementClass::Bool,
            String => ElementClass::String,
            C64 | C128 => ElementClass::Complex,
        }
    }

    /// Returns `true` if values of this type have a sign.
    pub fn is_signed(self) -> bool {
        use DType::*;
        matches!(self, I8 | I16 | I32 | I64 | I4 | I2) || self.kind() == ElementClass::Float
    }

    /// Returns `true` for a float of at least 16 bits.
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::F64 | DType::Bf16)
    }

    /// Returns `true` for a float of 16 bits: Burn's activations round after each operation, so that results lose
    /// digits.
    pub fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::Bf16)
    }

    /// Returns `true` for an integer.
    pub fn is_int(self) -> bool {
        self.kind() == ElementClass::Int
    }

    /// Returns the name of the variant in the run-time crate's `ElementType`.
    pub fn variant(self) -> &'static str {
        use DType::*;
        match self {
            F32 => "Float32",
            U8 => "UInt8",
            I8 => "Int8",
            U16 => "UInt16",
            I16 => "Int16",
            I32 => "Int32",
            I64 => "Int64",
            String => "String",
            Bool => "Bool",
            F16 => "Float16",
            F64 => "Float64",
            U32 => "UInt32",
            U64 => "UInt64",
            C64 => "Complex64",
            C128 => "Complex128",
            Bf16 => "BFloat16",
            F8E4M3Fn => "Float8E4M3FN",
            F8E4M3Fnuz => "Float8E4M3FNUZ",
            F8E5M2 => "Float8E5M2",
            F8E5M2Fnuz => "Float8E5M2FNUZ",
            U4 => "UInt4",
            I4 => "Int4",
            F4E2M1 => "Float4E2M1",
            F8E8M0 => "Float8E8M0",
            U2 => "UInt2",
            I2 => "Int2",
        }
    }

    fn row(self) -> &'static (DType, i32, &'static str, u32) {
        const FIRST: &(DType, i32, &str, u32) = &TABLE[0];
        TABLE.iter().find(|row| row.0 == self).unwrap_or(FIRST)
    }

    /// Returns the name of the Burn type that carries the values.
    pub fn carrier(self) -> &'static str {
        use DType::*;
        match self {
            F32 | F8E4M3Fn | F8E4M3Fnuz | F8E5M2 | F8E5M2Fnuz | F4E2M1 | F8E8M0 => "F32",
            F64 => "F64",
            F16 => "F16",
            Bf16 => "BF16",
            U8 | U4 | U2 => "U8",
            I8 | I4 | I2 => "I8",
            U16 => "U16",
            I16 => "I16",
            U32 => "U32",
            I32 => "I32",
            U64 => "U64",
            I64 => "I64",
            Bool | String | C64 | C128 => "Bool",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_onnx_number_has_one_type() {
        for number in 1..=26 {
            let dtype = DType::from_onnx(number).unwrap();
            assert_eq!(dtype.row().1, number);
        }
        assert_eq!(DType::from_onnx(0), None);
    }

    #[test]
    fn packed_types_round_up_to_bytes() {
        assert_eq!(DType::I4.bytes(3), Some(2));
        assert_eq!(DType::F64.bytes(usize::MAX), None);
    }
}
