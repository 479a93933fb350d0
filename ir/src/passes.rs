//! Passes over the graph, in their order.

mod dead;
mod place;

use crate::graph::Graph;

/// Everything between inference and code; `observe` sees the graph after each pass.
pub fn run(graph: &mut Graph, observe: &mut dyn FnMut(&str, &Graph)) {
    dead::remove(graph);
    observe("dead", graph);
    place::place(graph);
    observe("place", graph);
}
