//! `adapt`: weights of a model for a program compiled from another file.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use onnx_embed_ir::diagnostics::{Diagnostics, shown};
use onnx_embed_ir::model::display_name;
use onnx_embed_ir::structure::{Adapted, Obstacle, adapt as adapted};
use serde_json::{Value as Json, json};

use crate::inspect::code;
use onnx_embed_harness::settings::{Choices, Storage};
use onnx_embed_harness::style::{self, BAD, DIM, GOOD};

/// Maximum number of listed weights.
const MAX_LISTED_WEIGHTS: usize = 10;

#[derive(Debug, Args)]
#[command(mut_arg("outputs", |argument| argument.hide(true)))]
#[command(after_help = "\
Examples:
  cargo onnx-embed adapt compiled.onnx other.onnx adapted.onnx
  cargo onnx-embed adapt compiled.onnx other.onnx adapted.onnx --dim batch=1   if the program fixes it")]
pub struct Adapt {
    /// Model from which the program is compiled
    pub compiled: PathBuf,
    /// Model with the new weights, for example from another exporter
    pub other: PathBuf,
    /// File to write; external data are written next to it
    pub copy: PathBuf,
    #[command(flatten)]
    pub choices: Choices,
    /// Storage of the program's weights
    #[arg(long, value_enum, default_value = "file")]
    pub weights: Storage,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

pub fn adapt(arguments: &Adapt) -> Result<ExitCode> {
    let (compiled, other, copy) = (&arguments.compiled, &arguments.other, &arguments.copy);
    if !arguments.choices.outputs.is_empty() {
        bail!("`adapt` compares all outputs of the files; omit `--output`");
    }
    let options = arguments.choices.options(arguments.weights);
    let result = match adapted(compiled, other, &options) {
        Err(Obstacle::First(problems)) => return Err(failed(&problems, compiled)),
        Err(Obstacle::Second(problems)) => return Err(failed(&problems, other)),
        result => result,
    };
    if let Ok(adapted) = &result {
        write(adapted, copy)?;
    }
    if arguments.json {
        println!("{:#}", describe(arguments, &result));
    } else {
        anstream::print!("{}", text(arguments, &result));
    }
    Ok(code(result.is_ok()))
}

fn failed(problems: &Diagnostics, path: &Path) -> anyhow::Error {
    anyhow!("{}", problems.report(&path.display().to_string()))
}

/// Writes the model to `copy`, and external data next to it. Existing files are not replaced.
fn write(adapted: &Adapted, copy: &Path) -> Result<()> {
    let mut targets = Vec::new();
    for (at, (name, bytes)) in adapted.files.iter().enumerate() {
        let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        let target = match at {
            0 => copy.to_owned(),
            _ if is_inside => copy.with_file_name(name),
            _ => bail!("external data `{}` is outside of the folder of the model", name.display()),
        };
        if target.exists() {
            bail!("`{}` exists; write the copy to another folder or under another name", target.display());
        }
        targets.push((target, bytes));
    }
    for (target, bytes) in targets {
        let failed = || format!("cannot write `{}`", target.display());
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder).with_context(failed)?;
        }
        std::fs::write(&target, bytes).with_context(failed)?;
    }
    Ok(())
}

fn text(arguments: &Adapt, result: &Result<Adapted, Obstacle>) -> String {
    let names = [&arguments.compiled, &arguments.other].map(|path| shown(&display_name(path)));
    let [compiled, other] = if names[0] == names[1] {
        [&arguments.compiled, &arguments.other].map(|path| shown(&path.display().to_string()))
    } else {
        names
    };
    match result {
        Ok(adapted) => {
            let copy = shown(&display_name(&arguments.copy));
            let count = style::count(adapted.weights.len(), "weight");
            let mut text = format!(
                "{GOOD}{copy} can be loaded{GOOD:#} by a program compiled from {compiled}, with {count} of {other}\n"
            );
            for (name, from) in &adapted.renamed {
                let (name, from) = (shown(name), shown(from));
                text.push_str(&format!("  {DIM}`{name}` has the name `{from}` in {other}{DIM:#}\n"));
            }
            for moved in adapted.weights.iter().take(MAX_LISTED_WEIGHTS) {
                let (name, from) = (shown(&moved.name), shown(&moved.from));
                let same = if moved.differs { "" } else { ", equal" };
                text.push_str(&format!("  {DIM}{name}: {from}{same}{DIM:#}\n"));
            }
            if adapted.weights.len() > MAX_LISTED_WEIGHTS {
                let more = adapted.weights.len() - MAX_LISTED_WEIGHTS;
                text.push_str(&format!("  {DIM}and {more} more{DIM:#}\n"));
            }
            text
        }
        Err(obstacle) => {
            let reason = match obstacle {
                Obstacle::Differs(difference) => format!(
                    "the simplified graphs differ in {}\n  {compiled}: {}\n  {other}: {}\n",
                    difference.location, difference.first, difference.second
                ),
                reason => format!("{reason}\n"),
            };
            let help = format!("compile the program again from {other}");
            format!(
                "{reason}{BAD}{other} cannot be loaded{BAD:#} by a program compiled from {compiled}\n  {DIM}{help}{DIM:#}\n"
            )
        }
    }
}

fn describe(arguments: &Adapt, result: &Result<Adapted, Obstacle>) -> Json {
    let difference = match result {
        Err(Obstacle::Differs(found)) => Some(json!({
            "place": found.location, "compiled": found.first, "loaded": found.second,
        })),
        _ => None,
    };
    let weights = result.as_ref().ok().map(|adapted| {
        let weights = adapted.weights.iter();
        let weights =
            weights.map(|moved| json!({ "name": moved.name, "from": moved.from, "differs": moved.differs }));
        weights.collect::<Vec<Json>>()
    });
    let renamed = result.as_ref().ok().map(|adapted| {
        let renamed = adapted.renamed.iter();
        renamed.map(|(name, from)| json!({ "name": name, "from": from })).collect::<Vec<Json>>()
    });
    json!({
        "compiled": arguments.compiled.display().to_string(),
        "loaded": arguments.other.display().to_string(),
        "can_be_loaded": result.is_ok(),
        "reason": result.as_ref().err().map(ToString::to_string),
        "difference": difference,
        "weights": weights,
        "renamed": renamed,
    })
}
