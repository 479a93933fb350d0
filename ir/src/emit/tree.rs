//! Nodes grouped by the modules they came from.

use std::collections::BTreeSet;

use crate::graph::{Node, ValueId};

/// A node, or a group that becomes a struct of its own.
#[derive(Debug)]
pub enum Item<'n> {
    Node(&'n Node),
    Group(Group<'n>),
}

/// Consecutive nodes of one module.
#[derive(Debug)]
pub struct Group<'n> {
    /// The module's path, or `block` and a number where the file knows no modules.
    pub path: Vec<String>,
    /// Whether the file knows no module of this stretch.
    pub numbered: bool,
    pub items: Vec<Item<'n>>,
    /// The weights that are fields of its struct itself.
    pub owned: BTreeSet<ValueId>,
}

/// A function of at most this many nodes is read in one piece.
const READABLE: usize = 20;
/// A module of fewer nodes stays in the function around it.
const FEWEST: usize = 3;
/// A function of more nodes than this is split, whatever the file knows of modules: rustc's time grows with
/// the square of its length.
const LONGEST: usize = 96;
/// About how many nodes such a part has.
const PART: usize = 64;

/// The nodes as the items of one function.
pub fn group(nodes: &[Node]) -> Vec<Item<'_>> {
    let nodes: Vec<&Node> = nodes.iter().collect();
    shorten(items(&nodes, 0), &mut 0)
}

/// Whether a block of these nodes is better read in a function of its own.
pub fn is_long(nodes: &[Node]) -> bool {
    fn count(nodes: &[Node]) -> usize {
        let inside = |node: &Node| node.blocks.iter().map(|(_, block)| count(&block.nodes)).sum::<usize>();
        nodes.iter().map(|node| 1 + inside(node).min(READABLE)).sum()
    }
    count(nodes) > READABLE
}

/// Groups by the part of the path at `depth`, where the list is too long to be read in one piece.
fn items<'n>(nodes: &[&'n Node], depth: usize) -> Vec<Item<'n>> {
    if nodes.len() <= READABLE {
        return nodes.iter().map(|node| Item::Node(node)).collect();
    }
    let part = |node: &'n Node| node.origin.get(depth);
    let mut items = Vec::new();
    let mut rest = nodes;
    while let Some((first, _)) = rest.split_first() {
        let length = rest.iter().take_while(|node| part(node) == part(first)).count();
        let (run, after) = rest.split_at(length);
        rest = after;
        match part(first) {
            // Everything is of one module: the modules inside of it differ.
            Some(_) if length == nodes.len() => return self::items(nodes, depth + 1),
            Some(_) if length >= FEWEST => items.push(Item::Group(Group {
                path: first.origin.iter().take(depth + 1).cloned().collect(),
                numbered: false,
                items: self::items(run, depth + 1),
                owned: BTreeSet::new(),
            })),
            _ => items.extend(run.iter().map(|node| Item::Node(node))),
        }
    }
    items
}

/// The module in which all nodes are that are in any.
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

/// Cuts lists that are still too long into numbered blocks.
fn shorten<'n>(items: Vec<Item<'n>>, blocks: &mut usize) -> Vec<Item<'n>> {
    let items = items.into_iter().map(|item| match item {
        Item::Group(group) => Item::Group(Group { items: shorten(group.items, blocks), ..group }),
        node => node,
    });
    let mut items: Vec<Item<'n>> = items.collect();
    while items.len() > LONGEST {
        let count = items.len().div_ceil(PART).max(1);
        let length = items.len().div_ceil(count).max(1);
        let mut rest = items.into_iter();
        items = Vec::new();
        loop {
            let part: Vec<Item<'n>> = rest.by_ref().take(length).collect();
            if part.is_empty() {
                break;
            }
            *blocks += 1;
            items.push(Item::Group(Group {
                path: vec!["block".to_owned(), blocks.to_string()],
                numbered: true,
                items: part,
                owned: BTreeSet::new(),
            }));
        }
    }
    items
}

impl Group<'_> {
    /// A field's name: `layer.0` of `encoder.layer.0` gives `layer0`.
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

    /// A type's name without the module that all are in: `encoder.layer.0` gives `encoder_layer`, a numbered
    /// module of no name of its own, such as `features.1`, gives `features_part`.
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

    /// Every node inside, in order.
    pub fn nodes(&self) -> Vec<&Node> {
        self.items.iter().flat_map(Item::nodes).collect()
    }
}

impl Item<'_> {
    /// Every node inside, in order.
    pub fn nodes(&self) -> Vec<&Node> {
        match self {
            Item::Node(node) => vec![node],
            Item::Group(group) => group.nodes(),
        }
    }
}

/// Whether a module is one of several that have no name.
pub fn is_number(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit())
}
