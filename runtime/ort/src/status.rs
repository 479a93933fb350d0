//! Errors as statuses of the C API.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use onnx_embed::Error;
use ort_sys::{OrtErrorCode, OrtStatus, OrtStatusPtr};
use std::ffi::c_char;

use crate::handle::text;
use crate::stub::Error as Status;

/// Error of a function of the C API: a code and a message.
#[derive(Debug)]
pub(crate) struct Failure {
    code: OrtErrorCode,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: OrtErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Returns the error of an argument that a caller must not pass.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(OrtErrorCode::ORT_INVALID_ARGUMENT, message)
    }

    /// Returns the error of a function of ONNX Runtime that this backend lacks.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(OrtErrorCode::ORT_NOT_IMPLEMENTED, message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Converts the failure to a status, which the caller of the C API owns.
    pub(crate) fn into_status(self) -> OrtStatusPtr {
        // The message becomes a C string, which cannot contain NUL.
        Status::new_sys(self.code, self.message.replace('\0', "\u{fffd}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::MissingInput { .. }
            | Error::UnexpectedInput { .. }
            | Error::WrongKind { .. }
            | Error::WrongType { .. }
            | Error::WrongShape { .. }
            | Error::InputTooLarge { .. }
            | Error::UnequalSizes { .. } => OrtErrorCode::ORT_INVALID_ARGUMENT,
            Error::Run { .. } | Error::Panic { .. } => OrtErrorCode::ORT_RUNTIME_EXCEPTION,
            _ => OrtErrorCode::ORT_FAIL,
        };
        Self::new(code, error.to_string())
    }
}

/// Calls the body of a function of the C API and returns its status. A panic becomes a status, too.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Failure>) -> OrtStatusPtr {
    match caught(body) {
        Ok(()) => OrtStatusPtr::default(),
        Err(failure) => failure.into_status(),
    }
}

/// Calls a function and returns its panic, if any, as a failure.
///
/// Unwind safety: all state that functions share is behind locks whose poison is ignored, see [`crate::handle::locked`],
/// or is changed by one assignment.
pub(crate) fn caught<T>(body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(panic) => {
            let message = format!("panic in onnx-embed: {}", panic_text(&*panic));
            // The payload is any type of the program, whose destructor could panic again.
            std::mem::forget(panic);
            Err(Failure::new(OrtErrorCode::ORT_RUNTIME_EXCEPTION, message))
        }
    }
}

/// Calls the body of a function of the C API that has no status. A panic ends there.
pub(crate) fn guard_unit(body: impl FnOnce()) {
    // Nothing can be reported: these functions return nothing.
    drop(caught(|| {
        body();
        Ok(())
    }));
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no text",
    }
}

pub(crate) unsafe extern "system" fn CreateStatus(
    code: OrtErrorCode,
    message: *const c_char,
) -> OrtStatusPtr {
    let message = caught(|| {
        // SAFETY: the C API requires `msg` to be a null-terminated string; `text` checks for null and copies nothing
        // that outlives this call.
        let message = unsafe { text(message, "msg") }?;
        Ok(message.to_owned())
    });
    Failure::new(code, message.unwrap_or_else(|failure| failure.message)).into_status()
}

pub(crate) unsafe extern "system" fn GetErrorCode(status: *const OrtStatus) -> OrtErrorCode {
    if status.is_null() {
        return OrtErrorCode::ORT_OK;
    }
    // SAFETY: every status of this API is a `stub::Error`, made by `Failure::into_status` or by a function of the stub,
    // and the caller has not released it.
    unsafe { Status::cast_from_sys(status) }.code
}

pub(crate) unsafe extern "system" fn GetErrorMessage(status: *const OrtStatus) -> *const c_char {
    if status.is_null() {
        return c"".as_ptr();
    }
    // SAFETY: every status of this API is a `stub::Error`, made by `Failure::into_status` or by a function of the stub.
    // The message lives until the caller releases the status, as the C API says.
    unsafe { Status::cast_from_sys(status) }.message_ptr()
}

pub(crate) unsafe extern "system" fn ReleaseStatus(status: *mut OrtStatus) {
    if !status.is_null() {
        // SAFETY: the status is a `stub::Error` in a box, made by `Failure::into_status` or by a function of the stub,
        // and the C API allows to release it once.
        drop(unsafe { Status::consume_sys(status) });
    }
}
