//! Element types as ONNX names them.

use core::fmt;

use burn::tensor::{BoolStore, DType};

/// The element type of an ONNX tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Floats of single precision, `f32`.
    Float32,
    /// Unsigned integers of 8 bits, `u8`.
    UInt8,
    /// Integers of 8 bits, `i8`.
    Int8,
    /// Unsigned integers of 16 bits, `u16`.
    UInt16,
    /// Integers of 16 bits, `i16`.
    Int16,
    /// Integers of 32 bits, `i32`.
    Int32,
    /// Integers of 64 bits, `i64`: indices, sizes and token ids.
    Int64,
    /// Strings, which are on the host.
    String,
    /// Truths, `bool`.
    Bool,
    /// Floats of half precision, `f16`.
    Float16,
    /// Floats of double precision, `f64`.
    Float64,
    /// Unsigned integers of 32 bits, `u32`.
    UInt32,
    /// Unsigned integers of 64 bits, `u64`.
    UInt64,
    /// Pairs of floats of single precision, which no operator here computes with.
    Complex64,
    /// Pairs of floats of double precision, which no operator here computes with.
    Complex128,
    /// Floats of 16 bits with the exponents of single precision, `bf16`.
    BFloat16,
    /// Floats of 8 bits, 3 of them the mantissa, without infinities.
    Float8E4M3FN,
    /// Floats of 8 bits, 3 of them the mantissa, without infinities and negative zero.
    Float8E4M3FNUZ,
    /// Floats of 8 bits, 2 of them the mantissa.
    Float8E5M2,
    /// Floats of 8 bits, 2 of them the mantissa, without infinities and negative zero.
    Float8E5M2FNUZ,
    /// Unsigned integers of 4 bits.
    UInt4,
    /// Integers of 4 bits.
    Int4,
    /// Floats of 4 bits, 1 of them the mantissa.
    Float4E2M1,
    /// Powers of two in 8 bits, as scales are.
    Float8E8M0,
    /// Unsigned integers of 2 bits.
    UInt2,
    /// Integers of 2 bits.
    Int2,
}

impl ElementType {
    /// The type's name, as numpy and ONNX Runtime spell it.
    pub const fn name(self) -> &'static str {
        use ElementType::*;
        match self {
            Float32 => "float32",
            UInt8 => "uint8",
            Int8 => "int8",
            UInt16 => "uint16",
            Int16 => "int16",
            Int32 => "int32",
            Int64 => "int64",
            String => "string",
            Bool => "bool",
            Float16 => "float16",
            Float64 => "float64",
            UInt32 => "uint32",
            UInt64 => "uint64",
            Complex64 => "complex64",
            Complex128 => "complex128",
            BFloat16 => "bfloat16",
            Float8E4M3FN => "float8e4m3fn",
            Float8E4M3FNUZ => "float8e4m3fnuz",
            Float8E5M2 => "float8e5m2",
            Float8E5M2FNUZ => "float8e5m2fnuz",
            UInt4 => "uint4",
            Int4 => "int4",
            Float4E2M1 => "float4e2m1",
            Float8E8M0 => "float8e8m0",
            UInt2 => "uint2",
            Int2 => "int2",
        }
    }

    /// What elements are in Rust, of types that a [`TensorData`](crate::TensorData) holds as they are.
    pub(crate) const fn in_rust(self) -> &'static str {
        use ElementType::*;
        match self {
            Float32 => "f32",
            UInt8 => "u8",
            Int8 => "i8",
            UInt16 => "u16",
            Int16 => "i16",
            Int32 => "i32",
            Int64 => "i64",
            String => "String",
            Float16 => "f16",
            Float64 => "f64",
            UInt32 => "u32",
            UInt64 => "u64",
            BFloat16 => "bf16",
            other => other.name(),
        }
    }

    /// Bits of one stored element; 0 for strings.
    pub const fn bits(self) -> usize {
        use ElementType::*;
        match self {
            String => 0,
            UInt2 | Int2 => 2,
            UInt4 | Int4 | Float4E2M1 => 4,
            UInt8 | Int8 | Bool => 8,
            Float8E4M3FN | Float8E4M3FNUZ | Float8E5M2 | Float8E5M2FNUZ | Float8E8M0 => 8,
            UInt16 | Int16 | Float16 | BFloat16 => 16,
            Float32 | Int32 | UInt32 => 32,
            Float64 | Int64 | UInt64 | Complex64 => 64,
            Complex128 => 128,
        }
    }

    /// The dtype of the [`TensorData`](crate::TensorData) that carries this type: its own, or for types that
    /// Burn lacks one that holds every value of it, float32 for the 8- and 4-bit floats, int8 and uint8 for
    /// the 4- and 2-bit integers.
    ///
    /// Strings and complex numbers have none.
    pub const fn carrier(self) -> Option<DType> {
        use ElementType::*;
        Some(match self {
            Float32 => DType::F32,
            Float8E4M3FN | Float8E4M3FNUZ | Float8E5M2 | Float8E5M2FNUZ => DType::F32,
            Float8E8M0 | Float4E2M1 => DType::F32,
            Float64 => DType::F64,
            Float16 => DType::F16,
            BFloat16 => DType::BF16,
            Int64 => DType::I64,
            Int32 => DType::I32,
            Int16 => DType::I16,
            Int8 | Int4 | Int2 => DType::I8,
            UInt64 => DType::U64,
            UInt32 => DType::U32,
            UInt16 => DType::U16,
            UInt8 | UInt4 | UInt2 => DType::U8,
            Bool => DType::Bool(BoolStore::Native),
            String | Complex64 | Complex128 => return None,
        })
    }

    /// The type whose values a dtype holds as they are.
    pub const fn of(dtype: DType) -> Option<Self> {
        use ElementType::*;
        Some(match dtype {
            DType::F32 | DType::Flex32 => Float32,
            DType::F64 => Float64,
            DType::F16 => Float16,
            DType::BF16 => BFloat16,
            DType::I64 => Int64,
            DType::I32 => Int32,
            DType::I16 => Int16,
            DType::I8 => Int8,
            DType::U64 => UInt64,
            DType::U32 => UInt32,
            DType::U16 => UInt16,
            DType::U8 => UInt8,
            DType::Bool(_) => Bool,
            DType::QFloat(_) => return None,
        })
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_burn_has_is_its_own_carrier() {
        use ElementType::*;
        for dtype in [Float32, Float64, Float16, BFloat16, Int64, UInt8, Bool] {
            assert_eq!(dtype.carrier().and_then(ElementType::of), Some(dtype));
        }
    }

    #[test]
    fn small_types_travel_in_wider_ones() {
        assert_eq!(ElementType::UInt2.carrier(), Some(DType::U8));
        assert_eq!(ElementType::Float8E5M2.carrier(), Some(DType::F32));
        assert_eq!(ElementType::String.carrier(), None);
    }
}
