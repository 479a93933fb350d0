//! Functions on options of sessions.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ort_sys::{
    ExecutionMode, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy, OrtLoggingFunction,
    OrtSessionOptions, OrtStatusPtr, OrtValue,
};

use crate::handle::{array, array_mut, borrow, c_string, give, locked, path, release, text, write};
use crate::options::{SessionOptions, Settings};
use crate::os_char;
use crate::status::{Failure, guard};

pub(crate) unsafe extern "system" fn CreateSessionOptions(out: *mut *mut OrtSessionOptions) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, SessionOptions::default()) }
    })
}

pub(crate) unsafe extern "system" fn CloneSessionOptions(
    options: *const OrtSessionOptions,
    out: *mut *mut OrtSessionOptions,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `in_options` to be of this API and not released.
        let options: &SessionOptions = unsafe { borrow(options) }?;
        let copy = SessionOptions { settings: options.snapshot().into(), ..SessionOptions::default() };
        // SAFETY: the C API requires `out_options` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, copy) }
    })
}

pub(crate) unsafe extern "system" fn ReleaseSessionOptions(options: *mut OrtSessionOptions) {
    // SAFETY: the C API requires `input` to be null or options of this API, and the caller gives them up.
    unsafe { release::<SessionOptions>(options) }
}

/// Changes the settings of a session.
///
/// # Safety
///
/// `options` must be null or of this API and not released.
unsafe fn change(
    options: *mut OrtSessionOptions,
    change: impl FnOnce(&mut Settings) -> Result<(), Failure>,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the caller guarantees that the options are null or not released.
        let options: &SessionOptions = unsafe { borrow(options) }?;
        change(&mut locked(&options.settings))
    })
}

/// Returns a number of threads, 0 for the default.
pub(crate) fn threads(count: c_int) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|_| Failure::argument(format!("{count} threads")))
}

pub(crate) unsafe extern "system" fn SetIntraOpNumThreads(
    options: *mut OrtSessionOptions,
    count: c_int,
) -> OrtStatusPtr {
    let set = |settings: &mut Settings| {
        settings.threads = threads(count)?;
        Ok(())
    };
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, set) }
}

/// Accepts a number: this backend runs one node after another.
pub(crate) unsafe extern "system" fn SetInterOpNumThreads(
    options: *mut OrtSessionOptions,
    count: c_int,
) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| threads(count).map(drop)) }
}

pub(crate) unsafe extern "system" fn DisablePerSessionThreads(
    options: *mut OrtSessionOptions,
) -> OrtStatusPtr {
    let set = |settings: &mut Settings| {
        settings.shared_threads = true;
        Ok(())
    };
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, set) }
}

pub(crate) unsafe extern "system" fn AddFreeDimensionOverrideByName(
    options: *mut OrtSessionOptions,
    name: *const c_char,
    size: i64,
) -> OrtStatusPtr {
    let set = |settings: &mut Settings| {
        // SAFETY: the C API requires `dim_name` to be a null-terminated string.
        let name = unsafe { text(name, "dim_name") }?;
        settings.set_size(name, size)
    };
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, set) }
}

pub(crate) unsafe extern "system" fn AddFreeDimensionOverride(
    _: *mut OrtSessionOptions,
    _: *const c_char,
    _: i64,
) -> OrtStatusPtr {
    guard(|| {
        let message =
            "compiled models do not contain denotations of dimensions: override the dimension by its name";
        Err(Failure::unsupported(message))
    })
}

pub(crate) unsafe extern "system" fn AddExternalInitializersFromFilesInMemory(
    options: *mut OrtSessionOptions,
    names: *const *const os_char,
    buffers: *const *mut c_char,
    lengths: *const usize,
    count: usize,
) -> OrtStatusPtr {
    let add = |settings: &mut Settings| {
        // SAFETY: the C API requires the array of names to have `num_external_initializer_files` elements.
        let names = unsafe { array(names, count, "external_initializer_file_names") }?;
        // SAFETY: the C API requires the array of buffers to have `num_external_initializer_files` elements.
        let buffers = unsafe { array(buffers, count, "external_initializer_file_buffer_array") }?;
        // SAFETY: the C API requires the array of lengths to have `num_external_initializer_files` elements.
        let lengths = unsafe { array(lengths, count, "external_initializer_file_lengths") }?;
        for ((name, buffer), length) in names.iter().zip(buffers).zip(lengths) {
            // SAFETY: the C API requires each name to be a null-terminated string.
            let name = unsafe { path(*name, "the name of a file") }?;
            // SAFETY: the C API requires each buffer to have the bytes that its length says.
            let bytes = unsafe { array(buffer.cast::<u8>().cast_const(), *length, "a file in memory") }?;
            settings.files.retain(|(known, _)| *known != name);
            settings.files.push((name, Arc::from(bytes)));
        }
        Ok(())
    };
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, add) }
}

pub(crate) unsafe extern "system" fn AddExternalInitializers(
    _: *mut OrtSessionOptions,
    _: *const *const c_char,
    _: *const *const OrtValue,
    _: usize,
) -> OrtStatusPtr {
    guard(|| {
        let message =
            "values of single initializers cannot be replaced: add the external data files in memory";
        Err(Failure::unsupported(message))
    })
}

pub(crate) unsafe extern "system" fn AddInitializer(
    _: *mut OrtSessionOptions,
    _: *const c_char,
    _: *const OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        let message = "values of single initializers cannot be replaced: load a model file with these values";
        Err(Failure::unsupported(message))
    })
}

pub(crate) unsafe extern "system" fn AddSessionConfigEntry(
    options: *mut OrtSessionOptions,
    key: *const c_char,
    value: *const c_char,
) -> OrtStatusPtr {
    let set = |settings: &mut Settings| {
        // SAFETY: the C API requires `config_key` to be a null-terminated string.
        let key = unsafe { text(key, "config_key") }?;
        // SAFETY: the C API requires `config_value` to be a null-terminated string.
        let value = unsafe { text(value, "config_value") }?;
        settings.set_entry(key, c_string(value));
        Ok(())
    };
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, set) }
}

pub(crate) unsafe extern "system" fn HasSessionConfigEntry(
    options: *const OrtSessionOptions,
    key: *const c_char,
    out: *mut c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of this API and not released.
        let options: &SessionOptions = unsafe { borrow(options) }?;
        // SAFETY: the C API requires `config_key` to be a null-terminated string.
        let key = unsafe { text(key, "config_key") }?;
        let is_set = locked(&options.settings).entry(key).is_some();
        // SAFETY: the C API requires `out` to be valid for a write of the answer.
        unsafe { write(out, c_int::from(is_set)) }
    })
}

pub(crate) unsafe extern "system" fn GetSessionConfigEntry(
    options: *const OrtSessionOptions,
    key: *const c_char,
    value: *mut c_char,
    size: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of this API and not released.
        let options: &SessionOptions = unsafe { borrow(options) }?;
        // SAFETY: the C API requires `config_key` to be a null-terminated string.
        let key = unsafe { text(key, "config_key") }?;
        // SAFETY: the C API requires `size` to be null or a number that this thread alone uses.
        let size = unsafe { size.as_mut() }.ok_or_else(|| Failure::argument("size is null"))?;
        let settings = locked(&options.settings);
        let entry = settings.entry(key).ok_or_else(|| Failure::argument(format!("no entry `{key}`")))?;
        let bytes = entry.as_bytes_with_nul();
        let room = std::mem::replace(size, bytes.len());
        if value.is_null() {
            return Ok(());
        }
        if room < bytes.len() {
            return Err(Failure::argument(format!("the entry has {} bytes, there are {room}", bytes.len())));
        }
        // SAFETY: the C API requires `config_value` to have the bytes that `size` says, which are enough.
        unsafe { array_mut(value.cast::<u8>(), bytes.len(), "config_value") }?.copy_from_slice(bytes);
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn SessionOptionsSetLoadCancellationFlag(
    options: *mut OrtSessionOptions,
    cancel: bool,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of this API and not released. The flag is atomic, as another thread
        // may load a session with these options.
        let options: &SessionOptions = unsafe { borrow(options) }?;
        options.cancelled.store(cancel, Ordering::Release);
        Ok(())
    })
}

/// Accepts a switch that has no effect here: memory patterns, arenas.
pub(crate) unsafe extern "system" fn AcceptSwitch(options: *mut OrtSessionOptions) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| Ok(())) }
}

/// Accepts a mode: this backend runs one node after another.
pub(crate) unsafe extern "system" fn SetSessionExecutionMode(
    options: *mut OrtSessionOptions,
    _: ExecutionMode,
) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| Ok(())) }
}

/// Accepts a level: models were optimized when they were compiled.
pub(crate) unsafe extern "system" fn SetSessionGraphOptimizationLevel(
    options: *mut OrtSessionOptions,
    _: GraphOptimizationLevel,
) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| Ok(())) }
}

/// Accepts the choice: on a CPU, runs with the same number of threads have the same results.
pub(crate) unsafe extern "system" fn SetDeterministicCompute(
    options: *mut OrtSessionOptions,
    _: bool,
) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| Ok(())) }
}

/// Accepts a name: this backend has no log.
pub(crate) unsafe extern "system" fn SetSessionLogId(
    options: *mut OrtSessionOptions,
    name: *const c_char,
) -> OrtStatusPtr {
    let check = |_: &mut Settings| {
        // SAFETY: the C API requires `logid` to be a null-terminated string.
        unsafe { text(name, "logid") }.map(drop)
    };
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, check) }
}

/// Accepts a level: this backend has no log.
pub(crate) unsafe extern "system" fn AcceptLogLevel(
    options: *mut OrtSessionOptions,
    _: c_int,
) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| Ok(())) }
}

/// Accepts a logger, which is not called: this backend has no log, and all it reports is in statuses.
pub(crate) unsafe extern "system" fn SetUserLoggingFunction(
    options: *mut OrtSessionOptions,
    _: OrtLoggingFunction,
    _: *mut c_void,
) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| Ok(())) }
}

/// Accepts a policy: the only device is the one that the model is registered on.
pub(crate) unsafe extern "system" fn SessionOptionsSetEpSelectionPolicy(
    options: *mut OrtSessionOptions,
    _: OrtExecutionProviderDevicePolicy,
) -> OrtStatusPtr {
    // SAFETY: the C API requires `options` to be of this API and not released.
    unsafe { change(options, |_| Ok(())) }
}
