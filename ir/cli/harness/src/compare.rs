//! `compare`: the values of two models, or of two settings.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use onnx_embed_ir::inspect::inspect;
use onnx_embed_ir::options::Options;
use serde_json::json;

use crate::models::{self, Model};
use crate::npz::Recording;
use crate::random;
use crate::scratch::Scratch;
use crate::settings::{Programs, dim};
use crate::style::{BAD, GOOD, count};
use crate::trace::{Run, Setting, onnx_runtime, ours};
use crate::trace_diff::Differences;
use crate::value::Values;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo onnx-embed compare model.onnx --b precision=f16\n  \
    cargo onnx-embed compare model.onnx --a simplify=false --b onnxruntime\n  \
    cargo onnx-embed compare old.onnx new.onnx\n\n\
    Settings are separated by commas: simplify=false, precision=f16 (or bf16), plain (only Burn's own operations),\n\
    instructions=avx2 (or portable). onnxruntime, without other settings, runs the model in Python.")]
pub struct Compare {
    /// One model, or two models whose values have the same names
    #[arg(required = true, num_args = 1..=2)]
    pub models: Vec<PathBuf>,
    /// Settings of the first run
    #[arg(long, value_name = "SETTINGS", default_value = "", value_parser = side)]
    pub a: Side,
    /// Settings of the second run
    #[arg(long, value_name = "SETTINGS", default_value = "", value_parser = side)]
    pub b: Side,
    #[command(flatten)]
    pub programs: Programs,
    /// Tolerance of floats, relative to the largest element [default: 1e-4, or 1e-2 with half precision,
    /// whose values are compared as float32]
    #[arg(long, value_name = "SHARE")]
    pub tolerance: Option<f64>,
    /// Named sizes of random inputs, if there is no io.npz in the folder of the model; others are 1
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Build with optimizations
    #[arg(long)]
    pub release: bool,
    /// Write JSON: every value that both runs have, with its difference
    #[arg(long)]
    pub json: bool,
    /// Python with `onnx`, `onnxruntime` and `numpy`
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: PathBuf,
}

/// An engine that computes one side.
#[derive(Clone, Debug)]
pub enum Side {
    Ours(Box<Setting>),
    OnnxRuntime,
}

pub fn compare(arguments: &Compare) -> Result<ExitCode> {
    let found = models::collect(&arguments.models, None)?;
    let (first, second) = match found.as_slice() {
        [only] if arguments.models.len() == 1 => (only, only),
        [first, second] => (first, second),
        _ => bail!("expected one or two models, found {}", count(found.len(), "model")),
    };
    let inputs = inputs(arguments, first)?;
    let mut scratch = Scratch::open(&arguments.programs, false)?;
    let mut run = |model: &Model, side: &Side| -> Result<Run> {
        let device = arguments.programs.device.name();
        match side {
            Side::Ours(setting) => ours(&mut scratch, model, setting, &inputs, device, arguments.release),
            Side::OnnxRuntime => onnx_runtime(&arguments.python, model, &inputs),
        }
    };
    let (mut a, mut b) = (run(first, &arguments.a)?, run(second, &arguments.b)?);
    if a.steps.is_empty() {
        // Only our own runs report the order of values.
        std::mem::swap(&mut a, &mut b);
    }
    let is_half_precision = a.widen_halves(&mut b)
        || [&arguments.a, &arguments.b].iter().any(|side| match side {
            Side::Ours(setting) => setting.options.precision.half().is_some(),
            Side::OnnxRuntime => false,
        });
    let tolerance = arguments.tolerance.unwrap_or(if is_half_precision { 1e-2 } else { 1e-4 });
    let differences = Differences::new(&a, &b, tolerance);
    if differences.rows.is_empty() {
        bail!("the two runs have no values with the same names");
    }
    let problems: Vec<&String> = [&a.problem, &b.problem].into_iter().flatten().collect();
    if arguments.json {
        let mut json = differences.json();
        json["tolerance"] = json!(tolerance);
        json["ended_early"] = json!(problems);
        println!("{json:#}");
    } else {
        show(&differences, &problems, tolerance);
    }
    Ok(if differences.first.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(differences: &Differences, problems: &[&String], tolerance: f64) {
    let values = count(differences.rows.len(), "value");
    for problem in problems {
        anstream::println!("{BAD}a run ended early{BAD:#}: {problem}");
    }
    match differences.headline() {
        Some(headline) => {
            anstream::println!("{BAD}first difference{BAD:#} in {values}: {headline}")
        }
        None => anstream::println!("{GOOD}equal{GOOD:#} within {tolerance:.0e}: compared {values}"),
    }
    anstream::print!("{}", differences.table());
}

fn inputs(arguments: &Compare, model: &Model) -> Result<Values> {
    match model.recordings.first() {
        Some(path) if arguments.dims.is_empty() => Ok(Recording::open(path)?.inputs),
        _ => match inspect(&model.path, &Options::default()) {
            Ok(inspection) => random::inputs(&inspection.inputs, &arguments.dims),
            Err(problems) => bail!("{}", problems.report(&model.name)),
        },
    }
}

/// Parses the settings of a side.
pub fn side(text: &str) -> Result<Side, String> {
    let mut setting = Setting::default();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        let (key, value) = word.split_once('=').unwrap_or((word, "true"));
        match (key, value) {
            ("onnxruntime", "true") if text.trim() == word => return Ok(Side::OnnxRuntime),
            ("simplify", "true" | "false") => setting.options.simplify = value == "true",
            ("plain", "true") => setting.variables.push(("ONNX_EMBED_PLAIN", "1".to_owned())),
            ("instructions", _) => {
                setting.variables.push(("ONNX_EMBED_INSTRUCTIONS", value.to_owned()));
            }
            ("precision", _) => setting.options.precision = precision(value)?,
            _ => {
                return Err(format!(
                    "unknown setting `{word}`, expected `simplify=false`, `precision=f16`, `plain`, \
                     `instructions=avx2`, or only `onnxruntime`"
                ));
            }
        }
    }
    Ok(Side::Ours(Box::new(setting)))
}

fn precision(name: &str) -> Result<onnx_embed_ir::options::Precision, String> {
    let all = onnx_embed_ir::options::Precision::ALL;
    let found = all.iter().find(|(own, _)| *own == name);
    found
        .map(|(_, precision)| *precision)
        .ok_or_else(|| format!("`precision` is `{name}`, expected `as-is`, `f16` or `bf16`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_words() {
        let Ok(Side::Ours(setting)) = side("simplify=false,plain precision=f16") else {
            panic!("no setting");
        };
        assert!(!setting.options.simplify && setting.options.precision.half().is_some());
        assert_eq!(setting.variables, [("ONNX_EMBED_PLAIN", "1".to_owned())]);
        assert!(matches!(side("onnxruntime"), Ok(Side::OnnxRuntime)));
        assert!(matches!(side(""), Ok(Side::Ours(_))));
        assert!(side("simplify").is_ok() && side("simplfy=false").is_err());
        assert!(side("onnxruntime,plain").is_err());
    }
}
