//! From a graph to Rust tokens.

pub mod arguments;
mod body;
mod budget;
mod constructors;
mod container;
mod custom;
mod described;
mod detour;
mod embedded;
mod fault;
pub mod fingerprint;
mod imports;
mod inline;
mod input;
mod item;
mod layer;
mod literal;
mod load;
mod model;
mod name;
mod nested;
mod own;
mod parameters;
mod pattern;
mod run;
mod rust_type;
mod said;
mod scalar;
mod signature;
mod size;
mod split;
mod stored;
mod strings;
mod structs;
mod tied;
mod trace;
pub mod tree;
mod variables;
mod waiting;
mod weights;
mod word;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::{Dim, Symbol};
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::ops;
use crate::rust::{Code, Variable, code};
use crate::types::{Known, Place, TensorType, Type};
use budget::Budget;
use custom::Functions;
use name::Unique;
use structs::Structs;
use variables::Hint;

pub use container::{converted, of_rank};
pub use custom::Expected;
pub use input::lifted;
pub use item::Item;
pub use layer::Layer;
pub use literal::float_literal;
pub use model::module;
pub use name::{camel, distinct, operator, snake};
pub use rust_type::{element_type, host_element, rust_type};
pub use size::Sizes;
pub use stored::whole;

/// What an operator sees of its node while its expression is made.
pub struct Emit<'a, 'g> {
    node: &'a Node,
    source: Source<'a, 'g>,
    /// Whether the node's code needs its name.
    fails: bool,
    /// The node's outputs, once somebody asked.
    made: OnceCell<BTreeSet<ValueId>>,
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
    /// What may lie in memory in another order than that of its axes.
    views: BTreeSet<ValueId>,
    /// The weights in use and their names, each once.
    weights: BTreeMap<ValueId, String>,
    weight_names: Unique,
    /// The module that the whole model is of, which types are not named after.
    module: Vec<String>,
    /// What the model calls its inputs, and, in its own function, its outputs.
    inputs: BTreeMap<ValueId, String>,
    outputs: BTreeMap<ValueId, String>,
    /// What constructors bind to variables.
    bound: BTreeSet<ValueId>,
    /// The weights that several layers read, each a field of the struct around these.
    tied: BTreeMap<Variable, ValueId>,
    /// The weights that stand more than once in the graph.
    shared: BTreeSet<ValueId>,
    /// The parameters that are statistics, which no gradient changes.
    statistics: BTreeSet<ValueId>,
    training: bool,
    /// Whether the program may look at every value of a run.
    trace: bool,
    /// What variables may be called.
    hints: BTreeMap<Variable, Hint>,
    structs: Structs,
    functions: Functions,
    /// Problems of nodes in nested blocks.
    problems: Diagnostics,
    /// How many variables there are beside those of values.
    temporaries: u32,
    budget: Budget,
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
        ty.as_tensor().ok_or_else(|| Problem::new(format!("input {input} is {ty}, not a tensor")))
    }

    pub fn ty(&self, input: usize) -> Result<&Type, Problem> {
        let value = self.node.input(input).map(|id| &self.source.cx.values[id]);
        value
            .and_then(|value| value.ty.as_ref())
            .ok_or_else(|| Problem::new(format!("input {input} is missing")))
    }

    /// The type of an output.
    pub fn output_type(&self, output: usize) -> Result<&Type, Problem> {
        let value = self.node.output(output).map(|id| &self.source.cx.values[id]);
        value
            .and_then(|value| value.ty.as_ref())
            .ok_or_else(|| Problem::new(format!("output {output} has no type")))
    }

    /// The tensor type of an output.
    pub fn output_tensor(&self, output: usize) -> Result<&TensorType, Problem> {
        let ty = self.output_type(output)?;
        ty.as_tensor().ok_or_else(|| Problem::new(format!("output {output} is {ty}, not a tensor")))
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

    /// Whether an input may lie in memory in another order than that of its axes.
    pub fn is_view(&self, input: usize) -> bool {
        let id = self.node.input(input);
        id.is_some_and(|id| self.source.cx.views.contains(&id))
    }

    /// A name for the node's layer: that of the weight without its last part, else the node's.
    pub fn layer_hint(&self, weight: usize) -> String {
        let weight = self.node.input(weight);
        let name = weight.map(|id| self.source.cx.stored_name(id));
        let stem = name.as_deref().and_then(|name| {
            ["weight", "kernel", "W", "w"].iter().find_map(|end| {
                let stem = name.strip_suffix(end)?;
                stem.strip_suffix(['.', '/', '_']).filter(|stem| !stem.is_empty())
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
    fn new(graph: &'g Graph, trace: bool, budget: Budget) -> Self {
        let mut cx = Context {
            values: &graph.values,
            sizes: Sizes::default(),
            origins: BTreeMap::new(),
            views: BTreeSet::new(),
            weights: BTreeMap::new(),
            weight_names: Unique::default(),
            module: tree::common(&graph.body.nodes),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            bound: load::bound(graph),
            tied: BTreeMap::new(),
            shared: BTreeSet::new(),
            statistics: parameters::statistics(graph),
            training: graph.training,
            trace,
            hints: BTreeMap::new(),
            structs: Structs::default(),
            functions: Functions::default(),
            problems: Diagnostics::default(),
            temporaries: 0,
            budget,
        };
        cx.note_origins(&graph.body);
        cx
    }

    fn shape(&mut self, dims: &[Dim]) -> Code {
        let sizes: Vec<Code> = dims.iter().map(|dim| self.sizes.expression(dim)).collect();
        if sizes.is_empty() { code!([1]) } else { code!([#(#sizes),*]) }
    }

    fn note_origins(&mut self, block: &Block) {
        block.inputs.iter().for_each(|&id| self.note_origin(id));
        for node in &block.nodes {
            if ops::facts(&node.kind).view {
                self.views.extend(node.outputs.iter().flatten());
            }
            node.blocks.iter().for_each(|(_, block)| self.note_origins(block));
            node.outputs.iter().flatten().for_each(|&id| self.note_origin(id));
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
        let name = self.values[id].name.as_str();
        let name = if name.is_empty() { "constant" } else { name };
        let name = self.weight_names.name(name);
        self.weights.insert(id, name.clone());
        name
    }

    /// Reports sizes that code needs and nothing before it has.
    fn report_unbound(&mut self, sizes: BTreeSet<Symbol>) {
        for symbol in sizes {
            self.problems.push(
                Problem::new(format!("the size `{symbol}` cannot be told from any input"))
                    .help("this is a defect of onnx-embed; please report the model"),
            );
        }
    }

    /// Whether several layers read a weight.
    fn is_tied(&self, id: ValueId) -> bool {
        self.tied.contains_key(&variable(id))
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
