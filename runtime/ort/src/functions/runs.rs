//! Functions that run models.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;
use std::thread;

use ort_sys::{OrtErrorCode, OrtRunOptions, OrtSession, OrtStatusPtr, OrtValue, RunAsyncCallbackFn};

use crate::handle::{Handle, array, array_mut, borrow, locked, text};
use crate::options::{RunOptions, RunSettings};
use crate::session::{Request, Session, SessionHandle};
use crate::status::{Failure, caught, guard};
use crate::value::{Stored, ValueHandle};

pub(crate) unsafe extern "system" fn Run(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    input_names: *const *const c_char,
    inputs: *const *const OrtValue,
    input_count: usize,
    output_names: *const *const c_char,
    output_count: usize,
    outputs: *mut *mut OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session.cast_const()) }?;
        // SAFETY: the C API requires `run_options` to be null or of this API and not released.
        let options = unsafe { run_options(options) };
        // SAFETY: the C API requires the arrays of names and inputs to have `input_len` elements, that of output names
        // `output_names_len`, and their elements to be strings and values of this API.
        let request =
            unsafe { request(&session.0, input_names, inputs, input_count, output_names, output_count) }?;
        let results = session.0.run(request, options.as_deref())?;
        // SAFETY: the C API requires `outputs` to have `output_names_len` elements that this thread alone uses, each null
        // or a value of this API, which nothing else uses during the run.
        unsafe { store(outputs, results) }
    })
}

/// Returns the options of a run, if any.
///
/// # Safety
///
/// `options` must be null or of this API and not released.
pub(crate) unsafe fn run_options(options: *const OrtRunOptions) -> Option<Arc<RunSettings>> {
    // SAFETY: the caller guarantees that the options are null or not released.
    let options: Result<&RunOptions, _> = unsafe { borrow(options) };
    options.ok().map(|options| Arc::clone(&options.0))
}

/// Copies the inputs of a run.
///
/// # Safety
///
/// `input_names` and `inputs` must be null or have `input_count` elements, `output_names` `output_count`. Names must be
/// null or null-terminated strings, inputs null or values of this API that are not released.
unsafe fn request(
    session: &Session,
    input_names: *const *const c_char,
    inputs: *const *const OrtValue,
    input_count: usize,
    output_names: *const *const c_char,
    output_count: usize,
) -> Result<Request, Failure> {
    // SAFETY: the caller guarantees that there are as many input names.
    let input_names = unsafe { names(input_names, input_count, "input_names") }?;
    // SAFETY: the caller guarantees that there are as many output names.
    let output_names = unsafe { names(output_names, output_count, "output_names") }?;
    // SAFETY: the caller guarantees that there are as many inputs.
    let inputs = unsafe { array(inputs, input_count, "inputs") }?;
    let content = |value: &*const OrtValue| {
        // SAFETY: the caller guarantees that each input is null or a value that is not released.
        let value: &ValueHandle = unsafe { borrow(*value) }?;
        Ok(&*value.0)
    };
    let inputs = inputs.iter().map(content).collect::<Result<Vec<&Stored>, Failure>>()?;
    session.request(&input_names, &inputs, &output_names)
}

/// Returns an array of names.
///
/// # Safety
///
/// `names` must be null or have `count` elements, which are null or null-terminated strings that live for `'a`.
unsafe fn names<'a>(names: *const *const c_char, count: usize, name: &str) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: the caller guarantees that there are as many names.
    let names = unsafe { array(names, count, name) }?;
    let one = |one: &*const c_char| {
        // SAFETY: the caller guarantees that each name is null or a null-terminated string.
        unsafe { text(*one, name) }
    };
    names.iter().map(one).collect()
}

/// Stores results: in values that the caller gives, or as new values. Nothing is stored if one does not fit.
///
/// # Safety
///
/// `outputs` must be null or have as many elements as there are results, which only this call accesses. Each must be null
/// or a value of this API that nothing else accesses during the call.
unsafe fn store(outputs: *mut *mut OrtValue, results: Vec<Stored>) -> Result<(), Failure> {
    // SAFETY: the caller guarantees that there are as many outputs.
    let outputs = unsafe { array_mut(outputs, results.len(), "outputs") }?;
    let given = |output: &*mut OrtValue| {
        // SAFETY: the caller guarantees that each output is null or a value that is not released.
        let value: Result<&ValueHandle, _> = unsafe { borrow(output.cast_const()) };
        value.ok().map(|value| Arc::clone(&value.0))
    };
    let given: Vec<Option<Arc<Stored>>> = outputs.iter().map(given).collect();
    for (given, result) in given.iter().zip(&results) {
        given.as_ref().map_or(Ok(()), |given| check_fit(given, result))?;
    }
    for ((output, given), result) in outputs.iter_mut().zip(given).zip(results) {
        match given {
            Some(given) => fill(&given, &result)?,
            None => *output = ValueHandle(Arc::new(result)).into_raw(),
        }
    }
    Ok(())
}

/// Checks that a result has the type and shape of the value that the caller gives for it.
fn check_fit(given: &Stored, result: &Stored) -> Result<(), Failure> {
    if result.code().is_none() {
        return Err(Failure::unsupported("only tensors can be stored in a given value"));
    }
    if given.code() != result.code() || given.shape() != result.shape() {
        let (given, result) = (given.type_info(), result.type_info());
        return Err(Failure::argument(format!("an output is {result:?}, the value for it is {given:?}")));
    }
    Ok(())
}

/// Copies a result to the value that the caller gives for it.
pub(crate) fn fill(given: &Stored, result: &Stored) -> Result<(), Failure> {
    check_fit(given, result)?;
    match (given, result) {
        (Stored::Tensor(to), Stored::Tensor(from)) => to.storage.write(0, &from.storage, from.length()?),
        _ => {
            let texts = locked(&result.strings()?.data).clone();
            *locked(&given.strings()?.data) = texts;
            Ok(())
        }
    }
}

/// What an asynchronous run reports to.
struct Receiver {
    outputs: *mut *mut OrtValue,
    count: usize,
    callback: RunAsyncCallbackFn,
    data: *mut c_void,
}

// SAFETY: the C API requires outputs and user data of `RunAsync` to be usable on the thread that calls back.
unsafe impl Send for Receiver {}

impl Receiver {
    /// Calls back.
    ///
    /// # Safety
    ///
    /// The pointers must be those of a call of `RunAsync` that has not called back yet.
    unsafe fn report(self, result: Result<Vec<Stored>, Failure>) {
        let stored = caught(|| {
            // SAFETY: the C API requires `output` to have as many elements as there are output names, each null or a value
            // of this API, and that only the run uses them until it calls back.
            result.and_then(|results| unsafe { store(self.outputs, results) })
        });
        let (outputs, count, status) = match stored {
            Ok(()) => (self.outputs, self.count, OrtStatusPtr::default()),
            Err(failure) => (ptr::null_mut(), 0, failure.into_status()),
        };
        if let Some(callback) = self.callback {
            // SAFETY: the C API requires the callback to be callable with the user data once, on any thread. The callback owns
            // the status.
            unsafe { callback(self.data, outputs, count, status) }
        }
    }
}

/// Runs the model on a thread of its own and calls back.
///
/// Inputs are copied before the function returns. All errors but those of arguments that no callback could report are
/// reported by the callback: `ort` frees what it keeps for the run only there.
pub(crate) unsafe extern "system" fn RunAsync(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    input_names: *const *const c_char,
    inputs: *const *const OrtValue,
    input_count: usize,
    output_names: *const *const c_char,
    output_count: usize,
    outputs: *mut *mut OrtValue,
    callback: RunAsyncCallbackFn,
    data: *mut c_void,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session.cast_const()) }?;
        let session = session.clone();
        if callback.is_none() {
            return Err(Failure::argument("run_async_callback is null"));
        }
        let receiver = Receiver { outputs, count: output_count, callback, data };
        // SAFETY: the C API requires `run_options` to be null or of this API and not released.
        let options = unsafe { run_options(options) };
        let request = caught(|| {
            // SAFETY: the C API requires the arrays of names and inputs to have `input_len` elements, that of output names
            // `output_names_len`, and their elements to be strings and values of this API.
            unsafe { request(&session.0, input_names, inputs, input_count, output_names, output_count) }
        });
        let run = move || {
            let results = caught(|| session.0.run(request?, options.as_deref()));
            drop(session);
            // A future that was dropped terminated the run. Its callback must not touch what the future borrowed, and does
            // not for an error.
            let results = results.and_then(|results| {
                options.as_deref().map_or(Ok(()), RunSettings::check)?;
                Ok(results)
            });
            // SAFETY: the pointers are those of this call, which calls back here alone.
            unsafe { receiver.report(results) }
        };
        let spawned = thread::Builder::new().name("onnx-embed-ort".into()).spawn(run);
        spawned
            .map(drop)
            .map_err(|error| Failure::new(OrtErrorCode::ORT_FAIL, format!("cannot start a thread: {error}")))
    })
}
