//! From a graph to Rust tokens.

mod body;
mod container;
mod detour;
mod fault;
mod imports;
mod input;
mod layer;
mod load;
mod model;
mod name;
mod nested;
mod own;
mod parameters;
mod pattern;
mod signature;
mod size;
mod split;
mod stored;
mod strings;
mod structs;
mod tied;
mod tree;
mod variables;
mod weights;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Literal;
use quote::format_ident;

use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::{Dim, Symbol};
use crate::dtype::{DType, Kind};
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::rust::{Code, Variable, code};
use crate::types::{Known, Place, TensorType, Type};
use name::Unique;
use structs::Structs;
use variables::Hint;

pub use container::{converted, of_rank};
pub use input::lifted;
pub use layer::Layer;
pub use model::{Item, module};
pub use name::{camel, snake};
pub use size::Sizes;
pub use stored::whole;

/// What an operator sees of its node while its expression is made.
pub struct Emit<'a, 'g> {
    node: &'a Node,
    source: Source<'a, 'g>,
    /// Whether the node's code needs its name.
    fails: bool,
}

/// Where the expressions of values come from.
struct Source<'a, 'g> {
    layer: &'a mut Layer,
    cx: &'a mut Context<'g>,
    /// Whether the expressions are those of a constructor, over `weights: &Weights`.
    loading: bool,
}

/// What the code of one model shares.
#[derive(Debug)]
pub struct Context<'g> {
    values: &'g Values,
    sizes: Sizes,
    /// The first value that has a size as one of its own.
    origins: BTreeMap<Symbol, ValueId>,
    /// The weights in use and their names, each once.
    weights: BTreeMap<ValueId, String>,
    weight_names: Unique,
    /// What the model calls its inputs, and, in its own function, its outputs.
    inputs: BTreeMap<ValueId, String>,
    outputs: BTreeMap<ValueId, String>,
    /// What constructors bind to variables.
    bound: BTreeSet<ValueId>,
    /// The weights that several layers read, each a field of the struct around these.
    tied: BTreeSet<ValueId>,
    /// The weights that stand more than once in the graph.
    shared: BTreeSet<ValueId>,
    /// The parameters that are statistics, which no gradient changes.
    statistics: BTreeSet<ValueId>,
    training: bool,
    /// What variables may be called.
    hints: BTreeMap<Variable, Hint>,
    structs: Structs,
    /// Problems of nodes in nested blocks.
    problems: Diagnostics,
    /// How many variables there are beside those of values.
    temporaries: u32,
}

impl Emit<'_, '_> {
    /// Whether the node runs on host values.
    pub fn on_host(&self) -> bool {
        self.node.place == Place::Host
    }

    /// How many inputs the node names.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// How many outputs the node names.
    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether the node has this input.
    pub fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    /// Whether somebody may use this output.
    pub fn wants(&self, output: usize) -> bool {
        self.node.output(output).is_some()
    }

    /// The tensor type of an input.
    pub fn tensor_type(&self, input: usize) -> Result<&TensorType, Problem> {
        let ty = self.ty(input)?;
        ty.as_tensor()
            .ok_or_else(|| Problem::new(format!("input {input} is {ty}, not a tensor")))
    }

    pub fn ty(&self, input: usize) -> Result<&Type, Problem> {
        let value = self.node.input(input).map(|id| &self.source.cx.values[id]);
        value
            .and_then(|value| value.ty.as_ref())
            .ok_or_else(|| Problem::new(format!("input {input} is missing")))
    }

    /// The type of an output.
    pub fn output_type(&self, output: usize) -> Result<&Type, Problem> {
        let value = self
            .node
            .output(output)
            .map(|id| &self.source.cx.values[id]);
        value
            .and_then(|value| value.ty.as_ref())
            .ok_or_else(|| Problem::new(format!("output {output} has no type")))
    }

    /// The tensor type of an output.
    pub fn output_tensor(&self, output: usize) -> Result<&TensorType, Problem> {
        let ty = self.output_type(output)?;
        ty.as_tensor()
            .ok_or_else(|| Problem::new(format!("output {output} is {ty}, not a tensor")))
    }

    /// What is known of an input's elements.
    pub fn known(&self, input: usize) -> Option<&Known> {
        let id = self.node.input(input)?;
        self.source.cx.values[id].known.read()
    }

    /// The integers of an input, when all are numbers.
    pub fn numbers(&self, input: usize) -> Option<Vec<i64>> {
        self.known(input).and_then(Known::numbers)
    }

    /// A size as an expression of type `usize`.
    pub fn size(&mut self, dim: &Dim) -> Code {
        self.source.cx.sizes.expression(dim)
    }

    /// A number as an expression of type `i64`.
    pub fn int(&mut self, dim: &Dim) -> Code {
        self.source.cx.sizes.signed(dim)
    }

    /// Sizes as an array expression `[a, b]`; rank 0 is `[1]`, as Burn has it.
    pub fn shape(&mut self, dims: &[Dim]) -> Code {
        self.source.cx.shape(dims)
    }

    /// Sizes as an array of `i64`, which is empty for rank 0.
    pub fn shape_of(&mut self, dims: &[Dim]) -> Code {
        let sizes = dims.iter().map(|dim| self.source.cx.sizes.signed(dim));
        let sizes: Vec<Code> = sizes.collect();
        code!([#(#sizes),*])
    }

    /// Whether everything about an input's elements is known.
    pub fn is_known(&self, input: usize) -> bool {
        let id = self.node.input(input);
        id.is_some_and(|id| self.source.cx.values[id].known.is_some())
    }

    /// A name for the node's layer: that of the weight without its last part, else the node's.
    pub fn layer_hint(&self, weight: usize) -> String {
        let held = self.node.input(weight);
        let held = held.map(|id| self.source.cx.stored_name(id));
        let stem = held.as_deref().and_then(|name| {
            ["weight", "kernel", "W", "w"].iter().find_map(|end| {
                let stem = name.strip_suffix(end)?;
                stem.strip_suffix(['.', '/', '_'])
                    .filter(|stem| !stem.is_empty())
            })
        });
        stem.map_or_else(|| self.hint(), str::to_owned)
    }

    /// A name for what the node makes: its module, its own name, or that of its operator.
    pub fn hint(&self) -> String {
        let module = self.node.origin.join(".");
        let layer = &self.source.layer;
        if !module.is_empty() && !layer.is_at(&self.node.origin) {
            return module;
        }
        match self.node.name.rsplit('/').next() {
            None | Some("") => snake(&self.node.kind),
            Some(last) => last.to_owned(),
        }
    }
}

impl<'g> Context<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut cx = Context {
            values: &graph.values,
            sizes: Sizes::default(),
            origins: BTreeMap::new(),
            weights: BTreeMap::new(),
            weight_names: Unique::default(),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            bound: load::bound(graph),
            tied: BTreeSet::new(),
            shared: BTreeSet::new(),
            statistics: parameters::statistics(graph),
            training: graph.training,
            hints: BTreeMap::new(),
            structs: Structs::default(),
            problems: Diagnostics::default(),
            temporaries: 0,
        };
        cx.note_origins(&graph.body);
        cx
    }

    fn shape(&mut self, dims: &[Dim]) -> Code {
        let sizes: Vec<Code> = dims.iter().map(|dim| self.sizes.expression(dim)).collect();
        match sizes.is_empty() {
            true => code!([1]),
            false => code!([#(#sizes),*]),
        }
    }

    fn note_origins(&mut self, block: &Block) {
        block.inputs.iter().for_each(|&id| self.note_origin(id));
        for node in &block.nodes {
            node.blocks
                .iter()
                .for_each(|(_, block)| self.note_origins(block));
            node.outputs
                .iter()
                .flatten()
                .for_each(|&id| self.note_origin(id));
        }
    }

    fn note_origin(&mut self, id: ValueId) {
        if let Some(Type::Tensor(tensor)) = &self.values[id].ty {
            for symbol in tensor.shape.iter().filter_map(Dim::name) {
                self.origins.entry(symbol.clone()).or_insert(id);
            }
        }
    }

    /// The name under which the table of weights has a constant.
    fn weight_name(&mut self, id: ValueId) -> String {
        if let Some(name) = self.weights.get(&id) {
            return name.clone();
        }
        let held = self.values[id].name.as_str();
        let name = self
            .weight_names
            .name(if held.is_empty() { "constant" } else { held });
        self.weights.insert(id, name.clone());
        name
    }

    /// Reports sizes that code needs and nothing before it tells.
    fn report_unbound(&mut self, sizes: BTreeSet<Symbol>) {
        for symbol in sizes {
            self.problems.push(
                Problem::new(format!("the size `{symbol}` cannot be told from any input"))
                    .help("this is a defect of onnx-embed; please report the model"),
            );
        }
    }

    fn lives_on_host(&self, id: ValueId) -> bool {
        let value = &self.values[id];
        value.place == Place::Host || value.ty.as_ref().is_some_and(Type::is_of_host)
    }
}

/// The variable of a value until names are chosen.
fn variable(id: ValueId) -> Variable {
    Variable(id.number())
}

/// The Rust type of a value.
pub fn rust_type(ty: &Type, place: Place) -> Code {
    match ty {
        Type::Tensor(tensor) if place == Place::Host || tensor.dtype == DType::String => {
            let element = host_element(tensor.dtype);
            code!(Array<#element>)
        }
        Type::Tensor(tensor) => {
            let rank = Literal::usize_unsuffixed(tensor.burn_rank());
            match tensor.dtype.kind() {
                Kind::Int => code!(Tensor<#rank, Int>),
                Kind::Bool => code!(Tensor<#rank, Bool>),
                _ => code!(Tensor<#rank>),
            }
        }
        Type::Unranked(dtype) | Type::Nothing(dtype) => {
            let element = host_element(*dtype);
            code!(Array<#element>)
        }
        Type::Sequence(item) => {
            let item = rust_type(item, Place::Device);
            code!(Vec<#item>)
        }
        Type::Optional(item) => {
            let item = rust_type(item, Place::Device);
            code!(Option<#item>)
        }
        Type::Map(key, item) => {
            let (key, item) = (host_element(*key), map_item(item));
            code!(BTreeMap<#key, #item>)
        }
    }
}

/// The values of a map are plain.
fn map_item(item: &Type) -> Code {
    match item {
        Type::Tensor(tensor) if tensor.rank() == 0 => host_element(tensor.dtype),
        other => rust_type(other, Place::Host),
    }
}

/// The Rust type of one element on the host.
pub fn host_element(dtype: DType) -> Code {
    use DType::*;
    match dtype {
        F32 | F8E4M3Fn | F8E4M3Fnuz | F8E5M2 | F8E5M2Fnuz | F4E2M1 | F8E8M0 => code!(f32),
        F64 => code!(f64),
        F16 => code!(f16),
        Bf16 => code!(bf16),
        U8 | U4 | U2 => code!(u8),
        I8 | I4 | I2 => code!(i8),
        U16 => code!(u16),
        I16 => code!(i16),
        U32 => code!(u32),
        I32 => code!(i32),
        U64 => code!(u64),
        I64 => code!(i64),
        Bool => code!(bool),
        String => code!(String),
        C64 | C128 => code!([f32; 2]),
    }
}

/// `ElementType::Float32` and so on.
pub fn element_type(dtype: DType) -> Code {
    let variant = format_ident!("{}", dtype.variant());
    code!(ElementType::#variant)
}

/// A float as a literal that the compiler reads back to the same number.
pub fn float_literal(value: f64, dtype: DType) -> Code {
    let ty = match dtype {
        DType::F64 => code!(f64),
        _ => code!(f32),
    };
    let value = match dtype {
        DType::F64 => value,
        _ => f64::from(value as f32),
    };
    if value.is_nan() {
        return code!(#ty::NAN);
    }
    if value.is_infinite() {
        return match value > 0.0 {
            true => code!(#ty::INFINITY),
            false => code!(#ty::NEG_INFINITY),
        };
    }
    let magnitude = match dtype {
        DType::F64 => Literal::f64_unsuffixed(value.abs()),
        _ => Literal::f32_unsuffixed((value as f32).abs()),
    };
    match value.is_sign_negative() {
        true => code!(-#magnitude),
        false => code!(#magnitude),
    }
}
