//! Conversion of values between types of sequences, optionals and tensors.

use proc_macro2::Literal;

use super::{Emit, Source, host_element, rust_type, variable};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::graph::ValueId;
use crate::rust::{Code, code};
use crate::types::{Placement, TensorType, Type};

impl Emit<'_, '_> {
    /// Returns an input converted to a type. `placement` applies to tensors.
    pub fn input_as(&mut self, input: usize, placement: Placement, ty: &Type) -> Result<Code, Problem> {
        let id = self.required(input)?;
        self.source.value_as(id, placement, ty)
    }

    /// Returns an input as an item of this type.
    pub fn item(&mut self, input: usize, item: &Type) -> Result<Code, Problem> {
        self.input_as(input, Placement::Device, item)
    }

    /// Returns the type of the items of an input.
    pub fn items(&self, input: usize) -> Result<&Type, Problem> {
        let ty = self.ty(input)?;
        ty.item()
            .ok_or_else(|| Problem::expected(format_args!("input {input}"), ty, "a sequence or an optional"))
    }

    /// Returns the type of the items of an output.
    pub fn output_items(&self, output: usize) -> Result<&Type, Problem> {
        let ty = self.output_type(output)?;
        ty.item().ok_or_else(|| {
            Problem::expected(format_args!("output {output}"), ty, "a sequence or an optional")
        })
    }
}

impl Source<'_, '_> {
    /// Returns a value that is not a tensor on the device.
    pub(super) fn whole(&self, id: ValueId) -> Code {
        let value = &self.cx.values[id];
        let item = value.ty.as_ref().and_then(Type::item);
        let item = item.map(|item| rust_type(item, Placement::Device));
        match (&value.ty, item) {
            (Some(Type::Sequence(_)), Some(item)) if value.is_nothing() => {
                code!(Vec::<#item>::new())
            }
            (Some(Type::Optional(_)), Some(item)) if value.is_nothing() => code!(None::<#item>),
            _ => {
                let name = variable(id);
                code!(#name)
            }
        }
    }

    /// Returns a value converted to a type. `placement` applies to tensors.
    pub(super) fn value_as(&mut self, id: ValueId, placement: Placement, ty: &Type) -> Result<Code, Problem> {
        let values = self.cx.values;
        match (&values[id].ty, ty) {
            (Some(Type::Tensor(tensor)), Type::Tensor(wanted)) => {
                let host = placement == Placement::Host || tensor.dtype == DType::String;
                let (value, placement) = if host {
                    (self.host_value(id)?, Placement::Host)
                } else {
                    (self.device_value(id)?, Placement::Device)
                };
                Ok(of_rank(value, placement, tensor, wanted))
            }
            (Some(Type::Tensor(_)), Type::Unranked(_)) => self.host_value(id),
            (Some(Type::Tensor(_)), Type::Optional(item)) => {
                let value = self.value_as(id, Placement::Device, item)?;
                Ok(code!(Some(#value)))
            }
            (Some(from), to) => Ok(converted(self.whole(id), from, to)),
            (None, _) => Err(Problem::defect(format!("value `{}` has no type", values[id].name))),
        }
    }
}

/// Returns a tensor, reshaped if it has one element and another rank is required.
pub fn of_rank(value: Code, placement: Placement, from: &TensorType, to: &TensorType) -> Code {
    let same = match placement {
        Placement::Host => from.rank() == to.rank(),
        Placement::Device => from.burn_rank() == to.burn_rank(),
    };
    if same || from.count() != Some(1) || to.count() != Some(1) {
        return value;
    }
    let rank = match placement {
        Placement::Host => to.rank(),
        Placement::Device => to.burn_rank(),
    };
    let ones = (0..rank).map(|_| code!(1));
    match placement {
        Placement::Host => code!(host::reshape(&#value, &[#(#ones),*], false)),
        Placement::Device => code!(#value.reshape([#(#ones),*])),
    }
}

/// Converts a value from one type to another. Tensors inside are on the device.
pub fn converted(value: Code, from: &Type, to: &Type) -> Code {
    let rust = |ty: &Type| rust_type(ty, Placement::Device);
    if rust(from) == rust(to) {
        return value;
    }
    let inner = |from: &Type, to: &Type| converted(code!(item), from, to);
    match (from, to) {
        (Type::Sequence(from), Type::Sequence(item)) if matches!(**from, Type::Nothing(_)) => {
            let item = rust(item);
            code!(Vec::<#item>::new())
        }
        (Type::Optional(from), Type::Optional(item)) if matches!(**from, Type::Nothing(_)) => {
            let item = rust(item);
            code!(None::<#item>)
        }
        (Type::Nothing(_), _) => code!(unreachable!("what is empty has no items")),
        (Type::Tensor(tensor), Type::Unranked(_)) => {
            let (element, rank) = (host_element(tensor.dtype), Literal::usize_unsuffixed(tensor.rank()));
            code!(host::to_host::<#element, _, _>(#value, #rank))
        }
        (Type::Sequence(from), Type::Sequence(to)) => {
            let item = inner(from, to);
            code!(#value.into_iter().map(|item| #item).collect::<Vec<_>>())
        }
        (Type::Optional(from), Type::Optional(to)) => {
            let item = inner(from, to);
            code!(#value.map(|item| #item))
        }
        (from, Type::Optional(to)) => {
            let value = converted(value, from, to);
            code!(Some(#value))
        }
        (Type::Optional(from), to) => {
            let value = code!(#value.expect("no iteration of the loop returned a value"));
            converted(value, from, to)
        }
        _ => value,
    }
}
