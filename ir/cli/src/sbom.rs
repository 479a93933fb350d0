//! `sbom`: a bill of materials of a program and its models.

mod document;
mod lock;
mod models;
mod packages;
mod sources;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use document::Document;
use models::Models;
use onnx_embed_harness::style::{BAD, GOOD};
use packages::Graph;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed sbom -o program.cdx.json         the package of the current folder
  cargo onnx-embed sbom --target aarch64-linux-android
  cargo onnx-embed sbom --timestamp $(date -u +%Y-%m-%dT%H:%M:%SZ)

The output is always JSON. Without --timestamp it depends only on the package, Cargo.lock and the models.")]
pub struct Sbom {
    /// Cargo.toml of the package [default: that of the current folder]
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// Platform of the program, or `all` [default: this computer]
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// Features of the package, as for `cargo build`
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Enable all features of the package
    #[arg(long)]
    pub all_features: bool,
    /// Do not enable the default features of the package
    #[arg(long)]
    pub no_default_features: bool,
    /// List a model whose path is not a string in the source, instead of reporting an error
    #[arg(long = "model", value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Write this time to the document, as in 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub timestamp: Option<String>,
    /// File to write [default: print]
    #[arg(short, long = "out", value_name = "FILE")]
    pub output: Option<PathBuf>,
}

pub fn sbom(arguments: &Sbom) -> Result<ExitCode> {
    let graph = Graph::read(arguments)?;
    let models = match Models::find(&graph, &arguments.models)? {
        Ok(models) => models,
        Err(report) => {
            anstream::eprintln!("{BAD}error{BAD:#}: {report}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let document = Document { graph: &graph, models: &models, timestamp: arguments.timestamp.as_deref() };
    let text = format!("{:#}\n", document.json());
    match &arguments.output {
        None => print!("{text}"),
        Some(file) => {
            std::fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
            anstream::println!("{GOOD}wrote{GOOD:#} `{}`", file.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses a time in UTC, to the second.
fn timestamp(text: &str) -> Result<String, String> {
    let pattern = "dddd-dd-ddTdd:dd:ddZ";
    let is_digit = |letter: char| letter.is_ascii_digit();
    let matches = text.len() == pattern.len()
        && text.chars().zip(pattern.chars()).all(|(letter, expected)| match expected {
            'd' => is_digit(letter),
            _ => letter == expected,
        });
    if matches { Ok(text.to_owned()) } else { Err("expected a time, as in 2026-01-31T12:00:00Z".to_owned()) }
}
