//! Functions on type information.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use ort_sys::{
    ONNXTensorElementDataType as Code, ONNXType, OrtMapTypeInfo, OrtOptionalTypeInfo, OrtSequenceTypeInfo,
    OrtStatusPtr, OrtTensorTypeAndShapeInfo, OrtTypeInfo,
};

use crate::elements::count;
use crate::handle::{Handle, array, array_mut, borrow, borrow_mut, give, release, text, write};
use crate::status::{Failure, guard};
use crate::types::{MapInfo, OptionalInfo, SequenceInfo, TensorInfo, TypeInfo};

pub(crate) unsafe extern "system" fn GetOnnxTypeFromTypeInfo(
    info: *const OrtTypeInfo,
    out: *mut ONNXType,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `type_info` to be one that this API returned and that is not released.
        let info: &TypeInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the type.
        unsafe { write(out, info.onnx_type()) }
    })
}

impl TypeInfo {
    /// Returns the kind of the value.
    pub(crate) fn onnx_type(&self) -> ONNXType {
        match self {
            TypeInfo::Tensor(_) => ONNXType::ONNX_TYPE_TENSOR,
            TypeInfo::Sequence(_) => ONNXType::ONNX_TYPE_SEQUENCE,
            TypeInfo::Map(_) => ONNXType::ONNX_TYPE_MAP,
            TypeInfo::Optional(_) => ONNXType::ONNX_TYPE_OPTIONAL,
        }
    }
}

pub(crate) unsafe extern "system" fn CastTypeInfoToTensorInfo(
    info: *const OrtTypeInfo,
    out: *mut *const OrtTensorTypeAndShapeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `type_info` to be one that this API returned and that is not released.
        let info: &TypeInfo = unsafe { borrow(info) }?;
        let tensor = if let TypeInfo::Tensor(tensor) = info { tensor.as_raw() } else { ptr::null() };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `type_info`.
        unsafe { write(out, tensor) }
    })
}

pub(crate) unsafe extern "system" fn CastTypeInfoToSequenceTypeInfo(
    info: *const OrtTypeInfo,
    out: *mut *const OrtSequenceTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `type_info` to be one that this API returned and that is not released.
        let info: &TypeInfo = unsafe { borrow(info) }?;
        let sequence = if let TypeInfo::Sequence(sequence) = info { sequence.as_raw() } else { ptr::null() };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `type_info`.
        unsafe { write(out, sequence) }
    })
}

pub(crate) unsafe extern "system" fn CastTypeInfoToMapTypeInfo(
    info: *const OrtTypeInfo,
    out: *mut *const OrtMapTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `type_info` to be one that this API returned and that is not released.
        let info: &TypeInfo = unsafe { borrow(info) }?;
        let map = if let TypeInfo::Map(map) = info { map.as_raw() } else { ptr::null() };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `type_info`.
        unsafe { write(out, map) }
    })
}

pub(crate) unsafe extern "system" fn CastTypeInfoToOptionalTypeInfo(
    info: *const OrtTypeInfo,
    out: *mut *const OrtOptionalTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `type_info` to be one that this API returned and that is not released.
        let info: &TypeInfo = unsafe { borrow(info) }?;
        let optional = if let TypeInfo::Optional(optional) = info { optional.as_raw() } else { ptr::null() };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `type_info`.
        unsafe { write(out, optional) }
    })
}

pub(crate) unsafe extern "system" fn GetSequenceElementType(
    info: *const OrtSequenceTypeInfo,
    out: *mut *mut OrtTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `sequence_type_info` to be borrowed from a type that is not released.
        let info: &SequenceInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, (*info.0).clone()) }
    })
}

pub(crate) unsafe extern "system" fn GetOptionalContainedTypeInfo(
    info: *const OrtOptionalTypeInfo,
    out: *mut *mut OrtTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `optional_type_info` to be borrowed from a type that is not released.
        let info: &OptionalInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, (*info.0).clone()) }
    })
}

pub(crate) unsafe extern "system" fn GetMapKeyType(
    info: *const OrtMapTypeInfo,
    out: *mut Code,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `map_type_info` to be borrowed from a type that is not released.
        let info: &MapInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the element type.
        unsafe { write(out, info.key) }
    })
}

pub(crate) unsafe extern "system" fn GetMapValueType(
    info: *const OrtMapTypeInfo,
    out: *mut *mut OrtTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `map_type_info` to be borrowed from a type that is not released.
        let info: &MapInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, (*info.value).clone()) }
    })
}

pub(crate) unsafe extern "system" fn GetDenotationFromTypeInfo(
    _: *const OrtTypeInfo,
    denotation: *mut *const c_char,
    length: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `denotation` to be valid for a write of a pointer to a string that it borrows.
        unsafe { write(denotation, c"".as_ptr()) }?;
        // SAFETY: the C API requires `len` to be valid for a write of the length.
        unsafe { write(length, 0) }
    })
}

pub(crate) unsafe extern "system" fn CreateTensorTypeAndShapeInfo(
    out: *mut *mut OrtTensorTypeAndShapeInfo,
) -> OrtStatusPtr {
    guard(|| {
        let info = TensorInfo::of_shape(Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, Vec::new());
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, info) }
    })
}

pub(crate) unsafe extern "system" fn SetTensorElementType(
    info: *mut OrtTensorTypeAndShapeInfo,
    code: Code,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be of `CreateTensorTypeAndShapeInfo`, not released and used by this
        // thread alone, as no function that changes an object may run beside others on it.
        let info: &mut TensorInfo = unsafe { borrow_mut(info) }?;
        info.code = code;
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn SetDimensions(
    info: *mut OrtTensorTypeAndShapeInfo,
    sizes: *const i64,
    length: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be of `CreateTensorTypeAndShapeInfo`, not released and used by this
        // thread alone, as no function that changes an object may run beside others on it.
        let info: &mut TensorInfo = unsafe { borrow_mut(info) }?;
        // SAFETY: the C API requires `dim_values` to have `dim_count` elements.
        let sizes = unsafe { array(sizes, length, "dim_values") }?;
        info.shape = sizes.to_vec();
        info.symbols.resize(length, CString::default());
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn SetSymbolicDimensions(
    info: *mut OrtTensorTypeAndShapeInfo,
    names: *mut *const c_char,
    length: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be of `CreateTensorTypeAndShapeInfo`, not released and used by this
        // thread alone, as no function that changes an object may run beside others on it.
        let info: &mut TensorInfo = unsafe { borrow_mut(info) }?;
        // SAFETY: the C API requires `dim_params` to have `dim_params_length` elements.
        let names = unsafe { array(names, length, "dim_params") }?;
        if length != info.shape.len() {
            return Err(Failure::argument(format!("{length} names for {} dimensions", info.shape.len())));
        }
        let copy = |name: &*const c_char| {
            // SAFETY: the C API requires each element of `dim_params` to be a null-terminated string.
            let name = unsafe { text(*name, "dim_params") }?;
            Ok(crate::handle::c_string(name))
        };
        info.symbols = names.iter().map(copy).collect::<Result<_, Failure>>()?;
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn GetTensorElementType(
    info: *const OrtTensorTypeAndShapeInfo,
    out: *mut Code,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be one that this API returned, not released, and not changed meanwhile.
        let info: &TensorInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the element type.
        unsafe { write(out, info.code) }
    })
}

pub(crate) unsafe extern "system" fn GetDimensionsCount(
    info: *const OrtTensorTypeAndShapeInfo,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be one that this API returned, not released, and not changed meanwhile.
        let info: &TensorInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the rank.
        unsafe { write(out, info.shape.len()) }
    })
}

pub(crate) unsafe extern "system" fn GetDimensions(
    info: *const OrtTensorTypeAndShapeInfo,
    out: *mut i64,
    length: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be one that this API returned, not released, and not changed meanwhile.
        let info: &TensorInfo = unsafe { borrow(info) }?;
        let length = length.min(info.shape.len());
        // SAFETY: the C API requires `dim_values` to have `dim_values_length` elements, of which these are the first.
        let out = unsafe { array_mut(out, length, "dim_values") }?;
        out.copy_from_slice(&info.shape[..length]);
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn GetSymbolicDimensions(
    info: *const OrtTensorTypeAndShapeInfo,
    out: *mut *const c_char,
    length: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be one that this API returned, not released, and not changed meanwhile.
        let info: &TensorInfo = unsafe { borrow(info) }?;
        let length = length.min(info.symbols.len());
        // SAFETY: the C API requires `dim_params` to have `dim_params_length` elements, of which these are the first.
        let out = unsafe { array_mut(out, length, "dim_params") }?;
        for (out, name) in out.iter_mut().zip(&info.symbols) {
            let name: &CStr = name;
            *out = name.as_ptr();
        }
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn GetTensorShapeElementCount(
    info: *const OrtTensorTypeAndShapeInfo,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be one that this API returned, not released, and not changed meanwhile.
        let info: &TensorInfo = unsafe { borrow(info) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the number of elements.
        unsafe { write(out, count(&info.shape)?) }
    })
}

#[cfg(not(any(ort_release = "10", ort_release = "11")))]
pub(crate) unsafe extern "system" fn TensorTypeAndShape_HasShape(
    info: *const OrtTensorTypeAndShapeInfo,
) -> bool {
    // SAFETY: the C API requires `info` to be one that this API returned, not released, and not changed meanwhile.
    let info = unsafe { borrow::<TensorInfo>(info) };
    info.is_ok_and(|info| info.ranked)
}

pub(crate) unsafe extern "system" fn ReleaseTypeInfo(info: *mut OrtTypeInfo) {
    // SAFETY: the C API requires `input` to be null or a type that this API gave to the caller, who gives it up.
    unsafe { release::<TypeInfo>(info) }
}

pub(crate) unsafe extern "system" fn ReleaseTensorTypeAndShapeInfo(info: *mut OrtTensorTypeAndShapeInfo) {
    // SAFETY: the C API requires `input` to be null or of `CreateTensorTypeAndShapeInfo` or `GetTensorTypeAndShape`,
    // and the caller gives it up.
    unsafe { release::<TensorInfo>(info) }
}
