//! Text for programs that lay out graphs: Mermaid and Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use onnx_embed_ir::graph::ValueId;

use super::positions::heading;
use super::scene::{BoxKind, Piece, Scene};
use super::text::{dot, mermaid};
use super::{Picture, labels};

/// Numbered boxes of a scene, with edges between those that are not open.
#[derive(Default)]
struct Flat<'s> {
    /// Steps in order: a box, the beginning of an open one, and its end.
    steps: Vec<BoxEvent<'s>>,
    edges: Vec<(usize, usize, String)>,
    count: usize,
}

enum BoxEvent<'s> {
    Box(usize, &'s Piece),
    Open(usize, &'s Piece),
    Close,
}

/// Returns a flowchart for Mermaid, which GitHub displays in Markdown.
pub fn flowchart(picture: &Picture) -> String {
    let flat = Flat::of(&picture.scene);
    let mut text = format!("---\ntitle: \"{}\"\n---\nflowchart TD\n", mermaid(&picture.title));
    let mut depth = 1;
    for step in &flat.steps {
        let indent = "  ".repeat(if matches!(step, BoxEvent::Close) { depth - 1 } else { depth });
        // Writing to a string cannot fail.
        let _ = match step {
            BoxEvent::Box(number, piece) => {
                let label = mermaid(&label(piece));
                match piece.kind {
                    BoxKind::Input | BoxKind::Output => {
                        writeln!(text, "{indent}n{number}([\"{label}\"])")
                    }
                    BoxKind::Module | BoxKind::Block => {
                        writeln!(text, "{indent}n{number}[[\"{label}\"]]")
                    }
                    BoxKind::Node(_) => writeln!(text, "{indent}n{number}[\"{label}\"]"),
                }
            }
            BoxEvent::Open(number, piece) => {
                depth += 1;
                writeln!(text, "{indent}subgraph n{number}[\"{}\"]", mermaid(&heading(piece)))
            }
            BoxEvent::Close => {
                depth -= 1;
                writeln!(text, "{indent}end")
            }
        };
    }
    for (from, to, label) in &flat.edges {
        let _ = match label.as_str() {
            "" => writeln!(text, "  n{from} --> n{to}"),
            label => writeln!(text, "  n{from} -->|\"{}\"| n{to}", mermaid(label)),
        };
    }
    text
}

/// Returns a graph for Graphviz.
pub fn graphviz(picture: &Picture) -> String {
    let flat = Flat::of(&picture.scene);
    let mut text = format!(
        "digraph {{\n  label=\"{}\"; labelloc=t; fontname=\"sans-serif\";\n  \
         node [shape=box, style=\"rounded,filled\", fillcolor=\"#f3f5f8\", color=\"#8a98a8\", fontname=\"sans-serif\", fontsize=11];\n  \
         edge [color=\"#8a98a8\", fontname=\"sans-serif\", fontsize=9];\n",
        dot(&picture.title)
    );
    let mut depth = 1;
    for step in &flat.steps {
        let indent = "  ".repeat(if matches!(step, BoxEvent::Close) { depth - 1 } else { depth });
        let _ = match step {
            BoxEvent::Box(number, piece) => {
                let shape = match piece.kind {
                    BoxKind::Input | BoxKind::Output => ", shape=ellipse",
                    BoxKind::Module | BoxKind::Block => ", shape=box3d",
                    BoxKind::Node(_) => "",
                };
                let (label, tip) = (dot(&label(piece)), dot(&piece.tip));
                writeln!(text, "{indent}n{number} [label=\"{label}\", tooltip=\"{tip}\"{shape}];")
            }
            BoxEvent::Open(number, piece) => {
                depth += 1;
                let label = dot(&heading(piece));
                writeln!(text, "{indent}subgraph cluster_{number} {{ label=\"{label}\"; color=\"#c3ccd6\";")
            }
            BoxEvent::Close => {
                depth -= 1;
                writeln!(text, "{indent}}}")
            }
        };
    }
    for (from, to, label) in &flat.edges {
        let _ = writeln!(text, "  n{from} -> n{to} [label=\"{}\"];", dot(label));
    }
    text.push_str("}\n");
    text
}

fn label(piece: &Piece) -> String {
    let mut lines = vec![heading(piece)];
    lines.extend(piece.details.iter().cloned());
    if super::positions::is_module(piece) {
        lines.push(labels::nodes(piece.nodes));
    }
    lines.join("\n")
}

impl<'s> Flat<'s> {
    fn of(scene: &'s Scene) -> Self {
        let mut flat = Flat::default();
        flat.add(scene, &BTreeMap::new());
        flat.edges.dedup();
        flat
    }

    /// Adds the content of a scene. `outside` maps values from outside to their boxes. Returns the boxes of the values
    /// that the scene produces.
    fn add(
        &mut self,
        scene: &'s Scene,
        outside: &BTreeMap<ValueId, (usize, String)>,
    ) -> BTreeMap<ValueId, (usize, String)> {
        let mut makers = outside.clone();
        for piece in &scene.pieces {
            let number = self.count;
            self.count += 1;
            let mut from: Vec<(usize, String)> = Vec::new();
            let passed = match &piece.inner {
                Some(inner) if piece.open => inner.takes.as_slice(),
                _ => &[],
            };
            // Boxes inside an open box take the values that it passes on themselves.
            let takes = piece.takes.iter().filter(|id| !passed.contains(id));
            for maker in takes.filter_map(|id| makers.get(id)) {
                if !from.contains(maker) {
                    from.push(maker.clone());
                }
            }
            let (target, made) = match &piece.inner {
                Some(inner) if piece.open => {
                    let start = self.steps.len();
                    self.steps.push(BoxEvent::Open(number, piece));
                    let inside = self.add(inner, &makers);
                    self.steps.push(BoxEvent::Close);
                    let first = self.steps[start..].iter().find_map(|step| match step {
                        BoxEvent::Box(number, _) => Some(*number),
                        _ => None,
                    });
                    (first.unwrap_or(number), inside)
                }
                _ => {
                    self.steps.push(BoxEvent::Box(number, piece));
                    (number, BTreeMap::new())
                }
            };
            let edges = from.into_iter().map(|(from, label)| (from, target, label));
            self.edges.extend(edges);
            let last = self.count - 1;
            for &id in &piece.makes {
                // Values of a loop, and of the last of several equal modules, come from the last box inside.
                let maker = made.get(&id).cloned();
                makers.insert(id, maker.unwrap_or_else(|| (last, piece.label.clone())));
            }
        }
        makers.retain(|id, _| !outside.contains_key(id));
        makers
    }
}
