//! Calls of functions of the caller's.

use std::collections::{BTreeMap, HashMap};

use proc_macro2::Literal;
use quote::format_ident;

use super::item::Item;
use super::name::{self, Unique};
use super::{Emit, host_element, rust_type};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, Kind};
use crate::graph::ValueId;
use crate::ops::elementwise::cast::carrier;
use crate::options::Options;
use crate::rust::{Code, code};
use crate::types::{Place, TensorType, Type};

/// The functions that the caller binds operators to.
#[derive(Debug, Default)]
pub struct Functions {
    paths: BTreeMap<String, Code>,
    names: Unique,
    /// The constants that hold them, by operator and type.
    by_type: HashMap<(String, Code), String>,
    items: Code,
}

/// What a result of a function is to be.
pub struct Expected {
    /// Its type.
    pub ty: Code,
    /// What is checked when the model runs.
    pub value: Code,
}

impl Functions {
    pub fn new(options: &Options, item: &Item) -> Self {
        let mut names = Unique::default();
        names.reserve("WEIGHTS");
        let paths = options.operators.iter();
        let paths = paths.map(|(kind, binding)| {
            let written = item.functions.get(kind).cloned();
            let path = written.unwrap_or_else(|| binding.function.parse().unwrap_or_default());
            (kind.clone(), Code::foreign(path))
        });
        Functions { paths: paths.collect(), names, ..Functions::default() }
    }

    /// The constants that hold the functions under their types, where rustc reports those of another type.
    pub fn items(&self) -> &Code {
        &self.items
    }

    /// The constant that holds the function of an operator.
    fn constant(&mut self, kind: &str, ty: Code) -> Result<String, Problem> {
        let path = self.paths.get(kind).cloned();
        let path = path.ok_or_else(|| Problem::new("no function computes the operator"))?;
        let key = (kind.to_owned(), ty);
        if let Some(name) = self.by_type.get(&key) {
            return Ok(name.clone());
        }
        let mut wanted = name::snake(name::operator(kind)).to_uppercase();
        // Variables have names without capitals, and none is that of a constant.
        if !wanted.contains(char::is_uppercase) {
            wanted.push_str("_FUNCTION");
        }
        let name = self.names.name(&wanted);
        let (ident, ty) = (format_ident!("{name}"), &key.1);
        self.items.extend(code!(const #ident: #ty = #path;));
        self.by_type.insert(key, name.clone());
        Ok(name)
    }
}

impl Emit<'_, '_> {
    /// An input as an argument of a function: its type and the value.
    pub fn argument(&mut self, input: usize) -> Result<(Code, Code), Problem> {
        let ty = rust_type(self.ty(input)?, self.node.place);
        let value = match self.node.place {
            Place::Host => self.value(input)?,
            Place::Device => self.tensor(input)?,
        };
        Ok((ty, value))
    }

    /// The type of an argument like this value.
    pub fn argument_type(&self, like: Option<ValueId>) -> Result<Code, Problem> {
        let ty = like.and_then(|id| self.source.cx.values[id].ty.as_ref());
        let ty = ty.ok_or_else(|| Problem::new("the type of an argument is not known"))?;
        Ok(rust_type(ty, self.node.place))
    }

    /// What an output is to be.
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
            ty: rust_type(&ty, Place::Device),
            value: match dtype.kind() {
                Kind::Bool => sizes,
                _ => {
                    let carrier = format_ident!("{}", carrier(dtype));
                    code!((DType::#carrier, #sizes))
                }
            },
        }
    }

    /// A size of an output; one that the output itself has first is known by it.
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

    /// The call of the function of an operator.
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
