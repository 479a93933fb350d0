//! Calls of functions that the caller binds to operators.

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

/// Functions that the caller binds to operators.
#[derive(Debug, Default)]
pub struct Functions {
    paths: BTreeMap<String, Code>,
    names: Unique,
    /// Names of the constants that contain them, by operator and type.
    by_type: HashMap<(String, Code), String>,
    items: Code,
}

/// Expected type and sizes of a function's result.
pub struct Expected {
    /// Its type.
    pub ty: Code,
    /// Dtype and sizes that are checked at run time.
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

    /// Returns the constants that contain the functions with their types. rustc reports other types there.
    pub fn items(&self) -> &Code {
        &self.items
    }

    /// Returns the constant that contains the function of an operator.
    fn constant(&mut self, kind: &str, ty: Code) -> Result<String, Problem> {
        let path = self.paths.get(kind).cloned();
        let path = path.ok_or_else(|| Problem::new("no function computes the operator"))?;
        let key = (kind.to_owned(), ty);
        if let Some(name) = self.by_type.get(&key) {
            return Ok(name.clone());
        }
        let mut wanted = name::snake(name::operator(kind)).to_uppercase();
        // Names of variables have no capitals. A constant needs one, so that they differ.
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
    /// Returns an input as an argument of a function: its type and value.
    pub fn argument(&mut self, input: usize) -> Result<(Code, Code), Problem> {
        let ty = rust_type(self.ty(input)?, self.node.place);
        let value = match self.node.place {
            Place::Host => self.value(input)?,
            Place::Device => self.tensor(input)?,
        };
        Ok((ty, value))
    }

    /// Returns the type of an argument with the type of `like`.
    pub fn argument_type(&self, like: Option<ValueId>) -> Result<Code, Problem> {
        let ty = like.and_then(|id| self.source.cx.values[id].ty.as_ref());
        let ty = ty.ok_or_else(|| Problem::new("the type of an argument is not known"))?;
        Ok(rust_type(ty, self.node.place))
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
