//! Functions on sequences and maps.

use std::ffi::c_int;
use std::sync::Arc;

use ort_sys::{ONNXType, OrtAllocator, OrtStatusPtr, OrtValue};

use crate::handle::{array, borrow, give, write};
use crate::status::{Failure, guard};
use crate::value::{Stored, ValueHandle};

pub(crate) unsafe extern "system" fn CreateValue(
    values: *const *const OrtValue,
    length: usize,
    kind: ONNXType,
    out: *mut *mut OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `in` to have `num_values` elements.
        let values = unsafe { array(values, length, "in") }?;
        let share = |value: &*const OrtValue| {
            // SAFETY: the C API requires each element of `in` to be a value that this API returned, not released.
            let value: &ValueHandle = unsafe { borrow(*value) }?;
            Ok(Arc::clone(&value.0))
        };
        let values = values.iter().map(share).collect::<Result<Vec<_>, Failure>>()?;
        let value = match kind {
            ONNXType::ONNX_TYPE_SEQUENCE => sequence(values)?,
            ONNXType::ONNX_TYPE_MAP => map(values)?,
            _ => return Err(Failure::argument("only sequences and maps are made of values")),
        };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, ValueHandle(Arc::new(value))) }
    })
}

/// Creates a sequence. Its items share the memory of the values: memory of the caller must outlive the sequence.
fn sequence(items: Vec<Arc<Stored>>) -> Result<Stored, Failure> {
    let first = items.first().ok_or_else(|| Failure::argument("a sequence needs at least one value"))?;
    let kind = |value: &Stored| (value.type_info().onnx_type(), value.code());
    if let Some(other) = items.iter().find(|item| kind(item) != kind(first)) {
        let (first, other) = (first.type_info(), other.type_info());
        return Err(Failure::argument(format!("a sequence of {first:?} and {other:?}")));
    }
    let item = first.type_info();
    Ok(Stored::Sequence { item, items })
}

/// Creates a map of keys and values. It shares their memory: memory of the caller must outlive the map.
fn map(values: Vec<Arc<Stored>>) -> Result<Stored, Failure> {
    let Ok([keys, values]) = <[Arc<Stored>; 2]>::try_from(values) else {
        return Err(Failure::argument("a map is made of one tensor of keys and one of values"));
    };
    match (keys.shape(), values.shape()) {
        (Some([length]), Some([other])) if length == other => Ok(Stored::Map { keys, values }),
        (keys, values) => {
            Err(Failure::argument(format!("a map of keys of shape {keys:?} and values of shape {values:?}")))
        }
    }
}

pub(crate) unsafe extern "system" fn GetValueCount(value: *const OrtValue, out: *mut usize) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let count = match &*value.0 {
            Stored::Sequence { items, .. } => items.len(),
            Stored::Map { .. } => 2,
            _ => return Err(Failure::argument("the value is not a sequence or map")),
        };
        // SAFETY: the C API requires `out` to be valid for a write of the number.
        unsafe { write(out, count) }
    })
}

pub(crate) unsafe extern "system" fn GetValue(
    value: *const OrtValue,
    index: c_int,
    _: *mut OrtAllocator,
    out: *mut *mut OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let index =
            usize::try_from(index).map_err(|_| Failure::argument(format!("index {index} is negative")))?;
        let item = match (&*value.0, index) {
            (Stored::Sequence { items, .. }, _) => items.get(index),
            (Stored::Map { keys, .. }, 0) => Some(keys),
            (Stored::Map { values, .. }, 1) => Some(values),
            (Stored::Map { .. }, _) => None,
            _ => return Err(Failure::argument("the value is not a sequence or map")),
        };
        let item = item.ok_or_else(|| Failure::argument(format!("index {index} is out of bounds")))?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, ValueHandle(Arc::clone(item))) }
    })
}
