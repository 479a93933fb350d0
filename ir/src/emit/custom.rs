//! Calls of functions that the caller binds to operators.

use proc_macro2::Literal;
use quote::format_ident;

use super::{Emit, host_element, rust_type};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::graph::ValueId;
use crate::rust::{Code, code};
use crate::types::{Placement, TensorType, Type};

/// Expected type and sizes of a function's result.
pub struct Expected {
    /// Its type.
    pub ty: Code,
    /// Dtype and sizes that are checked at run time.
    pub value: Code,
}

impl Emit<'_, '_> {
    /// Returns an input as an argument of a function: its type and value.
    pub fn argument(&mut self, input: usize) -> Result<(Code, Code), Problem> {
        let ty = rust_type(self.ty(input)?, self.node.placement);
        let value = match self.node.placement {
            Placement::Host => self.value(input)?,
            Placement::Device => self.tensor(input)?,
        };
        Ok((ty, value))
    }

    /// Returns the type of an argument with the type of `like`.
    pub fn argument_type(&self, like: Option<ValueId>) -> Result<Code, Problem> {
        let ty = like.and_then(|id| self.source.cx.values[id].ty.as_ref());
        let ty = ty.ok_or_else(|| Problem::defect("the type of an argument is unknown"))?;
        Ok(rust_type(ty, self.node.placement))
    }

    /// Returns the expected type and sizes of an output.
    pub fn expected(&mut self, output: usize, dtype: DType, rank: usize) -> Expected {
        let id = self.node.output(output);
        let tensor = id.and_then(|id| self.source.cx.values[id].ty.as_ref()?.as_tensor());
        let shape = tensor.map_or_else(|| vec![Dim::any(); rank], |tensor| tensor.shape.clone());
        let host = self.on_host() || dtype == DType::String;
        let sizes = shape.iter().map(|dim| self.expected_size(id, dim));
        let mut sizes: Vec<Code> = sizes.collect();
        if host {
            let element = host_element(dtype);
            return Expected { ty: code!(Array<#element>), value: code!(vec![#(#sizes),*]) };
        }
        if sizes.is_empty() {
            sizes.push(code!(1));
        }
        let ty = Type::Tensor(TensorType::new(dtype, shape));
        let sizes = code!([#(#sizes),*]);
        Expected {
            ty: rust_type(&ty, Placement::Device),
            value: match dtype.kind() {
                ElementClass::Bool => sizes,
                _ => {
                    let carrier = format_ident!("{}", dtype.carrier());
                    code!((DType::#carrier, #sizes))
                }
            },
        }
    }

    /// Returns an expected size of an output, `ANY` if the output itself determines it.
    fn expected_size(&mut self, output: Option<ValueId>, dim: &Dim) -> Code {
        let first = dim.symbols().into_iter().any(|symbol| {
            let origin = self.source.cx.origins.get(&symbol);
            origin.is_none() || origin.copied() == output
        });
        match (first, dim.fixed()) {
            (true, _) => code!(custom::ANY),
            (false, Some(size)) => {
                let size = Literal::usize_unsuffixed(size);
                code!(#size)
            }
            (false, None) => self.size(dim),
        }
    }

    /// Returns the call of an operator's function.
    pub fn call(
        &mut self,
        kind: &str,
        parameters: &[Code],
        results: &[Code],
        arguments: &[Code],
    ) -> Result<Code, Problem> {
        let result = match results {
            [only] => only.clone(),
            _ => code!((#(#results),*)),
        };
        let ty = code!(fn(#(#parameters),*) -> #result);
        let constant = self.source.cx.functions.constant(kind, ty)?;
        let constant = format_ident!("{constant}");
        Ok(code!(#constant(#(#arguments),*)))
    }
}
