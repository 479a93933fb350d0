//! Checked access to what callers of the C API pass: handles, strings, arrays, places for results.

use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::os_char;
use crate::status::{Failure, guard_unit};

/// A Rust type behind an opaque pointer of the C API.
///
/// `ort` uses the same handles from several threads, hence `Send` and `Sync`.
pub(crate) trait Handle: Sized + Send + Sync {
    /// Opaque type of the C API.
    type Raw;

    /// Name for error messages.
    const NAME: &'static str;

    /// Moves the value to the heap and returns the pointer that callers own, until [`release`].
    fn into_raw(self) -> *mut Self::Raw {
        Box::into_raw(Box::new(self)).cast()
    }

    /// Returns a pointer that callers borrow.
    fn as_raw(&self) -> *const Self::Raw {
        std::ptr::from_ref(self).cast()
    }
}

/// Returns the value behind a handle.
///
/// # Errors
///
/// If `raw` is null.
///
/// # Safety
///
/// If `raw` is not null, [`Handle::into_raw`] or [`Handle::as_raw`] of `H` must have returned it, its value must live
/// for `'a`, and nothing may change it during `'a` except through locks, atomics and the like.
pub(crate) unsafe fn borrow<'a, H: Handle>(raw: *const H::Raw) -> Result<&'a H, Failure> {
    // SAFETY: the caller guarantees that a pointer that is not null is valid for `'a`.
    unsafe { raw.cast::<H>().as_ref() }.ok_or_else(|| Failure::argument(format!("{} is null", H::NAME)))
}

/// Returns the value behind a handle that no other thread uses.
///
/// # Errors
///
/// If `raw` is null.
///
/// # Safety
///
/// If `raw` is not null, [`Handle::into_raw`] of `H` must have returned it, its value must live for `'a`, and nothing
/// else may access it during `'a`.
pub(crate) unsafe fn borrow_mut<'a, H: Handle>(raw: *mut H::Raw) -> Result<&'a mut H, Failure> {
    // SAFETY: the caller guarantees that a pointer that is not null is valid for `'a`, and that it is the only one in
    // use.
    unsafe { raw.cast::<H>().as_mut() }.ok_or_else(|| Failure::argument(format!("{} is null", H::NAME)))
}

/// Drops the value behind a handle. Null is ignored.
///
/// # Safety
///
/// If `raw` is not null, [`Handle::into_raw`] of `H` must have returned it, and nothing may use it afterwards.
pub(crate) unsafe fn release<H: Handle>(raw: *mut H::Raw) {
    if !raw.is_null() {
        // SAFETY: the caller guarantees that `raw` is a box that `into_raw` leaked, and gives it up.
        let owned = unsafe { Box::from_raw(raw.cast::<H>()) };
        guard_unit(|| drop(owned));
    }
}

/// Writes a result to the place that the caller of the C API passes for it.
///
/// # Errors
///
/// If `out` is null.
///
/// # Safety
///
/// `out` must be null or valid for a write of a `T`.
pub(crate) unsafe fn write<T>(out: *mut T, value: T) -> Result<(), Failure> {
    check_place(out)?;
    // SAFETY: the caller guarantees that a pointer that is not null is valid for this write. What was there is plain
    // data of the C API, which needs no drop.
    unsafe { out.write(value) };
    Ok(())
}

/// Checks that the caller of the C API passes a place for a result, before the result is allocated.
///
/// # Errors
///
/// If `out` is null.
pub(crate) fn check_place<T>(out: *mut T) -> Result<(), Failure> {
    if out.is_null() { Err(Failure::argument("the pointer to the result is null")) } else { Ok(()) }
}

/// Gives a handle to the caller of the C API, who releases it.
///
/// # Errors
///
/// If `out` is null. The value is dropped.
///
/// # Safety
///
/// `out` must be null or valid for a write of a pointer.
pub(crate) unsafe fn give<H: Handle>(out: *mut *mut H::Raw, value: H) -> Result<(), Failure> {
    check_place(out)?;
    // SAFETY: the caller guarantees that a pointer that is not null is valid for this write.
    unsafe { write(out, value.into_raw()) }
}

/// Returns a string of the caller.
///
/// # Errors
///
/// If the pointer is null or the string is not UTF-8, as names in ONNX are.
///
/// # Safety
///
/// `pointer` must be null or a null-terminated string that lives and does not change for `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{name} is null")));
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is a null-terminated string.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::argument(format!("{name} is not UTF-8")))
}

/// Returns an array of the caller. The pointer of an array without elements is not used.
///
/// # Errors
///
/// If there are elements and the pointer is null or not aligned, or if the bytes exceed `isize::MAX`.
///
/// # Safety
///
/// If `length` is not 0, `pointer` must be null, or valid for reads of `length` values of `T`, which do not change for
/// `'a`.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    check_array(pointer, length, name)?;
    // SAFETY: the checks above exclude null, a wrong alignment and too many bytes; the caller guarantees that the
    // elements can be read for `'a`.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// Returns an array of the caller for results. The pointer of an array without elements is not used.
///
/// # Errors
///
/// As [`array`].
///
/// # Safety
///
/// If `length` is not 0, `pointer` must be null, or valid for reads and writes of `length` values of `T`, which nothing
/// else accesses for `'a`.
pub(crate) unsafe fn array_mut<'a, T>(
    pointer: *mut T,
    length: usize,
    name: &str,
) -> Result<&'a mut [T], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    check_array(pointer, length, name)?;
    // SAFETY: the checks above exclude null, a wrong alignment and too many bytes; the caller guarantees that the
    // elements can be read and written, and that nothing else accesses them for `'a`.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

fn check_array<T>(pointer: *const T, length: usize, name: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{name} is null")));
    }
    if !pointer.is_aligned() {
        return Err(Failure::argument(format!("{name} is not aligned")));
    }
    match length.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Failure::argument(format!("{name} has {length} elements, which is too many"))),
    }
}

/// Returns the bytes of a text as a C string. NUL, which a C string cannot contain, becomes U+FFFD.
pub(crate) fn c_string(text: &str) -> CString {
    match CString::new(text) {
        Ok(text) => text,
        Err(_) => CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default(),
    }
}

/// Returns the value of a lock, also after a panic: values are changed by single assignments.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a path of the caller.
///
/// # Errors
///
/// If the pointer is null.
///
/// # Safety
///
/// `pointer` must be null or a null-terminated string that does not change during the call.
#[cfg(not(windows))]
pub(crate) unsafe fn path(pointer: *const os_char, name: &str) -> Result<PathBuf, Failure> {
    use std::os::unix::ffi::OsStrExt;
    if pointer.is_null() {
        return Err(Failure::argument(format!("{name} is null")));
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is a null-terminated string.
    let path = unsafe { CStr::from_ptr(pointer) };
    Ok(std::ffi::OsStr::from_bytes(path.to_bytes()).into())
}

/// Returns a path of the caller, in UTF-16.
///
/// # Errors
///
/// If the pointer is null.
///
/// # Safety
///
/// `pointer` must be null or a null-terminated string that does not change during the call.
#[cfg(windows)]
pub(crate) unsafe fn path(pointer: *const os_char, name: &str) -> Result<PathBuf, Failure> {
    use std::os::windows::ffi::OsStringExt;
    if pointer.is_null() {
        return Err(Failure::argument(format!("{name} is null")));
    }
    let mut units = Vec::new();
    // SAFETY: the pointer is not null, and no unit before the terminating null is skipped.
    while let unit @ 1.. = unsafe { pointer.add(units.len()).read() } {
        units.push(unit);
    }
    Ok(std::ffi::OsString::from_wide(&units).into())
}
