//! Passes over the graph, in their order.

mod dead;
mod flow;
mod place;

use crate::graph::Graph;

/// Everything between inference and code; `observe` sees the graph after each pass.
pub fn run(graph: &mut Graph, observe: &mut dyn FnMut(&str, &Graph)) {
    flow::simplify(graph);
    observe("flow", graph);
    dead::remove(graph);
    observe("dead", graph);
    place::place(graph);
    observe("place", graph);
}
