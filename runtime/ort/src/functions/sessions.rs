//! Functions that create sessions and describe them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use onnx_embed::Port;
use ort_sys::{
    OrtAllocator, OrtEnv, OrtPrepackedWeightsContainer, OrtSession, OrtSessionOptions, OrtStatusPtr,
    OrtTypeInfo,
};

use crate::handle::{array, borrow, check_place, give, path, release, write};
use crate::memory::copy_text;
use crate::options::{Environment, SessionOptions};
use crate::os_char;
use crate::session::{Session, SessionHandle};
use crate::status::{Failure, guard};

pub(crate) unsafe extern "system" fn CreateSession(
    env: *const OrtEnv,
    file: *const os_char,
    options: *const OrtSessionOptions,
    out: *mut *mut OrtSession,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `env` to be of this API and not released.
        let env: &Environment = unsafe { borrow(env) }?;
        // SAFETY: the C API requires `model_path` to be a null-terminated string.
        let file = unsafe { path(file, "model_path") }?;
        // SAFETY: the C API allows `options` to be null, otherwise they must be of this API and not released.
        let options = unsafe { given_or_default(options) };
        let session = match &options {
            Ok(given) => Session::of_file(&file, env, given),
            Err(default) => Session::of_file(&file, env, default),
        }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, SessionHandle(Arc::new(session))) }
    })
}

pub(crate) unsafe extern "system" fn CreateSessionFromArray(
    env: *const OrtEnv,
    bytes: *const c_void,
    length: usize,
    options: *const OrtSessionOptions,
    out: *mut *mut OrtSession,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `env` to be of this API and not released.
        let env: &Environment = unsafe { borrow(env) }?;
        // SAFETY: the C API requires `model_data` to have `model_data_length` bytes. They are not used after this call.
        let bytes = unsafe { array(bytes.cast::<u8>(), length, "model_data") }?;
        // SAFETY: the C API allows `options` to be null, otherwise they must be of this API and not released.
        let options = unsafe { given_or_default(options) };
        let session = match &options {
            Ok(given) => Session::of_bytes(bytes, env, given),
            Err(default) => Session::of_bytes(bytes, env, default),
        }?;
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, SessionHandle(Arc::new(session))) }
    })
}

/// Returns the options of the caller, or default ones as the error.
///
/// # Safety
///
/// `options` must be null or of this API and not released during `'a`.
unsafe fn given_or_default<'a>(
    options: *const OrtSessionOptions,
) -> Result<&'a SessionOptions, Box<SessionOptions>> {
    // SAFETY: the caller guarantees that the options are null or not released.
    unsafe { borrow(options) }.map_err(|_| Box::default())
}

/// Creates a session without the container: packed weights are not shared between sessions.
pub(crate) unsafe extern "system" fn CreateSessionWithPrepackedWeightsContainer(
    env: *const OrtEnv,
    file: *const os_char,
    options: *const OrtSessionOptions,
    _: *mut OrtPrepackedWeightsContainer,
    out: *mut *mut OrtSession,
) -> OrtStatusPtr {
    // SAFETY: the C API has the same requirements for these arguments of both functions.
    unsafe { CreateSession(env, file, options, out) }
}

/// Creates a session without the container: packed weights are not shared between sessions.
pub(crate) unsafe extern "system" fn CreateSessionFromArrayWithPrepackedWeightsContainer(
    env: *const OrtEnv,
    bytes: *const c_void,
    length: usize,
    options: *const OrtSessionOptions,
    _: *mut OrtPrepackedWeightsContainer,
    out: *mut *mut OrtSession,
) -> OrtStatusPtr {
    // SAFETY: the C API has the same requirements for these arguments of both functions.
    unsafe { CreateSessionFromArray(env, bytes, length, options, out) }
}

pub(crate) unsafe extern "system" fn ReleaseSession(session: *mut OrtSession) {
    // SAFETY: the C API requires `input` to be null or a session of this API, and the caller gives it up. Asynchronous
    // runs and bindings share the session and keep it.
    unsafe { release::<SessionHandle>(session) }
}

pub(crate) unsafe extern "system" fn SessionGetInputCount(
    session: *const OrtSession,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the number.
        unsafe { write(out, session.0.inputs.len()) }
    })
}

pub(crate) unsafe extern "system" fn SessionGetOutputCount(
    session: *const OrtSession,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session) }?;
        // SAFETY: the C API requires `out` to be valid for a write of the number.
        unsafe { write(out, session.0.outputs.len()) }
    })
}

/// Returns 0: initializers that are also inputs are constants of the code.
pub(crate) unsafe extern "system" fn SessionGetOverridableInitializerCount(
    _: *const OrtSession,
    out: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `out` to be valid for a write of the number.
        unsafe { write(out, 0) }
    })
}

/// Returns the input or output at `index`.
fn port(ports: &[Port], index: usize) -> Result<&Port, Failure> {
    ports
        .get(index)
        .ok_or_else(|| Failure::argument(format!("index {index} is out of bounds for {}", ports.len())))
}

pub(crate) unsafe extern "system" fn SessionGetInputName(
    session: *const OrtSession,
    index: usize,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session) }?;
        let name = port(&session.0.inputs, index)?.name;
        check_place(out)?;
        // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
        let name = unsafe { copy_text(allocator, name) }?;
        // SAFETY: the C API requires `value` to be valid for a write of the string, which the caller frees.
        unsafe { write(out, name) }
    })
}

pub(crate) unsafe extern "system" fn SessionGetOutputName(
    session: *const OrtSession,
    index: usize,
    allocator: *mut OrtAllocator,
    out: *mut *mut c_char,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session) }?;
        let name = port(&session.0.outputs, index)?.name;
        check_place(out)?;
        // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
        let name = unsafe { copy_text(allocator, name) }?;
        // SAFETY: the C API requires `value` to be valid for a write of the string, which the caller frees.
        unsafe { write(out, name) }
    })
}

pub(crate) unsafe extern "system" fn SessionGetInputTypeInfo(
    session: *const OrtSession,
    index: usize,
    out: *mut *mut OrtTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session) }?;
        let info = session.0.type_of(port(&session.0.inputs, index)?)?;
        // SAFETY: the C API requires `type_info` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, info) }
    })
}

pub(crate) unsafe extern "system" fn SessionGetOutputTypeInfo(
    session: *const OrtSession,
    index: usize,
    out: *mut *mut OrtTypeInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session) }?;
        let info = session.0.type_of(port(&session.0.outputs, index)?)?;
        // SAFETY: the C API requires `type_info` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, info) }
    })
}

/// Accepts options of execution providers, of which there are none.
pub(crate) unsafe extern "system" fn SetEpDynamicOptions(
    session: *mut OrtSession,
    _: *const *const c_char,
    _: *const *const c_char,
    _: usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `sess` to be of this API and not released.
        let _: &SessionHandle = unsafe { borrow(session.cast_const()) }?;
        Ok(())
    })
}
