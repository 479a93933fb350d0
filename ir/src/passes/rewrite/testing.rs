//! Applies rules to their examples.

use std::fmt::Write;

use prost::Message;

use super::{Report, Rule};
use crate::options::Options;
use crate::passes::{rules, simplify_by};
use crate::{print, read};

/// Returns the graph of a rule's example after these rules.
pub fn example<'r>(rule: &Rule, rules: impl IntoIterator<Item = &'r Rule>) -> (String, Report) {
    graph(&newest(rule.example), rules)
}

/// Returns the text of a graph in the form of an example, with the newest opset.
pub fn newest(example: &str) -> String {
    format!("<ir_version: 10, opset_import: [\"\": 25, \"com.microsoft\": 1]> g {example}")
}

/// Returns a graph in ONNX's text syntax after these rules.
pub fn graph<'r>(text: &str, rules: impl IntoIterator<Item = &'r Rule>) -> (String, Report) {
    with(text, rules, &Options::default())
}

/// Returns the graph after these rules if its weights are trained.
pub fn trained<'r>(text: &str, rules: impl IntoIterator<Item = &'r Rule>) -> (String, Report) {
    let options = Options { training: true, ..Options::default() };
    with(text, rules, &options)
}

/// Returns the reasons why a rule does not apply to a graph, in the form of an example, in which its pattern matches.
pub fn reasons(rule: &str, example: &str) -> Vec<&'static str> {
    missed(&graph(&newest(example), rules::all()).1, rule).collect()
}

/// Returns the reasons why a rule did not apply.
pub fn missed(report: &Report, rule: &str) -> impl Iterator<Item = &'static str> {
    report.missed.iter().filter(move |event| event.rule == rule).map(|event| event.reason)
}

/// Returns the lines of a printed graph that contain nodes.
pub fn nodes(graph: &str) -> impl Iterator<Item = &str> {
    graph.lines().skip_while(|line| *line != "{").filter(|line| line.len() > 1).map(str::trim)
}

/// Returns the nodes of graphs after all rules, and why a rule does not apply. Graphs without a header, in the form of
/// examples, have the newest opset.
pub fn after(rule: &str, graphs: &[&str]) -> String {
    let mut shown = String::new();
    for text in graphs {
        let text = if text.starts_with('<') { (*text).to_owned() } else { newest(text) };
        let (graph, report) = graph(&text, rules::all());
        let mut add = |line: &str| shown.extend([line, "\n"]);
        nodes(&graph).for_each(&mut add);
        missed(&report, rule).for_each(&mut add);
        shown.push('\n');
    }
    shown
}

fn with<'r>(text: &str, rules: impl IntoIterator<Item = &'r Rule>, options: &Options) -> (String, Report) {
    let model = crate::text::model(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let bytes = model.encode_to_vec().into();
    let untyped = read::read_bytes(bytes, options).unwrap();
    let (mut model, problems) = untyped.typed(options);
    assert!(problems.is_empty(), "{}", problems.report(text));
    let graph = &mut model.graph;
    let mut report = Report::default();
    assert!(simplify_by(graph, &mut model.names, rules, &mut report), "the rules do not terminate");
    (print::graph(graph), report)
}

/// Prints the nodes and constants of each rule's example before and after all rules.
pub fn shown(family: &[Rule]) -> String {
    let mut text = String::new();
    for rule in family {
        let (before, _) = example(rule, []);
        let (after, report) = example(rule, rules::all());
        assert!(
            report.applied.iter().any(|event| event.rule == rule.name),
            "`{}` does not apply to its example:\n{before}{after}{:?}",
            rule.name,
            report
        );
        let lines = |text: &str| {
            let inner = text.lines().skip(1).filter(|line| !"{}".contains(line.trim()));
            inner.map(|line| format!("  {}\n", line.trim())).collect::<String>()
        };
        let _ = write!(text, "{}\n{}  =>\n{}", rule.name, lines(&before), lines(&after));
    }
    text
}
