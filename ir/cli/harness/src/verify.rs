//! `verify`: runs models and compares them with recorded outputs.

mod bisect;
mod double;
mod expect;
mod other_weights;
mod perturb;
mod report;
mod resolution;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::comparison::{compare, is_as_near};
use crate::message::{Devices, Request, Run, Timed};
use crate::models;
use crate::npz::Recording;
use crate::prepare::{Obstacle, Ready, prepare, say};
use crate::process::{Outcome, ask};
use crate::scratch::Scratch;
use crate::settings::Programs;
use crate::style::count;
use crate::{parallel, wire};
use double::in_double_precision;
use expect::Expectations;
use report::{Numbers, Report, Verdict};
use resolution::{of_precision, resolution};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed verify models/ --release         all models that have an io.npz
  cargo onnx-embed verify model.onnx --device wgpu  on a GPU, with launches and reads
  cargo onnx-embed verify model.onnx --op my.company.BiasSwish --functions src/operators.rs")]
pub struct Verify {
    /// Models with an io.npz in the same folder (io2.npz and so on for more inputs), or folders of such
    /// models, with their direct subfolders. The arrays are in/NAME and out/NAME, as written by
    /// `numpy.savez("io.npz", **{"in/x": x, "out/y": y})` or `record`
    #[arg(required = true)]
    pub models: Vec<PathBuf>,
    #[command(flatten)]
    pub programs: Programs,
    /// Build with optimizations
    #[arg(long)]
    pub release: bool,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
    /// Succeed if at least N models match and the others are only unsupported or known to differ
    #[arg(long, value_name = "N")]
    pub at_least: Option<usize>,
    /// File of `model = "reason"` lines for models that are known to differ and, below `[reads]`, the number
    /// of values that models may read back from the device
    #[arg(long, value_name = "FILE")]
    pub expect: Option<PathBuf>,
    /// Number of models that run in parallel [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Change the constants of each model, one at a time and then all. The program must reject the changed
    /// file or agree with ONNX Runtime on it. At most N constants of each kind are tried
    #[arg(long, value_name = "N")]
    pub other_weights: Option<usize>,
    /// If a model differs, compute its graph in double precision. It matches if it is at most twice as far
    /// from that result as the recorded output
    #[arg(long)]
    pub exact: bool,
    /// If a model differs, find the first node that differs from a run with Burn's own operations, a run
    /// without simplification, and ONNX Runtime
    #[arg(long, conflicts_with = "json", conflicts_with = "other_weights")]
    pub bisect: bool,
    /// Fail if a run reads back from the device more than N times and more often than --expect allows
    #[arg(long, value_name = "N")]
    pub most_reads: Option<u64>,
    /// Fail if a run launches more than RATIO kernels per node of the simplified graph
    #[arg(long, value_name = "RATIO")]
    pub most_launches: Option<f64>,
    /// Python with `onnx` and `onnxruntime`, for --exact, --bisect and --other-weights
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: PathBuf,
    /// Maximum duration of a run
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
}

/// Problem of a model without recordings.
const NO_RECORDING: &str = "io.npz is missing in the folder of the model";

pub fn verify(arguments: &Verify) -> Result<ExitCode> {
    let programs = &arguments.programs;
    let models = models::collect(&arguments.models, programs.filter.as_deref())?;
    if let Some(most) = arguments.other_weights {
        return other_weights::verify(arguments, &models, most);
    }
    let mut scratch = Scratch::open(programs, false)?;
    let bar = bar();
    let expectations = match &arguments.expect {
        Some(path) => Expectations::open(path, programs.device.name())?,
        None => Expectations::default(),
    };
    let mut report = Report::new(&models, arguments.json, &bar, expectations.clone());
    let ready = prepare(&scratch, &models, arguments.release, &bar, |model, obstacle| {
        report.add(
            model,
            match obstacle {
                Obstacle::Unsupported(text) => Verdict::Unsupported(text),
                Obstacle::Broken(text) => Verdict::Failed(text),
            },
        );
    })?;
    if let Some(first) = ready.first()
        && !has_device(arguments, &scratch, first)?
    {
        bar.finish_and_clear();
        report.skip(programs.device.name());
        return Ok(ExitCode::SUCCESS);
    }
    bar.reset();
    bar.set_length(ready.len() as u64);
    say(&bar, &format!("running {}", count(ready.len(), "model")));
    let jobs = arguments.jobs.unwrap_or_else(parallel::cores);
    let work = |ready: &Ready<'_>| {
        let reads = expectations.reads(&ready.model.name);
        run(arguments, &scratch, ready, reads)
    };
    let mut wrong = Vec::new();
    parallel::each(&ready, jobs, work, |ready, verdict| {
        bar.set_message(format!("ran {}", ready.model.name));
        bar.inc(1);
        let failed = |error: anyhow::Error| Verdict::Failed(format!("{error:#}"));
        let verdict = verdict.unwrap_or_else(failed);
        if verdict.is_wrong() {
            wrong.push(ready.model.clone());
        }
        report.add(ready.model, verdict);
    });
    bar.finish_and_clear();
    report.finish();
    if arguments.bisect {
        bisect::explain(arguments, &mut scratch, &wrong);
    }
    Ok(if report.holds(arguments.at_least) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos}/{len} {wide_msg}");
    let bar = ProgressBar::new(0);
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Returns `true` if the machine has the device that the programs were built for.
fn has_device(arguments: &Verify, scratch: &Scratch, ready: &Ready<'_>) -> Result<bool> {
    let request = Request::Devices { device: arguments.programs.device.name().to_owned() };
    let limit = Duration::from_secs(arguments.timeout);
    let messages = scratch.messages(ready.model);
    match ask::<Devices>(&ready.program, &request, None, limit, &messages)? {
        Outcome::Answer(answer) => Ok(answer.devices != 0),
        Outcome::Refused(text) | Outcome::Died(text) if text.contains("adapter") => Ok(false),
        // Other problems are reported for each model.
        _ => Ok(true),
    }
}

/// Runs a model on all its recordings. Returns the first failure or, if there is none, the largest numbers. Each run
/// may read back `expected` values from the device, even if `--most-reads` is less.
fn run(arguments: &Verify, scratch: &Scratch, ready: &Ready<'_>, expected: u64) -> Result<Verdict> {
    let mut all: Option<Numbers> = None;
    let tolerance = ready.model.tolerance.max(resolution(ready.model));
    let tolerance = tolerance.max(of_precision(arguments.programs.precision));
    for path in &ready.model.recordings {
        let numbers = match run_one(arguments, scratch, ready, path, tolerance, expected)? {
            Verdict::Ran(numbers) => numbers,
            other => return Ok(other),
        };
        all = Some(match all {
            None => numbers,
            Some(all) => all.and(numbers),
        });
    }
    let all = all.context(NO_RECORDING)?;
    Ok(Verdict::Ran(all))
}

fn run_one(
    arguments: &Verify,
    scratch: &Scratch,
    ready: &Ready<'_>,
    path: &Path,
    tolerance: f64,
    expected: u64,
) -> Result<Verdict> {
    let model = ready.model;
    let recording = Recording::open(path)?;
    let (inputs, outputs) = (scratch.values(model, "in"), scratch.values(model, "out"));
    wire::write(&inputs, &recording.inputs)?;
    let request = Request::Run {
        run: Run {
            model: model.package(),
            device: arguments.programs.device.name().to_owned(),
            inputs: inputs.clone(),
        },
        outputs: Some(outputs.clone()),
        seconds: None,
    };
    let limit = Duration::from_secs(arguments.timeout);
    let messages = scratch.messages(model);
    let outcome = ask::<Timed>(&ready.program, &request, None, limit, &messages)?;
    // The name of a recording is reported only if there are several.
    let file = match model.recordings.as_slice() {
        [_] => String::new(),
        _ => format!(" ({})", path.file_name().unwrap_or_default().display()),
    };
    let verdict = match outcome {
        Outcome::Refused(text) => Verdict::Ran(Numbers {
            problem: Some(format!("returned an error: {text}{file}")),
            relative: f64::INFINITY,
            cost: ready.cost,
            run: 0.0,
            peak: None,
            nodes: ready.nodes,
            launches: 0,
            kernels: Default::default(),
            reads: 0,
            warnings: ready.warnings,
        }),
        Outcome::Died(text) => Verdict::Failed(text + &file),
        Outcome::Answer(answer) => {
            let found = wire::read(&outputs)?;
            let (relative, mut problem) = judge(&found, &recording, tolerance);
            if let Some(text) = &problem
                && arguments.exact
                && recording.exact.is_empty()
            {
                let exact = scratch.values(model, "exact");
                problem = match in_double_precision(&arguments.python, path, &exact) {
                    Ok(exact) => judge(&found, &exact, tolerance).1,
                    Err(error) => Some(format!("{text}; cannot compute in double precision: {error:#}")),
                };
            }
            let reads = answer.reads;
            let most_reads = arguments.most_reads.map(|most| most.max(expected));
            if let Some(most) = most_reads
                && reads > most
            {
                let values = count(reads as usize, "value");
                problem.get_or_insert(format!("read {values} back from the device, expected at most {most}"));
            }
            let launches: u64 = answer.kernels.values().sum();
            if let Some(most) = arguments.most_launches
                && launches as f64 > most * ready.nodes as f64
            {
                let (kernels, nodes) = (count(launches as usize, "kernel"), count(ready.nodes, "node"));
                problem.get_or_insert(format!(
                    "launched {kernels} for {nodes}, expected at most {most} per node"
                ));
            }
            Verdict::Ran(Numbers {
                problem: problem.map(|problem| problem + &file),
                relative,
                cost: ready.cost,
                run: answer.first_ms / 1e3,
                peak: answer.peak_bytes,
                nodes: ready.nodes,
                launches,
                kernels: answer.kernels,
                reads,
                warnings: ready.warnings,
            })
        }
    };
    if !arguments.programs.keep {
        for file in [inputs, outputs, messages] {
            // A model that failed wrote no outputs.
            let _ = std::fs::remove_file(file);
        }
    }
    Ok(verdict)
}

/// Returns the largest relative error, and the first output that differs.
fn judge(found: &crate::value::Values, recording: &Recording, tolerance: f64) -> (f64, Option<String>) {
    let mut relative = 0.0f64;
    let mut problem = None;
    for (name, expected) in &recording.outputs {
        let Some((_, value)) = found.iter().find(|(output, _)| output == name) else {
            problem.get_or_insert(format!("output `{name}` is missing"));
            continue;
        };
        let mut comparison = compare(value, expected, tolerance);
        let exact = recording.exact.iter().find(|(output, _)| output == name);
        if let (Some(_), Some((_, exact))) = (&comparison.problem, exact)
            && is_as_near(value, expected, exact)
        {
            comparison.problem = None;
        }
        relative = relative.max(comparison.relative);
        if let Some(text) = comparison.problem {
            problem.get_or_insert(format!("output `{name}` {text}"));
        }
    }
    for (name, _) in found {
        if !recording.outputs.iter().any(|(output, _)| output == name) {
            problem.get_or_insert(format!("output `{name}` is missing in the recording"));
        }
    }
    (relative, problem)
}
