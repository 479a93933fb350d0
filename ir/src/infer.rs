//! Types, sizes and known values, node by node.

mod nested;
mod parts;

use std::cell::RefCell;

use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::Dim;
use crate::dtype::{DType, Kind};
use crate::elements::{Elements, Source};
use crate::graph::{Block, Graph, Node, Value, Values};
use crate::names::Names;
use crate::ops::custom::Custom;
use crate::types::{Known, Shape, TensorType, Type};
use crate::weight::Weight;

pub use nested::{Fact, Inferred};

/// What an operator sees of its node while types are inferred.
pub struct Infer<'a> {
    values: &'a mut Values,
    node: &'a Node,
    names: &'a mut Names,
    diagnostics: &'a mut Diagnostics,
    /// Where the elements come from that were read to compute those of outputs.
    folded: RefCell<Vec<Source>>,
}

/// Known values beyond this many elements are not kept: the files hold them.
pub const LARGEST_KNOWN: usize = 4096;

/// Infers the whole graph, reporting every problem; a value whose maker failed stays untyped, and what
/// depends on it is passed over.
pub fn infer(graph: &mut Graph, names: &mut Names, diagnostics: &mut Diagnostics) {
    names.end_inputs();
    let body = std::mem::take(&mut graph.body);
    infer_block(&body, &mut graph.values, names, diagnostics);
    graph.body = body;
}

fn infer_block(block: &Block, values: &mut Values, names: &mut Names, diagnostics: &mut Diagnostics) {
    for node in &block.nodes {
        let reads = node.reads();
        if reads.iter().any(|&id| values[id].ty.is_none()) {
            let custom = node.operator_as::<Custom>();
            let unbound = custom.and_then(Custom::unbound);
            unbound.into_iter().for_each(|problem| diagnostics.push(problem));
            continue;
        }
        let guessed = reads.iter().any(|&id| values[id].guessed);
        let mut found = Diagnostics::default();
        let mut cx = Infer { values, node, names, diagnostics: &mut found, folded: RefCell::default() };
        if let Err(problem) = node.operator.infer(&mut cx) {
            found.push(problem.at(node.site(values)));
        }
        let inner = node.blocks.iter().flat_map(|(_, block)| &block.outputs);
        if guessed || inner.into_iter().any(|&id| values[id].guessed) {
            // What is wrong with a type that was guessed may be the guess.
            found = found.retain_unbound();
            for &id in node.outputs.iter().flatten() {
                values[id].guessed = true;
            }
        }
        diagnostics.extend(found);
    }
}

/// Infers one node, whose inputs have types.
pub fn node(node: &Node, values: &mut Values, names: &mut Names) -> Result<(), Problem> {
    let mut diagnostics = Diagnostics::default();
    let mut cx = Infer { values, node, names, diagnostics: &mut diagnostics, folded: RefCell::default() };
    node.operator.infer(&mut cx)?;
    if diagnostics.is_empty() { Ok(()) } else { Err(Problem::new("the types do not fit")) }
}

impl Infer<'_> {
    /// Whether the node has this input.
    pub fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    /// How many inputs the node names.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// How many outputs the node names.
    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether the node names this output.
    pub fn wants(&self, output: usize) -> bool {
        self.node.output(output).is_some()
    }

    pub fn value(&self, input: usize) -> Option<&Value> {
        self.node.input(input).map(|id| &self.values[id])
    }

    /// The input's type, or the problem that it is absent.
    pub fn ty(&self, input: usize) -> Result<&Type, Problem> {
        self.value(input)
            .and_then(|value| value.ty.as_ref())
            .ok_or_else(|| Problem::new(format!("input {input} is missing")))
    }

    /// The tensor type of an input.
    pub fn tensor(&self, input: usize) -> Result<TensorType, Problem> {
        match self.ty(input)? {
            Type::Tensor(tensor) => Ok(tensor.clone()),
            Type::Unranked(dtype) => {
                Err(Problem::new(format!("input {input} is {dtype} of a rank that only the run can tell"))
                    .help(
                        "give the shape of the items where the sequence is an input, with `inputs(..)`, \
                 or have them all be of one rank",
                    ))
            }
            other => Err(Problem::new(format!("input {input} is {other}, not a tensor"))),
        }
    }

    /// The tensor type of an input of this rank.
    pub fn tensor_of_rank(&self, input: usize, rank: usize) -> Result<TensorType, Problem> {
        let tensor = self.tensor(input)?;
        if tensor.rank() == rank {
            Ok(tensor)
        } else {
            Err(Problem::new(format!("input {input} is {tensor}, not of rank {rank}")))
        }
    }

    /// What is known of an input's elements.
    pub fn known(&self, input: usize) -> Option<&Known> {
        self.value(input).and_then(|value| value.known.read())
    }

    /// What is known of an input's elements, for nothing but [`Infer::output_known`]: constants are consulted
    /// no sooner than somebody reads what is known of the output.
    pub fn folded(&self, input: usize) -> Option<&Known> {
        self.folded_of(self.value(input)?)
    }

    /// As [`Infer::folded`], of a value that is part of an input.
    pub fn folded_of<'v>(&self, value: &'v Value) -> Option<&'v Known> {
        let known = value.known.peek()?;
        self.folded.borrow_mut().extend(value.known.source().cloned());
        Some(known)
    }

    /// The integers of an input, symbolic ones included.
    pub fn ints(&self, input: usize) -> Option<Vec<Dim>> {
        match self.known(input) {
            Some(Known::Ints(values)) => Some(values.clone()),
            _ => None,
        }
    }

    /// The integers of an input, when all are numbers.
    pub fn numbers(&self, input: usize) -> Option<Vec<i64>> {
        self.known(input).and_then(Known::numbers)
    }

    /// A size of its own for what only the run can tell.
    pub fn fresh(&mut self, hint: &str) -> Dim {
        self.names.fresh(hint)
    }

    /// The size of this name, where an input of the model has it.
    pub fn size_of_inputs(&self, name: &str) -> Option<Dim> {
        let name = name.into();
        self.names.is_of_input(&name).then(|| Dim::named(name))
    }

    /// Reports a problem of the node, of whose outputs the types are guesses.
    pub fn guess(&mut self, problem: Problem) {
        for &id in self.node.outputs.iter().flatten() {
            self.values[id].guessed = true;
        }
        self.diagnostics.push(problem.at(self.node.site(self.values)));
    }

    /// Notes that the input's open sizes are assumed to differ from 1.
    pub fn doubt(&mut self, shape: &Shape) {
        let open = shape.iter().filter_map(|dim| dim.name().cloned());
        self.names.doubt(open);
    }

    /// `dim`, or a size of its own where arithmetic gave up.
    pub fn dim_or_fresh(&mut self, dim: Option<Dim>, hint: &str) -> Dim {
        dim.unwrap_or_else(|| self.fresh(hint))
    }

    /// Sets a tensor output's type.
    pub fn output(&mut self, output: usize, dtype: DType, shape: Shape) {
        self.output_type(output, Type::tensor(dtype, shape));
    }

    /// Sets an output's type; a tensor that no memory could hold is reported instead.
    pub fn output_type(&mut self, output: usize, ty: Type) {
        let Some(id) = self.node.output(output) else {
            return;
        };
        match &ty {
            Type::Tensor(tensor) if !tensor.fits() => {
                let problem = Problem::new(format!("the result would be {tensor}"));
                let problem = problem.help("its sizes are negative or fit into no memory");
                self.diagnostics.push(problem.at(self.node.site(self.values)));
            }
            _ => self.values[id].ty = Some(ty),
        }
    }

    /// Sets what is known of an output, when anything is, it is not much, and its length is that of its type.
    pub fn output_known(&mut self, output: usize, known: impl Into<Option<Known>>) {
        if let Some(known) = known.into().filter(|known| known.len() <= LARGEST_KNOWN) {
            self.output_written(output, known);
        }
    }

    /// As [`Infer::output_known`], however much it is: nothing else holds it.
    pub fn output_written(&mut self, output: usize, known: Known) {
        let Some(id) = self.node.output(output) else {
            return;
        };
        let tensor = self.values[id].ty.as_ref().and_then(Type::as_tensor);
        let fits = tensor.is_some_and(|tensor| {
            let kinds = matches!(
                (&known, tensor.dtype.kind()),
                (Known::Ints(_), Kind::Int)
                    | (Known::Floats(_), Kind::Float)
                    | (Known::Bools(_), Kind::Bool)
                    | (Known::Strings(_), Kind::String)
            );
            kinds && tensor.count() == Some(known.len())
        });
        if fits {
            let source = self.values.sources().joined(&self.folded.borrow());
            self.values[id].known = Elements::new(known, source);
        }
    }

    /// Makes an output a constant of the model.
    pub fn output_weight(&mut self, output: usize, weight: Weight) {
        if let Some(id) = self.node.output(output) {
            let known = self.values.sources().constant(&weight);
            let value = &mut self.values[id];
            value.ty = Some(Type::Tensor(weight.tensor_type()));
            value.known = known;
            value.weight = Some(weight);
        }
    }

    /// Makes an output the same constant, or known value, as an input.
    pub fn output_same(&mut self, output: usize, input: usize) {
        if let (Some(id), Some(value)) = (self.node.output(output), self.value(input).cloned()) {
            let slot = &mut self.values[id];
            (slot.ty, slot.known, slot.weight) = (value.ty, value.known, value.weight);
            slot.parts = value.parts;
        }
    }
}
