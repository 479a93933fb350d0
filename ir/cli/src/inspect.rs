//! `inspect`: what a file holds and what is unsupported.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use onnx_embed_ir::diagnostics::{Diagnostics, Problem, shown};
use onnx_embed_ir::dim::Dim;
use onnx_embed_ir::inspect::{Constant, Inspection, Port, inspect as look};
use onnx_embed_ir::types::Type;
use serde_json::{Value as Json, json};

use crate::args::{Inspect, Storage};
use crate::style::{self, BAD, DIM, GOOD, HEADING};

/// So many of the largest constants are listed.
const LARGEST: usize = 5;
/// Types stand below each other behind names of this width at most.
const WIDEST: usize = 60;

pub fn inspect(arguments: &Inspect) -> Result<ExitCode> {
    let options = arguments.choices.options(Storage::Embed);
    let name = arguments.model.display().to_string();
    if arguments.counts {
        return counts(&name, arguments, &options);
    }
    let inspection = match look(&arguments.model, &options) {
        Ok(inspection) => inspection,
        Err(problems) if arguments.json => {
            let problems = listed(&problems);
            println!(
                "{:#}",
                json!({ "model": name, "compiles": false, "problems": problems })
            );
            return Ok(ExitCode::FAILURE);
        }
        Err(problems) => {
            anstream::eprintln!("{BAD}error{BAD:#}: {}", problems.report(&name));
            return Ok(ExitCode::FAILURE);
        }
    };
    if arguments.json {
        println!("{:#}", describe(&name, &inspection))
    } else {
        anstream::print!("{}", table(&name, &inspection))
    }
    Ok(if inspection.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The nodes as they are read, without constants, and behind each pass, in one line.
fn counts(
    name: &str,
    arguments: &Inspect,
    options: &onnx_embed_ir::options::Options,
) -> Result<ExitCode> {
    let mut line = name.to_owned();
    let model = onnx_embed_ir::load_observed(&arguments.model, options, &mut |step| {
        // Writing to a string cannot fail.
        let _ = write!(line, "  {} {}", step.name, step.graph.body.count());
    });
    println!("{line}");
    Ok(match model {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn table(model: &str, inspection: &Inspection) -> String {
    let mut text = String::new();
    let facts = &inspection.facts;
    let mut line = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    let heading = |text: &str| format!("{HEADING}{text}{HEADING:#}");
    line(format!("{}  {}", heading("model"), shown(model)));
    line(format!("  {}", shown(&facts.to_string())));
    for (title, ports) in [
        ("inputs", &inspection.inputs),
        ("outputs", &inspection.outputs),
    ] {
        line(heading(title));
        let width = ports.iter().map(|port| shown(&port.name).chars().count());
        let width = width.max().unwrap_or(0).min(WIDEST);
        for Port { name, ty } in ports {
            let ty = ty
                .as_ref()
                .map_or("of unknown rank or type".to_owned(), |ty| {
                    shown(&ty.to_string())
                });
            line(format!("  {:<width$}  {ty}", shown(name)));
        }
    }
    let nodes: usize = facts.operators.values().map(|count| count.nodes).sum();
    line(format!(
        "{}  {nodes} nodes of {}",
        heading("operators"),
        style::count(facts.operators.len(), "kind")
    ));
    let mut operators: Vec<_> = facts.operators.iter().collect();
    operators.sort_by_key(|(_, count)| (count.supported, std::cmp::Reverse(count.nodes)));
    for ((domain, name), count) in operators {
        let domain = match domain.as_str() {
            "" => String::new(),
            domain => format!("{domain}."),
        };
        let note = if count.supported {
            String::new()
        } else {
            format!("  {BAD}unsupported{BAD:#}")
        };
        let name = shown(&format!("{domain}{name}"));
        line(format!("  {:>6}  {name}{note}", count.nodes));
    }
    let bytes = inspection
        .constants
        .iter()
        .map(|constant| constant.bytes as u64);
    line(format!(
        "{}  {} in {}",
        heading("weights"),
        style::bytes(bytes.sum()),
        style::count(inspection.constants.len(), "tensor")
    ));
    for (dtype, (tensors, elements, bytes)) in by_type(&inspection.constants) {
        let (tensors, bytes) = (style::count(tensors, "tensor"), style::bytes(bytes as u64));
        line(format!(
            "  {dtype:<8}  {bytes:>8}  {elements} elements in {tensors}"
        ));
    }
    for Constant {
        name, sizes, bytes, ..
    } in largest(&inspection.constants)
    {
        let bytes = style::bytes(*bytes as u64);
        let name = shown(name);
        line(format!("  {DIM}{bytes:>18}  {name} {sizes:?}{DIM:#}"));
    }
    if inspection.problems.is_empty() {
        line(format!("{GOOD}compiles{GOOD:#}"))
    } else {
        let report = inspection.problems.report(model);
        let (first, rest) = report.split_once('\n').unwrap_or((&report, ""));
        line(format!("{BAD}{first}{BAD:#}\n{rest}"));
    }
    text
}

fn describe(model: &str, inspection: &Inspection) -> Json {
    let facts = &inspection.facts;
    let operators = facts.operators.iter().map(|((domain, name), count)| {
        json!({
            "domain": domain,
            "name": name,
            "nodes": count.nodes,
            "supported": count.supported,
        })
    });
    let weights = by_type(&inspection.constants).into_iter();
    let weights = weights.map(|(dtype, (tensors, elements, bytes))| {
        json!({ "dtype": dtype, "tensors": tensors, "elements": elements, "bytes": bytes })
    });
    let ports = |ports: &[Port]| -> Vec<Json> {
        let port = |port: &Port| json!({ "name": port.name, "type": port.ty.as_ref().map(ty) });
        ports.iter().map(port).collect()
    };
    json!({
        "model": model,
        "compiles": inspection.problems.is_empty(),
        "problems": listed(&inspection.problems),
        "ir_version": facts.ir_version,
        "opsets": facts.opsets,
        "producer": facts.producer,
        "inputs": ports(&inspection.inputs),
        "outputs": ports(&inspection.outputs),
        "operators": operators.collect::<Vec<_>>(),
        "weights": weights.collect::<Vec<_>>(),
    })
}

/// Each problem with its node, and how many others differ from it only in that.
fn listed(problems: &Diagnostics) -> Vec<Json> {
    let problem = |(problem, others): (&Problem, usize)| {
        let site = problem.site();
        json!({
            "message": problem.message(),
            "node": site.map(|site| &site.node),
            "operator": site.map(|site| &site.operator),
            "help": problem.advice(),
            "further_nodes": others,
        })
    };
    problems.listed().map(problem).collect()
}

fn ty(ty: &Type) -> Json {
    match ty {
        Type::Tensor(tensor) => {
            let size = |dim: &Dim| match dim.number() {
                Some(number) => json!(number),
                None => json!(dim.to_string()),
            };
            let shape: Vec<Json> = tensor.shape.iter().map(size).collect();
            json!({ "dtype": tensor.dtype.name(), "shape": shape })
        }
        Type::Unranked(dtype) | Type::Nothing(dtype) => json!({ "dtype": dtype.name() }),
        Type::Sequence(item) => json!({ "sequence": self::ty(item) }),
        Type::Optional(item) => json!({ "optional": self::ty(item) }),
        Type::Map(key, item) => json!({ "map": self::ty(item), "key": key.name() }),
    }
}

/// Tensors, elements and bytes of each type.
fn by_type(constants: &[Constant]) -> BTreeMap<&'static str, (usize, usize, usize)> {
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
    constants.truncate(LARGEST);
    constants
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::args::{Arguments, Command};

    const TEXT: &str = r#"
        <ir_version: 8, opset_import: ["": 17, "acme": 1], producer_name: "hand">
        main (float[N, 2] x) => (float[N, 2] y) <float[2] b = {1, 2}> {
            sum = Add (x, b)
            y = acme.Twist (sum)
        }
    "#;

    fn file(text: &str, name: &str) -> std::path::PathBuf {
        let name = format!("onnx-embed-inspect-{name}-{}.onnxtxt", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn check(text: &str, expected: Expect) {
        let path = file(text, "table");
        let inspection = look(&path, &Default::default()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let text = table("m.onnx", &inspection);
        let text = anstream::adapter::strip_str(&text).to_string();
        // The compiler's own tests have what follows.
        let (text, _) = text.split_once("cannot compile").unwrap();
        expected.assert_eq(text);
    }

    #[test]
    fn problems_name_their_node() {
        let path = file(TEXT, "problems");
        let inspection = look(&path, &Default::default()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let problems = describe("m.onnx", &inspection)["problems"].to_string();
        expect![[r#"[{"further_nodes":0,"help":"`acme` is a custom domain: rewrite the node with standard operators, or add a function that defines it to the model\nor bind it to a function: #[onnx(ops(\"acme.Twist\" = crate::twist))], fn twist(x: Tensor<2>) -> Tensor<2>","message":"operator `acme.Twist` is not supported","node":"y","operator":"acme.Twist opset 1"}]"#]].assert_eq(&problems);
    }

    #[test]
    fn a_model_that_does_not_compile_is_a_failure() {
        let works = "<ir_version: 8, opset_import: [\"\": 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }";
        for (text, expected) in [(TEXT, ExitCode::FAILURE), (works, ExitCode::SUCCESS)] {
            for form in ["--json", "--counts"] {
                let path = file(text, "code");
                let line = ["cargo-onnx-embed", "inspect", form, path.to_str().unwrap()];
                let Command::Inspect(arguments) = Arguments::parse_from(line).command else {
                    panic!("another command");
                };
                let code = inspect(&arguments).unwrap();
                std::fs::remove_file(&path).unwrap();
                assert_eq!(format!("{code:?}"), format!("{expected:?}"));
            }
        }
    }

    #[test]
    fn unsupported_operators_come_first() {
        check(
            TEXT,
            expect![[r#"
                model  m.onnx
                  IR version 8, ai.onnx 17, acme 1, made by hand
                inputs
                  x  float32[N, 2]
                outputs
                  y  float32[N, 2]
                operators  2 nodes of 2 kinds
                       1  acme.Twist  unsupported
                       1  Add
                weights  8 B in 1 tensor
                  float32        8 B  2 elements in 1 tensor
                                 8 B  b [2]
            "#]],
        );
    }
}
