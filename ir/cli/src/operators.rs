//! `operators`: supported operators and their versions.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::files::distance;
use onnx_embed_ir::ops::arity::{Signs, least, most};
use onnx_embed_ir::ops::{self, MICROSOFT, ML, PREVIEW, Row, TRAINING};
use onnx_embed_ir::options::Options;
use onnx_embed_ir::text;
use prost::Message;
use serde_json::{Value as Json, json};

use crate::inspect::code;
use onnx_embed_harness::style::{self, BAD, DIM, HEADING};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed operators                        all operators, with their versions
  cargo onnx-embed operators conv                   one operator, with its specification")]
pub struct Operators {
    /// Operator, such as `Conv` or `com.microsoft.FusedConv`; case-insensitive
    pub name: Option<String>,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

pub fn operators(arguments: &Operators) -> Result<ExitCode> {
    let Some(name) = &arguments.name else {
        match arguments.json {
            true => println!("{:#}", Json::Array(ops::rooms().map(describe).collect())),
            false => anstream::print!("{}", table()),
        }
        return Ok(ExitCode::SUCCESS);
    };
    let found = find(name);
    let near = if found.is_empty() { near(name) } else { Vec::new() };
    if arguments.json {
        let found: Vec<Json> = found.iter().copied().map(describe).collect();
        println!("{:#}", json!({ "name": name, "operators": found, "near": near }));
    } else if found.is_empty() {
        anstream::print!("{}", unknown(name, &near));
    } else {
        found.iter().for_each(|(room, row)| anstream::print!("{}", one(room, row)));
    }
    Ok(code(!found.is_empty()))
}

fn table() -> String {
    let mut text = String::new();
    let mut count = 0;
    for (domain, heading) in
        [("", "ai.onnx"), (ML, ML), (MICROSOFT, MICROSOFT), (PREVIEW, PREVIEW), (TRAINING, TRAINING)]
    {
        let mut rows: Vec<_> = ops::rooms().filter(|(_, row)| row.domain == domain).collect();
        rows.sort_by_key(|(_, row)| row.name);
        count += rows.len();
        let operators = style::count(rows.len(), "operator");
        text.push_str(&format!("{HEADING}{heading}{HEADING:#}  {DIM}{operators}{DIM:#}\n"));
        let width = rows.iter().map(|(_, row)| row.name.len()).max().unwrap_or(0);
        for (room, row) in rows {
            let versions = versions(row);
            text.push_str(&format!("  {:<width$}  {DIM}{room:<12}{DIM:#}  {versions}\n", row.name));
        }
    }
    let all = style::count(count, "operator");
    text.push_str(&format!(
        "{all}, with the opset versions that define or change them, all of which are supported\n"
    ));
    text
}

fn one(room: &str, row: &Row) -> String {
    let mut text = format!("{HEADING}{}{HEADING:#}  {DIM}{room}{DIM:#}\n", row.kind());
    let arity = row.arity_at(i64::MAX);
    let range = |signs: Signs| match (least(signs), most(signs)) {
        (0, None) => "any number".to_owned(),
        (least, None) => format!("{least} or more"),
        (least, Some(most)) if least == most => most.to_string(),
        (least, Some(most)) => format!("{least} to {most}"),
    };
    text.push_str(&format!("  versions  {}\n", versions(row)));
    text.push_str(&format!("  inputs    {}\n", range(arity.inputs)));
    text.push_str(&format!("  outputs   {}\n", range(arity.outputs)));
    if !row.notes.is_empty() {
        text.push_str(&format!("  notes     {}\n", row.notes));
    }
    text.push_str(&format!("  {DIM}{}{DIM:#}\n", link(row)));
    text
}

/// Describes an unknown operator, with the report of the compiler for a model that has one.
fn unknown(name: &str, near: &[String]) -> String {
    let mut text = format!("{BAD}unknown operator `{}`{BAD:#}\n", shown(name));
    if !near.is_empty() {
        text.push_str(&format!("  operators with similar names: {}\n", near.join(", ")));
    }
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric());
    if let (true, Some(report)) = (name.split('.').all(is_name), report(name)) {
        text.push_str(&format!(
            "a model that uses it does not compile:\n\n  {}\n",
            report.replace('\n', "\n  ")
        ));
    }
    text
}

fn report(name: &str) -> Option<String> {
    let domain = name.rsplit_once('.').map_or("", |(domain, _)| domain);
    let imports = match domain {
        "" => String::new(),
        domain => format!(", \"{domain}\": 1"),
    };
    let source = format!(
        "<ir_version: 10, opset_import: [\"\": 21{imports}]> g (float[n] x) => (float[n] y) {{ [\"/layer/node\"] y = {name} (x) }}"
    );
    let model = text::model(&source).ok()?.encode_to_vec();
    let problems = onnx_embed_ir::load_bytes(model.into(), &Options::default()).err()?;
    Some(problems.report("model.onnx"))
}

fn find(name: &str) -> Vec<(&'static str, &'static Row)> {
    let name = name.strip_prefix("ai.onnx.").filter(|rest| !rest.contains('.')).unwrap_or(name);
    let is_it = |row: &Row| row.kind().eq_ignore_ascii_case(name) || row.name.eq_ignore_ascii_case(name);
    ops::rooms().filter(|(_, row)| is_it(row)).collect()
}

fn near(name: &str) -> Vec<String> {
    let name = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let most = (name.len() / 3).max(1);
    let mut near: Vec<(usize, String)> = ops::all()
        .map(|row| (distance(&row.name.to_lowercase(), &name), row.kind()))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort();
    near.truncate(5);
    near.into_iter().map(|(_, kind)| kind).collect()
}

fn versions(row: &Row) -> String {
    let versions: Vec<String> = row.since.iter().map(ToString::to_string).collect();
    versions.join(", ")
}

/// Returns the URL of the operator's specification.
fn link(row: &Row) -> String {
    let page = match row.domain {
        "" => "onnx_",
        ML => "onnx_aionnxml",
        PREVIEW => "onnx_aionnxpreview",
        TRAINING => "onnx_aionnxpreviewtraining",
        _ => {
            let page = "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md";
            return format!("{page}#com.microsoft.{}", row.name);
        }
    };
    format!("https://onnx.ai/onnx/operators/{page}_{}.html", row.name)
}

fn describe((room, row): (&str, &Row)) -> Json {
    json!({
        "domain": row.domain,
        "name": row.name,
        "room": room,
        "versions": row.since,
        "specification": link(row),
    })
}
