//! The main graph: typed inputs, order of nodes, sparse constants.

use std::collections::BTreeMap;

use super::scope::Scope;
use super::{Files, Reader};
use crate::diagnostics::Problem;
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::graph::{Block, ValueId};
use crate::options::{Options, Size};
use crate::proto::{
    DimensionValue, GraphProto, NodeProto, SparseTensorProto, TypeProto, TypeValue, ValueInfoProto,
};
use crate::types::{Known, Shape, Type};

/// Sparse constants are made dense while compiling up to this many elements.
const LARGEST_SPARSE: usize = 1 << 16;

impl Reader<'_> {
    /// The graph that the model computes, its inputs typed.
    pub(super) fn main(
        &mut self,
        graph: &GraphProto,
        scope: &mut Scope,
        options: &Options,
    ) -> Block {
        let mut block = Block::default();
        self.check_options(graph, options);
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

    fn check_options(&mut self, graph: &GraphProto, options: &Options) {
        let names: Vec<&str> = graph
            .input
            .iter()
            .map(|input| input.name.as_str())
            .collect();
        for name in options.inputs.keys() {
            if !names.contains(&name.as_str()) {
                self.diagnostics.push(
                    Problem::new(format!("the model has no input `{name}`"))
                        .help(format!("its inputs are `{}`", names.join("`, `"))),
                );
            }
        }
        let sizes = graph.input.iter().flat_map(size_names);
        let sizes: std::collections::BTreeSet<String> = sizes.collect();
        for name in options.dims.keys() {
            if !sizes.contains(name) {
                let known: Vec<&str> = sizes.iter().map(String::as_str).collect();
                let help = match known.is_empty() {
                    true => "its inputs have no named sizes".to_owned(),
                    false => format!("its named sizes are `{}`", known.join("`, `")),
                };
                self.diagnostics
                    .push(Problem::new(format!("the model has no size `{name}`")).help(help));
            }
        }
    }

    fn input_type(&mut self, input: &ValueInfoProto, options: &Options) -> Result<Type, Problem> {
        let name = &input.name;
        let ty = input.r#type.as_ref().ok_or_else(|| {
            Problem::new(format!("input `{name}` has no type"))
                .help("the file is inconsistent; export the model again")
        })?;
        self.read_type(name, ty, options, 0)
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

    /// Nodes in an order in which values are made before they are used; old files need not be.
    pub(super) fn in_order<'n>(
        &mut self,
        nodes: &'n [NodeProto],
        scope: &Scope,
    ) -> Vec<&'n NodeProto> {
        let makers = makers(nodes);
        let mut waiting: Vec<usize> = Vec::new();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let mut count = 0usize;
            for name in reads(node, 0) {
                if let Some(&maker) = makers.get(name)
                    && maker != at
                    && let Some(users) = users.get_mut(maker)
                {
                    users.push(at);
                    count += 1;
                }
            }
            waiting.push(count);
        }
        let mut ready: std::collections::BTreeSet<usize> = waiting
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 0)
            .map(|(at, _)| at)
            .collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(at) = ready.pop_first() {
            order.extend(nodes.get(at));
            for &user in users.get(at).into_iter().flatten() {
                if let Some(count) = waiting.get_mut(user) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(user);
                    }
                }
            }
        }
        if order.len() < nodes.len() {
            self.diagnostics.push(
                Problem::new("the graph has a cycle: a node uses what is made from its own output")
                    .help("the file is inconsistent; export the model again"),
            );
        }
        let _ = scope;
        order
    }
}

impl Files {
    /// A sparse constant, made dense.
    pub fn sparse(&self, sparse: &SparseTensorProto) -> Result<(DType, Shape, Known), Problem> {
        let damaged = || Problem::new("a sparse constant is damaged, or has no values or indices");
        let values = self.weight(sparse.values.as_ref().ok_or_else(damaged)?)?;
        let indices = self.weight(sparse.indices.as_ref().ok_or_else(damaged)?)?;
        let sizes = sparse.dims.iter().map(|&size| usize::try_from(size).ok());
        let sizes: Vec<usize> = sizes.collect::<Option<_>>().ok_or_else(damaged)?;
        let count = sizes
            .iter()
            .try_fold(1usize, |n, &size| n.checked_mul(size));
        let count = count
            .filter(|&count| count <= LARGEST_SPARSE)
            .ok_or_else(|| {
                Problem::new(format!(
                    "a sparse constant has more than {LARGEST_SPARSE} elements"
                ))
                .help("save the model with a dense initializer")
            })?;
        let rank = indices.sizes.get(1).copied();
        let numbers = indices.known().and_then(|known| known.numbers());
        let numbers = numbers.ok_or_else(damaged)?;
        let flat = |coordinates: &[i64]| {
            let pairs = coordinates.iter().zip(&sizes);
            pairs.fold(Some(0i64), |at, (&coordinate, &size)| {
                let size = i64::try_from(size).ok()?;
                at?.checked_mul(size)?.checked_add(coordinate)
            })
        };
        let positions: Vec<usize> = match rank {
            None => numbers.iter().map(|&at| usize::try_from(at).ok()).collect(),
            Some(0) => None,
            Some(rank) => numbers
                .chunks_exact(rank)
                .map(|row| flat(row).and_then(|at| usize::try_from(at).ok()))
                .collect(),
        }
        .ok_or_else(damaged)?;
        let known = values.known().ok_or_else(damaged)?;
        let dense = match known {
            Known::Ints(values) => Known::Ints(spread(&positions, values, count, Dim::from(0))?),
            Known::Floats(values) => Known::Floats(spread(&positions, values, count, 0.0)?),
            Known::Bools(values) => Known::Bools(spread(&positions, values, count, false)?),
            Known::Strings(_) => return Err(damaged()),
        };
        Ok((
            values_dtype(&values),
            sparse.dims.iter().map(|&size| Dim::from(size)).collect(),
            dense,
        ))
    }
}

fn values_dtype(weight: &crate::weight::Weight) -> DType {
    weight.dtype
}

fn spread<T: Clone>(
    positions: &[usize],
    values: Vec<T>,
    count: usize,
    zero: T,
) -> Result<Vec<T>, Problem> {
    let mut dense = vec![zero; count];
    for (&at, value) in positions.iter().zip(values) {
        let held = dense.get_mut(at);
        *held.ok_or_else(|| Problem::new("a sparse constant has an index outside its sizes"))? =
            value;
    }
    Ok(dense)
}

fn makers(nodes: &[NodeProto]) -> BTreeMap<&str, usize> {
    let mut makers = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            makers.entry(name.as_str()).or_insert(at);
        }
    }
    makers
}

/// Names that a node and the graphs in its attributes read.
fn reads(node: &NodeProto, depth: usize) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).collect();
    if depth < super::DEEPEST {
        for graph in node.attribute.iter().filter_map(|held| held.g.as_deref()) {
            names.extend(graph.node.iter().flat_map(|node| reads(node, depth + 1)));
            names.extend(graph.output.iter().map(|output| output.name.as_str()));
        }
    }
    names
}

/// Whether the file means a name; `?` and the empty name mean any size.
fn is_name(name: &str) -> bool {
    !matches!(name.trim(), "" | "?" | "-1" | "None")
}

fn size_names(input: &ValueInfoProto) -> Vec<String> {
    let Some(TypeValue::Tensor(tensor)) = input.r#type.as_ref().and_then(|ty| ty.value.as_ref())
    else {
        return Vec::new();
    };
    let dims = tensor.shape.iter().flat_map(|shape| &shape.dim).enumerate();
    dims.filter_map(|(axis, dim)| match &dim.value {
        Some(DimensionValue::Value(size)) if *size >= 0 => None,
        Some(DimensionValue::Name(name)) if is_name(name) => Some(name.clone()),
        _ => Some(format!("{}_{axis}", input.name)),
    })
    .collect()
}
