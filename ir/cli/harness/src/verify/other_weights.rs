//! Checks programs on files with other weights.
//!
//! A program must refuse such a file or agree with ONNX Runtime on it.

mod noise;
mod plan;
mod tally;

use std::fs;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use noise::Noise;
use plan::{Change, ChangePlan, STORAGES};
use tally::{Subject, Tally};

use super::{NO_RECORDING, Verify, bar};
use crate::message::{ReloadResult, Reloaded, Request, Run};
use crate::models::Model;
use crate::npz::Recording;
use crate::prepare::{Obstacle, Ready, prepare, say};
use crate::process::{Outcome, ask};
use crate::python::isolated;
use crate::scratch::Scratch;
use crate::style::{BAD, DOUBTFUL, count};
use crate::{parallel, wire};

/// Script that runs ONNX Runtime.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../ui-tests/models/other_weights.py");

/// Maximum bytes of changed files of one model on disk at a time.
const BATCH: usize = 256 << 20;

pub fn verify(arguments: &Verify, models: &[Model], most: usize) -> Result<ExitCode> {
    let scratch = Scratch::open(&arguments.programs, true)?;
    let bar = bar();
    let mut failed = 0;
    let mut all = Tally::default();
    let width = models.iter().map(|model| model.name.len()).max().unwrap_or(0);
    let print = |line: String| bar.suspend(|| anstream::println!("{line}"));
    let ready = prepare(&scratch, models, arguments.release, &bar, |model, obstacle| {
        let (style, text) = match obstacle {
            Obstacle::Unsupported(text) => (DOUBTFUL, text),
            Obstacle::Broken(text) => {
                failed += 1;
                (BAD, text)
            }
        };
        print(format!("{:width$}  {style}{text}{style:#}", model.name));
    })?;
    bar.reset();
    bar.set_length(ready.len() as u64);
    say(&bar, &format!("running {}", count(ready.len(), "model")));
    let jobs = arguments.jobs.unwrap_or_else(parallel::cores);
    let work = |ready: &Ready<'_>| run(arguments, &scratch, ready, most);
    parallel::each(&ready, jobs, work, |ready, tally| {
        bar.inc(1);
        let tally = tally.unwrap_or_else(|error| Tally::failed(format!("{error:#}")));
        print(format!("{:width$}  {}", ready.model.name, tally.line()));
        for difference in &tally.unstable {
            print(format!("{:width$}  {DOUBTFUL}{difference}{DOUBTFUL:#}", ""));
        }
        for problem in &tally.problems {
            print(format!("{:width$}  {BAD}{problem}{BAD:#}", ""));
        }
        all.add(&tally);
    });
    bar.finish_and_clear();
    anstream::println!("{}: {}", count(ready.len(), "model"), all.line());
    Ok(if failed == 0 && all.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(arguments: &Verify, scratch: &Scratch, ready: &Ready<'_>, most: usize) -> Result<Tally> {
    let model = ready.model;
    let recording = model.recordings.first();
    let recording = recording.context(NO_RECORDING)?;
    let inputs = &Recording::open(recording)?.inputs;
    wire::write(&scratch.values(model, "in"), inputs)?;
    let folder = scratch.values(model, "changed");
    let plan = ChangePlan::new(&model.path, &scratch.options, most)?;
    let noise = Noise { plan: &plan, python: &arguments.python, recording };
    let subject = Subject {
        model,
        recording,
        nearby: &|change| noise.answers(change),
        exact: &|change| noise.exact(change),
    };
    let mut tally = Tally::default();
    for batch in plan.batches(BATCH) {
        let mut changes = plan.write(batch, &folder)?;
        for (storage, (_, name)) in STORAGES.iter().enumerate() {
            let outputs = scratch.values(model, name);
            let others = |change: &&mut Change| change.fixed[storage].is_some();
            let others = changes.iter_mut().filter(others);
            let others: Vec<&mut Change> = others.collect();
            let paths: Vec<_> = others.iter().map(|one| one.paths(&plan.files)).collect();
            let request = Request::Reload {
                run: Run {
                    model: model.package(),
                    device: arguments.programs.device.name().to_owned(),
                    inputs: scratch.values(model, "in"),
                },
                weights: (*name).to_owned(),
                outputs,
                files: paths,
            };
            let results = ask_for_results(arguments, scratch, ready, &request, others.len());
            let results = results.with_context(|| format!("{name}: a batch of changed files"))?;
            for (change, result) in others.into_iter().zip(results) {
                change.results[storage] = Some(result);
            }
        }
        let asked = changes.iter().filter(|change| change.needs_answer());
        let asked = asked.map(|change| change.folder.as_path());
        answer_by_onnx_runtime(&arguments.python, recording, &[], asked)?;
        for (storage, (_, name)) in STORAGES.iter().enumerate() {
            let tried = changes.iter().filter(|change| change.fixed[storage].is_some());
            for (at, change) in tried.enumerate() {
                let outputs = scratch.values(model, &format!("{name}.{at}"));
                tally.judge(change, storage, &outputs, subject)?;
                if !arguments.programs.keep {
                    // A refused file has no outputs.
                    let _ = fs::remove_file(&outputs);
                }
            }
        }
        if !arguments.programs.keep {
            let _ = fs::remove_dir_all(&folder);
        }
    }
    Ok(tally)
}

/// Returns the result of the program for each of `count` files.
fn ask_for_results(
    arguments: &Verify,
    scratch: &Scratch,
    ready: &Ready<'_>,
    request: &Request,
    count: usize,
) -> Result<Vec<ReloadResult>> {
    let limit = Duration::from_secs(arguments.timeout.saturating_mul(count as u64));
    let messages = scratch.messages(ready.model);
    match ask::<Reloaded>(&ready.program, request, None, limit, &messages)? {
        Outcome::Answer(Reloaded { results }) => {
            if results.len() != count {
                bail!("the number of results is {}, expected {count}", results.len());
            }
            Ok(results)
        }
        Outcome::Refused(text) | Outcome::Died(text) => bail!("{text}"),
    }
}

/// Runs the models in folders with ONNX Runtime, which writes its results into the same folders.
fn answer_by_onnx_runtime<'f>(
    python: &Path,
    recording: &Path,
    options: &[&str],
    folders: impl Iterator<Item = &'f Path>,
) -> Result<()> {
    let mut folders = folders.peekable();
    if folders.peek().is_none() {
        return Ok(());
    }
    let mut command = isolated(python);
    command.arg(SCRIPT).args(options).arg(recording).args(folders);
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run `{}`", python.display()))?;
    if output.status.success() {
        Ok(())
    } else {
        bail!("ONNX Runtime: {}", String::from_utf8_lossy(&output.stderr).trim())
    }
}
