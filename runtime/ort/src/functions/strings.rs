//! Functions on tensors of strings.

use std::ffi::{c_char, c_void};

use ort_sys::{OrtStatusPtr, OrtValue};

use crate::handle::{array, array_mut, borrow, locked, text, write};
use crate::status::{Failure, guard};
use crate::value::ValueHandle;

pub(crate) unsafe extern "system" fn FillStringTensor(
    value: *mut OrtValue,
    texts: *const *const c_char,
    length: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `s` to have `s_len` elements.
        let texts = unsafe { array(texts, length, "s") }?;
        let copy = |one: &*const c_char| {
            // SAFETY: the C API requires each element of `s` to be a null-terminated string.
            Ok(unsafe { text(*one, "a string of the tensor") }?.to_owned())
        };
        let texts = texts.iter().map(copy).collect::<Result<Vec<_>, Failure>>()?;
        let mut data = locked(&value.0.strings()?.data);
        if texts.len() != data.len() {
            return Err(Failure::argument(format!("{} strings for a tensor of {}", texts.len(), data.len())));
        }
        *data = texts;
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn FillStringTensorElement(
    value: *mut OrtValue,
    one: *const c_char,
    index: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `s` to be a null-terminated string.
        let one = unsafe { text(one, "s") }?.to_owned();
        let mut data = locked(&value.0.strings()?.data);
        let length = data.len();
        *data.get_mut(index).ok_or_else(|| out_of_bounds(index, length))? = one;
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn GetStringTensorDataLength(
    value: *const OrtValue,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let total = locked(&value.0.strings()?.data).iter().map(String::len).sum();
        // SAFETY: the C API requires `len` to be valid for a write of the number of bytes.
        unsafe { write(out, total) }
    })
}

pub(crate) unsafe extern "system" fn GetStringTensorContent(
    value: *const OrtValue,
    bytes: *mut c_void,
    length: usize,
    offsets: *mut usize,
    count: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        // SAFETY: the C API requires `s` to have `s_len` bytes for the strings, which no other thread uses.
        let bytes = unsafe { array_mut(bytes.cast::<u8>(), length, "s") }?;
        // SAFETY: the C API requires `offsets` to have `offsets_len` elements, which no other thread uses.
        let offsets = unsafe { array_mut(offsets, count, "offsets") }?;
        let data = locked(&value.0.strings()?.data);
        if offsets.len() != data.len() {
            return Err(Failure::argument(format!("{count} offsets for {} strings", data.len())));
        }
        let mut at = 0;
        for (offset, one) in offsets.iter_mut().zip(data.iter()) {
            *offset = at;
            let end = at + one.len();
            let to = bytes.get_mut(at..end);
            to.ok_or_else(|| Failure::argument(format!("{length} bytes for longer strings")))?
                .copy_from_slice(one.as_bytes());
            at = end;
        }
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn GetStringTensorElementLength(
    value: *const OrtValue,
    index: usize,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let data = locked(&value.0.strings()?.data);
        let one = data.get(index).ok_or_else(|| out_of_bounds(index, data.len()))?;
        // SAFETY: the C API requires `out` to be valid for a write of the number of bytes.
        unsafe { write(out, one.len()) }
    })
}

pub(crate) unsafe extern "system" fn GetStringTensorElement(
    value: *const OrtValue,
    length: usize,
    index: usize,
    bytes: *mut c_void,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `value` to be one that this API returned and that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let data = locked(&value.0.strings()?.data);
        let one = data.get(index).ok_or_else(|| out_of_bounds(index, data.len()))?;
        // SAFETY: the C API requires `s` to have `s_len` bytes for the string, which no other thread uses.
        let bytes = unsafe { array_mut(bytes.cast::<u8>(), length, "s") }?;
        let to = bytes.get_mut(..one.len());
        to.ok_or_else(|| Failure::argument(format!("{length} bytes for a string of {}", one.len())))?
            .copy_from_slice(one.as_bytes());
        Ok(())
    })
}

fn out_of_bounds(index: usize, length: usize) -> Failure {
    Failure::argument(format!("index {index} is out of bounds for {length} strings"))
}
