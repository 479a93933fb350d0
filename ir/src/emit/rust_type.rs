//! Rust types of values.

use proc_macro2::Literal;
use quote::format_ident;

use crate::dtype::{DType, ElementClass};
use crate::rust::{Code, code};
use crate::types::{Placement, Type};

/// Returns the Rust type of a value.
pub fn rust_type(ty: &Type, placement: Placement) -> Code {
    match ty {
        Type::Tensor(tensor) if placement == Placement::Host || tensor.dtype == DType::String => {
            let element = host_element(tensor.dtype);
            code!(Array<#element>)
        }
        Type::Tensor(tensor) => {
            let rank = Literal::usize_unsuffixed(tensor.burn_rank());
            match tensor.dtype.kind() {
                ElementClass::Int => code!(Tensor<#rank, Int>),
                ElementClass::Bool => code!(Tensor<#rank, Bool>),
                _ => code!(Tensor<#rank>),
            }
        }
        Type::Unranked(dtype) | Type::Nothing(dtype) => {
            let element = host_element(*dtype);
            code!(Array<#element>)
        }
        Type::Sequence(item) => {
            let item = rust_type(item, Placement::Device);
            code!(Vec<#item>)
        }
        Type::Optional(item) => {
            let item = rust_type(item, Placement::Device);
            code!(Option<#item>)
        }
        Type::Map(key, item) => {
            let (key, item) = (host_element(*key), map_item(item));
            code!(BTreeMap<#key, #item>)
        }
    }
}

/// Returns the type of a map's values. Scalars are plain.
fn map_item(item: &Type) -> Code {
    match item {
        Type::Tensor(tensor) if tensor.rank() == 0 => host_element(tensor.dtype),
        other => rust_type(other, Placement::Host),
    }
}

/// Returns the Rust type of an element on the host.
pub fn host_element(dtype: DType) -> Code {
    use DType::*;
    match dtype {
        F32 | F8E4M3Fn | F8E4M3Fnuz | F8E5M2 | F8E5M2Fnuz | F4E2M1 | F8E8M0 => code!(f32),
        F64 => code!(f64),
        F16 => code!(f16),
        Bf16 => code!(bf16),
        U8 | U4 | U2 => code!(u8),
        I8 | I4 | I2 => code!(i8),
        U16 => code!(u16),
        I16 => code!(i16),
        U32 => code!(u32),
        I32 => code!(i32),
        U64 => code!(u64),
        I64 => code!(i64),
        Bool => code!(bool),
        String => code!(String),
        C64 | C128 => code!([f32; 2]),
    }
}

/// Returns `ElementType::Float32` or another variant.
pub fn element_type(dtype: DType) -> Code {
    let variant = format_ident!("{}", dtype.variant());
    code!(ElementType::#variant)
}
