//! `view`: draws the graph of a model.

mod html;
mod labels;
mod layers;
mod positions;
mod scene;
mod shape;
mod svg;
mod text;
mod text_graph;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::graph::Graph;
use onnx_embed_ir::model::display_name;

use onnx_embed_harness::settings::{Choices, Storage};
use onnx_embed_harness::style::{self, BAD, GOOD};
use scene::Scene;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed view model.onnx -o graph.html    page with search and modules that open
  cargo onnx-embed view model.onnx -o graph.svg     picture with large modules closed
  cargo onnx-embed view model.onnx --as-read        Mermaid for a README, of the graph as read")]
pub struct View {
    /// The model: .onnx, or .onnxtxt in ONNX's text syntax
    pub model: PathBuf,
    #[command(flatten)]
    pub choices: Choices,
    /// File to write [default: print Mermaid]
    #[arg(short, long = "out", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format of the picture [default: by file extension]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Draw the graph as read, not as compiled; an HTML page has both
    #[arg(long)]
    pub as_read: bool,
    /// Maximum number of boxes, with modules closed; an HTML page can open them
    #[arg(long, value_name = "N", default_value_t = 72)]
    pub boxes: usize,
    /// Draw every node
    #[arg(long, conflicts_with = "boxes")]
    pub all: bool,
}

/// File formats of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Picture for browsers and documents
    Svg,
    /// Page with search, in which modules open and close
    Html,
    /// Mermaid text, which GitHub renders in Markdown
    Mermaid,
    /// Text for Graphviz
    Dot,
    /// Boxes, layers and edges as JSON
    Json,
}

/// A scene with its title and the line below that.
struct Picture {
    title: String,
    under: String,
    scene: Scene,
}

pub fn view(arguments: &View) -> Result<ExitCode> {
    let format = format(arguments)?;
    let path = &arguments.model;
    let options = arguments.choices.options(Storage::Embed);
    let mut read = None;
    let is_wanted = arguments.as_read || format == Format::Html;
    let model = onnx_embed_ir::load_observed(path, &options, &mut |step| {
        if step.name == "read" && is_wanted {
            read = Some(picture(path, step.graph, &[], "as read", arguments));
        }
    });
    let mut pictures = Vec::new();
    let mut failed = false;
    match model {
        Ok(model) if !arguments.as_read => {
            let names = &model.facts.outputs;
            let picture = picture(path, &model.graph, names, "as compiled", arguments);
            pictures.push(("as compiled", picture));
        }
        Ok(_) => {}
        Err(problems) => {
            failed = true;
            let report = problems.report(&path.display().to_string());
            anstream::eprintln!("{BAD}error{BAD:#}: {report}");
        }
    }
    pictures.extend(read.map(|picture| ("as read", picture)));
    let Some((_, first)) = pictures.first() else {
        return Ok(ExitCode::FAILURE);
    };
    let text = match format {
        Format::Svg => svg::svg(first),
        Format::Html => html::page(&pictures),
        Format::Mermaid => text_graph::flowchart(first),
        Format::Dot => text_graph::graphviz(first),
        Format::Json => html::json(first),
    };
    match &arguments.output {
        None => print!("{text}"),
        Some(file) => {
            std::fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
            anstream::println!("{GOOD}wrote{GOOD:#} `{}`", file.display());
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn format(arguments: &View) -> Result<Format> {
    if let Some(format) = arguments.format {
        return Ok(format);
    }
    let Some(file) = &arguments.output else {
        return Ok(Format::Mermaid);
    };
    let ending = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    Ok(match ending.as_str() {
        "svg" => Format::Svg,
        "html" | "htm" => Format::Html,
        "mermaid" | "mmd" => Format::Mermaid,
        "dot" | "gv" => Format::Dot,
        "json" => Format::Json,
        _ => bail!(
            "unknown format of `{}`, expected .svg, .html, .mermaid, .dot or .json; or specify `--format`",
            file.display()
        ),
    })
}

fn picture(path: &Path, graph: &Graph, outputs: &[String], form: &str, arguments: &View) -> Picture {
    let mut scene = scene::scene(graph, outputs);
    scene.unfold(if arguments.all { usize::MAX } else { arguments.boxes });
    let nodes = style::count(graph.body.count(), "node");
    Picture { title: shown(&display_name(path)), under: format!("{nodes}, {form}"), scene }
}

#[cfg(test)]
mod tests {
    use onnx_embed_ir::options::Options;

    use super::positions::{Frame, Positions, has_label, positions};
    use super::text::width;
    use super::*;

    const MODELS: [&str; 4] = [
        "../../examples/mnist/mnist.onnx",
        "../../ui-tests/models/blocks/bert_layer/bert_layer.onnx",
        "../../ui-tests/models/blocks/yolo_head/yolo_head.onnx",
        "../../ui-tests/models/blocks/llama_layer/llama_layer.onnx",
    ];

    fn model(path: &str) -> onnx_embed_ir::model::Model {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let model = onnx_embed_ir::load(&path, &Options::default());
        model.map_err(|problems| problems.report("m")).unwrap()
    }

    /// Checks that boxes with their labels do not overlap, and that no edge passes a box.
    #[track_caller]
    fn check(scene: &Scene, positions: &Positions) {
        let frames: Vec<Frame> = scene
            .pieces
            .iter()
            .zip(&positions.boxes)
            .map(|(piece, frame)| {
                let label = if has_label(piece) { width(&piece.label, 11.0) } else { 0.0 };
                let wide = frame.width.max(label);
                let high = frame.height + if label > 0.0 { 16.0 } else { 0.0 };
                Frame { x: frame.x + (frame.width - wide) / 2.0, width: wide, height: high, ..*frame }
            })
            .collect();
        for (at, a) in frames.iter().enumerate() {
            assert!(a.x > -0.01 && a.x + a.width < positions.width + 0.01);
            for b in &frames[at + 1..] {
                let beside = a.x + a.width < b.x + 0.01 || b.x + b.width < a.x + 0.01;
                let below = a.y + a.height < b.y + 0.01 || b.y + b.height < a.y + 0.01;
                assert!(beside || below, "{a:?} {b:?}");
            }
        }
        for line in &positions.edges {
            // Curves are between layers: only the vertical parts of an edge could pass a box.
            for pair in line.points.chunks(2) {
                let [(x, from), (_, to)] = *pair else {
                    continue;
                };
                let passed = positions.boxes.iter().filter(|frame| {
                    let inside = x > frame.x && x < frame.x + frame.width;
                    inside && from < frame.y + frame.height - 0.01 && to > frame.y + 0.01
                });
                assert_eq!(passed.count(), 0);
            }
        }
        for (piece, inner) in scene.pieces.iter().zip(&positions.inner) {
            if let (Some(scene), Some(content)) = (&piece.inner, inner) {
                check(scene, content);
            }
        }
    }

    #[test]
    fn nothing_in_a_picture_overlaps() {
        for path in MODELS {
            let model = model(path);
            let mut scene = scene::scene(&model.graph, &model.facts.outputs);
            check(&scene, &positions(&scene));
            scene.unfold(usize::MAX);
            check(&scene, &positions(&scene));
        }
    }

    #[test]
    fn no_more_boxes_are_drawn_than_are_wanted() {
        let model = model(MODELS[3]);
        let mut scene = scene::scene(&model.graph, &[]);
        scene.unfold(1);
        assert!(scene.pieces.iter().all(|piece| !piece.open));
    }
}
