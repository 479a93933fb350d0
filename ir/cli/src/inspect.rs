//! `inspect`: contents of a file, and what is unsupported.

mod json;
mod several;
mod table;
mod values;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use onnx_embed_ir::inspect::inspect as look;
use onnx_embed_ir::options::Options;
use serde_json::json;

use onnx_embed_harness::settings::{Choices, Storage};
use onnx_embed_harness::style::BAD;

pub use json::listed;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed inspect model.onnx              contents of the file, and whether it compiles
  cargo onnx-embed inspect model.onnx --dim batch=8    with a dynamic size fixed
  cargo onnx-embed inspect models/                  one line per model; exit code 1 if one fails
  cargo onnx-embed inspect model.onnx --values | grep conv1")]
pub struct Inspect {
    /// Model: .onnx, or .onnxtxt in ONNX's text syntax; several models, or folders, are listed one per line
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    #[command(flatten)]
    pub choices: Choices,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
    /// Only count the nodes as read and after each pass
    #[arg(long, conflicts_with = "json")]
    pub counts: bool,
    /// List every value: its name in the file, type, sizes and producer
    #[arg(long, conflicts_with = "counts")]
    pub values: bool,
}

pub fn inspect(arguments: &Inspect) -> Result<ExitCode> {
    let options = arguments.choices.options(Storage::Embed);
    let model = match arguments.models.as_slice() {
        [model] if !model.is_dir() => model,
        _ if arguments.counts || arguments.values => {
            bail!("`--counts` and `--values` require a single model")
        }
        models => return several::inspect(models, &options, arguments.json),
    };
    let name = model.display().to_string();
    if arguments.counts {
        return counts(&name, model, &options);
    }
    if arguments.values {
        return values::list(model, &options, arguments.json);
    }
    let inspection = match look(model, &options) {
        Ok(inspection) => inspection,
        Err(problems) if arguments.json => {
            let problems = listed(&problems);
            let json = json!({ "model": name, "compiles": false, "problems": problems });
            println!("{json:#}");
            return Ok(ExitCode::FAILURE);
        }
        Err(problems) => {
            anstream::eprintln!("{BAD}error{BAD:#}: {}", problems.report(&name));
            return Ok(ExitCode::FAILURE);
        }
    };
    if arguments.json {
        println!("{:#}", json::describe(&name, &inspection))
    } else {
        anstream::print!("{}", table::table(&name, &inspection))
    }
    Ok(code(inspection.problems.is_empty()))
}

/// Returns the exit code: 1 if a model does not compile.
pub fn code(compiles: bool) -> ExitCode {
    if compiles { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the number of nodes as read, without constants, and after each pass, in one line.
fn counts(name: &str, model: &Path, options: &Options) -> Result<ExitCode> {
    let mut line = name.to_owned();
    let model = onnx_embed_ir::load_observed(model, options, &mut |step| {
        // Writing to a string cannot fail.
        let _ = write!(line, "  {} {}", step.name, step.graph.body.count());
    });
    println!("{line}");
    Ok(code(model.is_ok()))
}
