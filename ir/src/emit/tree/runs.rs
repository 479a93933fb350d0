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
    let mut merged: Vec<Run<'n>> = Vec::new();
    // Positions do not identify runs, because earlier runs move.
    let mut ids: Vec<usize> = Vec::new();
    for (fresh, mut run) in runs.into_iter().enumerate() {
        let earlier = earlier(&run, &merged).filter(|&at| {
            let later = merged.get(at.saturating_add(1)..).unwrap_or_default();
            let mut later = later.iter().flat_map(|run| &run.nodes);
            let id = ids.get(at);
            later.all(|node| node.operator.is_pure() && id.is_some_and(|id| !makers.of(node).contains(id)))
        });
        let id = earlier.map_or(fresh, |at| ids.remove(at));
        run.nodes.iter().for_each(|node| makers.add(node, id));
        if let Some(at) = earlier {
            let mut joined = merged.remove(at);
            joined.nodes.append(&mut run.nodes);
            run = joined;
        }
        merged.push(run);
        ids.push(id);
    }
    merged
}

/// Returns the index of the last run of the same module, if there are few nodes after it.
fn earlier(run: &Run<'_>, merged: &[Run<'_>]) -> Option<usize> {
    run.part?;
    let mut between = 0usize;
    for (at, other) in merged.iter().enumerate().rev() {
        if other.part == run.part {
            return Some(at);
        }
        between = between.saturating_add(other.nodes.len());
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
