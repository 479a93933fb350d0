//! Applies rules until no rule applies.

mod build;
mod matching;
mod pattern;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::flow::{Renamed, resolved};
use crate::files::Files;
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::names::Names;
pub use build::Match;
use matching::{State, View, matches};
use pattern::{Pattern, parse};

/// A part of a graph that is replaced by another with equal results, except for rounding.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    /// Pattern, in the syntax of `pattern`.
    pub from: &'static str,
    to: To,
    when: fn(&mut Match<'_, '_>) -> Result<(), Miss>,
    /// Whether intermediate values of the match may have other consumers. These nodes then remain.
    shared: bool,
    /// Whether all other rules are applied first.
    last: bool,
    /// The equation and when it holds.
    pub law: &'static str,
    /// A graph in ONNX's text syntax to which the rule applies.
    pub example: &'static str,
}

/// Reason why a rule does not apply although its pattern matches. An empty reason is not reported.
pub type Miss = &'static str;

#[derive(Clone, Copy, Debug)]
enum To {
    Text(&'static str),
    Made(Make),
}

type Make = fn(&mut Match<'_, '_>) -> Result<ValueId, Miss>;

/// A parsed right side.
enum Right {
    Text(Pattern),
    Made(Make),
}

/// Matches of rules: those that were rewritten and those that were not.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub applied: Vec<Event>,
    /// Matches of patterns that remain because the rule does not apply.
    pub missed: Vec<Event>,
}

/// A match of a rule.
#[derive(Clone, Debug)]
pub struct Event {
    pub rule: &'static str,
    /// Name of the value that the rule computes in another way.
    pub value: String,
    /// Reason why the rule does not apply, else empty.
    pub reason: &'static str,
}

/// Returns a rule that replaces `from` by `to`.
pub const fn rule(name: &'static str, from: &'static str, to: &'static str) -> Rule {
    Rule { name, from, to: To::Text(to), when: |_| Ok(()), shared: false, last: false, law: "", example: "" }
}

/// Returns a rule whose right side is built by a function.
pub const fn building(name: &'static str, from: &'static str, make: Make) -> Rule {
    Rule { to: To::Made(make), ..rule(name, from, "") }
}

impl Rule {
    /// Adds a condition, which may also set attributes of the right side.
    pub const fn when(self, when: fn(&mut Match<'_, '_>) -> Result<(), Miss>) -> Self {
        Rule { when, ..self }
    }

    /// Allows other consumers of intermediate values.
    pub const fn shared(self) -> Self {
        Rule { shared: true, ..self }
    }

    /// Applies the rule only when no other rule applies, for results that other rules do not match.
    pub const fn last(self) -> Self {
        Rule { last: true, ..self }
    }

    pub const fn law(self, law: &'static str) -> Self {
        Rule { law, ..self }
    }

    pub const fn example(self, example: &'static str) -> Self {
        Rule { example, ..self }
    }
}

/// Rules that are applied to a graph, round by round.
pub struct Rewriter<'e, 'r> {
    rules: Vec<(&'r Rule, Pattern, Right)>,
    /// Indices of the rules that may match at a node, by its operator.
    by_kind: BTreeMap<&'static str, Vec<usize>>,
    files: Files,
    names: &'e mut Names,
    report: &'e mut Report,
    /// Whether rules that are `last` are tried, too.
    last: bool,
    /// Whether parameters must remain as in the file.
    training: bool,
}

/// Result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// At least one rule applied.
    Changed,
    /// No rule applied; the next round also tries rules that are `last`.
    Unchanged,
    /// No rule applies.
    Done,
}

/// Replacement of a node.
struct Change {
    nodes: Vec<Node>,
    result: ValueId,
}

impl Change {
    /// Returns `true` if one of the nodes computes a weight from parameters.
    fn computes_parameters(&self, values: &Values) -> bool {
        let mut computed = BTreeSet::new();
        for node in &self.nodes {
            let inputs = || node.inputs.iter().flatten();
            let constant = |id: &ValueId| values[*id].is_constant() || computed.contains(id);
            let learns = |id: &ValueId| values[*id].parameter || computed.contains(id);
            if inputs().all(constant) && inputs().any(learns) {
                computed.extend(node.outputs.iter().flatten().copied());
            }
        }
        !computed.is_empty()
    }
}

impl<'e, 'r> Rewriter<'e, 'r> {
    pub fn new(
        rules: impl IntoIterator<Item = &'r Rule>,
        training: bool,
        names: &'e mut Names,
        report: &'e mut Report,
    ) -> Self {
        let mut rewriter = Rewriter {
            rules: Vec::new(),
            by_kind: BTreeMap::new(),
            files: Files::memory(Bytes::new()),
            names,
            report,
            last: false,
            training,
        };
        rules.into_iter().for_each(|rule| rewriter.learn(rule));
        rewriter
    }

    /// Tries rules once at each node.
    pub fn round(&mut self, graph: &mut Graph) -> Round {
        self.report.missed.clear();
        let mut body = std::mem::take(&mut graph.body);
        let changed = self.block(&mut body, &mut graph.values, &mut Renamed::new());
        graph.body = body;
        let was_last = std::mem::replace(&mut self.last, !changed);
        match (changed, was_last) {
            (true, _) => Round::Changed,
            (false, false) => Round::Unchanged,
            (false, true) => Round::Done,
        }
    }

    /// Adds a rule. A test checks that all rules can be parsed.
    fn learn(&mut self, rule: &'r Rule) {
        let (Ok(from), Ok(right)) = (parse(rule.from), rule.right()) else {
            return;
        };
        for kind in from.kinds() {
            self.by_kind.entry(kind).or_default().push(self.rules.len());
        }
        self.rules.push((rule, from, right));
    }

    /// Tries rules once at each node of a block and of nested blocks. Returns `true` if any applied.
    fn block(&mut self, block: &mut Block, values: &mut Values, renamed: &mut Renamed) -> bool {
        let mut changes = BTreeMap::new();
        let mut rewritten = vec![false; block.nodes.len()];
        let view = View::new(block, values);
        for (at, node) in block.nodes.iter().enumerate() {
            if rewritten.get(at) != Some(&false) {
                continue;
            }
            if let Some((change, nodes)) = self.node(&view, node, values, &rewritten) {
                for node in nodes {
                    rewritten.get_mut(node).into_iter().for_each(|slot| *slot = true);
                }
                changes.insert(at, change);
            }
        }
        let mut changed = !changes.is_empty();
        for (at, mut node) in std::mem::take(&mut block.nodes).into_iter().enumerate() {
            match (changes.remove(&at), node.output(0)) {
                (Some(mut change), Some(output)) => {
                    // The new node computes the value of the old one.
                    let outputs = change.nodes.iter_mut().flat_map(|node| &mut node.outputs);
                    let made: Vec<_> = outputs.filter(|id| **id == Some(change.result)).collect();
                    if made.is_empty() {
                        renamed.insert(output, change.result);
                    }
                    made.into_iter().for_each(|id| *id = Some(output));
                    for node in &mut change.nodes {
                        rename(node, renamed);
                    }
                    block.nodes.append(&mut change.nodes);
                }
                _ => {
                    rename(&mut node, renamed);
                    for (_, inner) in &mut node.blocks {
                        changed |= self.block(inner, values, renamed);
                    }
                    block.nodes.push(node);
                }
            }
        }
        for output in &mut block.outputs {
            *output = resolved(*output, renamed);
        }
        changed
    }

    /// Returns the first rule that applies at a node, and the indices of the nodes that it removes.
    fn node(
        &mut self,
        view: &View<'_>,
        node: &Node,
        values: &mut Values,
        rewritten: &[bool],
    ) -> Option<(Change, Vec<usize>)> {
        let output = node.output(0)?;
        view.maker(output)?;
        for &at in self.by_kind.get(&*node.kind).into_iter().flatten() {
            let (rule, from, right) = self.rules.get(at)?;
            if rule.last && !self.last {
                continue;
            }
            let mut missed = None;
            for state in matches(view, values, from, output) {
                if state.nodes.iter().any(|&at| rewritten.get(at) != Some(&false)) {
                    continue;
                }
                let before = values.len();
                let consulted = values.sources().consulted();
                let mut found = Match {
                    view,
                    values,
                    names: self.names,
                    files: &self.files,
                    state: &state,
                    root: node,
                    made: Vec::new(),
                    settings: Vec::new(),
                };
                let applied = found.apply(rule, right, output);
                let applied = applied.and_then(|change| match self.training {
                    true if change.computes_parameters(values) => Err("trained parameters cannot be folded"),
                    _ => Ok(change),
                });
                match applied {
                    Ok(change) => {
                        for &id in &state.read {
                            values[id].known.read();
                        }
                        let event = Event::new(rule, values, output, "");
                        self.report.applied.push(event);
                        return Some((change, state.nodes));
                    }
                    Err(reason) => {
                        values.truncate(before);
                        values.sources().forget(consulted);
                        missed = missed.or(Some(reason));
                    }
                }
            }
            if let Some(reason) = missed.filter(|reason| !reason.is_empty()) {
                let event = Event::new(rule, values, output, reason);
                self.report.missed.push(event);
            }
        }
        None
    }
}

impl Match<'_, '_> {
    fn apply(&mut self, rule: &Rule, right: &Right, output: ValueId) -> Result<Change, Miss> {
        (rule.when)(self)?;
        if !rule.shared && !self.is_alone(output) {
            return Err("an intermediate value has other consumers");
        }
        let result = self.right(right)?;
        if self.values[result].ty != self.values[output].ty {
            return Err(match right {
                Right::Text(Pattern::Any(_)) => "",
                _ => "the result would have another type",
            });
        }
        Ok(Change { nodes: std::mem::take(&mut self.made), result })
    }

    /// Returns `true` if intermediate values of the match have no other consumers.
    fn is_alone(&self, output: ValueId) -> bool {
        let State { nodes, .. } = self.state;
        nodes.iter().all(|&at| {
            let root = self.view.maker(output).is_some_and(|(root, _)| root == at);
            root || self.view.is_read_within(at, nodes)
        })
    }
}

impl Rule {
    /// Returns the text of the right side, `None` if a function builds it.
    pub fn replacement(&self) -> Option<&'static str> {
        match self.to {
            To::Text(text) => Some(text),
            To::Made(_) => None,
        }
    }

    /// Checks the texts of the rule. An error contains the part that cannot be parsed.
    pub fn check(&self) -> Result<(), &'static str> {
        parse(self.from)?;
        self.right().map(|_| ())
    }

    fn right(&self) -> Result<Right, &'static str> {
        Ok(match self.to {
            To::Text(text) => Right::Text(parse(text)?),
            To::Made(make) => Right::Made(make),
        })
    }
}

impl Event {
    fn new(rule: &Rule, values: &Values, output: ValueId, reason: &'static str) -> Self {
        Event { rule: rule.name, value: values[output].name.clone(), reason }
    }
}

fn rename(node: &mut Node, renamed: &Renamed) {
    for input in node.inputs.iter_mut().flatten() {
        *input = resolved(*input, renamed);
    }
}

#[cfg(test)]
pub mod testing;
