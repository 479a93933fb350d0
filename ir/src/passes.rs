//! Passes over the graph, in their order.

mod autocast;
mod dead;
mod flow;
mod hoist;
mod narrow;
mod place;
pub mod rewrite;
pub mod rules;
mod share;

use crate::graph::Graph;
use crate::names::Names;
use crate::options::Options;
use rewrite::Report;

/// A pass that is done.
pub struct Step<'a> {
    pub name: &'static str,
    pub graph: &'a Graph,
    /// What rules did, if it applies rules.
    pub rules: Option<&'a Report>,
}

/// Everything between inference and code; `observe` sees the graph after each pass.
pub fn run(graph: &mut Graph, names: &mut Names, options: &Options, observe: &mut dyn FnMut(Step<'_>)) {
    let mut report = Report::default();
    let mut done = |name, graph: &Graph, rules: Option<&Report>| observe(Step { name, graph, rules });
    flow::simplify(graph);
    done("flow", graph, None);
    dead::remove(graph);
    narrow::narrow(graph, names);
    done("dead", graph, None);
    if options.simplify {
        // Patterns say of two values that they are the same one.
        share::share(graph);
        done("share", graph, None);
        rewrite::rewrite(graph, names, rules::all(), &mut report);
        // Rules make equal constants, each its own.
        share::share(graph);
        done("rewrite", graph, Some(&report));
    }
    // Behind the rules: casts around their sums would hide what steps come to.
    if let Some(half) = options.precision.half() {
        autocast::autocast(graph, names, half);
        if options.simplify {
            // Casts of casts.
            rewrite::rewrite(graph, names, rules::all(), &mut report);
        }
        done("autocast", graph, Some(&report));
    }
    // Last: what lives where depends on who is left to need it.
    place::place(graph);
    done("place", graph, None);
}
