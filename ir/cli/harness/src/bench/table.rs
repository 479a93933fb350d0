//! Tables of times for the terminal.

use onnx_embed_ir::diagnostics::shown;
use serde_json::Value as Json;

use super::layers::{Layer, Profile};
use crate::style::{self, DIM, HEADING};

/// Maximum width of a node name; longer names are cut.
const MAX_NAME_WIDTH: usize = 52;
/// Maximum number of operands that are shown.
const OPERANDS: usize = 3;

/// Returns the times of the runs of a model, in three lines.
pub fn runs(line: &Json) -> String {
    let milliseconds = |key: &str| match line[key].as_f64() {
        Some(time) => style::seconds_precisely(time / 1e3),
        None => "?".to_owned(),
    };
    let memory = line["peak_bytes"].as_u64().map_or("?".to_owned(), style::bytes);
    let rate = line["items_per_second"].as_f64();
    let rate = rate.map_or(String::new(), |rate| format!("   {} items/s", style::rate(rate)));
    let heading = heading(line);
    let (load, first) = (milliseconds("load_ms"), milliseconds("first_ms"));
    let (half, most) = (milliseconds("median_ms"), milliseconds("p95_ms"));
    let runs = line["runs"].as_u64().unwrap_or_default();
    format!(
        "{heading}\n  p50 {half}   p95 {most}{rate}   {DIM}{}{DIM:#}\n  \
         load {load}   first call {first}   peak memory {memory}\n",
        style::count(usize::try_from(runs).unwrap_or(usize::MAX), "run")
    )
}

/// Returns a heading with the model, the device and the number of threads.
pub fn heading(line: &Json) -> String {
    let model = shown(line["model"].as_str().unwrap_or_default());
    let device = line["device"].as_str().unwrap_or_default();
    let threads = line["threads"].as_u64().unwrap_or_default();
    let threads = style::count(usize::try_from(threads).unwrap_or_default(), "thread");
    format!("{HEADING}{model}{HEADING:#}  {device}, {threads}")
}

/// Lists the nodes that take the most time, and the total time of each operator.
pub fn layers(profile: &Profile, top: usize, waits: bool) -> String {
    let sum = profile.layers.iter().fold(0.0, |sum, layer| sum + layer.time);
    let mut sorted: Vec<&Layer> = profile.layers.iter().collect();
    sorted.sort_by(|a, b| b.time.total_cmp(&a.time));
    let top = if top == 0 { sorted.len() } else { top };
    let shares = |time: f64| share(time, sum);
    let name = |layer: &Layer| cut(&shown(&layer.node), MAX_NAME_WIDTH);
    let listed = sorted.iter().take(top);
    let widths = |text: &dyn Fn(&Layer) -> usize, least: usize| {
        let widths = listed.clone().map(|layer| text(layer));
        widths.max().unwrap_or(0).max(least)
    };
    let names = widths(&|layer| name(layer).chars().count(), 4);
    let operators = widths(&|layer| layer.short_operator().chars().count(), 8);
    let sizes = widths(&|layer| operands(layer).chars().count(), 8);
    let mut text = format!(
        "  {DIM}{:>6}  {:>9}  {:<names$}  {:<operators$}  {:<sizes$}  {:>8}{DIM:#}\n",
        "share", "ms", "node", "operator", "operands", "GFLOP/s"
    );
    for layer in listed.clone() {
        let speed = layer.gigaflops().map_or(String::new(), |speed| format!("{speed:.1}"));
        let times = match layer.count {
            count if (count - 1.0).abs() < 1e-9 => String::new(),
            count => format!("  {DIM}x {count:.0}{DIM:#}"),
        };
        let line = format!(
            "  {:>6}  {:>9.3}  {:<names$}  {:<operators$}  {:<sizes$}  {speed:>8}{times}",
            shares(layer.time),
            layer.time,
            name(layer),
            layer.short_operator(),
            operands(layer),
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let rest: f64 = sorted.iter().skip(top).map(|layer| layer.time).sum();
    if let Some(more) = sorted.len().checked_sub(top).filter(|more| *more > 0) {
        let more = style::count(more, "more node");
        text.push_str(&format!("  {DIM}{:>6}  {rest:>9.3}  {more}{DIM:#}\n", shares(rest)));
    }
    text.push_str(&format!("\n  {DIM}{:>6}  {:>9}  {:>5}  operator{DIM:#}\n", "share", "ms", "nodes"));
    for (operator, time, nodes) in profile.by_operator() {
        text.push_str(&format!("  {:>6}  {time:>9.3}  {nodes:>5}  {operator}\n", shares(time)));
    }
    let outside = (profile.total - sum).max(0.0);
    text.push_str(&format!(
        "\n  {}: {sum:.3} ms per run, plus {outside:.3} ms outside nodes\n",
        style::count(profile.layers.len(), "node"),
    ));
    if waits {
        text.push_str(&format!(
            "  {DIM}each node waits for the device, so the sum exceeds the time of a run{DIM:#}\n"
        ));
    }
    text
}

fn share(time: f64, sum: f64) -> String {
    if sum > 0.0 { format!("{:.1} %", 100.0 * time / sum) } else { String::new() }
}

/// Formats operands, as in `[1, 128, 384] x [384, 1536]`.
fn operands(layer: &Layer) -> String {
    let shown = layer.operands.iter().take(OPERANDS);
    let shown: Vec<String> = shown.map(|sizes| format!("{sizes:?}")).collect();
    shown.join(" x ")
}

/// Returns the end of a long name, which usually distinguishes it from others.
fn cut(name: &str, width: usize) -> String {
    let count = name.chars().count();
    if count <= width {
        return name.to_owned();
    }
    let end: String = name.chars().skip(count - (width - 1)).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn layer(node: &str, operator: &str, operands: &[&[usize]], time: f64) -> Layer {
        Layer {
            node: node.to_owned(),
            operator: operator.to_owned(),
            operands: operands.iter().map(|sizes| sizes.to_vec()).collect(),
            time,
            count: 1.0,
            ..Layer::default()
        }
    }

    #[test]
    fn the_nodes_that_take_longest_come_first() {
        let product = Layer {
            multiply_adds: Some(4e6),
            ..layer("/layers.0/fc1/MatMul", "com.microsoft.FusedGemm", &[&[1, 384], &[384, 1536]], 0.5)
        };
        let looped = Layer { count: 12.0, ..layer("/loop/Tanh", "Tanh", &[&[1, 8]], 0.25) };
        let profile = Profile {
            layers: vec![layer("/Relu", "Relu", &[&[1, 8]], 0.05), looped, product],
            runs: 10,
            total: 1.0,
        };
        let text = anstream::adapter::strip_str(&layers(&profile, 2, false)).to_string();
        let text = format!("table\n{text}");
        expect![[r#"
            table
               share         ms  node                  operator   operands                 GFLOP/s
              62.5 %      0.500  /layers.0/fc1/MatMul  FusedGemm  [1, 384] x [384, 1536]      16.0
              31.2 %      0.250  /loop/Tanh            Tanh       [1, 8]                            x 12
               6.2 %      0.050  1 more node

               share         ms  nodes  operator
              62.5 %      0.500      1  FusedGemm
              31.2 %      0.250      1  Tanh
               6.2 %      0.050      1  Relu

              3 nodes: 0.800 ms per run, plus 0.200 ms outside nodes
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn the_end_of_a_long_name_is_shown() {
        assert_eq!(cut("/encoder/layer.0/attention", 10), "…attention");
    }
}
