//! `shrink`: stores weights with fewer bits.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::model::display_name;
use onnx_embed_ir::resave::{Kept, Report, Shrunk, Width, shrink as shrunk};
use serde_json::{Value as Json, json};

use crate::copies::{Target, check, failed};
use onnx_embed_harness::style::{self, BAD, DIM, GOOD};

/// Maximum number of listed weights.
const MAX_LISTED_WEIGHTS: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed shrink model.onnx -o small.onnx --to f16
  cargo onnx-embed shrink model.onnx -o small.onnx --to int4
  cargo onnx-embed compare model.onnx small.onnx   how much the outputs differ

f16 and int8: weights of MatMul, Gemm, Conv and ConvTranspose, and tables of Gather, with Cast or
DequantizeLinear (a scale for each output channel). int4: weights of MatMul and Gemm, with MatMulNBits of
com.microsoft (a scale for each 32 inputs). Weights of at most 1 kB remain.")]
pub struct Shrink {
    /// The model
    pub model: PathBuf,
    /// Type of the elements
    #[arg(long, value_enum)]
    pub to: To,
    #[command(flatten)]
    pub target: Target,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum To {
    F16,
    Int8,
    Int4,
}

/// Sizes of both models in bytes.
struct Sizes {
    before: u64,
    after: u64,
}

pub fn shrink(arguments: &Shrink) -> Result<ExitCode> {
    let (model, target) = (&arguments.model, &arguments.target);
    let sharding = target.sharding()?;
    let mut files = target.files(model)?;
    let before = files.original_bytes();
    let result = shrunk(model, arguments.to.width(), &sharding, &mut |name| files.create(name));
    let (copy, report) = result.map_err(|failure| failed(failure, model))?;
    let after = copy.shards.iter().map(|shard| shard.bytes).sum::<u64>() + copy.model.len() as u64;
    let sizes = Sizes { before, after };
    let is_smaller = !report.shrunk.is_empty();
    if is_smaller {
        files.finish(&copy.model)?;
        check(model, &target.output)?;
    }
    if arguments.json {
        println!("{:#}", describe(&report, &sizes));
    } else {
        anstream::print!("{}", text(arguments, &report, &sizes));
    }
    Ok(if is_smaller { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl To {
    fn width(self) -> Width {
        match self {
            To::F16 => Width::F16,
            To::Int8 => Width::I8,
            To::Int4 => Width::I4,
        }
    }

    fn name(self) -> &'static str {
        match self {
            To::F16 => "float16",
            To::Int8 => "int8",
            To::Int4 => "int4",
        }
    }
}

fn text(arguments: &Shrink, report: &Report, sizes: &Sizes) -> String {
    let [model, copy] = [&arguments.model, &arguments.target.output].map(|path| shown(&display_name(path)));
    let count = style::count(report.shrunk.len(), "weight");
    let mut text = if report.shrunk.is_empty() {
        format!("{BAD}no weight of {model} shrinks{BAD:#}, nothing is written\n")
    } else {
        let [before, after] = [sizes.before, sizes.after].map(style::bytes);
        let to = arguments.to.name();
        format!("{GOOD}wrote {copy}{GOOD:#}, {after} instead of {before}, with {count} in {to}\n")
    };
    let mut sorted: Vec<&Shrunk> = report.shrunk.iter().collect();
    sorted.sort_by(|a, b| b.error.mean.total_cmp(&a.error.mean));
    if !sorted.is_empty() {
        text.push_str(&format!("  {DIM}relative errors of weights, root mean square and largest:{DIM:#}\n"));
    }
    for weight in sorted.iter().take(MAX_LISTED_WEIGHTS) {
        let name = shown(&weight.name);
        let [before, after] = [weight.before, weight.after].map(|bytes| style::bytes(bytes as u64));
        let [mean, largest] = [weight.error.mean, weight.error.largest].map(percent);
        text.push_str(&format!("  {DIM}{name}: {mean}, {largest}; {after} instead of {before}{DIM:#}\n"));
    }
    if sorted.len() > MAX_LISTED_WEIGHTS {
        text.push_str(&format!(
            "  {DIM}and {} with smaller errors{DIM:#}\n",
            sorted.len() - MAX_LISTED_WEIGHTS
        ));
    }
    for Kept { name, bytes, reason } in report.kept.iter().take(MAX_LISTED_WEIGHTS) {
        let (name, bytes) = (shown(name), style::bytes(*bytes as u64));
        text.push_str(&format!("  {name} ({bytes}) remains: {reason}\n"));
    }
    if report.kept.len() > MAX_LISTED_WEIGHTS {
        text.push_str(&format!("  and {} more remain\n", report.kept.len() - MAX_LISTED_WEIGHTS));
    }
    if !report.shrunk.is_empty() {
        text.push_str("`cargo onnx-embed compare` shows how much the outputs differ\n");
    }
    text
}

/// Formats a part of a whole with two digits.
fn percent(part: f64) -> String {
    match part * 100.0 {
        0.0 => "0%".to_owned(),
        percent if percent < 0.0095 => format!("{percent:.1e}%"),
        percent if percent < 0.095 => format!("{percent:.3}%"),
        percent if percent < 9.95 => format!("{percent:.2}%"),
        percent => format!("{percent:.0}%"),
    }
}

fn describe(report: &Report, sizes: &Sizes) -> Json {
    let shrunk = report.shrunk.iter().map(|weight| {
        json!({
            "name": weight.name, "before": weight.before, "after": weight.after,
            "error": { "root_mean_square": weight.error.mean, "largest": weight.error.largest },
        })
    });
    let kept = report.kept.iter();
    let kept = kept.map(|kept| json!({ "name": kept.name, "bytes": kept.bytes, "reason": kept.reason }));
    json!({
        "before": sizes.before,
        "after": sizes.after,
        "shrunk": shrunk.collect::<Vec<Json>>(),
        "kept": kept.collect::<Vec<Json>>(),
    })
}
