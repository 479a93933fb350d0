//! Calls that use the memory of the call before.

use alloc::borrow::ToOwned;
use core::mem;

use onnx_embed_kernels::threads;
use onnx_embed_memory::Memory;

use crate::warm_up::zeros;
use crate::{Array, Element, Error, OnnxModel, Value, Values};

/// Calls of a model with inputs of the same sizes, on one thread, that use the memory of the call before.
///
/// If the program's global allocator is [`SessionAllocator`](crate::SessionAllocator), a session on a CPU allocates nothing
/// from its third call on, takes no lock and touches no new page, so that code with deadlines can call it: the callback of an
/// audio device, a control loop. With another allocator it computes the same.
///
/// ```
/// use onnx_embed::{Error, OnnxModel, SessionAllocator, Values};
///
/// #[global_allocator]
/// static ALLOCATOR: SessionAllocator = SessionAllocator::new();
///
/// fn listen(model: &impl OnnxModel, blocks: &[[f32; 512]]) -> Result<(), Error> {
///     let mut session = model.session(&[])?;
///     let mut outputs = Values::new();
///     let mut speech = [0.0f32];
///     for block in blocks {
///         session.set("samples", block)?;
///         session.run_into(&mut outputs)?;
///         outputs["speech"].copy_to(&mut speech)?;
///     }
///     Ok(())
/// }
/// # fn main() {}
/// ```
///
/// The session computes on the thread that calls it, without other threads. It may move to another thread between calls.
/// Its memory is as large as the values that one call has at the same time, and is freed with the session.
///
/// A call still allocates if its results have other sizes than those of earlier calls, as may be with operators such as
/// `NonZero`; if it starts threads; and at its first error.
#[derive(Debug)]
pub struct Session<'m, M> {
    model: &'m M,
    inputs: Values,
    memory: Memory,
}

impl<'m, M: OnnxModel> Session<'m, M> {
    pub(crate) fn new(model: &'m M, sizes: &[(&str, usize)]) -> Result<Self, Error> {
        let mut memory = Memory::new();
        let inputs = memory.within(|| zeros(&M::SIGNATURE, sizes))?;
        Ok(Self { model, inputs, memory })
    }

    /// Sets the elements of an input, in row-major order, for this and later calls. Its sizes stay as they are.
    ///
    /// # Errors
    ///
    /// If the model has no such input, or if it has elements of another type or another number of them.
    pub fn set<T: Element>(&mut self, name: &str, elements: &[T]) -> Result<(), Error> {
        let inputs = M::SIGNATURE.inputs;
        let Some(value) = self.inputs.get(name) else {
            return Err(Error::UnexpectedInput { name: name.to_owned(), inputs });
        };
        let sizes = value.shape().unwrap_or_default();
        if value.element_type() != Some(T::TYPE) || sizes.iter().product::<usize>() != elements.len() {
            return Err(value.mismatch(T::TYPE, elements.len()));
        }
        let array = self.memory.within(|| Array::new(sizes, elements.to_vec()));
        self.memory.within(|| self.inputs.insert(name, array));
        Ok(())
    }

    /// Sets an input of any kind, and of any sizes that the model allows, for this and later calls.
    ///
    /// # Errors
    ///
    /// If the model has no such input.
    pub fn set_value(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
        let inputs = M::SIGNATURE.inputs;
        if !inputs.iter().any(|port| port.name == name) {
            return Err(Error::UnexpectedInput { name: name.to_owned(), inputs });
        }
        self.inputs.insert(name, value);
        Ok(())
    }

    /// Computes the outputs, and replaces the values of `outputs` by them.
    ///
    /// The memory of the replaced values is used by the next call, so pass the same `outputs` again.
    ///
    /// # Errors
    ///
    /// As [`OnnxModel::run`]. The values of `outputs` are then gone.
    pub fn run_into(&mut self, outputs: &mut Values) -> Result<(), Error> {
        self.memory.within(|| {
            drop(mem::take(outputs));
            *outputs = threads::with(1, || self.model.run(self.inputs.clone()))?;
            Ok(())
        })
    }
}
