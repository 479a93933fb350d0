//! Nodes grouped by the modules that contain them.

mod needs;
mod repeats;
mod runs;

use std::collections::BTreeSet;

use super::place::Place;
pub use super::place::is_number;
use crate::graph::{Node, ValueId, Values};
use repeats::Blocks;
use runs::{Run, lift, merged};

/// A node, or a group that becomes a struct.
#[derive(Debug)]
pub enum Item<'n> {
    Node(&'n Node),
    Group(Group<'n>),
}

/// Consecutive nodes of one module.
#[derive(Debug)]
pub struct Group<'n> {
    /// Path of the module, or `block` and a number if the group is not a module.
    pub path: Vec<String>,
    /// Whether the group is not a module of the file.
    pub numbered: bool,
    pub items: Vec<Item<'n>>,
    /// Weights that are fields of the group's struct itself.
    pub owned: BTreeSet<ValueId>,
}

/// Maximum number of nodes in a function that is not divided into modules.
const READABLE: usize = 20;
/// Minimum number of nodes in a module that becomes a struct.
const FEWEST: usize = 3;
/// Maximum number of nodes and groups in a function. Longer ones are split into numbered groups, because rustc's time
/// grows with the square of their length.
const MAX_FUNCTION_ITEMS: usize = 96;
/// Approximate number of items in such a group.
const PART: usize = 64;

/// Returns the nodes as items of one function.
pub fn group<'n>(nodes: &'n [Node], values: &Values) -> Vec<Item<'n>> {
    let nodes: Vec<&Node> = nodes.iter().collect();
    shorten(items(&nodes, 0, values), values, &mut Blocks::default())
}

/// Returns `true` if a block of these nodes becomes a function.
pub fn is_long(nodes: &[Node]) -> bool {
    fn count(nodes: &[Node]) -> usize {
        let inside = |node: &Node| node.blocks.iter().map(|(_, block)| count(&block.nodes)).sum::<usize>();
        nodes.iter().map(|node| 1 + inside(node).min(READABLE)).sum()
    }
    count(nodes) > READABLE
}

/// Groups nodes by the component of their path at `depth` if the list is too long for one function.
fn items<'n>(nodes: &[&'n Node], depth: usize, values: &Values) -> Vec<Item<'n>> {
    if nodes.len() <= READABLE {
        return nodes.iter().map(|node| Item::Node(node)).collect();
    }
    let part = |node: &'n Node| node.origin.get(depth);
    // If all nodes are in one module, the modules inside it differ.
    if let Some(Some(first)) = nodes.first().map(|node| part(node))
        && nodes.iter().all(|node| part(node) == Some(first))
    {
        return self::items(nodes, depth + 1, values);
    }
    let runs = nodes.chunk_by(|a, b| part(a) == part(b));
    let runs =
        runs.map(|nodes| Run { part: nodes.first().and_then(|node| part(node)), nodes: nodes.to_vec() });
    let mut items = Vec::new();
    for Run { part, nodes } in lift(merged(runs.collect(), values), values) {
        match (part, nodes.first()) {
            (Some(_), Some(first)) if nodes.len() >= FEWEST => items.push(Item::Group(Group {
                path: first.origin.iter().take(depth + 1).cloned().collect(),
                numbered: false,
                items: self::items(&nodes, depth + 1, values),
                owned: BTreeSet::new(),
            })),
            _ => items.extend(nodes.iter().map(|node| Item::Node(node))),
        }
    }
    items
}

/// Returns the innermost module that contains all nodes that are in any module.
pub fn common(nodes: &[Node]) -> Vec<String> {
    let origins = nodes.iter().map(|node| &node.origin);
    let mut origins = origins.filter(|origin| !origin.is_empty());
    let first = origins.next().into_iter().flatten();
    let mut common: Vec<String> = first.cloned().collect();
    for origin in origins {
        let same = common.iter().zip(origin).take_while(|(a, b)| a == b);
        let same = same.count();
        common.truncate(same);
    }
    common
}

/// Splits lists that are still too long into numbered groups.
fn shorten<'n>(items: Vec<Item<'n>>, values: &Values, blocks: &mut Blocks) -> Vec<Item<'n>> {
    let items = repeats::fold(items, values, blocks);
    let items = items.into_iter().map(|item| match item {
        Item::Group(group) => Item::Group(Group { items: shorten(group.items, values, blocks), ..group }),
        node => node,
    });
    let mut items: Vec<Item<'n>> = items.collect();
    while items.len() > MAX_FUNCTION_ITEMS {
        let count = items.len().div_ceil(PART).max(1);
        let length = items.len().div_ceil(count).max(1);
        let mut rest = items.into_iter();
        items = Vec::new();
        loop {
            let part: Vec<Item<'n>> = rest.by_ref().take(length).collect();
            if part.is_empty() {
                break;
            }
            items.push(Item::Group(Group {
                path: blocks.next(),
                numbered: true,
                items: part,
                owned: BTreeSet::new(),
            }));
        }
    }
    items
}

impl Group<'_> {
    /// Returns a name for the group's field: `layer0` for `encoder.layer.0`.
    pub fn field(&self) -> String {
        let mut parts = self.path.iter().rev();
        match parts.next() {
            Some(last) if is_number(last) => match parts.find(|part| !is_number(part)) {
                Some(before) => format!("{before}{last}"),
                None => format!("part{last}"),
            },
            Some(last) => last.clone(),
            None => "part".to_owned(),
        }
    }

    /// Returns the list of modules that contains the group, and its index: `encoder.layer` and 3 for `encoder.layer.3`.
    pub fn place(&self) -> Option<Place> {
        let (last, list) = self.path.split_last()?;
        let number: usize = last.parse().ok().filter(|_| is_number(last))?;
        Some(Place { list: list.to_vec(), number, is_module: !self.numbered })
    }

    /// Returns a name for the group's type, without the module that contains all nodes: `encoder_layer` for
    /// `encoder.layer.0`, and `features_part` for a numbered module without a name, such as `features.1`.
    pub fn type_name(&self, common: &[String]) -> String {
        let last = self.path.iter().rposition(|part| !is_number(part));
        let start = if self.path.starts_with(common) { common.len().min(last.unwrap_or(0)) } else { 0 };
        let words: Vec<&str> =
            self.path.iter().skip(start).filter(|part| !is_number(part)).map(String::as_str).collect();
        let numbered = self.path.last().is_some_and(|part| is_number(part));
        match words.last() {
            Some(last) if numbered && last.ends_with('s') => format!("{}_part", words.join("_")),
            Some(_) => words.join("_"),
            None => "part".to_owned(),
        }
    }

    /// Returns all nodes inside the group, in order.
    pub fn nodes(&self) -> Vec<&Node> {
        self.items.iter().flat_map(Item::nodes).collect()
    }
}

impl Item<'_> {
    /// Returns all nodes of the item, in order.
    pub fn nodes(&self) -> Vec<&Node> {
        match self {
            Item::Node(node) => vec![node],
            Item::Group(group) => group.nodes(),
        }
    }
}
