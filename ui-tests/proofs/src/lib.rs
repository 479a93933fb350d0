//! The rules of simplification as data.

mod graph;
mod json;

use onnx_embed_ir::options::Options;
use onnx_embed_ir::passes::rewrite::{Report, Rule};
use onnx_embed_ir::passes::{rules, simplify, simplify_by};
use onnx_embed_ir::{read, text};
use prost::Message;

/// More graphs to which rules apply, each after the name of its rule.
const GRAPHS: &str = include_str!("../graphs.txt");

/// A rule with the graphs to which it is applied.
pub struct Record {
    pub name: &'static str,
    /// Fields of an object in JSON: the texts of the rule, and its graphs before and after it applies.
    pub fields: String,
}

impl Record {
    /// Returns a hash of the fields (FNV-1a). A proof holds only for the fields that it has read.
    pub fn hash(&self) -> String {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = self.fields.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        format!("{hash:016x}")
    }
}

/// Returns all rules in the order in which they are tried.
///
/// # Panics
///
/// If a rule does not apply to one of its graphs.
pub fn records() -> Vec<Record> {
    let more = graphs();
    for (name, _) in &more {
        assert!(rules::all().any(|rule| rule.name == *name), "graphs.txt names `{name}`, which is no rule");
    }
    rules::all().map(|rule| record(rule, &more)).collect()
}

/// Returns the graphs of `graphs.txt` with the names of their rules.
fn graphs() -> Vec<(&'static str, &'static str)> {
    let blocks = GRAPHS.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    let graph = |block: &'static str| block.split_once('\n').expect("a name and a graph");
    blocks.map(graph).collect()
}

fn record(rule: &'static Rule, more: &[(&str, &'static str)]) -> Record {
    let more = more.iter().filter(|(name, _)| *name == rule.name).map(|(_, graph)| *graph);
    let graphs: Vec<String> =
        [rule.example].into_iter().chain(more).map(|graph| applied(rule, graph)).collect();
    let text = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), json::text);
    let fields = [
        ("name", json::text(rule.name)),
        ("pattern", json::text(rule.from)),
        ("replacement", text(rule.replacement())),
        ("law", json::text(rule.law)),
        ("graphs", json::list(&graphs)),
    ];
    Record { name: rule.name, fields: json::fields(&fields) }
}

/// Returns a graph before and after the rule applies. Other rules apply before only if the rule depends on them.
fn applied(rule: &Rule, graph: &str) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\": 25, \"com.microsoft\": 1]> g {graph}");
    let model = text::model(&text).unwrap_or_else(|error| panic!("`{}`: {error}\n{text}", rule.name));
    let options = Options::default();
    let untyped = read::read_bytes(model.encode_to_vec().into(), &options);
    let untyped = untyped.unwrap_or_else(|problems| panic!("`{}`: {}", rule.name, problems.report(&text)));
    for depends in [false, true] {
        let (mut model, problems) = untyped.typed(&options);
        assert!(problems.is_empty(), "`{}`: {}", rule.name, problems.report(&text));
        let others = rules::all().filter(|other| depends && other.name != rule.name);
        let mut report = Report::default();
        let ended = simplify_by(&mut model.graph, &mut model.names, others, &mut report);
        let mut after = model.graph.fresh_copy();
        let ended = ended && simplify(&mut after, &mut model.names, [rule], &mut report);
        assert!(ended, "the rules apply without end:\n{text}");
        if report.applied.iter().any(|event| event.rule == rule.name) {
            let sources = after.values.sources();
            let (before, after) = (graph::record(&model.graph, sources), graph::record(&after, sources));
            return json::object(&[("before", before), ("after", after)]);
        }
    }
    panic!("`{}` does not apply to its graph:\n{text}", rule.name);
}
