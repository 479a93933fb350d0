//! The main graph and its typed inputs.

use super::Reader;
use super::scope::Scope;
use crate::diagnostics::Problem;
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::graph::{Block, ValueId};
use crate::options::{Options, Size};
use crate::proto::{DimensionValue, GraphProto, TensorType, TypeProto, TypeValue, ValueInfoProto};
use crate::types::{Shape, Type};

impl Reader<'_> {
    /// The graph that the model computes, its inputs typed.
    pub(super) fn main(
        &mut self,
        graph: &GraphProto,
        scope: &mut Scope,
        options: &Options,
    ) -> Block {
        let mut block = Block::default();
        self.check(graph, options);
        self.initializers(graph, scope);
        for input in &graph.input {
            // An input with an initializer is a constant that the exporter also listed.
            if scope.value(&input.name).is_some() {
                continue;
            }
            let id = self.define(&input.name, scope);
            block.inputs.push(id);
            match self.input_type(input, options) {
                Ok(ty) => self.values[id].ty = Some(ty),
                Err(problem) => self.diagnostics.push(problem),
            }
        }
        self.nodes(&graph.node, scope, &mut block);
        block.outputs = self.outputs(graph, scope);
        self.name_outputs(graph, &block.outputs);
        block
    }

    /// Outputs that are also inputs, constants or listed twice keep the name that the graph gives.
    fn name_outputs(&mut self, graph: &GraphProto, outputs: &[ValueId]) {
        self.facts.outputs = graph
            .output
            .iter()
            .zip(outputs)
            .map(|(output, _)| output.name.clone())
            .collect();
    }

    fn input_type(&mut self, input: &ValueInfoProto, options: &Options) -> Result<Type, Problem> {
        let name = &input.name;
        let ty = input.r#type.as_ref().ok_or_else(|| {
            Problem::new(format!("input `{name}` has no type"))
                .help("the file is inconsistent; export the model again")
        })?;
        match self.read_type(name, ty, options, 0)? {
            Type::Tensor(tensor) if !tensor.fits() => {
                let message = format!("input `{name}` is {tensor}, which fits into no memory");
                Err(Problem::new(message).help("the file is inconsistent; export the model again"))
            }
            ty => Ok(ty),
        }
    }

    fn read_type(
        &mut self,
        name: &str,
        ty: &TypeProto,
        options: &Options,
        depth: usize,
    ) -> Result<Type, Problem> {
        let unknown = || Problem::new(format!("input `{name}` has a type that is not known"));
        let inner = |ty: &Option<Box<TypeProto>>| ty.clone().ok_or_else(unknown);
        if depth > 8 {
            return Err(unknown());
        }
        match ty.value.as_ref().ok_or_else(unknown)? {
            TypeValue::Tensor(tensor) => {
                let dtype = DType::from_onnx(tensor.elem_type).ok_or_else(unknown)?;
                if let Some(sizes) = options.inputs.get(name) {
                    fits(name, tensor, sizes)?;
                    let dim = |size: &Size| match size {
                        Size::Fixed(size) => Dim::from(*size),
                        Size::Named(name) => self.named(name, options),
                    };
                    return Ok(Type::tensor(dtype, sizes.iter().map(dim).collect()));
                }
                let shape = tensor.shape.as_ref().ok_or_else(|| {
                    Problem::new(format!("input `{name}` has no rank in the file")).help(format!(
                        "give its shape with `#[onnx(inputs({name}: [batch, 3]))]`, \
                         names for sizes that vary"
                    ))
                })?;
                let dims = shape.dim.iter().enumerate();
                let dims: Shape = dims
                    .map(|(axis, dim)| match &dim.value {
                        Some(DimensionValue::Value(size)) if *size >= 0 => Dim::from(*size),
                        Some(DimensionValue::Name(size)) if is_name(size) => {
                            self.named(size, options)
                        }
                        _ => {
                            let fresh = self.names.fresh(&format!("{name}_{axis}"));
                            match fresh.name().and_then(|name| options.dims.get(&**name)) {
                                Some(size) => Dim::from(*size),
                                None => fresh,
                            }
                        }
                    })
                    .collect();
                Ok(Type::tensor(dtype, dims))
            }
            TypeValue::Sequence(held) => {
                let item = self.read_type(name, &*inner(&held.elem_type)?, options, depth + 1)?;
                Ok(Type::Sequence(Box::new(item)))
            }
            TypeValue::Optional(held) => {
                let item = self.read_type(name, &*inner(&held.elem_type)?, options, depth + 1)?;
                Ok(Type::Optional(Box::new(item)))
            }
            TypeValue::Map(held) => {
                let key = DType::from_onnx(held.key_type).ok_or_else(unknown)?;
                let item = self.read_type(name, &*inner(&held.value_type)?, options, depth + 1)?;
                Ok(Type::Map(key, Box::new(item)))
            }
            TypeValue::SparseTensor(_) | TypeValue::Opaque(_) => Err(Problem::new(format!(
                "input `{name}` is sparse or opaque, which no Rust type carries"
            ))
            .help("make the input a dense tensor")),
        }
    }

    fn named(&mut self, name: &str, options: &Options) -> Dim {
        if let Some(size) = options.dims.get(name) {
            return Dim::from(*size);
        }
        let symbol = Symbol::from(name);
        self.names.reserve(&symbol);
        Dim::named(symbol)
    }
}

/// Whether a shape that the caller gives has the rank that the file says.
fn fits(name: &str, tensor: &TensorType, sizes: &[Size]) -> Result<(), Problem> {
    let (given, found) = (
        sizes.len(),
        tensor.shape.as_ref().map(|shape| shape.dim.len()),
    );
    match found.filter(|&found| found != given) {
        None => Ok(()),
        Some(found) => Err(Problem::new(format!(
            "input `{name}` has rank {found} in the file, not {given}"
        ))
        .help("`inputs(..)` gives sizes that the file leaves open; one size for each axis")
        .choice(name)),
    }
}

/// Whether the file means a name; `?` and the empty name mean any size.
pub(super) fn is_name(name: &str) -> bool {
    !matches!(name.trim(), "" | "?" | "-1" | "None")
}
