//! Inference of types, sizes and known values.

mod nested;
mod parts;

use std::cell::RefCell;

use crate::diagnostics::{Diagnostics, Problem, Topic};
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::elements::{Elements, Source};
use crate::graph::{Block, Graph, Node, Value, ValueId, Values};
use crate::names::Names;
use crate::operands;
use crate::types::{Known, MAX_AXES, Shape, TensorType, Type};
use crate::weight::Weight;

pub use nested::{Fact, Inferred};

/// View of an operator on its node during inference.
pub struct Infer<'a> {
    values: &'a mut Values,
    node: &'a Node,
    names: &'a mut Names,
    diagnostics: &'a mut Diagnostics,
    /// Sources of the elements that were read to compute those of outputs.
    folded: RefCell<Vec<Source>>,
    /// `true` for nodes that the file contains: their operands must have types of the operator's version.
    of_file: bool,
}

/// Maximum number of elements of known values. The files contain larger ones.
pub const LARGEST_KNOWN: usize = 4096;

/// Returns the rank of a result, or reports it if it is too large, before memory for its sizes is allocated.
pub fn rank_of_result(rank: usize) -> Result<usize, Problem> {
    if rank <= MAX_AXES {
        return Ok(rank);
    }
    Err(Problem::new(format!("the result has {rank} axes, at most {MAX_AXES} are supported")))
}

/// Infers the whole graph and reports all problems. A value whose producer failed has no type, and nodes that depend on
/// it are skipped.
pub fn infer(graph: &mut Graph, names: &mut Names, diagnostics: &mut Diagnostics) {
    names.end_inputs();
    let body = std::mem::take(&mut graph.body);
    infer_block(&body, &mut graph.values, names, diagnostics, true);
    graph.body = body;
}

fn infer_block(
    block: &Block,
    values: &mut Values,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
    of_file: bool,
) {
    for node in &block.nodes {
        let reads = node.reads();
        if reads.iter().any(|&id| values[id].ty.is_none()) {
            node.operator.unbound().into_iter().for_each(|problem| diagnostics.push(problem));
            continue;
        }
        let guessed = reads.iter().any(|&id| values[id].guessed);
        let mut found = Diagnostics::default();
        let mut cx =
            Infer { values, node, names, diagnostics: &mut found, folded: RefCell::default(), of_file };
        if let Err(problem) = node.operator.infer(&mut cx) {
            found.push(problem.at(node.site(values)));
        }
        if of_file
            && found.is_empty()
            && let Err(problem) = check_types(node, values)
        {
            found.push(problem.at(node.site(values)));
        }
        let inner = node.blocks.iter().flat_map(|(_, block)| &block.outputs);
        if guessed || inner.into_iter().any(|&id| values[id].guessed) {
            // Problems that depend on a guessed type may be caused by the guess.
            found = found.retain_unbound();
            for &id in node.outputs.iter().flatten() {
                values[id].guessed = true;
            }
        }
        diagnostics.extend(found);
    }
}

/// Checks that the version of the operator supports the types of the node.
fn check_types(node: &Node, values: &Values) -> Result<(), Problem> {
    let ty = |id: &Option<ValueId>| id.and_then(|id| values[id].ty.as_ref());
    let inputs: Vec<_> = node.inputs.iter().map(ty).collect();
    let outputs: Vec<_> = node.outputs.iter().map(ty).collect();
    operands::check(&node.kind, node.version, &inputs, &outputs)
}

/// Infers one node, whose inputs have types.
pub fn node(node: &Node, values: &mut Values, names: &mut Names) -> Result<(), Problem> {
    let mut diagnostics = Diagnostics::default();
    let folded = RefCell::default();
    let mut cx = Infer { values, node, names, diagnostics: &mut diagnostics, folded, of_file: false };
    node.operator.infer(&mut cx)?;
    if diagnostics.is_empty() { Ok(()) } else { Err(Problem::new("the types do not match")) }
}

impl Infer<'_> {
    /// Returns `true` if the node has this input.
    pub fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    /// Returns the number of inputs of the node.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// Returns the number of outputs of the node.
    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Returns `true` if the output is used.
    pub fn wants(&self, output: usize) -> bool {
        self.node.output(output).is_some()
    }

    pub fn value(&self, input: usize) -> Option<&Value> {
        self.node.input(input).map(|id| &self.values[id])
    }

    /// Returns the type of an input, which must be present.
    pub fn ty(&self, input: usize) -> Result<&Type, Problem> {
        self.value(input)
            .and_then(|value| value.ty.as_ref())
            .ok_or_else(|| Problem::missing(format_args!("input {input}")))
    }

    /// Returns the tensor type of an input.
    pub fn tensor(&self, input: usize) -> Result<TensorType, Problem> {
        match self.ty(input)? {
            Type::Tensor(tensor) => Ok(tensor.clone()),
            Type::Unranked(dtype) => {
                let message =
                    format!("the rank of input {input}, a {dtype} tensor, is unknown at compile time");
                let help = "set the shape of the items with `inputs(..)` if their sequence is an input, or export the \
                            model with items of equal rank";
                Err(Problem::new(message).help(help).about(Topic::Shape))
            }
            other => Err(Problem::expected(format_args!("input {input}"), other, "a tensor")),
        }
    }

    /// Returns the tensor type of an input, which must have this rank.
    pub fn tensor_of_rank(&self, input: usize, rank: usize) -> Result<TensorType, Problem> {
        let tensor = self.tensor(input)?;
        if tensor.rank() == rank {
            Ok(tensor)
        } else {
            Err(Problem::expected(format_args!("input {input}"), tensor, format_args!("rank {rank}")))
        }
    }

    /// Returns the known elements of an input.
    pub fn known(&self, input: usize) -> Option<&Known> {
        self.value(input).and_then(|value| value.known.read())
    }

    /// Returns the known elements of an input, to be used only for [`Infer::output_known`]: constants are consulted
    /// only when the elements of the output are read.
    pub fn folded(&self, input: usize) -> Option<&Known> {
        self.folded_of(self.value(input)?)
    }

    /// Returns the known elements of a part of an input, like [`Infer::folded`].
    pub fn folded_of<'v>(&self, value: &'v Value) -> Option<&'v Known> {
        let known = value.known.peek()?;
        self.folded.borrow_mut().extend(value.known.source().cloned());
        Some(known)
    }

    /// Returns the integers of an input, which may be symbolic.
    pub fn ints(&self, input: usize) -> Option<Vec<Dim>> {
        match self.known(input) {
            Some(Known::Ints(values)) => Some(values.clone()),
            _ => None,
        }
    }

    /// Returns the integers of an input, if all are numbers.
    pub fn numbers(&self, input: usize) -> Option<Vec<i64>> {
        self.known(input).and_then(Known::numbers)
    }

    /// Returns a new name for a size that is known only at run time.
    pub fn fresh(&mut self, hint: &str) -> Dim {
        self.names.fresh(hint)
    }

    /// Returns the size with this name, if an input of the model has it.
    pub fn size_of_inputs(&self, name: &str) -> Option<Dim> {
        let name = name.into();
        self.names.is_of_input(&name).then(|| Dim::named(name))
    }

    /// Reports a problem of the node, and marks the types of its outputs as guesses.
    pub fn guess(&mut self, problem: Problem) {
        for &id in self.node.outputs.iter().flatten() {
            self.values[id].guessed = true;
        }
        self.diagnostics.push(problem.at(self.node.site(self.values)));
    }

    /// Records that the dynamic sizes of a shape are assumed to differ from 1.
    pub fn doubt(&mut self, shape: &Shape) {
        let open = shape.iter().filter_map(|dim| dim.name().cloned());
        self.names.doubt(open);
    }

    /// Returns `dim`, or a new name if the arithmetic failed.
    pub fn dim_or_fresh(&mut self, dim: Option<Dim>, hint: &str) -> Dim {
        dim.unwrap_or_else(|| self.fresh(hint))
    }

    /// Sets the type of a tensor output.
    pub fn output(&mut self, output: usize, dtype: DType, shape: Shape) {
        self.output_type(output, Type::tensor(dtype, shape));
    }

    /// Sets the type of an output. Reports a tensor with too many axes, or that does not fit into any memory, instead.
    pub fn output_type(&mut self, output: usize, ty: Type) {
        let Some(id) = self.node.output(output) else {
            return;
        };
        let fits = match &ty {
            Type::Tensor(tensor) => rank_of_result(tensor.rank()).and_then(|_| match tensor.fits() {
                true => Ok(()),
                false => Err(Problem::new(format!(
                    "the result is {tensor}, which has negative sizes or does not fit in memory"
                ))),
            }),
            _ => Ok(()),
        };
        match fits {
            Ok(()) => self.values[id].ty = Some(ty),
            Err(problem) => self.diagnostics.push(problem.at(self.node.site(self.values))),
        }
    }

    /// Sets the known elements of an output, if there are at most [`LARGEST_KNOWN`] and their number fits the type.
    pub fn output_known(&mut self, output: usize, known: impl Into<Option<Known>>) {
        if let Some(known) = known.into().filter(|known| known.len() <= LARGEST_KNOWN) {
            let source = self.sources();
            let elements = self.values.sources().elements(known, source);
            self.output_elements(output, elements);
        }
    }

    /// Returns known elements for a fact, if the graph has room for them.
    pub fn elements(&self, known: Option<Known>) -> Elements {
        known.map(|known| self.values.sources().elements(known, None)).unwrap_or_default()
    }

    /// Sets the known elements like [`Infer::output_known`], for any number: they are stored nowhere else.
    pub fn output_written(&mut self, output: usize, known: Known) {
        self.output_elements(output, Elements::only(known, self.sources()));
    }

    /// Returns the sources of the elements that were read.
    fn sources(&self) -> Option<Source> {
        self.values.sources().joined(&self.folded.borrow())
    }

    fn output_elements(&mut self, output: usize, elements: Elements) {
        let (Some(id), Some(known)) = (self.node.output(output), elements.peek()) else {
            return;
        };
        let tensor = self.values[id].ty.as_ref().and_then(Type::as_tensor);
        let fits = tensor.is_some_and(|tensor| {
            let kinds = matches!(
                (known, tensor.dtype.kind()),
                (Known::Ints(_), ElementClass::Int)
                    | (Known::Floats(_), ElementClass::Float)
                    | (Known::Bools(_), ElementClass::Bool)
                    | (Known::Strings(_), ElementClass::String)
            );
            kinds && tensor.count() == Some(known.len())
        });
        if fits {
            self.values[id].known = elements;
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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn elements_of_an_unknown_shape_are_no_constant() {
        check(
            r#"g (int64[2] shape) => (int64[a, b] y) <int64[4] x = {1, 2, 3, 4}> { y = Reshape (x, shape) }"#,
            expect![[r#"
                g (host int64[2] shape) => (int64[reshape_0, reshape_1] y)
                <
                    int64[4] x = {1, 2, 3, 4}
                >
                {
                    int64[reshape_0, reshape_1] y = Reshape (x, shape)
                }
            "#]],
        );
    }
}
