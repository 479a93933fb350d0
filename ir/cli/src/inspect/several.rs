//! `inspect` of several models, one line per model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use onnx_embed_ir::diagnostics::{Diagnostics, shown};
use onnx_embed_ir::inspect::{Inspection, inspect as look};
use onnx_embed_ir::options::Options;
use serde_json::{Value as Json, json};

use super::json::{describe, listed};
use super::table::parameters;
use onnx_embed_harness::parallel;
use onnx_embed_harness::style::{self, BAD, DIM, GOOD};

/// Maximum depth of the folders that are searched for models.
const MAX_FOLDER_DEPTH: usize = 8;

/// Row of the table: one model.
struct Line {
    name: String,
    json: Json,
    /// Nodes, parameters and multiply-adds, if the file can be read.
    columns: [String; 3],
    /// First reason why the model does not compile, and the number of further problems.
    problem: Option<String>,
}

pub fn inspect(paths: &[PathBuf], options: &Options, as_json: bool) -> Result<ExitCode> {
    let mut models = Vec::new();
    for path in paths {
        let before = models.len();
        collect(path, 0, &mut models);
        if models.len() == before {
            bail!("`{}` contains no .onnx or .onnxtxt files", path.display());
        }
    }
    let mut lines: Vec<Line> = Vec::new();
    let work = |model: &PathBuf| line(model, options);
    parallel::each(&models, parallel::cores(), work, |_, line| lines.push(line));
    lines.sort_by_cached_key(|line| models.iter().position(|model| name(model) == line.name));
    let compile = lines.iter().filter(|line| line.problem.is_none()).count();
    if as_json {
        let models: Vec<Json> = lines.into_iter().map(|line| line.json).collect();
        println!("{:#}", Json::Array(models));
    } else {
        anstream::print!("{}", table(&lines));
        anstream::println!("{compile} of {} compile", style::count(lines.len(), "model"));
    }
    Ok(super::code(compile == models.len()))
}

/// Adds a file, or the models in a folder.
fn collect(path: &Path, depth: usize, models: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        return models.push(path.to_owned());
    }
    let entries = path.read_dir().into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let is_model = ["onnx", "onnxtxt"].iter().any(|end| entry.extension() == Some(end.as_ref()));
        if is_model || (entry.is_dir() && depth < MAX_FOLDER_DEPTH) {
            collect(&entry, depth + 1, models);
        }
    }
}

fn name(model: &Path) -> String {
    model.display().to_string()
}

fn line(model: &Path, options: &Options) -> Line {
    let name = name(model);
    match look(model, options) {
        Ok(inspection) => Line {
            json: describe(&name, &inspection),
            columns: columns(&inspection),
            problem: problem(&inspection.problems),
            name,
        },
        Err(problems) => Line {
            json: json!({ "model": name, "compiles": false, "problems": listed(&problems) }),
            columns: Default::default(),
            problem: problem(&problems),
            name,
        },
    }
}

fn columns(inspection: &Inspection) -> [String; 3] {
    let operators = inspection.facts.operators.values().map(|count| count.nodes);
    let macs = inspection.compiled.as_ref();
    let macs = macs.map(|compiled| style::number(compiled.cost.multiply_adds));
    [
        operators.sum::<usize>().to_string(),
        style::number(parameters(&inspection.constants).0),
        macs.unwrap_or_default(),
    ]
}

fn problem(problems: &Diagnostics) -> Option<String> {
    let (first, _) = problems.listed().next()?;
    let more = match problems.messages().len() {
        0 | 1 => String::new(),
        count => format!(", and {}", style::count(count - 1, "more problem")),
    };
    Some(shown(first.message()) + &more)
}

/// Returns the length in bytes of the folder path that all names share.
fn shared(lines: &[Line]) -> usize {
    let mut names = lines.iter().map(|line| line.name.as_str());
    let first = names.next().unwrap_or_default();
    let folder = first.rfind(std::path::MAIN_SEPARATOR).map_or(0, |at| at + 1);
    let shared = names.fold(&first[..folder], |shared, name| {
        let mut shared = shared;
        while !name.starts_with(shared) {
            let inner = shared.strip_suffix(std::path::MAIN_SEPARATOR).unwrap_or_default();
            shared = &shared[..inner.rfind(std::path::MAIN_SEPARATOR).map_or(0, |at| at + 1)];
        }
        shared
    });
    shared.len()
}

fn table(lines: &[Line]) -> String {
    let start = shared(lines);
    let name = |line: &Line| shown(&line.name[start..]);
    let heads = ["nodes", "parameters", "multiply-adds"];
    let width = lines.iter().map(|line| name(line).chars().count());
    let width = width.max().unwrap_or(0).max("model".len());
    let [a, b, c] = heads;
    let mut text = format!("{DIM}{:<width$}  {a:>8}  {b:>13}  {c:>13}{DIM:#}\n", "model");
    for line in lines {
        let [nodes, parameters, macs] = &line.columns;
        let end = match &line.problem {
            None => format!("{GOOD}compiles{GOOD:#}"),
            Some(problem) => format!("{BAD}{problem}{BAD:#}"),
        };
        text.push_str(&format!("{:<width$}  {nodes:>8}  {parameters:>13}  {macs:>13}  {end}\n", name(line)));
    }
    text
}
