//! Applies rules until none applies any more.

mod build;
mod matching;
mod pattern;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::flow::{Renamed, resolved};
use super::{dead, hoist};
use crate::files::Files;
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::names::Names;
pub use build::Match;
use matching::{State, View, matches};
use pattern::{Pattern, parse};

/// A part of a graph that may be written another way, with equal results but for rounding.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    /// What is looked for, as `pattern` describes.
    pub from: &'static str,
    to: To,
    when: fn(&mut Match<'_, '_>) -> Result<(), Miss>,
    /// Whether what stands inside may be read elsewhere too, and then stays.
    shared: bool,
    /// Whether every other rule goes first.
    last: bool,
    /// The equation and when it holds.
    pub law: &'static str,
    /// A graph in ONNX's text syntax to which it applies.
    pub example: &'static str,
}

/// Why a rule does not apply where its pattern does; an empty reason is none that people want to know.
pub type Miss = &'static str;

#[derive(Clone, Copy, Debug)]
enum To {
    Text(&'static str),
    Made(Make),
}

type Make = fn(&mut Match<'_, '_>) -> Result<ValueId, Miss>;

/// A right side, read.
enum Right {
    Text(Pattern),
    Made(Make),
}

/// What rules did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub applied: Vec<Event>,
    /// What stayed as it was though its pattern matched.
    pub missed: Vec<Event>,
}

/// A rule at one place.
#[derive(Clone, Debug)]
pub struct Event {
    pub rule: &'static str,
    /// The value that is made another way.
    pub value: String,
    /// Why not.
    pub reason: &'static str,
}

/// A rule that puts `to` in the place of `from`.
pub const fn rule(name: &'static str, from: &'static str, to: &'static str) -> Rule {
    Rule { name, from, to: To::Text(to), when: |_| Ok(()), shared: false, last: false, law: "", example: "" }
}

/// A rule whose right side is built.
pub const fn building(name: &'static str, from: &'static str, make: Make) -> Rule {
    Rule { to: To::Made(make), ..rule(name, from, "") }
}

impl Rule {
    /// What must be so beside the pattern; it may set attributes of the right side.
    pub const fn when(self, when: fn(&mut Match<'_, '_>) -> Result<(), Miss>) -> Self {
        Rule { when, ..self }
    }

    /// What stands inside may be read elsewhere too.
    pub const fn shared(self) -> Self {
        Rule { shared: true, ..self }
    }

    /// It applies only where no other rule does any more: what it makes, others do not know.
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

/// Graphs come to rest after a few iterations; a rule that undoes another would go on for ever.
pub const MOST_ITERATIONS: usize = 64;

/// Applies rules until none applies any more, and returns whether it came to that.
pub fn rewrite<'r>(
    graph: &mut Graph,
    names: &mut Names,
    rules: impl IntoIterator<Item = &'r Rule>,
    report: &mut Report,
) -> bool {
    let mut engine = Engine {
        rules: Vec::new(),
        by_kind: BTreeMap::new(),
        files: Files::memory(Bytes::new()),
        names,
        report,
        last: false,
        training: graph.training,
    };
    rules.into_iter().for_each(|rule| engine.learn(rule));
    for _ in 0..MOST_ITERATIONS {
        hoist::hoist(graph);
        engine.report.missed.clear();
        let mut body = std::mem::take(&mut graph.body);
        let mut renamed = Renamed::new();
        let changed = engine.block(&mut body, &mut graph.values, &mut renamed);
        graph.body = body;
        match (changed, engine.last) {
            (true, _) => dead::remove(graph),
            (false, true) => return true,
            (false, false) => {}
        }
        engine.last = !changed;
    }
    false
}

struct Engine<'e, 'r> {
    rules: Vec<(&'r Rule, Pattern, Right)>,
    /// The rules that may match at an operator.
    by_kind: BTreeMap<&'static str, Vec<usize>>,
    files: Files,
    names: &'e mut Names,
    report: &'e mut Report,
    /// Whether rules that come last are tried too.
    last: bool,
    /// Whether parameters stay as the file has them.
    training: bool,
}

/// What stands in the place of a node.
struct Change {
    nodes: Vec<Node>,
    result: ValueId,
}

impl Change {
    /// Whether one of the nodes computes a weight from parameters.
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

impl<'r> Engine<'_, 'r> {
    /// That rules can be read is tested.
    fn learn(&mut self, rule: &'r Rule) {
        let (Ok(from), Ok(right)) = (parse(rule.from), rule.right()) else {
            return;
        };
        for kind in from.kinds() {
            self.by_kind.entry(kind).or_default().push(self.rules.len());
        }
        self.rules.push((rule, from, right));
    }

    /// One round over a block and those in it, whether anything changed.
    fn block(&mut self, block: &mut Block, values: &mut Values, renamed: &mut Renamed) -> bool {
        let mut changes = BTreeMap::new();
        let mut rewritten = vec![false; block.nodes.len()];
        let view = View::new(block);
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
                    // The new node makes the value that the old one made.
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

    /// The first rule that applies at a node, and the nodes of which it disposes.
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
                    true if change.computes_parameters(values) => {
                        Err("training changes the parameters that the file has")
                    }
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
            return Err("something inside is used elsewhere too");
        }
        let result = self.right(right)?;
        if self.values[result].ty != self.values[output].ty {
            return Err(match right {
                Right::Text(Pattern::Any(_)) => "",
                _ => "the result would be of another type",
            });
        }
        Ok(Change { nodes: std::mem::take(&mut self.made), result })
    }

    /// Whether nobody else reads what the nodes inside make.
    fn is_alone(&self, output: ValueId) -> bool {
        let State { nodes, .. } = self.state;
        nodes.iter().all(|&at| {
            let root = self.view.maker(output).is_some_and(|(root, _)| root == at);
            root || self.view.is_read_within(at, nodes)
        })
    }
}

impl Rule {
    /// The part of its text that cannot be read.
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
