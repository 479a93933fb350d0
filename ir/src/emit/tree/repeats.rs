//! Repeated sequences of nodes, such as the layers of a file without names of modules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::{FEWEST, Group, Item, READABLE};
use crate::attributes::{Attribute, Described};
use crate::graph::{Node, ValueId, Values};
use crate::types::Type;

/// Maximum number of nodes in a repeated sequence.
const MAX_PERIOD: usize = 400;
/// Maximum number of comparisons of nodes in a model.
const MAX_COMPARISONS: usize = 4_000_000;
/// Time in which a node is brought into comparable form, in comparisons.
const COST: usize = 32;
/// Maximum number of values that a sequence passes to later ones.
const MAX_PASSED: usize = 3;

/// Replaces repeated sequences of nodes that are in no group by groups with the numbers after `blocks`.
pub fn fold<'n>(items: Vec<Item<'n>>, values: &Values, blocks: &mut Blocks) -> Vec<Item<'n>> {
    let mut folded = Vec::new();
    let mut nodes = Vec::new();
    for item in items {
        match item {
            Item::Node(node) => nodes.push(node),
            group => {
                folded.append(&mut sequence(std::mem::take(&mut nodes), values, blocks));
                folded.push(group);
            }
        }
    }
    folded.append(&mut sequence(nodes, values, blocks));
    folded
}

/// Numbers of groups, and a limit for the search for them.
pub struct Blocks {
    /// Number of the last group.
    last: usize,
    /// Number of comparisons that remain.
    comparisons: usize,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks { last: 0, comparisons: MAX_COMPARISONS }
    }
}

impl Blocks {
    /// Returns the path of a new group.
    pub fn next(&mut self) -> Vec<String> {
        self.last += 1;
        vec!["block".to_owned(), self.last.to_string()]
    }

    /// Returns `false` if fewer comparisons remain.
    fn spend(&mut self, comparisons: usize) -> bool {
        let left = self.comparisons.checked_sub(comparisons);
        self.comparisons = left.unwrap_or(self.comparisons);
        left.is_some()
    }
}

fn sequence<'n>(nodes: Vec<&'n Node>, values: &Values, blocks: &mut Blocks) -> Vec<Item<'n>> {
    let plain = |nodes: &[&'n Node]| nodes.iter().map(|node| Item::Node(node)).collect::<Vec<_>>();
    let is_searched = nodes.len() > READABLE && blocks.spend(nodes.len().saturating_mul(COST));
    let found = is_searched.then(|| Sequence::new(&nodes, values));
    let found = found.and_then(|found| found.repeats(blocks));
    let Some(Repeats { start, period, count }) = found else {
        return plain(&nodes);
    };
    let length = period.saturating_mul(count);
    let (before, rest) = nodes.split_at(start.min(nodes.len()));
    let (inside, after) = rest.split_at(length.min(rest.len()));
    let mut items = sequence(before.to_vec(), values, blocks);
    for block in inside.chunks(period) {
        items.push(Item::Group(Group {
            path: blocks.next(),
            numbered: true,
            items: plain(block),
            owned: BTreeSet::new(),
        }));
    }
    items.append(&mut sequence(after.to_vec(), values, blocks));
    items
}

/// Equal sequences of nodes, one after another.
struct Repeats {
    start: usize,
    /// Number of nodes in each.
    period: usize,
    count: usize,
}

/// Nodes in comparable form.
struct Sequence {
    /// Equal for nodes with equal operators and types of operands.
    keys: Vec<usize>,
    /// Values that each node computes from, with the node of the sequence that computes them.
    reads: Vec<Vec<(ValueId, Option<usize>)>>,
    /// Index of the last node that reads a result of each node.
    last: Vec<BTreeMap<ValueId, usize>>,
}

/// A node without its operands' identities.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    kind: Rc<str>,
    operator: Attribute,
    operands: Vec<Operand>,
    /// Index of a node with blocks, which makes it unequal to all others.
    alone: Option<usize>,
}

#[derive(PartialEq, Eq, Hash)]
enum Operand {
    None,
    /// A weight, by the attributes of its type.
    Stored(Attribute),
    Known(Attribute),
    Made(Attribute),
}

impl Sequence {
    fn new(nodes: &[&Node], values: &Values) -> Self {
        let mut numbers: HashMap<Key, usize> = HashMap::new();
        let mut makers: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut made = Sequence { keys: Vec::new(), reads: Vec::new(), last: Vec::new() };
        for (at, node) in nodes.iter().enumerate() {
            let operands = node.inputs.iter().chain(&node.outputs);
            let operands = operands.map(|id| id.map_or(Operand::None, |id| operand(id, values)));
            let key = Key {
                kind: node.kind.clone(),
                operator: node.operator.attributes(),
                operands: operands.collect(),
                alone: (!node.blocks.is_empty()).then_some(at),
            };
            let next = numbers.len();
            made.keys.push(*numbers.entry(key).or_insert(next));
            let reads = node.reads().into_iter().filter(|&id| {
                let value = &values[id];
                !value.is_stored() && value.known.is_none()
            });
            let reads: Vec<(ValueId, Option<usize>)> =
                reads.map(|id| (id, makers.get(&id).copied())).collect();
            for (id, maker) in &reads {
                if let Some(last) = maker.and_then(|maker| made.last.get_mut(maker)) {
                    last.insert(*id, at);
                }
            }
            made.reads.push(reads);
            made.last.push(BTreeMap::new());
            makers.extend(node.outputs.iter().flatten().map(|&id| (id, at)));
        }
        made
    }

    /// Returns the equal sequences that contain most nodes.
    fn repeats(&self, blocks: &mut Blocks) -> Option<Repeats> {
        let count = self.keys.len();
        // The cuts are chosen in as many comparisons.
        let affordable = blocks.comparisons / count.saturating_mul(2).max(1);
        let longest = affordable.min(MAX_PERIOD).min(count / 2);
        blocks.spend(longest.saturating_mul(count).saturating_mul(2));
        let mut best: Option<(usize, usize, usize, usize)> = None;
        for period in 1..=longest {
            for (start, length) in self.runs(period) {
                let covered = (length / period + 1).saturating_mul(period);
                if length >= period && best.is_none_or(|(most, ..)| covered > most) {
                    best = Some((covered, period, start, length));
                }
            }
        }
        let (covered, period, start, length) = best?;
        if period < FEWEST || covered <= READABLE {
            return None;
        }
        self.aligned(start, period, start + length + period)
    }

    /// Returns the starts and lengths of the ranges of nodes that equal those `period` later.
    fn runs(&self, period: usize) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let mut start = None;
        let end = self.keys.len().saturating_sub(period);
        for at in 0..=end {
            match (at < end && self.is_repeated(at, period), start) {
                (true, None) => start = Some(at),
                (false, Some(first)) => {
                    runs.push((first, at - first));
                    start = None;
                }
                _ => {}
            }
        }
        runs
    }

    /// Returns `true` if a node and the one `period` later compute the same from corresponding values.
    fn is_repeated(&self, at: usize, period: usize) -> bool {
        let later = at + period;
        if self.keys.get(at) != self.keys.get(later) {
            return false;
        }
        let (Some(reads), Some(later_reads)) = (self.reads.get(at), self.reads.get(later)) else {
            return false;
        };
        reads.len() == later_reads.len()
            && reads.iter().zip(later_reads).all(|((id, maker), (later_id, later_maker))| {
                id == later_id || maker.is_some() && maker.map(|maker| maker + period) == *later_maker
            })
    }

    /// Returns the sequences in a range of nodes that pass the fewest values to each other.
    fn aligned(&self, start: usize, period: usize, end: usize) -> Option<Repeats> {
        // Operands of the first sequence are computed elsewhere.
        let is_alike = |at: &usize| self.keys.get(*at) == self.keys.get(at + period);
        let first = (start.saturating_sub(period)..start).rev().take_while(is_alike).last().unwrap_or(start);
        let choices = (first..first + period).filter_map(|start| {
            let count = end.saturating_sub(start) / period;
            let passed = self.passed(start, period, count)?;
            Some((passed, usize::MAX - count, usize::MAX - start, Repeats { start, period, count }))
        });
        let best = choices.min_by_key(|(passed, count, start, _)| (*passed, *count, *start));
        best.filter(|(passed, ..)| *passed <= MAX_PASSED).map(|(.., repeats)| repeats)
    }

    /// Returns the largest number of values that sequences pass to later ones.
    fn passed(&self, start: usize, period: usize, count: usize) -> Option<usize> {
        // Changes of the number from cut to cut.
        let (mut more, mut fewer) = (vec![0usize; count + 1], vec![0usize; count + 1]);
        let last = self.last.get(start..start + period * count)?;
        for (maker, last) in
            last.iter().enumerate().flat_map(|(at, last)| last.values().map(move |last| (at, last)))
        {
            let (first, last) = (maker / period + 1, last.saturating_sub(start) / period);
            if first <= last && first < count {
                *more.get_mut(first)? += 1;
                *fewer.get_mut(last.min(count - 1) + 1)? += 1;
            }
        }
        let mut passed = 0usize;
        let cuts = more.iter().zip(&fewer).take(count).skip(1);
        let cuts = cuts.map(|(more, fewer)| {
            passed = (passed + more).saturating_sub(*fewer);
            passed
        });
        cuts.max()
    }
}

fn operand(id: ValueId, values: &Values) -> Operand {
    let value = &values[id];
    match value.known.peek() {
        _ if value.is_stored() => Operand::Stored(value.ty.attributes()),
        Some(known) => Operand::Known(known.attributes()),
        // Sizes may have a name of their own in each sequence.
        None => Operand::Made(match &value.ty {
            Some(Type::Tensor(tensor)) => (tensor.dtype, tensor.rank()).attributes(),
            ty => ty.attributes(),
        }),
    }
}
