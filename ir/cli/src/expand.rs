//! `expand`: the Rust code or the graph of a model.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use onnx_embed_ir::diagnostics::{Diagnostics, plain};
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::model::display_name;
use onnx_embed_ir::passes::rewrite::{Event, Report};
use onnx_embed_ir::print;
use onnx_embed_ir::rust::Code;
use serde_json::{Value as Json, json};

use crate::inspect::listed;
use onnx_embed_harness::settings::{Choices, Storage};
use onnx_embed_harness::style::{BAD, count};

mod format;
mod timings;

use timings::Timings;

/// Maximum number of matches of a rule that are named.
const NAMED: usize = 3;

/// Maximum number of parts of code that are formatted: parser and formatter use 300 bytes for each.
const MAX_FORMATTED_TOKENS: usize = 120_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed expand model.onnx > model.rs     the code that the macro generates
  cargo onnx-embed expand model.onnx --passes       the matches of each rule, and near matches
  cargo onnx-embed expand model.onnx --timings      what the macro spends its time on")]
pub struct Expand {
    /// The model: .onnx, or .onnxtxt in ONNX's text syntax
    pub model: PathBuf,
    #[command(flatten)]
    pub choices: Choices,
    /// Show the graph instead of Rust
    #[arg(long)]
    pub graph: bool,
    /// Show the graph as read and after each pass
    #[arg(long, conflicts_with = "graph")]
    pub passes: bool,
    /// Show the time of each step of the macro instead of Rust
    #[arg(long, conflicts_with_all = ["graph", "passes"])]
    pub timings: bool,
    /// Name of the struct
    #[arg(long, default_value = "Model")]
    pub name: String,
    /// Storage of the weights at run time
    #[arg(long, value_enum, default_value = "embed")]
    pub weights: Storage,
    /// Write JSON: `code`, `graph`, `passes` or `timings`, and the problems of a model that does not compile
    #[arg(long)]
    pub json: bool,
}

pub fn expand(arguments: &Expand) -> Result<ExitCode> {
    let path = &arguments.model;
    let mut passes = Vec::new();
    let shown = shown(arguments, &mut passes)?;
    let code = match shown {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    };
    if arguments.json {
        let json = json(&display_name(path), &arguments.name, &passes, shown)?;
        println!("{json:#}");
        return Ok(code);
    }
    for pass in &passes {
        anstream::print!("{}", plain(&pass.text()));
    }
    match shown {
        Ok(Shown::Passes) => {}
        Ok(Shown::Graph(graph)) => anstream::print!("{}", plain(&graph)),
        Ok(Shown::Timings(timings)) => anstream::print!("{timings}"),
        Ok(Shown::Code(code)) => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            write(code, &mut out)?;
            out.flush()?;
        }
        Err(problems) => {
            let report = problems.report(&path.display().to_string());
            anstream::eprintln!("{BAD}error{BAD:#}: {report}");
        }
    }
    Ok(code)
}

/// The requested output for a model.
enum Shown {
    /// Only the passes.
    Passes,
    Graph(String),
    Timings(Timings),
    Code(Code),
}

/// The graph after a pass.
struct Pass {
    name: &'static str,
    graph: String,
    /// Report of the rules, if the pass applies rules.
    rules: Option<Report>,
}

/// Returns the requested output, or the problems of the model. The outer error is caused by the arguments.
fn shown(arguments: &Expand, passes: &mut Vec<Pass>) -> Result<Result<Shown, Diagnostics>> {
    let options = arguments.choices.options(arguments.weights);
    let path = &arguments.model;
    let mut timings = Timings::new();
    let model = onnx_embed_ir::load_observed(path, &options, &mut |step| {
        timings.end(step.name, Some(step.graph.body.nodes.len()));
        if arguments.passes {
            passes.push(Pass {
                name: step.name,
                graph: print::graph(step.graph),
                rules: step.rules.cloned(),
            });
        }
    });
    let model = match model {
        Ok(model) => model,
        Err(problems) => return Ok(Err(problems)),
    };
    if arguments.passes {
        return Ok(Ok(Shown::Passes));
    }
    if arguments.graph {
        return Ok(Ok(Shown::Graph(print::graph(&model.graph))));
    }
    let name = syn::parse_str(&arguments.name);
    let item = Item {
        name: name.with_context(|| format!("`{}` is not a valid type name", arguments.name))?,
        ..Item::model(display_name(path))
    };
    let code = match onnx_embed_ir::tree(&model, &item, &options) {
        Ok(code) => code,
        Err(problems) => return Ok(Err(problems)),
    };
    if !arguments.timings {
        return Ok(Ok(Shown::Code(code)));
    }
    timings.end("emit", None);
    drop(code.into_tokens());
    timings.end("tokens", None);
    Ok(Ok(Shown::Timings(timings)))
}

/// Writes code, formatted unless it has too many parts.
fn write(code: Code, out: &mut impl io::Write) -> Result<()> {
    if code.len() > MAX_FORMATTED_TOKENS {
        code.write_lines(out)?;
    } else {
        format::write(code.into_tokens(), out)?;
    }
    Ok(())
}

impl Pass {
    fn text(&self) -> String {
        let Pass { name, graph, rules } = self;
        let rules = rules.as_ref().map(self::rules).unwrap_or_default();
        format!("# {name}\n{graph}\n{rules}\n")
    }

    fn json(&self) -> Json {
        let events = |events: &[Event]| -> Vec<Json> {
            let event = |event: &Event| match event.reason {
                "" => json!({ "rule": event.rule, "value": event.value }),
                reason => json!({ "rule": event.rule, "value": event.value, "reason": reason }),
            };
            events.iter().map(event).collect()
        };
        let mut pass = json!({ "name": self.name, "graph": self.graph });
        if let Some(Report { applied, missed, .. }) = &self.rules {
            pass["applied"] = json!(events(applied));
            pass["missed"] = json!(events(missed));
        }
        pass
    }
}

/// Returns the requested output as JSON, with problems as `inspect` lists them.
fn json(model: &str, name: &str, passes: &[Pass], shown: Result<Shown, Diagnostics>) -> Result<Json> {
    let problems = shown.as_ref().err().map(listed).unwrap_or_default();
    let mut json = json!({ "model": model, "compiles": shown.is_ok(), "problems": problems });
    if !passes.is_empty() {
        json["passes"] = passes.iter().map(Pass::json).collect();
    }
    match shown {
        Ok(Shown::Graph(graph)) => json["graph"] = json!(graph),
        Ok(Shown::Timings(timings)) => json["timings"] = timings.json(),
        Ok(Shown::Code(code)) => {
            let mut text = Vec::new();
            write(code, &mut text)?;
            json["name"] = json!(name);
            json["code"] = json!(String::from_utf8(text)?);
        }
        Ok(Shown::Passes) | Err(_) => {}
    }
    Ok(json)
}

/// Lists the matches of each rule, and those that failed a condition.
fn rules(report: &Report) -> String {
    let mut text = String::new();
    let mut table = |events: &[Event], sign: &str, thing: &str| {
        let mut kinds: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for event in events {
            let values = kinds.entry((event.rule, event.reason)).or_default();
            values.push(&event.value);
        }
        for ((rule, reason), values) in kinds {
            let more = if values.len() > NAMED { ", .." } else { "" };
            let named = values.get(..NAMED).unwrap_or(&values).join(", ");
            let reason = if reason.is_empty() { "" } else { ": " }.to_owned() + reason;
            let matches = count(values.len(), thing);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{sign} {rule}: {matches} at {named}{more}{reason}");
        }
    };
    table(&report.applied, "+", "match");
    table(&report.missed, "-", "near match");
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn matches_of_a_rule_are_listed_together() {
        let event = |rule, value: &str, reason| Event { rule, value: value.to_owned(), reason };
        let applied = ["a", "b", "c", "d"].map(|value| event("silu", value, ""));
        let report = Report {
            applied: applied.to_vec(),
            missed: vec![event("layer norm", "y", "reduced axes vanish")],
        };
        expect![[r#"
            + silu: 4 matches at a, b, c, ..
            - layer norm: 1 near match at y: reduced axes vanish
        "#]]
        .assert_eq(&rules(&report));
    }
}
