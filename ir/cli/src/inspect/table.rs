//! Description of one model for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::inspect::{Compiled, Constant, Inspection, Port};
use onnx_embed_ir::options::{Kept, Step};

use onnx_embed_harness::style::{self, BAD, DIM, GOOD, HEADING};

/// Maximum number of constants that are listed, largest first.
const MAX_LISTED_CONSTANTS: usize = 5;
/// Maximum width of a name after which types are aligned.
const MAX_ALIGNED_WIDTH: usize = 60;
/// Maximum number of properties of the file that are listed.
const PROPERTIES: usize = 20;

/// Returns the option of the macro that keeps a state from step to step.
fn option(states: &[Kept]) -> String {
    let pair = |kept: &Kept| {
        let (input, output) = (shown(&kept.input), shown(&kept.output));
        match kept.step {
            Step::Last => format!("{input:?} = {output:?}"),
            Step::First => format!("{input:?} = first({output:?})"),
        }
    };
    let pairs: Vec<String> = states.iter().map(pair).collect();
    format!("#[onnx(state({}))]", pairs.join(", "))
}

pub fn table(model: &str, inspection: &Inspection) -> String {
    let mut text = String::new();
    let facts = &inspection.facts;
    let mut line = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    let heading = |text: &str| format!("{HEADING}{text}{HEADING:#}");
    line(format!("{}  {}", heading("model"), shown(model)));
    line(format!("  {}", shown(&facts.to_string())));
    for text in about(inspection) {
        line(format!("  {text}"));
    }
    for (title, ports) in [("inputs", &inspection.inputs), ("outputs", &inspection.outputs)] {
        line(heading(title));
        let width = ports.iter().map(|port| shown(&port.name).chars().count());
        let width = width.max().unwrap_or(0).min(MAX_ALIGNED_WIDTH);
        for Port { name, ty } in ports {
            let ty = ty.as_ref().map_or("unknown rank or type".to_owned(), |ty| shown(&ty.to_string()));
            line(format!("  {:<width$}  {ty}", shown(name)));
        }
    }
    let nodes: usize = facts.operators.values().map(|count| count.nodes).sum();
    line(format!("{}  {} in {}", heading("operators"), facts.operators.len(), style::count(nodes, "node")));
    let mut operators: Vec<_> = facts.operators.iter().collect();
    operators.sort_by_key(|(_, count)| (count.supported, std::cmp::Reverse(count.nodes)));
    for ((domain, name), count) in operators {
        let domain = match domain.as_str() {
            "" => String::new(),
            domain => format!("{domain}."),
        };
        let note = if count.supported { String::new() } else { format!("  {BAD}unsupported{BAD:#}") };
        let name = shown(&format!("{domain}{name}"));
        line(format!("  {:>6}  {name}{note}", count.nodes));
    }
    let bytes = inspection.constants.iter().map(|constant| constant.bytes as u64);
    line(format!(
        "{}  {} in {}",
        heading("weights"),
        style::bytes(bytes.sum()),
        style::count(inspection.constants.len(), "tensor")
    ));
    for (dtype, (tensors, elements, bytes)) in by_type(&inspection.constants) {
        let (tensors, bytes) = (style::count(tensors, "tensor"), style::bytes(bytes as u64));
        let elements = style::count(elements, "element");
        line(format!("  {dtype:<8}  {bytes:>8}  {elements} in {tensors}"));
    }
    for Constant { name, sizes, bytes, .. } in largest(&inspection.constants) {
        let bytes = style::bytes(*bytes as u64);
        let name = shown(name);
        line(format!("  {DIM}{bytes:>18}  {name} {sizes:?}{DIM:#}"));
    }
    let (parameters, bytes) = parameters(&inspection.constants);
    line(format!("{}  {} in {}", heading("parameters"), style::number(parameters), style::bytes(bytes)));
    if let Some(compiled) = &inspection.compiled {
        line(format!("{}  {}", heading("call"), call(compiled)));
        for text in notes(compiled) {
            line(format!("  {DIM}{text}{DIM:#}"));
        }
    }
    if !inspection.states.is_empty() {
        line(format!("{}  {}", heading("state"), option(&inspection.states)));
    }
    if inspection.problems.is_empty() {
        line(format!("{GOOD}compiles{GOOD:#}"))
    } else {
        let report = inspection.problems.report(model);
        let (first, rest) = report.split_once('\n').unwrap_or((&report, ""));
        line(format!("{BAD}{first}{BAD:#}\n{rest}"));
        line(format!(
            "{DIM}help: `cargo onnx-embed doctor {}` explains how to export the model again{DIM:#}",
            shown(model)
        ));
    }
    text
}

/// Returns the documentation and properties of the file, one per line.
fn about(inspection: &Inspection) -> Vec<String> {
    let about = &inspection.about;
    let mut lines = Vec::new();
    if !about.graph.is_empty() {
        lines.push(format!("graph `{}`", shown(&about.graph)));
    }
    if !about.domain.is_empty() || about.version != 0 {
        let domain = shown(&about.domain);
        lines.push(format!("version {} {domain}", about.version).trim().to_owned());
    }
    if !about.doc.is_empty() {
        lines.push(shown(&about.doc));
    }
    for (key, value) in about.metadata.iter().take(PROPERTIES) {
        lines.push(format!("{DIM}{} = {}{DIM:#}", shown(key), shown(value)));
    }
    let more = about.metadata.len().saturating_sub(PROPERTIES);
    if more > 0 {
        lines.push(format!("{DIM}further properties: {more}{DIM:#}"));
    }
    lines
}

/// Returns the elements and bytes of the parameters: constants of rank 1 or more, except int64, booleans and strings.
pub fn parameters(constants: &[Constant]) -> (u64, u64) {
    let learned = constants.iter().filter(|constant| {
        let index = matches!(constant.dtype, DType::I64 | DType::Bool | DType::String);
        !index && !constant.sizes.is_empty()
    });
    learned.fold((0, 0), |(elements, bytes), constant| {
        let own = constant.sizes.iter().product::<usize>();
        (elements + own as u64, bytes + constant.bytes as u64)
    })
}

/// Describes the cost of one call.
fn call(compiled: &Compiled) -> String {
    let multiply_adds = compiled.cost.multiply_adds;
    format!(
        "{}, {} {}, at most {} of activations",
        style::count(compiled.nodes, "node"),
        style::number(multiply_adds),
        if multiply_adds == 1 { "multiply-add" } else { "multiply-adds" },
        style::bytes(compiled.cost.activations)
    )
}

/// Returns notes that explain these numbers.
fn notes(compiled: &Compiled) -> Vec<String> {
    let cost = &compiled.cost;
    let mut notes = vec![
        "in the simplified graph; multiply-adds of convolutions, matrix products, attention and recurrent operators"
            .to_owned(),
    ];
    if !cost.ones.is_empty() {
        let names: Vec<String> = cost.ones.iter().map(|name| shown(name)).collect();
        let (names, first) = (names.join(", "), shown(&cost.ones[0]));
        notes.push(format!("for size 1 of {names}; set another size with --dim {first}=N"));
    }
    if cost.loops {
        notes.push("for one iteration of each loop".to_owned());
    }
    if cost.uncounted > 0 {
        let nodes = style::count(cost.uncounted, "node");
        notes.push(format!("without {nodes} with unknown sizes"));
    }
    notes
}

/// Returns the number of tensors, elements and bytes of each type.
pub fn by_type(constants: &[Constant]) -> BTreeMap<&'static str, (usize, usize, usize)> {
    let mut types = BTreeMap::new();
    for constant in constants {
        let (tensors, elements, bytes) = types.entry(constant.dtype.name()).or_default();
        *tensors += 1;
        *elements += constant.sizes.iter().product::<usize>();
        *bytes += constant.bytes;
    }
    types
}

fn largest(constants: &[Constant]) -> Vec<&Constant> {
    let mut constants: Vec<&Constant> = constants.iter().collect();
    constants.sort_by_key(|constant| std::cmp::Reverse(constant.bytes));
    constants.truncate(MAX_LISTED_CONSTANTS);
    constants
}
