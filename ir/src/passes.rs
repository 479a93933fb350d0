//! Passes over the graph, in their order.

mod dead;
mod place;

use crate::graph::Graph;

/// Everything between inference and code.
pub fn run(graph: &mut Graph) {
    dead::remove(graph);
    place::place(graph);
}
