//! Functions on tensors.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use ort_sys::{
    ONNXTensorElementDataType as Code, ONNXType, OrtAllocator, OrtMemoryInfo, OrtStatusPtr,
    OrtTensorTypeAndShapeInfo, OrtTypeInfo, OrtValue,
};

use crate::elements::{count, element_of, sizes, width};
use crate::handle::{Handle, array, borrow, give, release, write};
use crate::memory::{CPU, MemoryInfo};
use crate::status::{Failure, guard};
use crate::storage::Storage;
use crate::types::TypeInfo;
use crate::value::{Stored, Strings, Tensor, ValueHandle, pointer};

pub(crate) unsafe extern "system" fn CreateTensorAsOrtValue(
    _: *mut OrtAllocator,
    shape: *const i64,
    rank: usize,
    code: Code,
    out: *mut *mut OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `shape` to have `shape_len` elements.
        let shape = unsafe { array(shape, rank, "shape") }?.to_vec();
        let value = if code == Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING {
            let texts = vec![String::new(); checked_texts(&shape)?];
            Stored::Strings(Strings::new(shape, texts)?)
        } else {
            let element = element_of(code).ok_or_else(|| Failure::argument("unknown element type"))?;
            Stored::Tensor(Tensor::zeros(element, shape)?)
        };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, ValueHandle(Arc::new(value))) }
    })
}

/// Returns the number of strings, if their bytes fit in memory.
fn checked_texts(shape: &[i64]) -> Result<usize, Failure> {
    let count = count(shape)?;
    let fits = Vec::<String>::new().try_reserve_exact(count).is_ok();
    if fits { Ok(count) } else { Err(Failure::argument(format!("cannot allocate {count} strings"))) }
}

pub(crate) unsafe extern "system" fn CreateTensorWithDataAsOrtValue(
    info: *const OrtMemoryInfo,
    data: *mut c_void,
    length: usize,
    shape: *const i64,
    rank: usize,
    code: Code,
    out: *mut *mut OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `info` to be one that this API returned and that is not released.
        let info: &MemoryInfo = unsafe { borrow(info) }?;
        info.check_host()?;
        // SAFETY: the C API requires `shape` to have `shape_len` elements.
        let shape = unsafe { array(shape, rank, "shape") }?.to_vec();
        if code == Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING {
            return Err(Failure::argument("strings have no plain memory: use `FillStringTensor`"));
        }
        let element = element_of(code).ok_or_else(|| Failure::argument("unknown element type"))?;
        // SAFETY: the C API requires `p_data` to have `p_data_len` bytes and to outlive the value, and that nothing
        // writes to it while a function uses the value.
        let storage = unsafe { Storage::of_caller(data.cast(), length, width(element)?) }?;
        let value = Stored::Tensor(Tensor::new(element, shape, storage)?);
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, ValueHandle(Arc::new(value))) }
    })
}

pub(crate) unsafe extern "system" fn ReleaseValue(value: *mut OrtValue) {
    // SAFETY: the C API requires `input` to be null or a value that this API gave to the caller, who gives it up.
    unsafe { release::<ValueHandle>(value) }
}

pub(crate) unsafe extern "system" fn IsTensor(value: *const OrtValue, out: *mut c_int) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the answer.
        unsafe { write(out, c_int::from(value.0.code().is_some())) }
    })
}

pub(crate) unsafe extern "system" fn HasValue(value: *const OrtValue, out: *mut c_int) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the answer.
        unsafe { write(out, c_int::from(!matches!(*value.0, Stored::Absent(_)))) }
    })
}

pub(crate) unsafe extern "system" fn GetValueType(
    value: *const OrtValue,
    out: *mut ONNXType,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the kind.
        unsafe { write(out, value.0.type_info().onnx_type()) }
    })
}

pub(crate) unsafe extern "system" fn GetTypeInfo(
    value: *const OrtValue,
    out: *mut *mut OrtTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, value.0.type_info()) }
    })
}

pub(crate) unsafe extern "system" fn GetTensorTypeAndShape(
    value: *const OrtValue,
    out: *mut *mut OrtTensorTypeAndShapeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let TypeInfo::Tensor(info) = value.0.type_info() else {
            return Err(Failure::argument("the value is not a tensor"));
        };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, info) }
    })
}

#[cfg(not(any(ort_release = "10", ort_release = "11")))]
pub(crate) unsafe extern "system" fn GetTensorElementTypeAndShapeDataReference(
    value: *const OrtValue,
    code: *mut Code,
    shape: *mut *const i64,
    rank: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let (Some(element), Some(sizes)) = (value.0.code(), value.0.shape()) else {
            return Err(Failure::argument("the value is not a tensor"));
        };
        // SAFETY: the C API requires `elem_type` to be valid for a write of the element type.
        unsafe { write(code, element) }?;
        // SAFETY: the C API requires `shape_data` to be valid for a write of a pointer, which is borrowed from `value`.
        unsafe { write(shape, sizes.as_ptr()) }?;
        // SAFETY: the C API requires `shape_data_count` to be valid for a write of the rank.
        unsafe { write(rank, sizes.len()) }
    })
}

pub(crate) unsafe extern "system" fn GetTensorMutableData(
    value: *mut OrtValue,
    out: *mut *mut c_void,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `value`.
        unsafe { write(out, pointer(value.0.tensor()?)?.cast()) }
    })
}

#[cfg(not(any(ort_release = "10", ort_release = "11")))]
pub(crate) unsafe extern "system" fn GetTensorData(
    value: *const OrtValue,
    out: *mut *const c_void,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `value`.
        unsafe { write(out, pointer(value.0.tensor()?)?.cast_const().cast()) }
    })
}

#[cfg(not(any(ort_release = "10", ort_release = "11")))]
pub(crate) unsafe extern "system" fn GetTensorSizeInBytes(
    value: *const OrtValue,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `ort_value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `size` to be valid for a write of the number of bytes.
        unsafe { write(out, value.0.tensor()?.length()?) }
    })
}

pub(crate) unsafe extern "system" fn TensorAt(
    value: *mut OrtValue,
    location: *const i64,
    rank: usize,
    out: *mut *mut c_void,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `location_values` to have `location_values_count` elements.
        let location = unsafe { array(location, rank, "location_values") }?;
        let tensor = value.0.tensor()?;
        let index = index(location, &tensor.shape)?;
        let first = pointer(tensor)?;
        // SAFETY: `index` checked the location against the shape, so the element is within the tensor's memory.
        let element = unsafe { first.add(index * width(tensor.element)?) };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `value`.
        unsafe { write(out, element.cast()) }
    })
}

/// Returns the row-major index of a location.
fn index(location: &[i64], shape: &[i64]) -> Result<usize, Failure> {
    let (places, sizes) = (sizes(location)?, sizes(shape)?);
    let inside = places.len() == sizes.len() && places.iter().zip(&sizes).all(|(place, size)| place < size);
    if !inside {
        return Err(Failure::argument(format!(
            "the location {location:?} is out of bounds for shape {shape:?}"
        )));
    }
    Ok(places.iter().zip(&sizes).fold(0, |index, (place, size)| index * size + place))
}

pub(crate) unsafe extern "system" fn GetTensorMemoryInfo(
    value: *const OrtValue,
    out: *mut *const OrtMemoryInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        if value.0.code().is_none() {
            return Err(Failure::argument("the value is not a tensor"));
        }
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which is borrowed from `value`; this
        // one is static.
        unsafe { write(out, CPU.as_raw()) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_outside_of_the_tensor_is_an_error() {
        assert_eq!(index(&[1, 2], &[2, 3]).unwrap(), 5);
        assert_eq!(index(&[], &[]).unwrap(), 0);
        for location in [&[2, 0][..], &[0, 3], &[-1, 0], &[0]] {
            assert!(index(location, &[2, 3]).is_err(), "{location:?}");
        }
    }
}
