//! Computes whether host or device needs each value.

use std::collections::{BTreeMap, BTreeSet};

use super::is_string;
use crate::graph::{Block, Flow, Graph, Iterations, Node, ValueId, Values};

/// Values that the host needs and values that the device needs, computed from the end of the graph.
#[derive(Debug, Default)]
pub struct Demand {
    pub host: BTreeSet<ValueId>,
    pub device: BTreeSet<ValueId>,
    /// Values that can be computed on the host if the model's inputs are on the host.
    possible: BTreeSet<ValueId>,
}

impl Demand {
    /// Returns the demand of a whole graph.
    pub fn of(graph: &Graph) -> Self {
        let mut demand = Demand::default();
        demand.possible.extend(&graph.body.inputs);
        demand.reach(&graph.body, &graph.values);
        demand.device.extend(&graph.body.outputs);
        let strings = graph.values.iter().map(|(id, _)| id);
        let strings = strings.filter(|&id| is_string(&graph.values, id));
        demand.host.extend(strings);
        demand.block(&graph.body);
        demand
    }

    fn reach(&mut self, block: &Block, values: &Values) {
        for node in &block.nodes {
            for (_, inner) in &node.blocks {
                self.possible.extend(&inner.inputs);
                self.reach(inner, values);
            }
            let known = |id: &ValueId| values[*id].known.is_some() || is_string(values, *id);
            let inputs = node.inputs.iter().flatten();
            let constants = inputs.filter(|id| known(id)).copied();
            self.possible.extend(constants);
            let flows = node.operator.flow().is_some();
            if flows || node.operator.makes_host() || self.could_run_on_host(node) {
                self.possible.extend(node.outputs.iter().flatten());
            }
        }
    }

    fn could_run_on_host(&self, node: &Node) -> bool {
        let mut inputs = node.inputs.iter().flatten();
        node.operator.runs_on_host() && inputs.all(|id| self.possible.contains(id))
    }

    fn block(&mut self, block: &Block) {
        block.nodes.iter().rev().for_each(|node| self.any(node));
    }

    /// Adds the demands of a node of any kind.
    fn any(&mut self, node: &Node) {
        match node.operator.flow() {
            None => self.node(node),
            Some(Flow::Branches) => {
                for (_, inner) in &node.blocks {
                    for (&output, &id) in node.outputs.iter().zip(&inner.outputs) {
                        self.same(output, id);
                    }
                    self.block(inner);
                }
                self.inputs(node, false);
            }
            Some(Flow::Once) => {
                for (_, inner) in &node.blocks {
                    self.device.extend(&inner.outputs);
                    self.block(inner);
                }
                self.inputs(node, false);
            }
            Some(Flow::Iterations(iterations)) => self.iterations(node, iterations),
        }
    }

    fn node(&mut self, node: &Node) {
        let mut made = node.outputs.iter().flatten();
        // Values that both need are computed on the host: moving them to the device does not wait for the device.
        let host = node.operator.makes_host()
            || (self.could_run_on_host(node) && made.any(|id| self.host.contains(id)));
        self.inputs(node, host);
    }

    fn inputs(&mut self, node: &Node, host: bool) {
        for (at, id) in node.inputs.iter().enumerate() {
            let Some(id) = id else { continue };
            if host || node.operator.wants_host(at) {
                self.host.insert(*id)
            } else {
                self.device.insert(*id)
            };
        }
    }

    /// Assigns state to the placement that the next iteration and consumers after the loop need.
    fn iterations(&mut self, node: &Node, iterations: Iterations) {
        let state = iterations.state(node);
        for (_, inner) in &node.blocks {
            self.host.extend(inner.outputs.iter().take(iterations.block_outputs));
            let results = inner.outputs.iter().skip(iterations.block_outputs);
            for (at, &id) in results.enumerate() {
                self.same(node.output(at), id);
            }
            self.block(inner);
            self.again(inner, iterations, state);
            let state_inputs = inner.inputs.iter().skip(iterations.block_inputs).take(state);
            for (at, &id) in state_inputs.enumerate() {
                let Some(initial) = node.input(iterations.before + at) else {
                    continue;
                };
                self.same(Some(id), initial);
                self.same(node.output(at), initial);
            }
        }
        for (at, id) in node.inputs.iter().enumerate() {
            match id {
                Some(id) if node.operator.wants_host(at) => self.host.insert(*id),
                Some(id) if iterations.behind > 0 => self.device.insert(*id),
                _ => false,
            };
        }
    }

    /// Propagates the demand of an iteration to the previous one, from the last node to the first, until nothing
    /// changes.
    fn again(&mut self, block: &Block, iterations: Iterations, state: usize) {
        let state_inputs = block.inputs.iter().skip(iterations.block_inputs).take(state);
        let next = block.outputs.iter().skip(iterations.block_outputs);
        let states: BTreeMap<ValueId, ValueId> = state_inputs.copied().zip(next.copied()).collect();
        let mut makers = BTreeMap::new();
        for (at, node) in block.nodes.iter().enumerate() {
            makers.extend(node.outputs.iter().flatten().map(|&id| (id, at)));
        }
        let mut open: Vec<ValueId> = states.keys().copied().collect();
        let mut waiting: BTreeSet<usize> = BTreeSet::new();
        loop {
            while let Some(id) = open.pop() {
                let Some(&next) = states.get(&id) else {
                    waiting.extend(makers.get(&id));
                    continue;
                };
                let before = self.wanted(next);
                self.same(Some(id), next);
                if before != self.wanted(next) {
                    open.push(next);
                }
            }
            let Some(node) = waiting.pop_last().and_then(|at| block.nodes.get(at)) else {
                return;
            };
            let reads = node.reads().into_iter();
            let before: Vec<_> = reads.map(|id| (id, self.wanted(id))).collect();
            self.any(node);
            let more = before.into_iter().filter(|(id, was)| self.wanted(*id) != *was);
            open.extend(more.map(|(id, _)| id));
        }
    }

    fn wanted(&self, id: ValueId) -> (bool, bool) {
        (self.host.contains(&id), self.device.contains(&id))
    }

    /// Adds the demand of `like` to `id`.
    fn same(&mut self, like: Option<ValueId>, id: ValueId) {
        let Some(like) = like else { return };
        if self.host.contains(&like) {
            self.host.insert(id);
        }
        if self.device.contains(&like) {
            self.device.insert(id);
        }
    }
}
