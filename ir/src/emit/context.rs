//! Views of the graph for operators that generate code.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::budget::Budget;
use super::functions::Functions;
use super::layer::Layer;
use super::name::{Unique, snake};
use super::size::Sizes;
use super::structs::Structs;
use super::variables::{Hint, variable};
use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::{Dim, Symbol};
use crate::graph::{Node, ValueId, Values};
use crate::rust::{Code, Variable, code};
use crate::types::{Known, Placement, TensorType, Type};

/// View of a node for the operator that generates its expression.
pub struct Emit<'a, 'g> {
    pub(super) node: &'a Node,
    pub(super) source: Source<'a, 'g>,
    /// Whether the node may fail on data, so that its code needs its name.
    pub(super) fails: bool,
    /// Outputs of the node, collected on first use.
    pub(super) made: OnceCell<BTreeSet<ValueId>>,
}

/// Struct and model for which expressions of values are generated.
pub(super) struct Source<'a, 'g> {
    pub(super) layer: &'a mut Layer,
    pub(super) cx: &'a mut Context<'g>,
    /// Whether the expressions are part of a constructor, which has the parameter `weights: &Weights`.
    pub(super) loading: bool,
}

/// State that is shared by all code of one model.
#[derive(Debug)]
pub struct Context<'g> {
    pub(super) values: &'g Values,
    pub(super) sizes: Sizes,
    /// First value in which each named size is the size of an axis.
    pub(super) origins: BTreeMap<Symbol, ValueId>,
    /// Values whose order in memory may differ from the order of their axes.
    pub(super) views: BTreeSet<ValueId>,
    /// Outputs that are an input with more elements along an axis, such as the caches of a decoder.
    pub(super) grown: BTreeSet<ValueId>,
    /// Names of the weights in use.
    pub(super) weights: BTreeMap<ValueId, String>,
    pub(super) weight_names: Unique,
    /// Path of the module that contains the whole model. Names of types omit it.
    pub(super) module: Vec<String>,
    /// Variable names of the inputs and of tied weights, and, only in the model's own function, of the outputs.
    pub(super) inputs: BTreeMap<ValueId, String>,
    pub(super) outputs: BTreeMap<ValueId, String>,
    /// Values that constructors bind to variables.
    pub(super) bound: BTreeSet<ValueId>,
    /// Weights that several layers use, each a field of the struct that contains these layers.
    pub(super) tied: BTreeMap<Variable, ValueId>,
    /// Weights that the graph uses more than once.
    pub(super) shared: BTreeSet<ValueId>,
    /// Parameters that are statistics, which gradients do not change.
    pub(super) statistics: BTreeSet<ValueId>,
    pub(super) training: bool,
    /// Whether a program may observe every value of a run.
    pub(super) trace: bool,
    /// Preferred names of variables.
    pub(super) hints: BTreeMap<Variable, Hint>,
    pub(super) structs: Structs,
    pub(super) functions: Functions,
    /// Problems of nodes in nested blocks, and of sizes that are not bound.
    pub(super) problems: Diagnostics,
    /// Number of variables that belong to no value.
    pub(super) temporaries: u32,
    pub(super) budget: Budget,
}

impl Emit<'_, '_> {
    /// Returns `true` if the node runs on the host.
    pub fn on_host(&self) -> bool {
        self.node.placement == Placement::Host
    }

    /// Returns the number of inputs, including omitted ones.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// Returns the number of outputs, including omitted ones.
    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Returns `true` if the node has this input.
    pub fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    /// Returns `true` if the node has this output, which may have consumers.
    pub fn wants(&self, output: usize) -> bool {
        self.node.output(output).is_some()
    }

    /// Returns the value of an input, which must be present.
    pub(super) fn required(&self, input: usize) -> Result<ValueId, Problem> {
        self.node.input(input).ok_or_else(|| Problem::missing(format_args!("input {input}")))
    }

    /// Returns the type of an input, which must be a tensor.
    pub fn tensor_type(&self, input: usize) -> Result<&TensorType, Problem> {
        let ty = self.ty(input)?;
        ty.as_tensor().ok_or_else(|| Problem::expected(format_args!("input {input}"), ty, "a tensor"))
    }

    pub fn ty(&self, input: usize) -> Result<&Type, Problem> {
        let ty = self.source.cx.values[self.required(input)?].ty.as_ref();
        ty.ok_or_else(|| Problem::missing(format_args!("the type of input {input}")))
    }

    /// Returns the type of an output.
    pub fn output_type(&self, output: usize) -> Result<&Type, Problem> {
        let value = self.node.output(output).map(|id| &self.source.cx.values[id]);
        value
            .and_then(|value| value.ty.as_ref())
            .ok_or_else(|| Problem::missing(format_args!("the type of output {output}")))
    }

    /// Returns the type of an output, which must be a tensor.
    pub fn output_tensor(&self, output: usize) -> Result<&TensorType, Problem> {
        let ty = self.output_type(output)?;
        ty.as_tensor().ok_or_else(|| Problem::expected(format_args!("output {output}"), ty, "a tensor"))
    }

    /// Returns the known elements of an input, and marks the constants that they depend on as fixed.
    pub fn known(&self, input: usize) -> Option<&Known> {
        let id = self.node.input(input)?;
        self.source.cx.values[id].known.read()
    }

    /// Returns the integers of an input if all are numbers.
    pub fn numbers(&self, input: usize) -> Option<Vec<i64>> {
        self.known(input).and_then(Known::numbers)
    }

    /// Returns a size as an expression of type `usize`.
    pub fn size(&mut self, dim: &Dim) -> Code {
        self.source.cx.sizes.expression(dim)
    }

    /// Returns a number as an expression of type `i64`.
    pub fn int(&mut self, dim: &Dim) -> Code {
        self.source.cx.sizes.signed(dim)
    }

    /// Returns sizes as an array expression `[a, b]`. Rank 0 is `[1]`, as in Burn.
    pub fn shape(&mut self, dims: &[Dim]) -> Code {
        self.source.cx.shape(dims)
    }

    /// Returns sizes as an array of `i64`, which is empty for rank 0.
    pub fn shape_of(&mut self, dims: &[Dim]) -> Code {
        let sizes = dims.iter().map(|dim| self.source.cx.sizes.signed(dim));
        let sizes: Vec<Code> = sizes.collect();
        code!([#(#sizes),*])
    }

    /// Returns `true` if all elements of an input are known.
    pub fn is_known(&self, input: usize) -> bool {
        let id = self.node.input(input);
        id.is_some_and(|id| self.source.cx.values[id].known.is_some())
    }

    /// Returns `true` if the order of an input in memory may differ from the order of its axes.
    pub fn is_view(&self, input: usize) -> bool {
        let id = self.node.input(input);
        id.is_some_and(|id| self.source.cx.views.contains(&id))
    }

    /// Returns `true` if the first input is a cache, and the result the cache of the next call.
    pub fn grows_cache(&self) -> bool {
        self.node.output(0).is_some_and(|id| self.source.cx.grown.contains(&id))
    }

    /// Returns a name for the node's layer: the name of the weight without its suffix, otherwise [`Emit::hint`].
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

    /// Returns a name for a field of the node: its module, its own name, or its operator.
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

impl Context<'_> {
    pub(super) fn shape(&mut self, dims: &[Dim]) -> Code {
        let sizes: Vec<Code> = dims.iter().map(|dim| self.sizes.expression(dim)).collect();
        if sizes.is_empty() { code!([1]) } else { code!([#(#sizes),*]) }
    }

    /// Returns the name of a constant in the table of weights, and adds the constant on first use.
    pub(super) fn weight_name(&mut self, id: ValueId) -> String {
        if let Some(name) = self.weights.get(&id) {
            return name.clone();
        }
        let name = self.values[id].name.as_str();
        let name = if name.is_empty() { "constant" } else { name };
        let name = self.weight_names.name(name);
        self.weights.insert(id, name.clone());
        name
    }

    /// Reports sizes that code uses but that no earlier value has.
    pub(super) fn report_unbound(&mut self, sizes: BTreeSet<Symbol>) {
        for symbol in sizes {
            self.problems.push(Problem::defect(format!("size `{symbol}` is not determined by any input")));
        }
    }

    /// Returns `true` if several layers use the weight.
    pub(super) fn is_tied(&self, id: ValueId) -> bool {
        self.tied.contains_key(&variable(id))
    }

    pub(super) fn lives_on_host(&self, id: ValueId) -> bool {
        let value = &self.values[id];
        value.placement == Placement::Host || value.ty.as_ref().is_some_and(Type::is_of_host)
    }
}
