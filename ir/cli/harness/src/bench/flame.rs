//! Flame graph of the nodes, as SVG.

use onnx_embed_ir::diagnostics::shown;

use super::layers::{Layer, Profile};
use crate::style;

const WIDTH: f64 = 1360.0;
const ROW: f64 = 22.0;
const MARGIN: f64 = 20.0;
const HEAD: f64 = 46.0;
/// Width of a character, in pixels.
const CHARACTER: f64 = 6.7;
/// Minimum width of a box that is drawn, in pixels.
const MIN_BOX_WIDTH: f64 = 0.4;
/// Colors of the operators that take the most time; the others share the last one.
const COLORS: [&str; 9] =
    ["#f2a65a", "#7fb069", "#6ca6c1", "#d7816a", "#b497c9", "#e6c84f", "#79b8a4", "#c98fa8", "#c9c5bc"];

/// Draws the model above its modules, these above the modules in them, and nodes below, each as wide as its time. The
/// boxes of a module are in the order of their first execution.
pub fn draw(model: &str, profile: &Profile) -> String {
    let mut root = Module::default();
    for layer in &profile.layers {
        root.add(&layer.modules, layer);
    }
    let operators = profile.by_operator();
    let mut picture = Picture {
        scale: if root.time > 0.0 { WIDTH / root.time } else { 0.0 },
        total: root.time,
        operators: operators.iter().map(|(name, ..)| name.as_str()).collect(),
        boxes: String::new(),
        depth: 0,
    };
    let title = format!("{} ({})", shown(model), style::seconds_precisely(root.time / 1e3));
    picture.module(&root, &title, 0.0, 0);
    let legend = legend(&operators, root.time);
    let rows = picture.depth as f64 + 1.0;
    let height = HEAD + rows * ROW + legend.1 + 2.0 * MARGIN;
    let (width, boxes) = (WIDTH + 2.0 * MARGIN, &picture.boxes);
    let top = HEAD + rows * ROW + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"28\" font-size=\"15\" font-weight=\"bold\">{}</text>\n\
         <g transform=\"translate({MARGIN} {HEAD})\">\n{boxes}</g>\n\
         <g transform=\"translate({MARGIN} {top})\">\n{}</g>\n</svg>\n",
        escaped(&title),
        legend.0,
    )
}

/// A module of the model with its modules and nodes, in order.
#[derive(Default)]
struct Module<'p> {
    time: f64,
    items: Vec<Item<'p>>,
}

enum Item<'p> {
    Module(&'p str, Module<'p>),
    Layer(&'p Layer),
}

impl<'p> Module<'p> {
    fn add(&mut self, path: &'p [String], layer: &'p Layer) {
        self.time += layer.time;
        let Some((first, rest)) = path.split_first() else {
            self.items.push(Item::Layer(layer));
            return;
        };
        let mut modules = self.items.iter_mut().filter_map(|item| match item {
            Item::Module(name, module) => Some((name, module)),
            Item::Layer(_) => None,
        });
        if let Some((_, module)) = modules.find(|(name, _)| **name == first.as_str()) {
            module.add(rest, layer);
            return;
        }
        let mut module = Module::default();
        module.add(rest, layer);
        self.items.push(Item::Module(first, module));
    }
}

struct Picture<'p> {
    /// Pixels per millisecond.
    scale: f64,
    total: f64,
    /// Operators by decreasing time.
    operators: Vec<&'p str>,
    boxes: String,
    depth: usize,
}

impl Picture<'_> {
    fn module(&mut self, module: &Module<'_>, name: &str, left: f64, depth: usize) {
        self.draw(name, "", "#dfe6ee", left, module.time, depth);
        let mut left = left;
        for item in &module.items {
            match item {
                Item::Module(name, inner) => {
                    self.module(inner, &shown(name), left, depth + 1);
                    left += inner.time;
                }
                Item::Layer(layer) => {
                    let node = shown(&layer.node);
                    let short = node.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&node);
                    let details = details(layer);
                    self.draw(short, &details, self.color(layer), left, layer.time, depth + 1);
                    left += layer.time;
                }
            }
        }
    }

    fn color(&self, layer: &Layer) -> &'static str {
        let index = self.operators.iter().position(|name| *name == layer.short_operator());
        let index = index.unwrap_or(COLORS.len()).min(COLORS.len() - 1);
        COLORS[index]
    }

    /// Draws a box with the part of its name that fits. A tooltip contains the full name.
    fn draw(&mut self, name: &str, details: &str, color: &str, left: f64, time: f64, depth: usize) {
        let (x, width) = (left * self.scale, time * self.scale);
        if width < MIN_BOX_WIDTH {
            return;
        }
        self.depth = self.depth.max(depth);
        let (y, share) = (depth as f64 * ROW, 100.0 * time / self.total);
        let label = fitting(name, width);
        let height = ROW - 1.0;
        self.boxes.push_str(&format!(
            "<g><title>{}{}&#10;{time:.3} ms, {share:.1} %</title><rect x=\"{x:.2}\" y=\"{y}\" \
             width=\"{:.2}\" height=\"{height}\" rx=\"2\" fill=\"{color}\"/>",
            escaped(name),
            escaped(details),
            (width - 0.5).max(MIN_BOX_WIDTH),
        ));
        if !label.is_empty() {
            let (x, y) = (x + 4.0, y + 15.0);
            self.boxes.push_str(&format!("<text x=\"{x:.2}\" y=\"{y}\">{}</text>", escaped(&label)));
        }
        self.boxes.push_str("</g>\n");
    }
}

/// Returns the tooltip of a node, without its first line.
fn details(layer: &Layer) -> String {
    let operands: Vec<String> = layer.operands.iter().map(|sizes| format!("{sizes:?}")).collect();
    let speed = layer.gigaflops().map_or(String::new(), |speed| format!(", {speed:.1} GFLOP/s"));
    let (node, operator) = (shown(&layer.node), layer.short_operator());
    format!("\n{node}\n{operator} {}{speed}", operands.join(" x "))
}

/// Returns the operators with their colors and shares, and the height of the list.
fn legend(operators: &[(String, f64, usize)], total: f64) -> (String, f64) {
    let mut text = String::new();
    let (mut x, mut y) = (0.0, 0.0);
    let own = COLORS.len() - 1;
    let mut entries: Vec<(String, f64)> =
        operators.iter().take(own).map(|(name, time, _)| (shown(name), *time)).collect();
    let others: f64 = operators.iter().skip(own).map(|(_, time, _)| time).sum();
    if operators.len() > own {
        entries.push(("others".to_owned(), others));
    }
    for ((name, time), color) in entries.iter().zip(COLORS) {
        let share = if total > 0.0 { 100.0 * time / total } else { 0.0 };
        let label = format!("{name} {share:.1} %");
        let width = 34.0 + label.chars().count() as f64 * CHARACTER;
        if x > 0.0 && x + width > WIDTH {
            (x, y) = (0.0, y + ROW);
        }
        text.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{color}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>\n",
            x + 17.0,
            y + 10.0,
            escaped(&label),
        ));
        x += width;
    }
    (text, y + ROW)
}

/// Returns the part of a name that fits into a width, or nothing if that is less than 4 characters.
fn fitting(name: &str, width: f64) -> String {
    let room = ((width - 8.0) / CHARACTER).max(0.0) as usize;
    match name.chars().count() {
        count if count <= room => name.to_owned(),
        _ if room < 4 => String::new(),
        _ => name.chars().take(room - 1).chain(['…']).collect(),
    }
}

fn escaped(text: &str) -> String {
    let escape = |character: char| match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\n' => "&#10;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(modules: &[&str], node: &str, time: f64) -> Layer {
        Layer {
            node: node.to_owned(),
            operator: "Relu".to_owned(),
            modules: modules.iter().map(|name| (*name).to_owned()).collect(),
            time,
            count: 1.0,
            ..Layer::default()
        }
    }

    fn picture(layers: Vec<Layer>) -> String {
        draw("model", &Profile { layers, runs: 1, total: 1.0 })
    }

    #[test]
    fn a_module_is_as_wide_as_what_is_in_it() {
        let text = picture(vec![
            layer(&["a"], "/a/one", 1.0),
            layer(&[], "/two", 2.0),
            layer(&["a"], "/a/three", 1.0),
        ]);
        let boxes = text.lines().filter(|line| line.starts_with("<g><title>"));
        let widths: Vec<&str> =
            boxes.map(|line| line.split("width=\"").nth(1).unwrap().split('"').next().unwrap()).collect();
        assert_eq!(widths, ["1359.50", "679.50", "339.50", "339.50", "679.50"]);
    }

    #[test]
    fn names_of_a_file_are_text() {
        let text = picture(vec![layer(&["<b>&"], "</svg><script>", 1.0)]);
        assert!(!text.contains("<script>") && !text.contains("<b>"), "{text}");
        assert!(text.contains("&lt;b&gt;&amp;"), "{text}");
    }

    #[test]
    fn a_model_without_nodes_is_a_picture_too() {
        assert!(picture(Vec::new()).ends_with("</svg>\n"));
    }

    #[test]
    fn names_are_cut_to_the_room_that_there_is() {
        assert_eq!(fitting("attention", 100.0), "attention");
        assert_eq!(fitting("attention", 50.0), "atten…");
        assert_eq!(fitting("attention", 20.0), "");
    }
}
