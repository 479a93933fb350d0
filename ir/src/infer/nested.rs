//! Inference inside branches and loop bodies.

use std::collections::BTreeSet;

use super::{Infer, infer_block};
use crate::attributes::missing;
use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::{Dim, Symbol};
use crate::elements::Elements;
use crate::graph::{Block, Node, ValueId, Values};
use crate::names::Mark;
use crate::types::Type;
use crate::weight::Weight;

/// Average number of times that blocks of nested loops may be inferred. [`PATIENCE`] nodes are always allowed.
const AGAIN: usize = 16;
const PATIENCE: usize = 20_000;

/// Facts about a value that are known at compile time.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub ty: Type,
    pub known: Elements,
    pub weight: Option<Weight>,
}

/// A block that was inferred for certain inputs.
#[derive(Debug)]
pub struct Inferred {
    /// `None` if a node of the block, or one before it, could not be compiled.
    pub outputs: Option<Vec<Fact>>,
    problems: Diagnostics,
}

impl Fact {
    /// Returns the facts of a value whose elements are unknown.
    pub fn of(ty: Type) -> Self {
        Fact { ty, known: Elements::default(), weight: None }
    }

    /// Inserts a size into the shape at an axis.
    #[must_use]
    pub fn with_size(mut self, axis: usize, size: Dim) -> Self {
        if let Type::Tensor(tensor) = &mut self.ty
            && axis <= tensor.rank()
        {
            tensor.shape.insert(axis, size);
        }
        self
    }
}

impl Infer<'_> {
    /// Returns the problem of a body with other numbers of inputs or outputs than the node requires.
    pub fn misfit(&self, body: &Block) -> Problem {
        Problem::new(format!(
            "the numbers of inputs and outputs of the body are {} and {}, which do not match {} and {} of the node",
            body.inputs.len(),
            body.outputs.len(),
            self.inputs(),
            self.outputs()
        ))
        .inconsistent()
    }

    /// Returns the body of an attribute.
    pub fn block(&self, name: &str) -> Result<&Block, Problem> {
        let found = self.node.blocks.iter().find(|(attribute, _)| attribute == name);
        found.map(|(_, block)| block).ok_or_else(|| missing(name))
    }

    /// Returns the facts of an input.
    pub fn fact(&self, input: usize) -> Result<Fact, Problem> {
        let ty = self.ty(input)?.clone();
        let value = self.value(input);
        Ok(Fact {
            ty,
            known: value.map(|value| value.known.clone()).unwrap_or_default(),
            weight: value.and_then(|value| value.weight.clone()),
        })
    }

    /// Sets the facts of an output.
    pub fn output_fact(&mut self, output: usize, fact: Fact) {
        if let Some(id) = self.node.output(output) {
            let value = &mut self.values[id];
            (value.ty, value.known, value.weight) = (Some(fact.ty), fact.known, fact.weight);
            value.parts = None;
        }
    }

    /// Infers a block again with these inputs. Its problems are returned, not reported.
    pub fn infer_block(&mut self, name: &str, inputs: &[Fact]) -> Result<Inferred, Problem> {
        let node: &Node = self.node;
        let found = node.blocks.iter().find(|(attribute, _)| attribute == name);
        let block = found.map(|(_, block)| block);
        let block = block.ok_or_else(|| missing(name))?;
        if self.names.work.depth > 1 {
            self.names.work.nodes += block.nodes.len();
        }
        forget(block, self.values);
        for (id, fact) in block.inputs.iter().zip(inputs) {
            let (value, fact) = (&mut self.values[*id], fact.clone());
            (value.ty, value.known, value.weight) = (Some(fact.ty), fact.known, fact.weight);
            (value.parts, value.copy_of) = (None, None);
        }
        let mut problems = Diagnostics::default();
        infer_block(block, self.values, self.names, &mut problems, self.of_file);
        let fact = |id: &ValueId| {
            let value = &self.values[*id];
            Some(Fact { ty: value.ty.clone()?, known: value.known.clone(), weight: value.weight.clone() })
        };
        Ok(Inferred { outputs: block.outputs.iter().map(fact).collect(), problems })
    }

    /// Reports the problems of a block and returns the facts of its outputs.
    pub fn accept(&mut self, inferred: Inferred) -> Option<Vec<Fact>> {
        self.diagnostics.extend(inferred.problems);
        inferred.outputs
    }

    /// Returns a mark of the names that are reserved so far.
    pub fn names(&self) -> Mark {
        self.names.mark()
    }

    /// Releases the names that were reserved since the mark, except for some, and all that was inferred about them.
    pub fn rewind(&mut self, names: Mark, kept: &BTreeSet<Symbol>) {
        self.names.rewind(names, kept);
    }

    /// Returns the size or, if it contains names that were reserved since the mark, a new one: sizes that are computed
    /// in a block may differ between iterations.
    pub fn outside(&mut self, dim: &Dim, names: Mark, hint: &str) -> Dim {
        let mut symbols = dim.symbols().into_iter();
        if symbols.all(|symbol| self.names.was_reserved_at(names, &symbol)) {
            dim.clone()
        } else {
            self.fresh(hint)
        }
    }

    /// Returns the type outside a block that begins at the mark. The types of containers do not specify sizes that are
    /// named inside.
    pub fn type_outside(&self, ty: &Type, names: Mark, inside: Option<&Symbol>) -> Type {
        self.names.outside(names, ty, inside)
    }

    /// Begins the inference of a loop's block, which is inferred more than once.
    pub fn enter(&mut self) {
        self.names.work.depth += 1;
    }

    /// Ends the inference that [`Infer::enter`] began.
    pub fn leave(&mut self) {
        self.names.work.depth = self.names.work.depth.saturating_sub(1);
    }

    /// Returns `true` if the work on nested loops exceeds its limit, so that each loop must be inferred in one attempt.
    /// Each level with two attempts doubles the work of those inside.
    pub fn is_tired(&self) -> bool {
        let allowed = self.values.len().saturating_mul(AGAIN);
        self.names.work.nodes > allowed.max(PATIENCE)
    }
}

/// Forgets all that was inferred about the nodes of a block.
fn forget(block: &Block, values: &mut Values) {
    for node in &block.nodes {
        for (_, inner) in &node.blocks {
            forget(inner, values);
        }
        for &id in node.outputs.iter().flatten() {
            let value = &mut values[id];
            (value.ty, value.known, value.weight) = (None, Elements::default(), None);
            (value.parts, value.copy_of) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use crate::options::Options;
    use crate::{print, testing};

    /// Returns the type of the result of a loop in a loop. Its body of 1000 nodes settles at attempt `sizes + 1`.
    fn nested(sizes: usize) -> String {
        let mut body = "z0 = Neg (s) ".to_owned();
        for at in 1..999 {
            let _ = write!(body, "z{at} = Neg (z{}) ", at - 1);
        }
        let all = |of: fn(usize) -> String| (0..sizes).map(of).collect::<String>();
        let (initial, state) = (all(|_| ", x".to_owned()), all(|at| format!(", float[k{at}] a{at}")));
        let next = all(|at| match at.checked_sub(1) {
            Some(before) => format!(", float[q{at}] a{before}"),
            None => ", float[q] b".to_owned(),
        });
        let last = all(|at| format!(", w{at}"));
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[n] x, float[2] t, int64 m, bool go) => (float[a] y) {{
                y = Loop (m, go, t) <body = outer (int64 i, bool c, float[p] v) => (bool c, float[q] w) {{
                    w{last} = Loop (m, go, v{initial}) <
                        body = inner (int64 j, bool d, float[r] s{state}) => (bool d, float[r2] z998{next}) {{
                            {body} b = Concat <axis = 0> (a0, x)
                        }}
                    >
                }}>
            }}"
        );
        let options = Options { simplify: false, ..Options::default() };
        let model = crate::load_bytes(testing::file(&text).into(), &options);
        let model = model.unwrap_or_else(|problems| panic!("{}", problems.report("model")));
        let shown = print::graph(&model.graph);
        let result = shown.split_once("=> (").and_then(|(_, rest)| rest.split_once(" y)"));
        result.unwrap_or_default().0.to_owned()
    }

    #[test]
    fn loops_in_loops_are_inferred_until_it_takes_too_long() {
        assert_eq!(nested(20), "float32[2]");
        assert_eq!(nested(21), "float32[state_46]");
    }
}
