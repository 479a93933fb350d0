//! Element types of the C API.

use onnx_embed::ElementType;
use ort_sys::ONNXTensorElementDataType as Code;

use crate::status::Failure;

/// Element types that the C API has.
const ALL: [ElementType; 22] = {
    use ElementType::*;
    [
        Float32,
        UInt8,
        Int8,
        UInt16,
        Int16,
        Int32,
        Int64,
        String,
        Bool,
        Float16,
        Float64,
        UInt32,
        UInt64,
        Complex64,
        Complex128,
        BFloat16,
        Float8E4M3FN,
        Float8E4M3FNUZ,
        Float8E5M2,
        Float8E5M2FNUZ,
        UInt4,
        Int4,
    ]
};

/// Returns the code of an element type, or `None` for types that this version of the C API lacks.
pub(crate) fn code_of(element: ElementType) -> Option<Code> {
    use Code::*;
    Some(match element {
        ElementType::Float32 => ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        ElementType::UInt8 => ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
        ElementType::Int8 => ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
        ElementType::UInt16 => ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
        ElementType::Int16 => ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
        ElementType::Int32 => ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
        ElementType::Int64 => ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
        ElementType::String => ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
        ElementType::Bool => ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
        ElementType::Float16 => ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
        ElementType::Float64 => ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
        ElementType::UInt32 => ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
        ElementType::UInt64 => ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
        ElementType::Complex64 => ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64,
        ElementType::Complex128 => ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128,
        ElementType::BFloat16 => ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,
        ElementType::Float8E4M3FN => ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN,
        ElementType::Float8E4M3FNUZ => ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ,
        ElementType::Float8E5M2 => ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2,
        ElementType::Float8E5M2FNUZ => ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ,
        ElementType::UInt4 => ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4,
        ElementType::Int4 => ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4,
        ElementType::Float4E2M1 | ElementType::Float8E8M0 | ElementType::UInt2 | ElementType::Int2 => {
            return None;
        }
    })
}

/// Returns the element type of a code, or `None` for the code of no type.
pub(crate) fn element_of(code: Code) -> Option<ElementType> {
    ALL.into_iter().find(|element| code_of(*element) == Some(code))
}

/// Returns the element type of the number of a code.
pub(crate) fn element_of_number(number: u8) -> Option<ElementType> {
    ALL.into_iter().find(|element| code_of(*element).is_some_and(|code| code as i32 == i32::from(number)))
}

/// Returns `true` if a Rust type has the elements, so that they can be in plain memory.
pub(crate) fn is_plain(element: ElementType) -> bool {
    element.carrier().and_then(ElementType::of) == Some(element)
}

/// Returns the number of bytes of an element in memory.
///
/// # Errors
///
/// If tensors of this type cannot be passed: strings, which are not in plain memory, and types without a Rust type.
pub(crate) fn width(element: ElementType) -> Result<usize, Failure> {
    if is_plain(element) {
        Ok(element.bits() / 8)
    } else {
        Err(Failure::unsupported(format!("tensors of {element} cannot be passed")))
    }
}

/// Returns the number of elements of a tensor.
///
/// # Errors
///
/// If a size is negative, or if their product is too large.
pub(crate) fn count(shape: &[i64]) -> Result<usize, Failure> {
    let overflow = || Failure::argument(format!("the shape {shape:?} has too many elements"));
    let sizes = sizes(shape)?;
    // Without zeros the product of all others must fit, too: strides are computed from them.
    sizes
        .iter()
        .filter(|size| **size != 0)
        .try_fold(1usize, |all, size| all.checked_mul(*size))
        .ok_or_else(overflow)?;
    Ok(sizes.iter().product())
}

/// Returns the sizes of a shape of the C API.
///
/// # Errors
///
/// If a size is negative or too large.
pub(crate) fn sizes(shape: &[i64]) -> Result<Vec<usize>, Failure> {
    let wrong = |size: &i64| Failure::argument(format!("the shape {shape:?} has the size {size}"));
    shape.iter().map(|size| usize::try_from(*size).map_err(|_| wrong(size))).collect()
}

/// Returns sizes as a shape of the C API. Sizes in memory are at most `isize::MAX`.
pub(crate) fn shape(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_element_types_are_inverse() {
        for element in [ElementType::Float32, ElementType::Bool, ElementType::String, ElementType::Int4] {
            assert_eq!(code_of(element).and_then(element_of), Some(element));
        }
        assert_eq!(element_of(Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED), None);
    }

    #[test]
    fn a_shape_that_overflows_is_an_error() {
        assert_eq!(count(&[]).unwrap(), 1);
        assert_eq!(count(&[0, 5]).unwrap(), 0);
        assert!(count(&[-1]).is_err());
        assert!(count(&[i64::MAX, 3]).is_err());
        assert!(count(&[0, i64::MAX, 3]).is_err());
    }
}
