//! The graph: values, nodes, blocks.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::rc::Rc;

use crate::attributes::attributes;
use crate::diagnostics::Site;
use crate::elements::{Elements, Sources};
use crate::operator::Operator;
use crate::types::{Known, Place, Type};
use crate::weight::Weight;

/// A value of one [`Values`] arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(u32);

/// A model that is read and not yet emitted as code.
#[derive(Clone, Debug)]
pub struct Graph {
    pub name: String,
    pub values: Values,
    pub body: Block,
    /// Whether parameters may change while the program runs, so that what is computed from them is computed
    /// at each call.
    pub training: bool,
}

/// Nodes in an order in which every value is made before it is used. Nested blocks (branches and loop bodies)
/// use values of the blocks around them.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub inputs: Vec<ValueId>,
    pub nodes: Vec<Node>,
    pub outputs: Vec<ValueId>,
}

/// One application of an operator.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    /// The module of the exported program that it came from, outermost first, not all of a very deep one.
    pub origin: Vec<String>,
    /// The ONNX operator, for people: `Conv` or `com.microsoft.FusedConv`.
    pub kind: Rc<str>,
    pub version: i64,
    pub operator: Rc<dyn Operator>,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
    /// Graph attributes, under their attribute names.
    pub blocks: Vec<(String, Block)>,
    pub place: Place,
}

/// How a node runs its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// One of its blocks; the outputs of each are those of the node.
    Branches,
    /// Each of its blocks once.
    Once,
    /// One block, again and again.
    Iterations(Iterations),
}

/// Where the state that goes from one iteration to the next stands. Behind it are, among the outputs, those
/// of all iterations together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iterations {
    /// Inputs of the node before the state.
    pub before: usize,
    /// Inputs of the node, and of the block, behind the state.
    pub behind: usize,
    /// Inputs of the block before the state.
    pub block_inputs: usize,
    /// Outputs of the block before the state.
    pub block_outputs: usize,
    /// Whether the iterations of each element of a batch have a state of their own.
    pub batched: bool,
}

attributes!(struct Iterations { before, behind, block_inputs, block_outputs, batched });

/// Something a graph computes with.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// The ONNX name.
    pub name: String,
    pub ty: Option<Type>,
    pub known: Elements,
    /// Where its elements stand in the files, when it is a constant of the model.
    pub weight: Option<Weight>,
    /// Whether it is a parameter: an initializer of floats of rank 1 or more. Scalars, and constants that
    /// nodes make, are numbers of the graph.
    pub parameter: bool,
    /// The node that computes it from constants when the model is loaded.
    pub maker: Option<Rc<Node>>,
    /// What it is made of, when it is a sequence, or an optional, of which the items are known.
    pub parts: Option<Vec<ValueId>>,
    /// The value that it is a copy of.
    pub copy_of: Option<ValueId>,
    /// Whether its type is a guess, as it is computed from what an unknown operator makes.
    pub guessed: bool,
    pub place: Place,
}

/// Every value of a graph and of the blocks nested in it.
#[derive(Clone, Debug, Default)]
pub struct Values {
    all: Vec<Value>,
    sources: Sources,
}

impl Graph {
    /// A copy that consults no constant that the copied one consults later, and the other way round.
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

    /// Forgets the values behind the first ones; nothing may hold them any more.
    pub fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Which constants of the file the known elements come from.
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

/// Ids come from `push` on the same arena, which forgets only what nothing holds.
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

impl ValueId {
    /// The number that makes the value's variable unique in code.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl Value {
    /// Whether it is a sequence that is known to be empty, or an optional that holds nothing.
    pub fn is_nothing(&self) -> bool {
        self.parts.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether it is a constant of the model.
    pub fn is_constant(&self) -> bool {
        self.is_stored() || self.known.peek().is_some_and(Known::is_concrete)
    }

    /// Whether the model holds its elements, or computes them from such when it is loaded.
    pub fn is_stored(&self) -> bool {
        self.weight.is_some() || self.maker.is_some()
    }
}

impl Node {
    /// The operator, as its family holds it.
    pub fn operator_as<T: Operator>(&self) -> Option<&T> {
        let operator: &dyn Any = &*self.operator;
        operator.downcast_ref()
    }

    /// The input, when the node has it.
    pub fn input(&self, at: usize) -> Option<ValueId> {
        self.inputs.get(at).copied().flatten()
    }

    /// The output, when somebody may use it.
    pub fn output(&self, at: usize) -> Option<ValueId> {
        self.outputs.get(at).copied().flatten()
    }

    /// How diagnostics call the node.
    pub fn site(&self, values: &Values) -> Site {
        let node = match (self.name.is_empty(), self.outputs.iter().flatten().next()) {
            (true, Some(&first)) => values[first].name.clone(),
            _ => self.name.clone(),
        };
        Site { operator: format!("{} version {}", self.kind, self.version), node }
    }

    /// Every value that the node reads: its inputs, and what its blocks take from outside.
    pub fn reads(&self) -> Vec<ValueId> {
        let mut reads: Vec<ValueId> = self.inputs.iter().flatten().copied().collect();
        for (_, block) in &self.blocks {
            reads.extend(block.captures());
        }
        reads
    }
}

impl Flow {
    /// The branch that runs, when the condition is known.
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
    /// Keeps some of the results, the states first. A state that goes is no input of the loop or of its block
    /// either.
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

    /// How many values the state has.
    pub fn state(&self, node: &Node) -> usize {
        let around = self.before.saturating_add(self.behind);
        node.inputs.len().saturating_sub(around)
    }
}

/// Keeps what stands at some places of a list.
fn keep<T>(list: &mut Vec<T>, wanted: impl Fn(usize) -> bool) {
    let mut places = 0..;
    list.retain(|_| places.next().is_none_or(&wanted));
}

impl Block {
    /// How many nodes it has, those of its nodes' blocks included.
    pub fn nodes_within(&self) -> usize {
        let inner = self.nodes.iter().flat_map(|node| &node.blocks);
        self.nodes.len() + inner.map(|(_, block)| block.nodes_within()).sum::<usize>()
    }

    /// Values used inside that are made outside, each once, in order of use.
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

    /// How many nodes there are, nested blocks included, constants excluded.
    pub fn count(&self) -> usize {
        let computes = self.nodes.iter().filter(|node| &*node.kind != "Constant");
        let nodes = computes.map(|node| {
            let inner = node.blocks.iter().map(|(_, block)| block.count());
            inner.sum::<usize>().saturating_add(1)
        });
        nodes.sum()
    }

    /// How often each value is read by nodes and outputs, nested blocks included.
    pub fn uses(&self) -> BTreeMap<ValueId, usize> {
        let mut uses = BTreeMap::new();
        let reads = self.nodes.iter().flat_map(Node::reads);
        for id in reads.chain(self.outputs.iter().copied()) {
            *uses.entry(id).or_insert(0) += 1;
        }
        uses
    }
}
