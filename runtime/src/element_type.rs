//! Element types with the names of ONNX.

use core::fmt;

use burn::tensor::{BoolStore, DType};

/// The element type of an ONNX tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Single-precision float, `f32`.
    Float32,
    /// Unsigned 8-bit integer, `u8`.
    UInt8,
    /// Signed 8-bit integer, `i8`.
    Int8,
    /// Unsigned 16-bit integer, `u16`.
    UInt16,
    /// Signed 16-bit integer, `i16`.
    Int16,
    /// Signed 32-bit integer, `i32`.
    Int32,
    /// Signed 64-bit integer, `i64`, the type of indices, sizes and token ids.
    Int64,
    /// String. Tensors of strings are on the host.
    String,
    /// Boolean, `bool`.
    Bool,
    /// Half-precision float, `f16`.
    Float16,
    /// Double-precision float, `f64`.
    Float64,
    /// Unsigned 32-bit integer, `u32`.
    UInt32,
    /// Unsigned 64-bit integer, `u64`.
    UInt64,
    /// Pair of single-precision floats. No operator of this crate supports it.
    Complex64,
    /// Pair of double-precision floats. No operator of this crate supports it.
    Complex128,
    /// 16-bit float with the exponent range of single precision, `bf16`.
    BFloat16,
    /// 8-bit float with a 3-bit mantissa and no infinities.
    Float8E4M3FN,
    /// 8-bit float with a 3-bit mantissa, no infinities and no negative zero.
    Float8E4M3FNUZ,
    /// 8-bit float with a 2-bit mantissa.
    Float8E5M2,
    /// 8-bit float with a 2-bit mantissa, no infinities and no negative zero.
    Float8E5M2FNUZ,
    /// Unsigned 4-bit integer.
    UInt4,
    /// Signed 4-bit integer.
    Int4,
    /// 4-bit float with a 1-bit mantissa.
    Float4E2M1,
    /// Power of two in 8 bits, a type of scales.
    Float8E8M0,
    /// Unsigned 2-bit integer.
    UInt2,
    /// Signed 2-bit integer.
    Int2,
}

impl ElementType {
    /// Returns the name of the type in numpy and ONNX Runtime.
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

    /// Returns the name of the Rust type of elements that a [`TensorData`](crate::TensorData) contains unconverted.
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

    /// Returns the number of bits of a stored element, 0 for strings.
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

    /// Returns the dtype of the [`TensorData`](crate::TensorData) that carries this type.
    ///
    /// It is the type itself or, for types that Burn lacks, one that represents all its values exactly: float32 for 8-
    /// and 4-bit floats, int8 and uint8 for 4- and 2-bit integers. `None` for strings and complex numbers.
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

    /// Returns the type whose values `dtype` contains unconverted, or `None` if the dtype is quantized.
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
