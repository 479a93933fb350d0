//! The graph: values, nodes, blocks.

mod id;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::rc::Rc;

use crate::attributes::attributes;
use crate::diagnostics::Site;
use crate::elements::{Elements, Sources};
use crate::operator::Operator;
use crate::types::{Known, Placement, Type};
use crate::weight::Weight;
pub use id::{NumberedValues, ValueId};

/// A model that was read and is not emitted yet.
#[derive(Clone, Debug)]
pub struct Graph {
    pub name: String,
    pub values: Values,
    pub body: Block,
    /// Whether parameters may change at run time, so that values that depend on them are computed in each call.
    pub training: bool,
}

/// Nodes, sorted so that every value is computed before it is used. Nested blocks (branches and loop bodies) use values
/// of the enclosing blocks.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub inputs: Vec<ValueId>,
    pub nodes: Vec<Node>,
    pub outputs: Vec<ValueId>,
}

/// A call of an operator.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    /// The module of the exported program that contains the node, outermost first. Very long paths are truncated.
    pub origin: Vec<String>,
    /// Name of the ONNX operator, for display: `Conv` or `com.microsoft.FusedConv`.
    pub kind: Rc<str>,
    pub version: i64,
    pub operator: Rc<dyn Operator>,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
    /// Blocks by the names of their attributes.
    pub blocks: Vec<(String, Block)>,
    pub placement: Placement,
}

/// The way in which a node runs its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// One of the blocks. The outputs of each are those of the node.
    Branches,
    /// Each block once.
    Once,
    /// One block repeatedly.
    Iterations(Iterations),
}

/// Position of the state that iterations pass on. After the state, the outputs contain the results of all iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iterations {
    /// Number of the node's inputs before the state.
    pub before: usize,
    /// Number of inputs of the node, and of the block, after the state.
    pub behind: usize,
    /// Number of the block's inputs before the state.
    pub block_inputs: usize,
    /// Number of the block's outputs before the state.
    pub block_outputs: usize,
    /// Whether the iterations of each element of a batch have their own state.
    pub batched: bool,
}

attributes!(struct Iterations { before, behind, block_inputs, block_outputs, batched });

/// A value of the graph.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// Name in the file.
    pub name: String,
    pub ty: Option<Type>,
    pub known: Elements,
    /// Location of the elements in the files, if the value is a constant of the model.
    pub weight: Option<Weight>,
    /// Whether the value is a parameter: a float initializer of rank 1 or more. Scalars, and constants that nodes
    /// produce, are part of the graph.
    pub parameter: bool,
    /// The node that computes the value from constants when the model is loaded.
    pub maker: Option<Rc<Node>>,
    /// The items of a sequence or an optional, if they are known.
    pub parts: Option<Vec<ValueId>>,
    /// The original value, if this one is a copy.
    pub copy_of: Option<ValueId>,
    /// Whether the type is a guess, because it depends on the result of an unknown operator.
    pub guessed: bool,
    pub placement: Placement,
}

/// All values of a graph and its nested blocks.
#[derive(Clone, Debug, Default)]
pub struct Values {
    all: Vec<Value>,
    sources: Sources,
}

impl Graph {
    /// Returns a copy that records consulted constants independently of the original.
    pub fn fresh_copy(&self) -> Graph {
        let mut copy = self.clone();
        copy.values.sources = self.values.sources.copy();
        for value in &mut copy.values.all {
            value.known.move_to(&copy.values.sources);
        }
        copy
    }
}

impl Values {
    pub fn push(&mut self, value: Value) -> ValueId {
        self.all.push(value);
        ValueId(u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX))
    }

    /// Removes all values after the first `len`. No ids of them may be in use.
    pub fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the constants of the file from which known elements are computed.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (ValueId, &Value)> {
        (0u32..).map(ValueId).zip(&self.all)
    }
}

/// Ids were returned by `push` of the same arena, which removes only values that are not in use.
impl Index<ValueId> for Values {
    type Output = Value;

    fn index(&self, id: ValueId) -> &Value {
        &self.all[id.0 as usize]
    }
}

impl IndexMut<ValueId> for Values {
    fn index_mut(&mut self, id: ValueId) -> &mut Value {
        &mut self.all[id.0 as usize]
    }
}

impl Value {
    /// Returns `true` for a sequence that is known to be empty and an optional without a value.
    pub fn is_nothing(&self) -> bool {
        self.parts.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns `true` if the value is a constant of the model.
    pub fn is_constant(&self) -> bool {
        self.is_stored() || self.known.peek().is_some_and(Known::is_concrete)
    }

    /// Returns `true` if the model stores the elements, or computes them from stored ones when it is loaded.
    pub fn is_stored(&self) -> bool {
        self.weight.is_some() || self.maker.is_some()
    }
}

impl Node {
    /// Returns the operator as the type of its family.
    pub fn operator_as<T: Operator>(&self) -> Option<&T> {
        let operator: &dyn Any = &*self.operator;
        operator.downcast_ref()
    }

    /// Returns the input, if the node has it.
    pub fn input(&self, at: usize) -> Option<ValueId> {
        self.inputs.get(at).copied().flatten()
    }

    /// Returns the output, if it is used.
    pub fn output(&self, at: usize) -> Option<ValueId> {
        self.outputs.get(at).copied().flatten()
    }

    /// Returns the operator and name of the node for diagnostics.
    pub fn site(&self, values: &Values) -> Site {
        let node = match (self.name.is_empty(), self.outputs.iter().flatten().next()) {
            (true, Some(&first)) => values[first].name.clone(),
            _ => self.name.clone(),
        };
        Site { operator: format!("{} version {}", self.kind, self.version), node }
    }

    /// Returns all values that the node uses: its inputs, and those that its blocks use from outside.
    pub fn reads(&self) -> Vec<ValueId> {
        let mut reads: Vec<ValueId> = self.inputs.iter().flatten().copied().collect();
        for (_, block) in &self.blocks {
            reads.extend(block.captures());
        }
        reads
    }
}

impl Flow {
    /// Returns the branch that runs, if the condition is known.
    pub fn known_branch(condition: Option<&Known>) -> Option<&'static str> {
        match condition {
            Some(Known::Bools(values)) => match values.as_slice() {
                [true] => Some("then_branch"),
                [false] => Some("else_branch"),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Iterations {
    /// Keeps some of the results, counted from the first state. A removed state is also removed from the inputs of the
    /// loop and of its block.
    pub fn retain(self, node: &mut Node, is_kept: impl Fn(usize) -> bool) {
        let state = self.state(node);
        let result = |at: Option<usize>| at.is_none_or(&is_kept);
        let is_state = |at: &usize| *at < state;
        if let Some((_, inner)) = node.blocks.first_mut() {
            keep(&mut inner.outputs, |at| result(at.checked_sub(self.block_outputs)));
            keep(&mut inner.inputs, |at| result(at.checked_sub(self.block_inputs).filter(is_state)));
        }
        keep(&mut node.outputs, &is_kept);
        keep(&mut node.inputs, |at| result(at.checked_sub(self.before).filter(is_state)));
    }

    /// Returns the number of values of the state.
    pub fn state(&self, node: &Node) -> usize {
        let around = self.before.saturating_add(self.behind);
        node.inputs.len().saturating_sub(around)
    }
}

/// Keeps the items at some indices of a list.
fn keep<T>(list: &mut Vec<T>, wanted: impl Fn(usize) -> bool) {
    let mut indices = 0..;
    list.retain(|_| indices.next().is_none_or(&wanted));
}

impl Block {
    /// Returns the number of nodes, including those of nested blocks.
    pub fn nodes_within(&self) -> usize {
        let inner = self.nodes.iter().flat_map(|node| &node.blocks);
        self.nodes.len() + inner.map(|(_, block)| block.nodes_within()).sum::<usize>()
    }

    /// Returns the values that are used inside and computed outside, each once, in the order of use.
    pub fn captures(&self) -> Vec<ValueId> {
        let mut made: std::collections::BTreeSet<ValueId> = self.inputs.iter().copied().collect();
        let mut captured = Vec::new();
        for node in &self.nodes {
            captured.extend(node.reads().into_iter().filter(|id| !made.contains(id)));
            made.extend(node.outputs.iter().flatten());
        }
        captured.extend(self.outputs.iter().filter(|id| !made.contains(id)));
        let mut seen = std::collections::BTreeSet::new();
        captured.retain(|id| seen.insert(*id));
        captured
    }

    /// Returns the number of nodes, including nested blocks, except constants.
    pub fn count(&self) -> usize {
        let computes = self.nodes.iter().filter(|node| &*node.kind != "Constant");
        let nodes = computes.map(|node| {
            let inner = node.blocks.iter().map(|(_, block)| block.count());
            inner.sum::<usize>().saturating_add(1)
        });
        nodes.sum()
    }

    /// Returns the number of uses of each value by nodes and outputs, including nested blocks.
    pub fn uses(&self) -> BTreeMap<ValueId, usize> {
        let mut uses = BTreeMap::new();
        let reads = self.nodes.iter().flat_map(Node::reads);
        for id in reads.chain(self.outputs.iter().copied()) {
            *uses.entry(id).or_insert(0) += 1;
        }
        uses
    }
}
