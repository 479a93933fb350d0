//! Pairs of nodes that compute the same values.

use std::collections::BTreeMap;

use super::difference;
use super::form::{Form, form};
use super::side::Side;
use crate::diff::Difference;
use crate::graph::{Block, Node, ValueId};
use crate::ops::custom::Custom;

/// Blocks of both graphs whose nodes correspond to each other.
pub(super) struct BlockPair<'g> {
    pub inputs: Vec<(ValueId, ValueId)>,
    /// Pairs in the order of the first block.
    pub nodes: Vec<NodePair<'g>>,
    pub outputs: Vec<(ValueId, ValueId)>,
    pub location: String,
}

/// Nodes of both graphs that compute the same.
pub(super) struct NodePair<'g> {
    pub first: &'g Node,
    pub second: &'g Node,
    /// Inputs that are present in both, with their index in the first one.
    pub inputs: Vec<(usize, ValueId, ValueId)>,
    pub blocks: Vec<BlockPair<'g>>,
}

/// Pairs of values, found from the outputs to the inputs. A value of one graph has one counterpart in the other.
pub(super) struct Correspondence<'s, 'g> {
    first: &'s Side<'g>,
    second: &'s Side<'g>,
    pairs: BTreeMap<ValueId, ValueId>,
    /// The same pairs, by the value of the second graph.
    reversed: BTreeMap<ValueId, ValueId>,
}

impl<'s, 'g> Correspondence<'s, 'g> {
    pub fn new(first: &'s Side<'g>, second: &'s Side<'g>) -> Self {
        Correspondence { first, second, pairs: BTreeMap::new(), reversed: BTreeMap::new() }
    }

    /// Returns the pairs of nodes of two models with these pairs of inputs and outputs.
    pub fn model(
        &mut self,
        bodies: (&'g Block, &'g Block),
        inputs: &[(ValueId, ValueId)],
        outputs: &[(ValueId, ValueId)],
    ) -> Result<BlockPair<'g>, Difference> {
        self.block(bodies, inputs, outputs, "the model".to_owned())
    }

    fn block(
        &mut self,
        (first, second): (&'g Block, &'g Block),
        inputs: &[(ValueId, ValueId)],
        outputs: &[(ValueId, ValueId)],
        location: String,
    ) -> Result<BlockPair<'g>, Difference> {
        for &(a, b) in inputs {
            self.pair(a, b, &|| format!("an input of {location}"))?;
        }
        for &(a, b) in outputs {
            self.pair(a, b, &|| format!("an output of {location}"))?;
        }
        let mut makers = BTreeMap::new();
        for (at, node) in second.nodes.iter().enumerate() {
            makers.extend(node.outputs.iter().flatten().map(|&id| (id, at)));
        }
        let mut left: Vec<Option<&'g Node>> = second.nodes.iter().map(Some).collect();
        let mut nodes = Vec::new();
        for node in first.nodes.iter().rev() {
            let at = self.counterpart(node, &makers, &left)?;
            let other = at.and_then(|at| left.get_mut(at)).and_then(Option::take);
            let Some(other) = other else {
                let nothing = "no such node";
                return Err(difference(&self.label(node), &node.kind, nothing));
            };
            nodes.push(self.nodes(node, other)?);
        }
        if let Some(more) = left.into_iter().flatten().next() {
            let location = format!("node `{}`", self.second.name(more));
            return Err(difference(&location, "no such node", &more.kind));
        }
        nodes.reverse();
        Ok(BlockPair { inputs: inputs.to_vec(), nodes, outputs: outputs.to_vec(), location })
    }

    /// Returns the index of the node that computes the counterparts of the results.
    fn counterpart(
        &self,
        node: &Node,
        makers: &BTreeMap<ValueId, usize>,
        left: &[Option<&'g Node>],
    ) -> Result<Option<usize>, Difference> {
        let outputs = node.outputs.iter().flatten();
        let Some(other) = outputs.filter_map(|id| self.pairs.get(id)).next() else {
            // The node only determines a size, which attributes of other nodes contain.
            let hash = self.first.node_hash(node);
            let same =
                |other: &Option<&Node>| other.is_some_and(|other| self.second.node_hash(other) == hash);
            return Ok(left.iter().rposition(same));
        };
        match makers.get(other) {
            Some(&at) => Ok(Some(at)),
            None => Err(difference(&self.label(node), &node.kind, &self.second.described(*other))),
        }
    }

    fn nodes(&mut self, first: &'g Node, second: &'g Node) -> Result<NodePair<'g>, Difference> {
        let location = self.label(first);
        let (left, right) = (form(self.first, first), form(self.second, second));
        if left.kind != right.kind {
            let other = format!("{}, node `{}`", second.kind, self.second.name(second));
            return Err(difference(&location, &first.kind, &other));
        }
        // Versions of operators that are built in are one operator after reading.
        if first.operator_as::<Custom>().is_some() {
            same_count(
                &format!("the version of {location}"),
                (first.version.to_string(), second.version.to_string()),
            )?;
        }
        if let (true, 2 | 3, 2 | 3) = (left.has_bias, left.inputs.len(), right.inputs.len()) {
            let text = |form: &Form| if form.inputs.len() > 2 { "present" } else { "absent" }.to_owned();
            same_count(&format!("the bias of {location}"), (text(&left), text(&right)))?;
        }
        same_count(
            &format!("the number of inputs of {location}"),
            (left.inputs.len().to_string(), right.inputs.len().to_string()),
        )?;
        let mut others = right.inputs.clone();
        if self.are_swapped(&left, &right) {
            others.reverse();
        }
        let mut inputs = Vec::new();
        for (at, (a, b)) in left.inputs.iter().zip(&others).enumerate() {
            match (*a, *b) {
                (Some(a), Some(b)) => {
                    self.pair(a, b, &|| format!("input {at} of {location}"))?;
                    inputs.push((at, a, b));
                }
                (None, None) => {}
                (a, _) => {
                    let text = |present: bool| if present { "present" } else { "absent" };
                    let location = format!("input {at} of {location}");
                    return Err(difference(&location, text(a.is_some()), text(a.is_none())));
                }
            }
        }
        let blocks = self.blocks(first, second, &location)?;
        let outputs = (first.outputs.iter().flatten().count(), second.outputs.iter().flatten().count());
        same_count(
            &format!("the number of results of {location}"),
            (outputs.0.to_string(), outputs.1.to_string()),
        )?;
        for (at, outputs) in first.outputs.iter().zip(&second.outputs).enumerate() {
            if let (Some(a), Some(b)) = outputs {
                self.pair(*a, *b, &|| format!("result {at} of {location}"))?;
            }
        }
        Ok(NodePair { first, second, inputs, blocks })
    }

    fn blocks(
        &mut self,
        first: &'g Node,
        second: &'g Node,
        location: &str,
    ) -> Result<Vec<BlockPair<'g>>, Difference> {
        let mut blocks = Vec::new();
        for (name, a) in &first.blocks {
            let location = format!("`{name}` of {location}");
            let Some((_, b)) = second.blocks.iter().find(|(other, _)| other == name) else {
                return Err(difference(&location, "a graph", "no such graph"));
            };
            let zipped = |what: &str, a: &[ValueId], b: &[ValueId]| {
                let location = format!("the number of {what} of {location}");
                same_count(&location, (a.len().to_string(), b.len().to_string()))?;
                Ok(a.iter().copied().zip(b.iter().copied()).collect::<Vec<_>>())
            };
            let inputs = zipped("inputs", &a.inputs, &b.inputs)?;
            let outputs = zipped("outputs", &a.outputs, &b.outputs)?;
            blocks.push(self.block((a, b), &inputs, &outputs, location)?);
        }
        let counts = (first.blocks.len(), second.blocks.len());
        same_count(
            &format!("the number of graphs in {location}"),
            (counts.0.to_string(), counts.1.to_string()),
        )?;
        Ok(blocks)
    }

    /// Returns `true` if the inputs of the second node are in the other order.
    fn are_swapped(&self, first: &Form, second: &Form) -> bool {
        let ([Some(a), Some(b)], [Some(c), Some(d)]) = (first.inputs.as_slice(), second.inputs.as_slice())
        else {
            return false;
        };
        if !first.commutes || !second.commutes {
            return false;
        }
        let known = |x: &ValueId, y: &ValueId| self.pairs.get(x) == Some(y);
        if known(a, c) || known(b, d) || known(a, d) || known(b, c) {
            return !(known(a, c) || known(b, d));
        }
        let classes = |side: &Side<'_>, id: &ValueId| (side.is_defined(*id), side.hash(*id));
        let (first, second) = (|id| classes(self.first, id), |id| classes(self.second, id));
        let straight = first(a) == second(c) || first(b) == second(d);
        !straight && (first(a) == second(d) || first(b) == second(c))
    }

    /// Records that two values correspond to each other. Constants have several counterparts and are compared later.
    fn pair(
        &mut self,
        first: ValueId,
        second: ValueId,
        location: &dyn Fn() -> String,
    ) -> Result<(), Difference> {
        let other = |correspondence: &Self| {
            let (a, b) = (correspondence.first.described(first), correspondence.second.described(second));
            if a == b {
                // Equal names of different values.
                return difference(&location(), &a, &format!("another value: {b}"));
            }
            difference(&location(), &a, &b)
        };
        let parts = (&self.first.values[first].parts, &self.second.values[second].parts);
        match parts {
            (Some(a), Some(b)) if a.len() == b.len() => {
                for (&a, &b) in a.iter().zip(b) {
                    self.pair(a, b, location)?;
                }
            }
            (None, None) => {}
            _ => return Err(other(self)),
        }
        match (self.first.is_defined(first), self.second.is_defined(second)) {
            (true, true) => {}
            (false, false) => return Ok(()),
            _ => return Err(other(self)),
        }
        let known = (self.pairs.insert(first, second), self.reversed.insert(second, first));
        match known {
            (None, None) => Ok(()),
            (Some(b), Some(a)) if (a, b) == (first, second) => Ok(()),
            _ => Err(other(self)),
        }
    }

    fn label(&self, node: &Node) -> String {
        format!("node `{}`", self.first.name(node))
    }
}

fn same_count(location: &str, (first, second): (String, String)) -> Result<(), Difference> {
    if first == second { Ok(()) } else { Err(difference(location, &first, &second)) }
}
