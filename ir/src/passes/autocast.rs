//! Computes floats of single precision in 16 bits.
//!
//! Products and convolutions take operands and weights of 16 bits. Operators that move elements, compute each on its
//! own, or sum in single precision for all operands compute in 16 bits if an operand has 16 bits and no operand was
//! computed in single precision by another operator. All other operators keep single precision, as do inputs and
//! outputs of the model and of nested graphs. `ops::Width` classifies the operators.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::dead;
use crate::dtype::DType;
use crate::elements::Elements;
use crate::graph::{Block, Graph, Node, Value, ValueId, Values};
use crate::infer;
use crate::names::Names;
use crate::ops::elementwise::{cast, unary};
use crate::ops::{self, Width};
use crate::types::{Known, Placement, Type};

/// Smallest and largest normal number of f16.
const RANGE: std::ops::RangeInclusive<f64> = 6.103515625e-5..=65504.0;

/// Computes in `half` wherever the operators allow it.
pub fn autocast(graph: &mut Graph, names: &mut Names, half: DType) {
    let mut body = std::mem::take(&mut graph.body);
    let mut single = BTreeSet::new();
    note_containers(&body, &graph.values, &mut single);
    let mut exact = BTreeMap::new();
    note_exact(&body, &mut exact);
    single.extend(exact.into_keys());
    let mut cx = Autocast {
        values: &mut graph.values,
        names,
        half,
        training: graph.training,
        single,
        neutral: body.inputs.iter().copied().collect(),
        narrowed: BTreeSet::new(),
        weights: BTreeMap::new(),
        casts: Vec::new(),
    };
    cx.block(&mut body);
    graph.body = body;
    dead::remove(graph);
}

/// Marks items of containers, whose type the container determines, and copies, which have the type of the original.
fn note_containers(block: &Block, values: &Values, single: &mut BTreeSet<ValueId>) {
    let made = block.nodes.iter().flat_map(|node| &node.outputs).flatten();
    for &id in made.chain(&block.inputs) {
        let value = &values[id];
        single.extend(value.parts.iter().flatten());
        if let Some(original) = value.copy_of {
            single.extend([id, original]);
        }
    }
    for (_, inner) in block.nodes.iter().flat_map(|node| &node.blocks) {
        note_containers(inner, values, single);
    }
}

/// Marks values that must be exact for an operator, and the values from which they are computed, through at most one
/// product: positions times frequencies, squares of distances. The flag is `true` if no product was passed yet.
fn note_exact(block: &Block, exact: &mut BTreeMap<ValueId, bool>) {
    for node in block.nodes.iter().rev() {
        for (_, inner) in &node.blocks {
            note_exact(inner, exact);
        }
        let results = node.outputs.iter().flatten();
        let found = results.filter_map(|id| exact.get(id)).max().copied();
        let product = match (ops::facts(&node.kind).width, found) {
            (Width::Exact, _) => true,
            (Width::Operands, Some(product)) => product,
            (Width::Half, Some(true)) => false,
            _ => continue,
        };
        for &id in node.inputs.iter().flatten() {
            let before = exact.entry(id).or_default();
            *before |= product;
        }
    }
}

struct Autocast<'g> {
    values: &'g mut Values,
    names: &'g mut Names,
    half: DType,
    training: bool,
    /// Values that keep single precision.
    single: BTreeSet<ValueId>,
    /// Inputs of the model, and values moved from them. They have no precision of their own, because the caller chose
    /// it.
    neutral: BTreeSet<ValueId>,
    /// Values that had single precision and now have 16 bits.
    narrowed: BTreeSet<ValueId>,
    /// Constants of the model, converted to 16 bits.
    weights: BTreeMap<ValueId, ValueId>,
    /// Converted values of each enclosing block, the innermost last.
    casts: Vec<BTreeMap<ValueId, ValueId>>,
}

impl Autocast<'_> {
    fn block(&mut self, block: &mut Block) {
        self.casts.push(BTreeMap::new());
        for mut node in std::mem::take(&mut block.nodes) {
            for (_, inner) in &mut node.blocks {
                self.block(inner);
            }
            let before = &mut block.nodes;
            let narrows = self.may_narrow(&node) && self.narrow(&mut node, before);
            if !narrows {
                self.widen(&mut node.inputs, before, &node.origin);
                self.note_neutral(&node);
            }
            block.nodes.push(node);
        }
        for output in &mut block.outputs {
            if !self.narrowed.contains(output) {
                continue;
            }
            let wide = self.cast(*output, &mut block.nodes, &[]);
            // The result has the name that it has outside.
            if self.values[wide].name.is_empty() {
                self.values[wide].name = std::mem::take(&mut self.values[*output].name);
            }
            *output = wide;
        }
        self.casts.pop();
    }

    /// Returns the indices of the inputs whose type determines the type of the computation.
    fn operands(&self, node: &Node) -> Vec<usize> {
        let (first, end) = ops::facts(&node.kind).independent;
        let inputs = (0usize..).zip(&node.inputs);
        let floats = inputs.filter(|(at, id)| {
            let is_independent = (first..end).contains(at) || node.operator.wants_host(*at);
            !is_independent && id.is_some_and(|id| self.is_single(id) || self.narrowed.contains(&id))
        });
        floats.map(|(at, _)| at).collect()
    }

    /// Returns `true` if a value is a tensor of single precision.
    fn is_single(&self, id: ValueId) -> bool {
        let tensor = self.values[id].ty.as_ref().and_then(Type::as_tensor);
        tensor.is_some_and(|tensor| tensor.dtype == DType::F32)
    }

    fn may_narrow(&self, node: &Node) -> bool {
        let facts = ops::facts(&node.kind);
        let stays = |id: &ValueId| self.single.contains(id) || self.values[*id].known.is_some();
        if facts.width == Width::Single || node.outputs.iter().flatten().any(stays) {
            return false;
        }
        let operands = self.operands(node);
        let operands = operands.iter().filter_map(|&at| node.input(at));
        let operands: Vec<ValueId> = operands.collect();
        let is_constant = |id: &ValueId| self.values[*id].is_constant();
        let is_free = |id: &ValueId| is_constant(id) || self.neutral.contains(id);
        match facts.width {
            Width::Single | Width::Exact => false,
            Width::Half => operands.iter().any(|id| !is_constant(id)),
            // Rows of a table, and other elements of weights.
            Width::Operands if operands.iter().all(is_constant) => {
                let is_weight = |id: &ValueId| self.values[*id].parameter;
                !facts.elementwise && operands.iter().any(is_weight)
            }
            Width::Operands => {
                let is_narrowed = |id: &ValueId| self.narrowed.contains(id);
                // The square of a 16-bit number may be out of range.
                let squares = &*node.kind == "Mul" && node.input(0) == node.input(1);
                operands.iter().any(is_narrowed)
                    && operands.iter().all(|id| is_narrowed(id) || is_free(id))
                    && operands.iter().all(|&id| self.fits(id))
                    && !squares
            }
        }
    }

    /// Returns `true` if the elements of a constant that is not a weight remain the same in 16 bits. An epsilon, the
    /// score of masked keys or a bound just below 1 do not.
    fn fits(&self, id: ValueId) -> bool {
        let value = &self.values[id];
        let one = value.known.peek().is_some_and(|known| known.len() == 1);
        if value.parameter && !one {
            return true;
        }
        let fits = |&number: &f64| {
            let rounded = unary::rounded(number, self.half);
            let in_range = RANGE.contains(&number.abs()) || self.half != DType::F16;
            rounded == number || in_range && rounded.abs() != 1.0
        };
        match value.known.read() {
            Some(Known::Floats(numbers)) => numbers.iter().all(fits),
            _ => true,
        }
    }

    /// Converts the operands of a node to 16 bits. Returns `true` if its results then have 16 bits.
    fn narrow(&mut self, node: &mut Node, before: &mut Vec<Node>) -> bool {
        let mut inputs = node.inputs.clone();
        let operands = self.operands(node);
        for (at, input) in inputs.iter_mut().enumerate() {
            let Some(id) = *input else { continue };
            if operands.contains(&at) != self.narrowed.contains(&id) {
                *input = Some(self.cast(id, before, &node.origin));
            }
        }
        let (names, values) = (self.names.mark(), self.values.len());
        let fresh = |output: &Option<ValueId>| output.map(|_| self.values.push(Value::default()));
        let tried = Node { inputs, outputs: node.outputs.iter().map(fresh).collect(), ..node.clone() };
        let fits = infer::node(&tried, self.values, self.names).is_ok();
        let pairs = node.outputs.iter().flatten();
        let pairs = pairs.zip(tried.outputs.iter().flatten());
        let mut results = Vec::new();
        for (&own, &tried) in pairs {
            let tensor = |id: ValueId| self.values[id].ty.as_ref().and_then(Type::as_tensor);
            let dtype = tensor(tried).map(|tensor| tensor.dtype);
            if self.is_single(own) && dtype == Some(self.half) {
                results.push(own);
            }
        }
        self.values.truncate(values);
        self.names.rewind(names, &BTreeSet::new());
        if !fits || results.is_empty() {
            return false;
        }
        node.inputs = tried.inputs;
        for id in results {
            if let Some(Type::Tensor(tensor)) = &mut self.values[id].ty {
                tensor.dtype = self.half;
            }
            self.narrowed.insert(id);
        }
        true
    }

    /// Converts the inputs of a node to single precision.
    fn widen(&mut self, inputs: &mut [Option<ValueId>], before: &mut Vec<Node>, origin: &[String]) {
        for input in inputs.iter_mut().flatten() {
            if self.narrowed.contains(input) {
                *input = self.cast(*input, before, origin);
            }
        }
    }

    fn note_neutral(&mut self, node: &Node) {
        let mut inputs = node.inputs.iter().flatten();
        let is_free = |id: &ValueId| self.neutral.contains(id) || self.values[*id].is_constant();
        if node.blocks.is_empty() && node.operator.moves() && inputs.all(is_free) {
            self.neutral.extend(node.outputs.iter().flatten());
        }
    }

    /// Converts a value from single precision to 16 bits, or the reverse.
    fn cast(&mut self, id: ValueId, before: &mut Vec<Node>, origin: &[String]) -> ValueId {
        let is_narrowed = self.narrowed.contains(&id);
        let casts = self.casts.iter().rev().chain([&self.weights]);
        if let Some(found) = casts.filter_map(|casts| casts.get(&id)).next() {
            return *found;
        }
        let dtype = if is_narrowed { DType::F32 } else { self.half };
        let result = self.values.push(Value::default());
        let node = Node {
            name: String::new(),
            origin: origin.to_vec(),
            kind: "Cast".into(),
            version: 25,
            operator: cast::to(dtype),
            inputs: vec![Some(id)],
            outputs: vec![Some(result)],
            blocks: Vec::new(),
            placement: Placement::default(),
        };
        // Every float can be converted.
        let _ = infer::node(&node, self.values, self.names);
        let value = &self.values[id];
        let learns = self.training && value.parameter;
        if value.is_constant() && !is_narrowed && !learns {
            let number = !value.parameter && value.known.peek().is_some_and(|known| known.len() == 1);
            if !number && value.is_stored() {
                // Weights are converted when they are loaded, and are not embedded in the code.
                let weight = &mut self.values[result];
                (weight.known, weight.maker) = (Elements::default(), Some(Rc::new(node)));
            }
            self.weights.insert(id, result);
            return result;
        }
        before.push(node);
        if let Some(casts) = self.casts.last_mut() {
            casts.insert(id, result);
        }
        result
    }
}

#[cfg(test)]
mod tests;
