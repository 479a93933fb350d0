//! A graph as nested boxes.

use std::collections::BTreeMap;

use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::emit::tree::{self, Item};
use onnx_embed_ir::graph::{Block, Graph, Node, ValueId, Values};

use super::labels;
use super::shape::shape;

/// Content of a box, or of the whole picture, with producers before consumers.
#[derive(Debug, Default)]
pub struct Scene {
    pub pieces: Vec<Piece>,
    /// Values that come from outside.
    pub takes: Vec<ValueId>,
    /// Values that are used outside.
    pub makes: Vec<ValueId>,
}

/// A box.
#[derive(Debug)]
pub struct Piece {
    pub kind: BoxKind,
    pub title: String,
    /// Lines below the title.
    pub details: Vec<String>,
    /// Text of the tooltip.
    pub tip: String,
    pub takes: Vec<ValueId>,
    pub makes: Vec<ValueId>,
    /// Types and sizes of the values that the box produces.
    pub label: String,
    /// Number of ONNX nodes inside.
    pub nodes: usize,
    /// Number of equal consecutive modules that the box represents.
    pub repeats: usize,
    pub inner: Option<Scene>,
    /// Whether the content is drawn.
    pub open: bool,
}

/// Object that a box represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxKind {
    Input,
    Output,
    /// A node, with the name of its group of operators, or `""` for none.
    Node(&'static str),
    Module,
    /// A branch, or the body of a loop.
    Block,
}

/// An edge of a scene, between indices of its pieces; `None` is the border of the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: Option<usize>,
    pub to: Option<usize>,
    pub value: ValueId,
}

/// Returns the picture of a graph, without constants.
pub fn scene(graph: &Graph, outputs: &[String]) -> Scene {
    let mut scene = block(&graph.body, &graph.values, outputs);
    scene.takes.clear();
    scene
}

impl Scene {
    /// Returns the edges between pieces, one for each pair of producer and consumer.
    pub fn edges(&self) -> Vec<Edge> {
        let mut makers = BTreeMap::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            makers.extend(piece.makes.iter().map(|&id| (id, at)));
        }
        let mut edges = Vec::new();
        let mut edge = |value: ValueId, to: Option<usize>| {
            let from = makers.get(&value).copied();
            // A value that only passes through a box connects nothing in it.
            if from.is_some() || (to.is_some() && self.takes.contains(&value)) {
                edges.push(Edge { from, to, value });
            }
        };
        for (at, piece) in self.pieces.iter().enumerate() {
            piece.takes.iter().for_each(|&id| edge(id, Some(at)));
        }
        self.makes.iter().for_each(|&id| edge(id, None));
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        edges.retain(|edge| edge.from.is_none() || edge.from != edge.to);
        edges
    }

    /// Opens boxes level by level while at most `most` boxes are visible.
    pub fn unfold(&mut self, most: usize) {
        let mut seen = self.pieces.len();
        loop {
            let mut closed = Vec::new();
            closed_pieces(self, &mut closed);
            let before = seen;
            for piece in closed {
                let inside = piece.inner.as_ref().map_or(0, |inner| inner.pieces.len());
                if seen + inside <= most {
                    piece.open = true;
                    seen += inside;
                }
            }
            if seen == before {
                return;
            }
        }
    }
}

/// Adds the outermost closed boxes that can be opened.
fn closed_pieces<'s>(scene: &'s mut Scene, closed: &mut Vec<&'s mut Piece>) {
    for piece in &mut scene.pieces {
        match piece {
            Piece { open: true, inner: Some(inner), .. } => closed_pieces(inner, closed),
            Piece { inner: Some(_), .. } => closed.push(piece),
            _ => {}
        }
    }
}

fn block(block: &Block, values: &Values, outputs: &[String]) -> Scene {
    let mut last = BTreeMap::new();
    for (at, node) in block.nodes.iter().enumerate() {
        last.extend(node.reads().into_iter().map(|id| (id, at)));
    }
    last.extend(block.outputs.iter().map(|&id| (id, block.nodes.len())));
    let span = Span { block, values, last };
    let mut pieces: Vec<Piece> = block.inputs.iter().map(|&id| pill(id, values, None)).collect();
    let items = tree::group(&block.nodes, values);
    pieces.extend(span.pieces(&items, &[], &mut 0));
    let names = outputs.iter().map(Some).chain(std::iter::repeat(None));
    for (&id, name) in block.outputs.iter().zip(names) {
        let name = name.unwrap_or(&values[id].name);
        pieces.push(pill(id, values, Some(name)));
    }
    Scene {
        takes: block.captures().into_iter().filter(|&id| !values[id].is_constant()).collect(),
        makes: Vec::new(),
        pieces,
    }
}

/// Returns the box of an input, or of an output with this name.
fn pill(id: ValueId, values: &Values, output: Option<&String>) -> Piece {
    let value = &values[id];
    let name = shown(output.unwrap_or(&value.name));
    let label = labels::types(&[id], values);
    let (kind, takes, makes) = match output {
        None => (BoxKind::Input, vec![], vec![id]),
        Some(_) => (BoxKind::Output, vec![id], vec![]),
    };
    Piece {
        kind,
        title: labels::end(&name),
        details: vec![],
        tip: format!("{name}: {}", labels::full_type(id, values)),
        takes: takes.into_iter().filter(|&id: &ValueId| !values[id].is_constant()).collect(),
        makes,
        label: if output.is_some() { String::new() } else { label },
        nodes: 0,
        repeats: 1,
        inner: None,
        open: false,
    }
}

/// Nodes of a block, by index.
struct Span<'g> {
    block: &'g Block,
    values: &'g Values,
    /// Index of the last node that reads each value. For outputs, it is after all nodes.
    last: BTreeMap<ValueId, usize>,
}

impl Span<'_> {
    fn pieces(&self, items: &[Item<'_>], path: &[String], at: &mut usize) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut before: Option<(u64, usize)> = None;
        for item in items {
            let start = *at;
            match item {
                Item::Node(node) => {
                    *at += 1;
                    before = None;
                    if &*node.kind != "Constant" {
                        pieces.push(self.leaf(node));
                    }
                }
                Item::Group(group) => {
                    let inside = self.pieces(&group.items, &group.path, at);
                    let shape = shape(&self.block.nodes[start..*at], self.values);
                    let own = shown(&module_name(&group.path, path));
                    match (before, pieces.last_mut()) {
                        (Some((same, first)), Some(run)) if same == shape => {
                            run.repeats += 1;
                            run.nodes += *at - start;
                            let name = run.title.split(" .. ").next().unwrap_or_default();
                            run.title = format!("{name} .. {own}");
                            (run.takes, run.makes) = self.border(first, *at);
                            run.label = labels::types(&run.makes, self.values);
                        }
                        _ => {
                            before = Some((shape, start));
                            pieces.push(self.module(own, &group.path, inside, start, *at));
                        }
                    }
                }
            }
        }
        pieces
    }

    fn module(&self, title: String, path: &[String], pieces: Vec<Piece>, start: usize, end: usize) -> Piece {
        let (takes, makes) = self.border(start, end);
        let nodes = end - start;
        Piece {
            kind: BoxKind::Module,
            title: labels::end(&title),
            details: vec![],
            tip: format!("module {}\n{}", shown(&path.join(".")), labels::nodes(nodes)),
            label: labels::types(&makes, self.values),
            inner: Some(Scene { pieces, takes: takes.clone(), makes: makes.clone() }),
            takes,
            makes,
            nodes,
            repeats: 1,
            open: false,
        }
    }

    fn leaf(&self, node: &Node) -> Piece {
        let values = self.values;
        let takes = node.reads().into_iter().filter(|&id| !values[id].is_constant());
        let mut takes: Vec<ValueId> = takes.collect();
        takes.dedup();
        let makes: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
        let inner = match node.blocks.as_slice() {
            [] => None,
            [(_, only)] => Some(block(only, values, &[])),
            blocks => {
                let branches = blocks.iter().map(|(name, inner)| branch(name, inner, values));
                let pieces: Vec<Piece> = branches.collect();
                let mut takes: Vec<ValueId> = pieces.iter().flat_map(|piece| &piece.takes).copied().collect();
                takes.sort_unstable();
                takes.dedup();
                Some(Scene { pieces, takes, makes: vec![] })
            }
        };
        Piece {
            kind: BoxKind::Node(labels::room(&node.kind)),
            title: labels::title(node),
            details: labels::details(node, values),
            tip: labels::tip(node, values),
            label: labels::types(&makes, values),
            takes,
            makes,
            nodes: 1 + node.blocks.iter().map(|(_, inner)| inner.nodes_within()).sum::<usize>(),
            repeats: 1,
            inner,
            open: false,
        }
    }

    /// Returns the values that nodes `start..end` read from outside, and those of their outputs that are used after
    /// them.
    fn border(&self, start: usize, end: usize) -> (Vec<ValueId>, Vec<ValueId>) {
        let nodes = &self.block.nodes[start..end];
        let made: Vec<ValueId> =
            nodes.iter().flat_map(|node| node.outputs.iter().flatten()).copied().collect();
        let is_made: std::collections::BTreeSet<ValueId> = made.iter().copied().collect();
        let mut takes: Vec<ValueId> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for id in nodes.iter().flat_map(Node::reads) {
            if !is_made.contains(&id) && !self.values[id].is_constant() && seen.insert(id) {
                takes.push(id);
            }
        }
        let is_used = |id: &ValueId| self.last.get(id).is_some_and(|&last| last >= end);
        (takes, made.into_iter().filter(is_used).collect())
    }
}

/// Returns the path of a module within another one. If it is only a number, the word before it is included.
fn module_name(path: &[String], around: &[String]) -> String {
    let rest = path.strip_prefix(around).unwrap_or(path);
    match (rest, around.last()) {
        ([only], Some(word)) if tree::is_number(only) => format!("{word}.{only}"),
        _ => rest.join("."),
    }
}

fn branch(name: &str, inner: &Block, values: &Values) -> Piece {
    let scene = block(inner, values, &[]);
    Piece {
        kind: BoxKind::Block,
        title: shown(name),
        details: vec![],
        tip: shown(name),
        takes: scene.takes.clone(),
        makes: vec![],
        label: String::new(),
        nodes: inner.nodes_within(),
        repeats: 1,
        inner: Some(scene),
        open: false,
    }
}
