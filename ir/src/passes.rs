//! Passes over the graph, in their order.

mod autocast;
mod dead;
mod flow;
mod hoist;
mod narrow;
mod placement;
pub mod rewrite;
pub mod rules;
mod share;

use crate::graph::Graph;
use crate::names::Names;
use crate::options::Options;
use rewrite::{Report, Rewriter, Round, Rule};

/// A completed pass.
pub struct CompletedPass<'a> {
    pub name: &'static str,
    pub graph: &'a Graph,
    /// Report of the rules, if the pass applies rules.
    pub rules: Option<&'a Report>,
}

/// Runs all passes between inference and emission. `observe` is called after each pass.
pub fn run(
    graph: &mut Graph,
    names: &mut Names,
    options: &Options,
    observe: &mut dyn FnMut(CompletedPass<'_>),
) {
    let mut report = Report::default();
    let mut done =
        |name, graph: &Graph, rules: Option<&Report>| observe(CompletedPass { name, graph, rules });
    flow::simplify(graph);
    done("flow", graph, None);
    dead::remove(graph);
    narrow::narrow(graph, names);
    done("dead", graph, None);
    if options.simplify {
        // Patterns compare values by their ids, so equal values must be shared first.
        share::share(graph);
        done("share", graph, None);
        simplify(graph, names, rules::all(), &mut report);
        // Rules create equal constants, one for each match.
        share::share(graph);
        done("rewrite", graph, Some(&report));
    }
    // After the rules: casts around sums would hide norms and attention from them.
    if let Some(half) = options.precision.half() {
        autocast::autocast(graph, names, half);
        if options.simplify {
            // Removes casts of casts.
            simplify(graph, names, rules::all(), &mut report);
        }
        done("autocast", graph, Some(&report));
    }
    // Last: the placement of a value depends on its remaining consumers.
    placement::assign(graph);
    done("placement", graph, None);
}

/// Runs the passes that rules need before them, and these rules. Returns `false` if a rule still applied in the last
/// round.
pub fn simplify_by<'r>(
    graph: &mut Graph,
    names: &mut Names,
    rules: impl IntoIterator<Item = &'r Rule>,
    report: &mut Report,
) -> bool {
    flow::simplify(graph);
    dead::remove(graph);
    share::share(graph);
    simplify(graph, names, rules, report)
}

/// Maximum number of rounds of [`simplify`]. A few suffice unless a rule undoes another.
const MAX_ROUNDS: usize = 64;

/// Hoists computations on weights and applies rules, in turn: a rule may require a constant, and may create nodes whose
/// inputs are constants. Returns `false` if a rule still applied in the last round.
pub fn simplify<'r>(
    graph: &mut Graph,
    names: &mut Names,
    rules: impl IntoIterator<Item = &'r Rule>,
    report: &mut Report,
) -> bool {
    let mut rewriter = Rewriter::new(rules, graph.training, names, report);
    for _ in 0..MAX_ROUNDS {
        hoist::hoist(graph);
        match rewriter.round(graph) {
            Round::Changed => dead::remove(graph),
            Round::Unchanged => {}
            Round::Done => return true,
        }
    }
    false
}
