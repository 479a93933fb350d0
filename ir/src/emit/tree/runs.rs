//! Order of the modules of a list.

use std::collections::{BTreeMap, BTreeSet};

use super::is_number;
use super::needs::Makers;
use crate::graph::{Node, ValueId, Values};

/// Nodes with the same component of their path.
pub struct Run<'n> {
    pub part: Option<&'n String>,
    pub nodes: Vec<&'n Node>,
}

/// Maximum number of nodes before which the other nodes of a module are moved.
const MAX_BETWEEN: usize = 64;

/// Joins the runs of a module if the nodes between them do not depend on it. Exporters compute rotary embeddings, for
/// example, between the first nodes of a layer and the others.
pub fn merged<'n>(runs: Vec<Run<'n>>, values: &Values) -> Vec<Run<'n>> {
    let mut makers = Makers::new(runs.iter().flat_map(|run| run.nodes.iter().copied()), values);
    let mut merged: Vec<Joined<'n>> = Vec::new();
    for (id, run) in runs.into_iter().enumerate() {
        let mut run = Joined {
            id,
            needs: run.nodes.iter().flat_map(|node| makers.of(node)).collect(),
            is_pure: run.nodes.iter().all(|node| node.operator.is_pure()),
            run,
        };
        let earlier = earlier(&run.run, &merged).map(|at| merged.remove(at));
        let id = earlier.as_ref().map_or(id, |earlier| earlier.id);
        run.run.nodes.iter().for_each(|node| makers.add(node, id));
        if let Some(earlier) = earlier {
            run = earlier.with(run);
        }
        merged.push(run);
    }
    merged.into_iter().map(|joined| joined.run).collect()
}

/// Runs of one module, joined.
struct Joined<'n> {
    /// Number of the first of the runs.
    id: usize,
    run: Run<'n>,
    /// Numbers of the runs on which the nodes depend.
    needs: BTreeSet<usize>,
    is_pure: bool,
}

impl<'n> Joined<'n> {
    fn with(mut self, mut later: Joined<'n>) -> Self {
        self.run.nodes.append(&mut later.run.nodes);
        self.needs.append(&mut later.needs);
        self.is_pure &= later.is_pure;
        self
    }
}

/// Returns the index of the last run of the same module, if there are few nodes after it, which do not depend on it.
fn earlier(run: &Run<'_>, merged: &[Joined<'_>]) -> Option<usize> {
    run.part?;
    let mut between = 0usize;
    for (at, other) in merged.iter().enumerate().rev() {
        if other.run.part == run.part {
            let mut later = merged.iter().skip(at.saturating_add(1));
            return later.all(|later| later.is_pure && !later.needs.contains(&other.id)).then_some(at);
        }
        between = between.saturating_add(other.run.nodes.len());
        if between > MAX_BETWEEN {
            return None;
        }
    }
    None
}

/// Moves nodes whose results several modules of a list use before the module. Exporters compute a mask once, in the first
/// layer that uses it, which then differs from the other layers.
pub fn lift<'n>(runs: Vec<Run<'n>>, values: &Values) -> Vec<Run<'n>> {
    let is_listed = |run: &Run<'_>| run.part.is_some_and(|part| is_number(part));
    if runs.iter().filter(|run| is_listed(run)).count() < 3 {
        return runs;
    }
    // Number of modules of the list that use each value, including the one that computes it.
    let mut users: BTreeMap<ValueId, usize> = BTreeMap::new();
    for run in runs.iter().filter(|run| is_listed(run)) {
        let reads: BTreeSet<ValueId> = run.nodes.iter().flat_map(|node| node.reads()).collect();
        reads.into_iter().for_each(|id| *users.entry(id).or_default() += 1);
    }
    let mut lifted = Vec::new();
    for run in runs {
        let moved = if is_listed(&run) { shared(&run.nodes, &users, values) } else { BTreeSet::new() };
        if moved.is_empty() {
            lifted.push(run);
            continue;
        }
        let nodes = run.nodes.into_iter().enumerate();
        let (before, nodes): (Vec<_>, Vec<_>) = nodes.partition(|(at, _)| moved.contains(at));
        let plain = |nodes: Vec<(usize, _)>| nodes.into_iter().map(|(_, node)| node).collect();
        lifted.push(Run { part: None, nodes: plain(before) });
        lifted.push(Run { part: run.part, nodes: plain(nodes) });
    }
    lifted
}

/// Returns the indices of the nodes whose results at least two other modules use, and of those that they depend on, if
/// these are the smaller part of the module.
fn shared(nodes: &[&Node], users: &BTreeMap<ValueId, usize>, values: &Values) -> BTreeSet<usize> {
    let reads: BTreeSet<ValueId> = nodes.iter().flat_map(|node| node.reads()).collect();
    let is_shared = |id: &ValueId| {
        let all = users.get(id).copied().unwrap_or_default();
        all.saturating_sub(usize::from(reads.contains(id))) > 1
    };
    let roots = nodes.iter().enumerate().filter(|(_, node)| node.outputs.iter().flatten().any(is_shared));
    let roots: Vec<usize> = roots.map(|(at, _)| at).collect();
    let mut moved = BTreeSet::new();
    if roots.is_empty() {
        return moved;
    }
    let mut makers = Makers::new(nodes.iter().copied(), values);
    nodes.iter().enumerate().for_each(|(at, node)| makers.add(node, at));
    // The result of a module that all later ones use, as in a dense network, depends on all nodes of the module.
    let is_small = |nodes_of: &BTreeSet<usize>| nodes_of.len().saturating_mul(2) < nodes.len();
    for root in roots {
        let mut needed = BTreeSet::new();
        let mut open = vec![root];
        while let Some(at) = open.pop() {
            if needed.insert(at) {
                open.extend(nodes.get(at).map(|node| makers.of(node)).unwrap_or_default());
            }
            if !is_small(&needed) {
                break;
            }
        }
        let is_pure = |at: &usize| nodes.get(*at).is_some_and(|node| node.operator.is_pure());
        if is_small(&needed) && needed.iter().all(is_pure) {
            moved.extend(needed);
        }
    }
    if is_small(&moved) { moved } else { BTreeSet::new() }
}
