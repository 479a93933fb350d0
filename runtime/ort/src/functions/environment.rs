//! Functions on environments, thread pools and providers.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use ort_sys::{
    OrtEnv, OrtLoggingFunction, OrtLoggingLevel, OrtPrepackedWeightsContainer, OrtStatusPtr,
    OrtThreadingOptions,
};

use crate::functions::options::threads;
use crate::handle::{array, borrow, check_place, give, release, write};
use crate::memory::{copy_array, copy_text, default_allocator, free_by};
use crate::options::{Environment, PackedWeights, ThreadingOptions};
use crate::status::{Failure, guard};

pub(crate) unsafe extern "system" fn CreateEnv(
    _: OrtLoggingLevel,
    _: *const c_char,
    out: *mut *mut OrtEnv,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, Environment { threads: 0 }) }
    })
}

/// Creates an environment. The logger is not called: this backend has no log, and all it reports is in statuses.
pub(crate) unsafe extern "system" fn CreateEnvWithCustomLogger(
    _: OrtLoggingFunction,
    _: *mut c_void,
    _: OrtLoggingLevel,
    _: *const c_char,
    out: *mut *mut OrtEnv,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, Environment { threads: 0 }) }
    })
}

pub(crate) unsafe extern "system" fn CreateEnvWithGlobalThreadPools(
    _: OrtLoggingLevel,
    _: *const c_char,
    options: *const OrtThreadingOptions,
    out: *mut *mut OrtEnv,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `tp_options` to be of `CreateThreadingOptions` and not released.
        let options: &ThreadingOptions = unsafe { borrow(options) }?;
        let environment = Environment { threads: options.threads.load(Ordering::Relaxed) };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, environment) }
    })
}

pub(crate) unsafe extern "system" fn CreateEnvWithCustomLoggerAndGlobalThreadPools(
    _: OrtLoggingFunction,
    _: *mut c_void,
    level: OrtLoggingLevel,
    name: *const c_char,
    options: *const OrtThreadingOptions,
    out: *mut *mut OrtEnv,
) -> OrtStatusPtr {
    // SAFETY: the C API has the same requirements for these arguments of both functions.
    unsafe { CreateEnvWithGlobalThreadPools(level, name, options, out) }
}

pub(crate) unsafe extern "system" fn ReleaseEnv(env: *mut OrtEnv) {
    // SAFETY: the C API requires `input` to be null or an environment of this API, and the caller gives it up. Sessions
    // do not refer to it.
    unsafe { release::<Environment>(env) }
}

/// Accepts the call: this backend sends nothing.
pub(crate) unsafe extern "system" fn SwitchTelemetry(_: *const OrtEnv) -> OrtStatusPtr {
    OrtStatusPtr::default()
}

/// Accepts a level: this backend has no log.
pub(crate) unsafe extern "system" fn UpdateEnvWithCustomLogLevel(
    _: *mut OrtEnv,
    _: OrtLoggingLevel,
) -> OrtStatusPtr {
    OrtStatusPtr::default()
}

pub(crate) unsafe extern "system" fn CreateThreadingOptions(
    out: *mut *mut OrtThreadingOptions,
) -> OrtStatusPtr {
    guard(|| {
        let options = ThreadingOptions { threads: AtomicUsize::new(0) };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, options) }
    })
}

pub(crate) unsafe extern "system" fn ReleaseThreadingOptions(options: *mut OrtThreadingOptions) {
    // SAFETY: the C API requires `input` to be null or of `CreateThreadingOptions`, and the caller gives it up.
    unsafe { release::<ThreadingOptions>(options) }
}

pub(crate) unsafe extern "system" fn SetGlobalIntraOpNumThreads(
    options: *mut OrtThreadingOptions,
    count: c_int,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `tp_options` to be of `CreateThreadingOptions` and not released.
        let options: &ThreadingOptions = unsafe { borrow(options) }?;
        options.threads.store(threads(count)?, Ordering::Relaxed);
        Ok(())
    })
}

/// Accepts a number: this backend runs one node after another.
pub(crate) unsafe extern "system" fn SetGlobalInterOpNumThreads(
    _: *mut OrtThreadingOptions,
    count: c_int,
) -> OrtStatusPtr {
    guard(|| threads(count).map(drop))
}

/// Accepts the choice: threads of this backend do not spin for long.
pub(crate) unsafe extern "system" fn SetGlobalSpinControl(
    _: *mut OrtThreadingOptions,
    _: c_int,
) -> OrtStatusPtr {
    OrtStatusPtr::default()
}

pub(crate) unsafe extern "system" fn CreatePrepackedWeightsContainer(
    out: *mut *mut OrtPrepackedWeightsContainer,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, PackedWeights) }
    })
}

pub(crate) unsafe extern "system" fn ReleasePrepackedWeightsContainer(
    container: *mut OrtPrepackedWeightsContainer,
) {
    // SAFETY: the C API requires `input` to be null or of `CreatePrepackedWeightsContainer`, and the caller gives it up.
    unsafe { release::<PackedWeights>(container) }
}

pub(crate) unsafe extern "system" fn GetAvailableProviders(
    out: *mut *mut *mut c_char,
    count: *mut c_int,
) -> OrtStatusPtr {
    guard(|| {
        check_place(out)?;
        check_place(count)?;
        // SAFETY: the default allocator is valid.
        let name = unsafe { copy_text(default_allocator(), "CPUExecutionProvider") }?;
        // SAFETY: the default allocator is valid.
        let names = unsafe { copy_array(default_allocator(), &[name]) }?;
        // SAFETY: the C API requires `out_ptr` to be valid for a write of the array, which the caller releases by
        // `ReleaseAvailableProviders`.
        unsafe { write(out, names) }?;
        // SAFETY: the C API requires `provider_length` to be valid for a write of the number.
        unsafe { write(count, 1) }
    })
}

pub(crate) unsafe extern "system" fn ReleaseAvailableProviders(
    names: *mut *mut c_char,
    count: c_int,
) -> OrtStatusPtr {
    guard(|| {
        let count =
            usize::try_from(count).map_err(|_| Failure::argument("a negative number of providers"))?;
        // SAFETY: the C API requires `ptr` to be the array of `GetAvailableProviders`, of `providers_length` strings.
        for name in unsafe { array(names, count, "ptr") }? {
            // SAFETY: `GetAvailableProviders` made the string by the default allocator, and the caller gives it up.
            unsafe { free_by(default_allocator(), name.cast()) }?;
        }
        // SAFETY: `GetAvailableProviders` made the array by the default allocator, and the caller gives it up.
        unsafe { free_by(default_allocator(), names.cast()) }
    })
}

pub(crate) unsafe extern "system" fn GetBuildInfoString() -> *const c_char {
    c"ORT Build Info: backend=onnx-embed".as_ptr()
}
