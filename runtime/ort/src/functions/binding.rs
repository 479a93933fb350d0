//! Functions on bindings of inputs and outputs.

use std::ffi::c_char;
use std::sync::{Arc, Mutex};

use onnx_embed::{Value, Values};
use ort_sys::{OrtAllocator, OrtIoBinding, OrtMemoryInfo, OrtRunOptions, OrtSession, OrtStatusPtr, OrtValue};

use crate::functions::runs::{fill, run_options};
use crate::handle::{Handle, borrow, check_place, give, locked, release, text, write};
use crate::memory::{MemoryInfo, copy_array};
use crate::session::SessionHandle;
use crate::status::{Failure, guard, guard_unit};
use crate::value::{Stored, ValueHandle};

/// Inputs and outputs of repeated runs of a session.
pub(crate) struct Binding {
    session: SessionHandle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Copies of the inputs, whose clones share memory.
    inputs: Vec<(String, Value)>,
    /// Outputs in the order in which they were bound.
    outputs: Vec<Output>,
}

/// A bound output.
struct Output {
    name: String,
    /// `true` if each run stores its result in `value`, otherwise a run replaces `value`.
    given: bool,
    value: Option<Arc<Stored>>,
}

impl Handle for Binding {
    type Raw = OrtIoBinding;
    const NAME: &'static str = "binding";
}

pub(crate) unsafe extern "system" fn CreateIoBinding(
    session: *mut OrtSession,
    out: *mut *mut OrtIoBinding,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session.cast_const()) }?;
        let binding = Binding { session: session.clone(), state: Mutex::default() };
        // SAFETY: the C API requires `out` to be valid for a write of the pointer, which the caller releases.
        unsafe { give(out, binding) }
    })
}

pub(crate) unsafe extern "system" fn ReleaseIoBinding(binding: *mut OrtIoBinding) {
    // SAFETY: the C API requires `input` to be null or of `CreateIoBinding`, and the caller gives it up.
    unsafe { release::<Binding>(binding) }
}

/// Copies the value: later changes have no effect until it is bound again, as `ort` documents.
pub(crate) unsafe extern "system" fn BindInput(
    binding: *mut OrtIoBinding,
    name: *const c_char,
    value: *const OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        let binding: &Binding = unsafe { borrow(binding.cast_const()) }?;
        // SAFETY: the C API requires `name` to be a null-terminated string.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the C API requires `val_ptr` to be a value of this API that is not released.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        let value = binding.session.0.input(name, &value.0)?;
        let shared = Values::new().with(name, value).shared().remove(name);
        let mut state = locked(&binding.state);
        state.inputs.retain(|(known, _)| known != name);
        state.inputs.extend(shared.map(|value| (name.to_owned(), value)));
        Ok(())
    })
}

pub(crate) unsafe extern "system" fn BindOutput(
    binding: *mut OrtIoBinding,
    name: *const c_char,
    value: *const OrtValue,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        let binding: &Binding = unsafe { borrow(binding.cast_const()) }?;
        // SAFETY: the C API requires `name` to be a null-terminated string.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the C API requires `val_ptr` to be a value of this API that is not released. The binding shares it;
        // memory of the caller must outlive the binding of this output.
        let value: &ValueHandle = unsafe { borrow(value) }?;
        binding.bind_output(Output { name: name.to_owned(), given: true, value: Some(Arc::clone(&value.0)) })
    })
}

pub(crate) unsafe extern "system" fn BindOutputToDevice(
    binding: *mut OrtIoBinding,
    name: *const c_char,
    info: *const OrtMemoryInfo,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        let binding: &Binding = unsafe { borrow(binding.cast_const()) }?;
        // SAFETY: the C API requires `name` to be a null-terminated string.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the C API requires `mem_info_ptr` to be of this API and not released.
        let info: &MemoryInfo = unsafe { borrow(info) }?;
        info.check_host()?;
        binding.bind_output(Output { name: name.to_owned(), given: false, value: None })
    })
}

impl Binding {
    /// Adds an output, or replaces the one of this name.
    fn bind_output(&self, output: Output) -> Result<(), Failure> {
        self.session.0.request_of(Values::new(), &[&output.name])?;
        let mut state = locked(&self.state);
        match state.outputs.iter_mut().find(|known| known.name == output.name) {
            Some(known) => *known = output,
            None => state.outputs.push(output),
        }
        Ok(())
    }
}

pub(crate) unsafe extern "system" fn RunWithBinding(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    binding: *const OrtIoBinding,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `session` to be of this API and not released.
        let session: &SessionHandle = unsafe { borrow(session.cast_const()) }?;
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        let binding: &Binding = unsafe { borrow(binding) }?;
        // SAFETY: the C API requires `run_options` to be null or of this API and not released.
        let options = unsafe { run_options(options) };
        if !Arc::ptr_eq(&session.0, &binding.session.0) {
            return Err(Failure::argument("the binding is of another session"));
        }
        // Locked during the run: runs with one binding exclude each other, as they write to the same outputs.
        let mut state = locked(&binding.state);
        let inputs = state.inputs.iter().cloned().collect::<Values>();
        let names: Vec<&str> = state.outputs.iter().map(|output| output.name.as_str()).collect();
        let request = session.0.request_of(inputs, &names)?;
        let results = session.0.run(request, options.as_deref())?;
        for (output, result) in state.outputs.iter_mut().zip(results) {
            match &output.value {
                Some(value) if output.given => fill(value, &result)?,
                _ => output.value = Some(Arc::new(result)),
            }
        }
        Ok(())
    })
}

/// Returns the outputs. Each is a handle of its own, which shares the content with the binding.
pub(crate) unsafe extern "system" fn GetBoundOutputValues(
    binding: *const OrtIoBinding,
    allocator: *mut OrtAllocator,
    out: *mut *mut *mut OrtValue,
    count: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        let binding: &Binding = unsafe { borrow(binding) }?;
        check_place(out)?;
        check_place(count)?;
        let mut values = Vec::new();
        for output in &locked(&binding.state).outputs {
            let missing =
                || Failure::argument(format!("output `{}` has no value before the first run", output.name));
            values.push(ValueHandle(Arc::clone(output.value.as_ref().ok_or_else(missing)?)));
        }
        let handles: Vec<*mut OrtValue> = values.into_iter().map(Handle::into_raw).collect();
        // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
        let array = unsafe { copy_array(allocator, &handles) }?;
        // SAFETY: the C API requires `output` to be valid for a write of the array, which the caller frees; it releases
        // the values, too.
        unsafe { write(out, array) }?;
        // SAFETY: the C API requires `output_count` to be valid for a write of the number.
        unsafe { write(count, handles.len()) }
    })
}

/// Returns the names of the outputs, one after another without terminators, and their lengths.
pub(crate) unsafe extern "system" fn GetBoundOutputNames(
    binding: *const OrtIoBinding,
    allocator: *mut OrtAllocator,
    names: *mut *mut c_char,
    lengths: *mut *mut usize,
    count: *mut usize,
) -> OrtStatusPtr {
    guard(|| {
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        let binding: &Binding = unsafe { borrow(binding) }?;
        check_place(names)?;
        check_place(lengths)?;
        check_place(count)?;
        let state = locked(&binding.state);
        let bytes: Vec<u8> = state.outputs.iter().flat_map(|output| output.name.bytes()).collect();
        let all: Vec<usize> = state.outputs.iter().map(|output| output.name.len()).collect();
        // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
        let text = unsafe { copy_array(allocator, &bytes) }?;
        // SAFETY: the C API requires `allocator` to be a valid allocator; null means the default allocator.
        let array = unsafe { copy_array(allocator, &all) }?;
        // SAFETY: the C API requires `buffer` to be valid for a write of the names, which the caller frees.
        unsafe { write(names, text.cast()) }?;
        // SAFETY: the C API requires `lengths` to be valid for a write of the array, which the caller frees.
        unsafe { write(lengths, array) }?;
        // SAFETY: the C API requires `count` to be valid for a write of the number.
        unsafe { write(count, all.len()) }
    })
}

pub(crate) unsafe extern "system" fn ClearBoundInputs(binding: *mut OrtIoBinding) {
    guard_unit(|| {
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        if let Ok(binding) = unsafe { borrow::<Binding>(binding.cast_const()) } {
            locked(&binding.state).inputs.clear();
        }
    });
}

pub(crate) unsafe extern "system" fn ClearBoundOutputs(binding: *mut OrtIoBinding) {
    guard_unit(|| {
        // SAFETY: the C API requires `binding_ptr` to be of `CreateIoBinding` and not released.
        if let Ok(binding) = unsafe { borrow::<Binding>(binding.cast_const()) } {
            locked(&binding.state).outputs.clear();
        }
    });
}

/// Does nothing: runs wait for their results.
pub(crate) unsafe extern "system" fn SynchronizeBinding(_: *mut OrtIoBinding) -> OrtStatusPtr {
    OrtStatusPtr::default()
}
