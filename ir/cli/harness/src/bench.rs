//! `bench`: times and memory of runs, and of nodes.

mod flame;
mod layers;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::ProgressBar;
use onnx_embed_ir::inspect::inspect;
use onnx_embed_ir::options::Options;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::message::{Profiled, Request, Run, Timed};
use crate::models::{self, Model};
use crate::npz::Recording;
use crate::prepare::{Obstacle, Ready, prepare};
use crate::process::{Outcome, ask};
use crate::scratch::Scratch;
use crate::settings::{Device, Programs, dim};
use crate::style::BAD;
use crate::value::{Value, Values};
use crate::{parallel, random, wire};
use layers::Profile;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed bench model.onnx                 load, first call, later calls, memory
  cargo onnx-embed bench model.onnx --threads 1,2,4 --dim batch=8
  cargo onnx-embed bench model.onnx --op my.company.BiasSwish --functions src/operators.rs")]
pub struct Bench {
    /// Models, or folders, with their direct subfolders. Inputs come from an io.npz in the same folder,
    /// otherwise they are random
    #[arg(required = true)]
    pub models: Vec<PathBuf>,
    #[command(flatten)]
    pub programs: Programs,
    /// Numbers of threads, measured one after the other [default: the number of cores]
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub threads: Vec<usize>,
    /// Duration of the measurement of each model, in seconds
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Named sizes of random inputs; others are 1
    #[arg(long = "dim", alias = "dims", value_name = "NAME=SIZE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Write a JSON line for each model and number of threads
    #[arg(long)]
    pub json: bool,
    /// Show the time of each node. The first node includes checking and copying inputs. Except on `flex`,
    /// each node waits for the device, so the sum exceeds the time of a run
    #[arg(long)]
    pub layers: bool,
    /// With --layers: maximum number of nodes; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 30, requires = "layers")]
    pub top: usize,
    /// Build without optimizations. This is faster, but the times are meaningless
    #[arg(long)]
    pub debug: bool,
    /// Draw the times of the nodes, nested by module, as an SVG file
    #[arg(long, value_name = "FILE.svg", requires = "layers")]
    pub flame: Option<PathBuf>,
}

/// Maximum duration of a process that measures a model.
const LIMIT: Duration = Duration::from_secs(3600);

pub fn bench(arguments: &Bench) -> Result<ExitCode> {
    let programs = &arguments.programs;
    let models = models::collect(&arguments.models, programs.filter.as_deref())?;
    if arguments.flame.is_some() && (models.len() > 1 || arguments.threads.len() > 1) {
        bail!("`--flame` requires a single model and a single number of threads");
    }
    let mut scratch = Scratch::open(programs, false)?;
    scratch.options.trace = arguments.layers;
    let mut failed = false;
    let mut fail = |model: &Model, reason: &str| {
        failed = true;
        if arguments.json {
            println!("{}", json!({ "model": model.name, "error": reason }));
        } else {
            anstream::eprintln!("{BAD}error{BAD:#}: {}: {reason}", model.name);
        }
    };
    let bar = ProgressBar::new_spinner();
    let ready = prepare(&scratch, &models, !arguments.debug, &bar, |model, obstacle| match obstacle {
        Obstacle::Unsupported(text) => fail(model, &format!("does not compile: {text}")),
        Obstacle::Broken(text) => fail(model, &text),
    })?;
    bar.finish_and_clear();
    let threads =
        if arguments.threads.is_empty() { vec![parallel::cores()] } else { arguments.threads.clone() };
    for ready in &ready {
        for &threads in &threads {
            let shown = if arguments.layers {
                profile(arguments, &scratch, ready, threads)
            } else {
                measure(arguments, &scratch, ready, threads)
            };
            match shown {
                Ok(text) => anstream::println!("{}", text.trim_end()),
                Err(error) => fail(ready.model, &format!("{error:#}")),
            }
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Measures the runs of a model. Returns a line of JSON, or text for the terminal.
fn measure(arguments: &Bench, scratch: &Scratch, ready: &Ready<'_>, threads: usize) -> Result<String> {
    let inputs = inputs(arguments, ready.model)?;
    let request = |run| Request::Run { run, outputs: None, seconds: Some(arguments.seconds) };
    let answer: Timed = answer(arguments, scratch, ready, threads, &inputs, request)?;
    let mut times = answer.times_ms;
    times.sort_by(f64::total_cmp);
    let micro = |time: Option<f64>| time.map(|time| (time * 1e3).round() / 1e3);
    let half = median(&times);
    let rate = half.filter(|half| *half > 0.0);
    let rate = rate.map(|half| items(&inputs) as f64 * 1e3 / half);
    let line = json!({
        "model": ready.model.name,
        "device": arguments.programs.device.name(),
        "threads": threads,
        "median_ms": micro(half),
        "p95_ms": micro(times.get(times.len() * 95 / 100).copied()),
        "items_per_second": rate,
        "first_ms": micro(Some(answer.first_ms)),
        "load_ms": micro(Some(answer.load_ms)),
        "peak_bytes": answer.peak_bytes,
        "runs": answer.runs,
        "launches": answer.kernels.values().sum::<u64>(),
        "reads": answer.reads,
    });
    Ok(if arguments.json { line.to_string() } else { table::runs(&line) })
}

/// Measures the nodes of a model. Returns a line of JSON, or text for the terminal.
fn profile(arguments: &Bench, scratch: &Scratch, ready: &Ready<'_>, threads: usize) -> Result<String> {
    let inputs = inputs(arguments, ready.model)?;
    let request = |run| Request::Profile { run, seconds: arguments.seconds };
    let answer: Profiled = answer(arguments, scratch, ready, threads, &inputs, request)?;
    let profile = Profile::new(&answer, ready.model, scratch, &inputs)?;
    let mut line = json!({
        "model": ready.model.name,
        "device": arguments.programs.device.name(),
        "threads": threads,
    });
    if let Some(path) = &arguments.flame {
        write(path, &flame::draw(&ready.model.name, &profile))?;
    }
    if arguments.json {
        for (key, value) in profile.json().as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        return Ok(line.to_string());
    }
    let waits = arguments.programs.device != Device::Flex;
    let layers = table::layers(&profile, arguments.top, waits);
    Ok(format!("{}\n{layers}", table::heading(&line)))
}

/// Sends a request to the program of a model and returns its reply.
fn answer<A: DeserializeOwned>(
    arguments: &Bench,
    scratch: &Scratch,
    ready: &Ready<'_>,
    threads: usize,
    inputs: &Values,
    request: impl FnOnce(Run) -> Request,
) -> Result<A> {
    let model = ready.model;
    let file = scratch.values(model, "in");
    wire::write(&file, inputs)?;
    let request = request(Run {
        model: model.package(),
        device: arguments.programs.device.name().to_owned(),
        inputs: file.clone(),
    });
    let messages = scratch.messages(model);
    let outcome = ask(&ready.program, &request, Some(threads), LIMIT, &messages)?;
    if !arguments.programs.keep {
        let _ = std::fs::remove_file(file);
        let _ = std::fs::remove_file(messages);
    }
    match outcome {
        Outcome::Answer(answer) => Ok(answer),
        Outcome::Refused(text) | Outcome::Died(text) => bail!("{text}"),
    }
}

/// Returns the recorded inputs, or random ones if none are recorded.
fn inputs(arguments: &Bench, model: &Model) -> Result<Values> {
    match model.recordings.first() {
        Some(path) => Ok(Recording::open(path)?.inputs),
        None => match inspect(&model.path, &Options::default()) {
            Ok(inspection) => random::inputs(&inspection.inputs, &arguments.dims),
            Err(problems) => bail!("{}", problems.report(&model.name)),
        },
    }
}

/// Returns the number of items per run: the first size of the first input with more than one axis, or 1.
fn items(inputs: &Values) -> usize {
    let shapes = inputs.iter().filter_map(|(_, value)| match value {
        Value::Tensor(tensor) => Some(&tensor.shape),
        Value::Strings { shape, .. } => Some(shape),
        _ => None,
    });
    let mut batched = shapes.filter(|shape| shape.len() > 1);
    batched.next().and_then(|shape| shape.first()).copied().unwrap_or(1)
}

fn median(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some((upper + lower) / 2.0)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&[1.0, 3.0, 5.0, 100.0]), Some(4.0));
        assert_eq!(median(&[1.0, 3.0, 100.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }
}
