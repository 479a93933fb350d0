//! `diff`: whether a program can load another file's weights.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use bytes::Bytes;
use clap::Args;
use onnx_embed_ir::diagnostics::{Diagnostics, shown};
use onnx_embed_ir::diff::{Comparison, compare};
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::emit::fingerprint::{Fingerprint, Refusal};
use onnx_embed_ir::model::display_name;
use serde_json::{Value as Json, json};

use crate::inspect::code;
use onnx_embed_harness::settings::{Choices, Storage};
use onnx_embed_harness::style::{self, BAD, DIM, GOOD};

/// Maximum number of listed weights that differ.
const MAX_LISTED_WEIGHTS: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed diff compiled.onnx retrained.onnx
  cargo onnx-embed diff a.onnx b.onnx --weights embed   if the weights are in the binary")]
pub struct Diff {
    /// Model from which the program is compiled
    pub first: PathBuf,
    /// File for the program to load
    pub second: PathBuf,
    #[command(flatten)]
    pub choices: Choices,
    /// Storage of the program's weights
    #[arg(long, value_enum, default_value = "file")]
    pub weights: Storage,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Reason why a program cannot load the weights of a file.
enum Obstacle {
    /// The file cannot be read.
    Unread(String),
    Refused(Refusal),
}

pub fn diff(arguments: &Diff) -> Result<ExitCode> {
    let (first, second) = (&arguments.first, &arguments.second);
    let obstacle = obstacle(arguments, arguments.weights)?;
    let options = arguments.choices.options(arguments.weights);
    // The first file is valid here: `obstacle` reports it otherwise.
    let comparison = compare(first, second, &options);
    if arguments.json {
        println!("{:#}", describe(arguments, obstacle.as_ref(), comparison.as_ref().ok()));
        return Ok(code(obstacle.is_none()));
    }
    let names = [display_name(first), display_name(second)].map(|name| shown(&name));
    let [a, b] = if names[0] == names[1] {
        [first, second].map(|path| shown(&path.display().to_string()))
    } else {
        names
    };
    match &comparison {
        Ok(comparison) => anstream::print!("{}", graphs(comparison, &a, &b)),
        Err(problems) => anstream::println!("{}", problems.report(&second.display().to_string())),
    }
    match &obstacle {
        None => {
            anstream::println!("{GOOD}{b} can be loaded{GOOD:#} by a program compiled from {a}");
            // The code depends on more values if the weights are embedded.
            if arguments.weights == Storage::File
                && let Some(embedded) = self::obstacle(arguments, Storage::Embed)?
            {
                let reason = embedded.sentence(first);
                anstream::println!("  {DIM}not with weights = \"embed\": {reason}{DIM:#}");
            }
        }
        Some(obstacle) => {
            let reason = obstacle.sentence(first);
            anstream::println!("{BAD}{b} cannot be loaded{BAD:#} by a program compiled from {a}: {reason}");
            let same = comparison.is_ok_and(|comparison| comparison.difference.is_none());
            anstream::println!("  {DIM}{}{DIM:#}", obstacle.help(same, &b));
        }
    }
    Ok(code(obstacle.is_none()))
}

/// Returns the reason why a program would refuse the second file, as [`Fingerprint::check`] finds it.
fn obstacle(arguments: &Diff, weights: Storage) -> Result<Option<Obstacle>> {
    let (path, options) = (&arguments.first, arguments.choices.options(weights));
    let failed = |problems: Diagnostics| anyhow!("{}", problems.report(&path.display().to_string()));
    let model = onnx_embed_ir::load(path, &options).map_err(failed)?;
    let item = Item::model(display_name(path));
    // The values that the code depends on are known only after emission.
    onnx_embed_ir::check(&model, &item, &options).map_err(failed)?;
    let values = &model.graph.values;
    let print = Fingerprint::new(values, &model.files, &[], |id| values[id].name.clone());
    let files = match files(&print, &arguments.second) {
        Ok(files) => files,
        Err(unread) => return Ok(Some(unread)),
    };
    Ok(print.check(&files).err().map(Obstacle::Refused))
}

/// Reads the model at a path and the external data next to it, under the names that the first model uses.
fn files(print: &Fingerprint<'_>, path: &Path) -> Result<Vec<Bytes>, Obstacle> {
    let paths = print.files.iter().enumerate().map(|(at, file)| match at {
        0 => path.to_owned(),
        _ => path.with_file_name(&file.name),
    });
    let read = |path: PathBuf| match std::fs::read(&path) {
        Ok(bytes) => Ok(Bytes::from(bytes)),
        Err(error) => Err(Obstacle::Unread(format!("cannot read `{}`: {error}", path.display()))),
    };
    paths.map(read).collect()
}

fn graphs(comparison: &Comparison, a: &str, b: &str) -> String {
    if let Some(difference) = &comparison.difference {
        let (location, first, second) = (&difference.location, &difference.first, &difference.second);
        return format!("the graphs differ in {location}\n  {a}: {first}\n  {b}: {second}\n");
    }
    let all = comparison.weights.len();
    let differ: Vec<&str> =
        comparison.weights.iter().filter(|pair| pair.differs).map(|pair| pair.name.as_str()).collect();
    let mut text = match differ.len() {
        0 => format!("same graph, same {}\n", style::count(all, "weight")),
        1 => format!("same graph, 1 of {} differs\n", style::count(all, "weight")),
        count => format!("same graph, {count} of {} differ\n", style::count(all, "weight")),
    };
    for name in differ.iter().take(MAX_LISTED_WEIGHTS) {
        text.push_str(&format!("  {DIM}{}{DIM:#}\n", shown(name)));
    }
    if differ.len() > MAX_LISTED_WEIGHTS {
        text.push_str(&format!("  {DIM}and {} more{DIM:#}\n", differ.len() - MAX_LISTED_WEIGHTS));
    }
    text
}

fn describe(arguments: &Diff, obstacle: Option<&Obstacle>, comparison: Option<&Comparison>) -> Json {
    let difference = comparison.and_then(|comparison| comparison.difference.as_ref());
    let weights = comparison.map(|comparison| {
        let weights = comparison.weights.iter();
        let weights = weights.map(|pair| json!({ "name": pair.name, "differs": pair.differs }));
        weights.collect::<Vec<Json>>()
    });
    json!({
        "compiled": arguments.first.display().to_string(),
        "loaded": arguments.second.display().to_string(),
        "can_be_loaded": obstacle.is_none(),
        "reason": obstacle.map(ToString::to_string),
        "difference": difference.map(|found| json!({
            "place": found.location, "compiled": found.first, "loaded": found.second,
        })),
        "weights": weights,
    })
}

impl Obstacle {
    /// Returns the reason. `first` is the path of the compiled model.
    fn sentence(&self, first: &Path) -> String {
        // Names of external data are relative to the folder of the model.
        let is_model = |file: &str| first.file_name().is_some_and(|name| name == file);
        match self {
            Obstacle::Refused(Refusal::Length { file, expected, found }) if is_model(file) => {
                format!("its size in bytes is {found}, expected {expected}")
            }
            Obstacle::Refused(Refusal::Differs { file, before }) if is_model(file) => match before {
                Some(name) => format!("it differs just before weight `{}`", shown(name)),
                None => "it differs after its last weight".to_owned(),
            },
            other => other.to_string(),
        }
    }

    fn help(&self, same_graph: bool, b: &str) -> String {
        match self {
            Obstacle::Unread(_) => "put the model and its external data into one folder".to_owned(),
            Obstacle::Refused(Refusal::Fixed(_) | Refusal::Malformed(_)) => {
                format!("compile the program again from {b}")
            }
            Obstacle::Refused(_) if same_graph => format!(
                "the files differ outside the weights (producer, names, documentation): export both with the same \
                 version of the exporter, or compile the program again from {b}"
            ),
            Obstacle::Refused(_) => format!("compile the program again from {b}"),
        }
    }
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Obstacle::Unread(reason) => f.write_str(reason),
            Obstacle::Refused(refusal) => refusal.fmt(f),
        }
    }
}
