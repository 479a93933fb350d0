//! Values that contain others, and their known items.

use super::Infer;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::graph::{Value, ValueId};
use crate::types::{TensorType, Type};

impl Infer<'_> {
    /// Returns the type of the items of a sequence.
    pub fn items(&self, input: usize) -> Result<Type, Problem> {
        match self.ty(input)? {
            Type::Sequence(item) => Ok((**item).clone()),
            other => Err(Problem::expected(format_args!("input {input}"), other, "a sequence")),
        }
    }

    /// Returns the values of a sequence or an optional, if they are known.
    pub fn parts(&self, input: usize) -> Option<Vec<ValueId>> {
        self.value(input)?.parts.clone()
    }

    /// Returns the input as a part of another value.
    pub fn part(&self, input: usize) -> Option<ValueId> {
        self.node.input(input)
    }

    /// Returns a value that is part of another.
    pub fn value_of(&self, id: ValueId) -> &Value {
        &self.values[id]
    }

    /// Returns the tensor types of the parts of an input, if all are tensors.
    pub fn tensors(&self, input: usize) -> Option<Vec<TensorType>> {
        let parts = self.value(input)?.parts.as_ref()?;
        let tensor = |id: &ValueId| self.values[*id].ty.as_ref()?.as_tensor().cloned();
        parts.iter().map(tensor).collect()
    }

    /// Sets the parts of an output.
    pub fn output_parts(&mut self, output: usize, parts: Option<Vec<ValueId>>) {
        if let Some(id) = self.node.output(output) {
            self.values[id].parts = parts;
        }
    }

    /// Makes an output a copy of another value.
    pub fn output_copy(&mut self, output: usize, from: ValueId) {
        if let Some(id) = self.node.output(output) {
            let value = self.values[from].clone();
            let slot = &mut self.values[id];
            (slot.ty, slot.known, slot.weight) = (value.ty, value.known, value.weight);
            (slot.parts, slot.copy_of) = (value.parts, Some(from));
        }
    }

    /// Adds a value that is a part of an output and not named in the file.
    pub fn new_part(&mut self, output: usize, number: usize, ty: Type) -> ValueId {
        let whole = self.node.output(output);
        let whole = whole.map_or("", |id| self.values[id].name.as_str());
        let name = format!("{whole}_{number}");
        self.values.push(Value { name, ty: Some(ty), ..Value::default() })
    }

    /// Returns the type of one item. Sizes that differ between items get new names.
    pub fn taken_out(&mut self, item: &Type, hint: &str) -> Type {
        match item {
            Type::Tensor(tensor) => {
                let size = |dim: &Dim| {
                    if dim.is_any() { self.fresh(hint) } else { dim.clone() }
                };
                Type::tensor(tensor.dtype, tensor.shape.iter().map(size).collect())
            }
            other => other.clone(),
        }
    }
}
