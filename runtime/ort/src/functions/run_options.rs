//! Functions on options of runs.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ort_sys::{OrtRunOptions, OrtStatusPtr};

use crate::handle::{borrow, c_string, give, locked, release, text, write};
use crate::options::{RunOptions, RunSettings};
use crate::status::guard;

pub(crate) unsafe extern "system" fn CreateRunOptions(out: *mut *mut OrtRunOptions) -> OrtStatusPtr {
    guard(|| {
        let options = RunOptions(Arc::new(RunSettings::default()));
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, options) }
    })
}

pub(crate) unsafe extern "system" fn ReleaseRunOptions(options: *mut OrtRunOptions) {
    // SAFETY: the C API requires `input` to be null or of `CreateRunOptions`, and the caller gives it up.
    unsafe { release::<RunOptions>(options) }
}

pub(crate) unsafe extern "system" fn RunOptionsSetTerminate(options: *mut OrtRunOptions) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released. The flag is atomic, as
        // other threads may use the options.
        let options: &RunOptions = unsafe { borrow(options) }?;
        options.0.terminated.store(true, Ordering::Release);
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn RunOptionsUnsetTerminate(options: *mut OrtRunOptions) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released. The flag is atomic, as
        // other threads may use the options.
        let options: &RunOptions = unsafe { borrow(options) }?;
        options.0.terminated.store(false, Ordering::Release);
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn RunOptionsSetRunTag(
    options: *mut OrtRunOptions,
    tag: *const c_char,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released.
        let options: &RunOptions = unsafe { borrow(options) }?;
        // SAFETY: the C API requires `run_tag` to be a null-terminated string.
        let tag = c_string(unsafe { text(tag, "run_tag") }?);
        *locked(&options.0.tag) = tag;
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn RunOptionsGetRunTag(
    options: *const OrtRunOptions,
    out: *mut *const c_char,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released.
        let options: &RunOptions = unsafe { borrow(options) }?;
        let tag = locked(&options.0.tag).as_ptr();
        // SAFETY: the C API requires `run_tag` to be valid for a write of the pointer, which is borrowed from `options`
        // until the tag is set again.
        unsafe { write(out, tag) }
    })
}

pub(crate) unsafe extern "system" fn RunOptionsSetRunLogSeverityLevel(
    options: *mut OrtRunOptions,
    level: c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released.
        let options: &RunOptions = unsafe { borrow(options) }?;
        options.0.severity.store(level, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn RunOptionsGetRunLogSeverityLevel(
    options: *const OrtRunOptions,
    out: *mut c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released.
        let options: &RunOptions = unsafe { borrow(options) }?;
        // SAFETY: the C API requires `log_severity_level` to be valid for a write of the level.
        unsafe { write(out, options.0.severity.load(Ordering::Relaxed)) }
    })
}

pub(crate) unsafe extern "system" fn RunOptionsSetRunLogVerbosityLevel(
    options: *mut OrtRunOptions,
    level: c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released.
        let options: &RunOptions = unsafe { borrow(options) }?;
        options.0.verbosity.store(level, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn RunOptionsGetRunLogVerbosityLevel(
    options: *const OrtRunOptions,
    out: *mut c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released.
        let options: &RunOptions = unsafe { borrow(options) }?;
        // SAFETY: the C API requires `log_verbosity_level` to be valid for a write of the level.
        unsafe { write(out, options.0.verbosity.load(Ordering::Relaxed)) }
    })
}

/// Accepts an entry, which has no effect: all of them are for execution providers.
pub(crate) unsafe extern "system" fn AddRunConfigEntry(
    options: *mut OrtRunOptions,
    key: *const c_char,
    value: *const c_char,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `options` to be of `CreateRunOptions` and not released.
        let _: &RunOptions = unsafe { borrow(options) }?;
        // SAFETY: the C API requires `config_key` to be a null-terminated string.
        unsafe { text(key, "config_key") }?;
        // SAFETY: the C API requires `config_value` to be a null-terminated string.
        unsafe { text(value, "config_value") }?;
        Ok(())
    })
}
