//! `inspect --values`: every value with its name in the file.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::inspect::values::{Named, Origin, values};
use onnx_embed_ir::options::Options;
use serde_json::{Value as Json, json};

use super::json::{listed, ty};
use onnx_embed_harness::style::{BAD, DIM};

/// Maximum width of a name or type up to which columns are aligned.
const MAX_ALIGNED_WIDTH: usize = 48;

pub fn list(model: &Path, options: &Options, as_json: bool) -> Result<ExitCode> {
    let name = model.display().to_string();
    let values = match values(model, options) {
        Ok(values) => values,
        Err(problems) if as_json => {
            println!("{:#}", json!({ "model": name, "problems": listed(&problems) }));
            return Ok(ExitCode::FAILURE);
        }
        Err(problems) => {
            anstream::eprintln!("{BAD}error{BAD:#}: {}", problems.report(&name));
            return Ok(ExitCode::FAILURE);
        }
    };
    if as_json {
        let values: Vec<Json> = values.iter().map(describe).collect();
        println!("{:#}", json!({ "model": name, "values": values }));
    } else {
        anstream::print!("{}", table(&values));
    }
    Ok(ExitCode::SUCCESS)
}

fn table(values: &[Named]) -> String {
    let texts: Vec<(String, String)> = values.iter().map(|value| (label(value), kind(value))).collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0).min(MAX_ALIGNED_WIDTH);
    let names = width(&mut texts.iter().map(|(name, _)| name.chars().count()));
    let types = width(&mut texts.iter().map(|(_, ty)| ty.chars().count()));
    let mut table = String::new();
    for (value, (name, ty)) in values.iter().zip(&texts) {
        let origin = match &value.origin {
            Origin::Input => "input".to_owned(),
            Origin::Constant => "constant".to_owned(),
            Origin::Node(operator, node) if node.is_empty() => shown(operator),
            Origin::Node(operator, node) => format!("{} {}", shown(operator), shown(node)),
        };
        let output = if value.is_output { ", output" } else { "" };
        table.push_str(&format!("{name:<names$}  {ty:<types$}  {DIM}{origin}{output}{DIM:#}\n"));
    }
    table
}

/// Returns the name, indented for values of nested graphs.
fn label(value: &Named) -> String {
    "  ".repeat(value.depth) + &shown(&value.name)
}

fn kind(value: &Named) -> String {
    let ty = value.ty.as_ref();
    ty.map_or("?".to_owned(), |ty| shown(&ty.to_string()))
}

fn describe(value: &Named) -> Json {
    let (origin, operator, node) = match &value.origin {
        Origin::Input => ("input", None, None),
        Origin::Constant => ("constant", None, None),
        Origin::Node(operator, node) => ("node", Some(operator), Some(node)),
    };
    json!({
        "name": value.name,
        "type": value.ty.as_ref().map(ty),
        "origin": origin,
        "operator": operator,
        "node": node,
        "output": value.is_output,
        "depth": value.depth,
    })
}
