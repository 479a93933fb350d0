//! Random graphs, checked by the compiler after each step.

use std::collections::{BTreeMap, BTreeSet};

use onnx_embed_ir::proto::GraphProto;
use onnx_embed_ir::types::TensorType;

use crate::fragment::{NEWEST, output, reads, rename, tensor};
use crate::load;
use crate::mutate::mutate;
use crate::piece::Pieces;
use crate::random::Random;

/// A graph and its opset.
pub struct Grown {
    pub graph: GraphProto,
    pub opset: i64,
}

/// Opsets to choose from, mostly the newest. Attributes became inputs between them.
const OPSETS: [i64; 8] = [NEWEST, NEWEST, NEWEST, NEWEST, NEWEST, 21, 17, 13];

/// Maximum number of nodes. Larger models are hard to read.
const MOST_NODES: usize = 24;

/// Returns a graph around the example of one rule. In the first round over all rules, the example is neither changed
/// nor connected to other pieces.
pub fn grow(pieces: &Pieces, turn: usize, random: &mut Random) -> Grown {
    let most = if turn < pieces.rules() { 0 } else { 3 };
    let mut grown = Growing {
        graph: GraphProto::default(),
        types: BTreeMap::new(),
        opset: *random.pick(&OPSETS),
        pieces: 0,
    };
    let (before, behind) = (random.below(3), random.below(3).min(most));
    for _ in 0..before {
        let piece = any(pieces, random);
        grown.add(&piece, 3, random);
    }
    if !grown.add(pieces.example(turn), most, random) {
        grown.opset = NEWEST;
        grown.add(pieces.example(turn), most, random);
    }
    for _ in 0..behind {
        let piece = any(pieces, random);
        grown.add(&piece, 3, random);
    }
    grown.finish(if most == 0 { 0 } else { 8 }, random)
}

fn any(pieces: &Pieces, random: &mut Random) -> GraphProto {
    match random.below(10) {
        0..4 => pieces.any_example(random),
        4..8 => pieces.common(random),
        _ => pieces.operator(random),
    }
}

struct Growing {
    graph: GraphProto,
    /// Types of all values, including those in nested graphs.
    types: BTreeMap<String, TensorType>,
    opset: i64,
    pieces: usize,
}

impl Growing {
    /// Adds a piece with at most `most` changes. Unless `most` is 0, it is connected at random. Each attempt that
    /// does not compile has other changes and connections, the last attempts have none. Returns `false` if all fail.
    fn add(&mut self, piece: &GraphProto, most: usize, random: &mut Random) -> bool {
        for attempt in 0..8 {
            let mut piece = piece.clone();
            if attempt < 6 {
                for _ in 0..random.below(most + 1) {
                    mutate(&mut piece, random);
                }
            }
            let prefix = format!("p{}_", self.pieces);
            rename(&mut piece, &|name| format!("{prefix}{name}"));
            let joined = self.join(piece, most > 0 && attempt < 4, random);
            if joined.node.len() > MOST_NODES {
                return false;
            }
            if let Some(types) = load::types(&all_put_out(&joined), self.opset) {
                self.pieces += 1;
                self.graph = joined;
                self.types = types;
                return true;
            }
        }
        false
    }

    /// Returns the graph with a piece. Its inputs are connected to existing values or become inputs of the graph.
    fn join(&self, mut piece: GraphProto, connect: bool, random: &mut Random) -> GraphProto {
        let mut joined = self.graph.clone();
        let mut connected: BTreeMap<String, String> = BTreeMap::new();
        for mut value in std::mem::take(&mut piece.input) {
            let name = value.name.clone();
            let Some((dtype, sizes)) = tensor(&mut value) else {
                joined.input.push(value);
                continue;
            };
            let (dtype, rank) = (*dtype, sizes.len());
            let loose = random.chance(30);
            let fits = |name: &&str| {
                self.types
                    .get(*name)
                    .is_some_and(|known| known.dtype.number() == dtype && (loose || known.rank() == rank))
            };
            let there: Vec<&str> = self.put().filter(fits).collect();
            if connect && !there.is_empty() && random.chance(75) {
                drop(connected.insert(name, (*random.pick(&there)).to_owned()))
            } else {
                joined.input.push(value)
            }
        }
        rename(&mut piece, &|name| connected.get(name).map_or(name, String::as_str).to_owned());
        joined.initializer.append(&mut piece.initializer);
        joined.node.append(&mut piece.node);
        joined
    }

    /// Returns the names of inputs and of node outputs.
    fn put(&self) -> impl Iterator<Item = &str> {
        let inputs = self.graph.input.iter().map(|value| value.name.as_str());
        inputs.chain(made(&self.graph))
    }

    /// Turns values without consumers into outputs, and `percent` % of the other values.
    fn finish(self, percent: usize, random: &mut Random) -> Grown {
        let mut graph = self.graph;
        let read: BTreeSet<String> = graph.node.iter().flat_map(reads).map(str::to_owned).collect();
        let outputs: Vec<String> = made(&graph)
            .filter(|name| !read.contains(*name) || random.chance(percent))
            .map(str::to_owned)
            .collect();
        graph.output = outputs.iter().map(|name| output(name)).collect();
        Grown { graph: in_use(graph), opset: self.opset }
    }
}

/// Returns the names of node outputs.
fn made(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let outputs = graph.node.iter().flat_map(|node| &node.output);
    let outputs = outputs.filter(|name| !name.is_empty());
    outputs.map(String::as_str)
}

/// Returns the graph with every value as an output, so that no node is dead.
pub fn all_put_out(graph: &GraphProto) -> GraphProto {
    let outputs = made(graph).map(output).collect();
    GraphProto { output: outputs, ..graph.clone() }
}

/// Returns the graph without nodes, inputs and constants that no output needs.
pub fn in_use(mut graph: GraphProto) -> GraphProto {
    let mut needed: BTreeSet<String> = graph.output.iter().map(|value| value.name.clone()).collect();
    for node in graph.node.iter().rev() {
        if node.output.iter().any(|name| needed.contains(name)) {
            needed.extend(reads(node).into_iter().map(str::to_owned));
        }
    }
    graph.node.retain(|node| node.output.iter().any(|name| needed.contains(name)));
    graph.input.retain(|value| needed.contains(&value.name));
    graph.initializer.retain(|tensor| needed.contains(&tensor.name));
    graph
}
