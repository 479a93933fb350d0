//! Whether programs refuse files with other weights or agree with ONNX Runtime on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use onnx_embed_ir::options::{Options, Weights};
use serde_json::{Value as Json, json};

use super::perturb::{Constant, Files, constants};
use super::resolution::resolution;
use super::{bar, judge};
use crate::args::Verify;
use crate::models::Model;
use crate::npz::Recording;
use crate::prepare::{Obstacle, Ready, prepare, say};
use crate::process::{Outcome, ask};
use crate::scratch::Scratch;
use crate::style::{BAD, DIM, DOUBTFUL, GOOD, count};
use crate::{parallel, wire};

/// The script that has ONNX Runtime answer.
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../ui-tests/models/other_weights.py"
);

/// What became of the changed files of models.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tally {
    agree: usize,
    /// Of these, files for which ONNX Runtime answers as for the unchanged one.
    without_effect: usize,
    refused: usize,
    /// Files that ONNX Runtime does not run.
    unanswered: usize,
    problems: Vec<String>,
}

/// A changed file and what is said of it.
struct Change {
    name: String,
    folder: PathBuf,
    is_fixed: bool,
    result: Json,
}

pub fn verify(arguments: &Verify, models: &[Model], most: usize) -> Result<ExitCode> {
    let scratch = Scratch::open(&arguments.programs, true)?;
    let bar = bar();
    let mut failed = 0;
    let mut all = Tally::default();
    let width = models
        .iter()
        .map(|model| model.name.len())
        .max()
        .unwrap_or(0);
    let tell = |line: String| bar.suspend(|| anstream::println!("{line}"));
    let ready = prepare(
        &scratch,
        models,
        arguments.release,
        &bar,
        |model, obstacle| {
            let (style, text) = match obstacle {
                Obstacle::Unsupported(text) => (DOUBTFUL, text),
                Obstacle::Broken(text) => {
                    failed += 1;
                    (BAD, text)
                }
            };
            tell(format!("{:width$}  {style}{text}{style:#}", model.name));
        },
    )?;
    bar.reset();
    bar.set_length(ready.len() as u64);
    say(&bar, &format!("running {}", count(ready.len(), "model")));
    let jobs = arguments.jobs.unwrap_or_else(parallel::cores);
    let work = |ready: &Ready<'_>| run(arguments, &scratch, ready, most);
    parallel::each(&ready, jobs, work, |ready, tally| {
        bar.inc(1);
        let tally = tally.unwrap_or_else(|error| Tally {
            problems: vec![format!("{error:#}")],
            ..Tally::default()
        });
        tell(format!("{:width$}  {}", ready.model.name, tally.line()));
        for problem in &tally.problems {
            tell(format!("{:width$}  {BAD}{problem}{BAD:#}", ""));
        }
        all.add(&tally);
    });
    bar.finish_and_clear();
    anstream::println!("{}: {}", count(ready.len(), "model"), all.line());
    Ok(if failed == 0 && all.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run(arguments: &Verify, scratch: &Scratch, ready: &Ready<'_>, most: usize) -> Result<Tally> {
    let model = ready.model;
    let recording = model.recordings.first();
    let recording = recording.context("there is no io.npz beside it")?;
    let folder = scratch.values(model, "changed");
    let mut tally = Tally::default();
    for (weights, name) in [(Weights::File, "file"), (Weights::Embed, "embed")] {
        let options = Options {
            weights,
            simplify: scratch.simplify,
            ..Options::default()
        };
        let (constants, files) = constants(&model.path, &options)?;
        let mut changes = write(&constants, &files, &folder, most)?;
        let request = json!({
            "model": model.package(),
            "device": arguments.programs.device.name(),
            "weights": name,
            "inputs": scratch.values(model, "in"),
            "outputs": scratch.values(model, "out"),
            "others": changes.iter().map(|change| change.files(&files)).collect::<Vec<_>>(),
        });
        wire::write(
            &scratch.values(model, "in"),
            &Recording::open(recording)?.inputs,
        )?;
        let limit = Duration::from_secs(arguments.timeout);
        let messages = scratch.messages(model);
        let answer = match ask(&ready.program, &request, None, limit, &messages)? {
            Outcome::Answer(answer) => answer,
            Outcome::Refused(text) | Outcome::Died(text) => bail!("{name}: {text}"),
        };
        let results = answer["results"].as_array().into_iter().flatten();
        for (change, result) in changes.iter_mut().zip(results) {
            change.result = result.clone();
        }
        let taken: Vec<&Change> = changes.iter().filter(|change| change.is_taken()).collect();
        answer_by_onnx_runtime(&arguments.python, recording, &taken)?;
        for (at, change) in changes.iter().enumerate() {
            let outputs = scratch.values(model, &format!("out.{at}"));
            let problem = tally.judge(change, &outputs, model, recording)?;
            tally
                .problems
                .extend(problem.map(|text| format!("{name}: `{}` {text}", change.name)));
            if !arguments.programs.keep {
                let _ = fs::remove_file(&outputs);
            }
        }
        if !arguments.programs.keep {
            let _ = fs::remove_dir_all(&folder);
        }
    }
    Ok(tally)
}

/// Writes a copy of the model for some constants that the code depends on, for some others, and one
/// in which all of these others are changed.
fn write(constants: &[Constant], files: &Files, folder: &Path, most: usize) -> Result<Vec<Change>> {
    let (fixed, free): (Vec<&Constant>, Vec<&Constant>) =
        constants.iter().partition(|constant| constant.is_fixed);
    let mut changes = Vec::new();
    let mut change = |name: &str, is_fixed: bool, constants: &[&Constant]| -> Result<()> {
        let mut files = files.clone();
        for (number, constant) in constants.iter().enumerate() {
            constant.change(number, &mut files)?;
        }
        let folder = folder.join(changes.len().to_string());
        for (file, bytes) in &files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::write(path, bytes)?;
        }
        changes.push(Change {
            name: name.to_owned(),
            folder,
            is_fixed,
            result: Json::Null,
        });
        Ok(())
    };
    for group in [&fixed, &free] {
        for constant in spread(group, most) {
            change(&constant.name, constant.is_fixed, &[constant])?;
        }
    }
    if free.len() > 1 {
        change("all that may differ", false, &free)?;
    }
    Ok(changes)
}

/// At most so many of all, from the first to the last.
fn spread<'c>(all: &[&'c Constant], most: usize) -> Vec<&'c Constant> {
    let count = all.len().min(most);
    (0..count)
        .filter_map(|at| all.get(at * all.len() / count).copied())
        .collect()
}

impl Change {
    fn files(&self, files: &Files) -> Vec<PathBuf> {
        files
            .iter()
            .map(|(name, _)| self.folder.join(name))
            .collect()
    }

    /// Whether the program did not refuse the file.
    fn is_taken(&self) -> bool {
        self.result["refused"].is_null()
    }
}

/// Has ONNX Runtime run the changed files: its answers are beside them.
fn answer_by_onnx_runtime(python: &Path, recording: &Path, changes: &[&Change]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(python);
    command.arg(SCRIPT).arg(recording);
    command.args(changes.iter().map(|change| &change.folder));
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run `{}`", python.display()))?;
    if output.status.success() {
        Ok(())
    } else {
        bail!(
            "ONNX Runtime: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )
    }
}

impl Tally {
    /// Counts a changed file, or says what is wrong with it.
    fn judge(
        &mut self,
        change: &Change,
        outputs: &Path,
        model: &Model,
        recording: &Path,
    ) -> Result<Option<String>> {
        if let Some(refusal) = change.result["refused"].as_str() {
            self.refused += 1;
            let named = refusal.contains("whose code depends on its value");
            return Ok((change.is_fixed != named).then(|| format!("is refused: {refusal}")));
        }
        if change.is_fixed {
            return Ok(Some("is taken, though the code depends on it".to_owned()));
        }
        let answer = |name: &str| change.folder.join(name);
        if !answer("io.npz").is_file() {
            self.unanswered += 1;
            return Ok(None);
        }
        if let Some(text) = change.result["died"].as_str() {
            return Ok(Some(format!("is taken, and then: {text}")));
        }
        let found = wire::read(outputs)?;
        let tolerance = model.tolerance.max(resolution(model));
        let expected = Recording::open(&answer("io.npz"))?;
        let plain = Recording::open(&answer("plain.npz"))?;
        let (relative, problem) = judge(&found, &expected, tolerance);
        let (other, other_problem) = judge(&found, &plain, tolerance);
        let (Some(problem), Some(_)) = (problem, other_problem) else {
            self.agree += 1;
            let (_, difference) = judge(&found, &Recording::open(recording)?, tolerance);
            self.without_effect += usize::from(difference.is_none());
            return Ok(None);
        };
        Ok(Some(format!("{problem} ({:.1e} off)", relative.min(other))))
    }

    fn add(&mut self, other: &Tally) {
        self.agree += other.agree;
        self.without_effect += other.without_effect;
        self.refused += other.refused;
        self.unanswered += other.unanswered;
        self.problems.extend(other.problems.iter().cloned());
    }

    fn line(&self) -> String {
        let parts = [
            (self.agree, "agree"),
            (self.refused, "refused"),
            (self.without_effect, "of no effect"),
            (self.unanswered, "not run by ONNX Runtime"),
        ];
        let parts = parts.iter().map(|(count, text)| format!("{count} {text}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        match self.problems.len() {
            0 => format!("{GOOD}right{GOOD:#} {DIM}{parts}{DIM:#}"),
            wrong => format!("{BAD}{wrong} wrong{BAD:#} {DIM}{parts}{DIM:#}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(is_fixed: bool, result: Json) -> Change {
        Change {
            name: "w".to_owned(),
            folder: PathBuf::from("no/such"),
            is_fixed,
            result,
        }
    }

    fn judged(is_fixed: bool, result: Json) -> (Tally, Option<String>) {
        let model = Model {
            name: "m".to_owned(),
            path: PathBuf::from("no/such.onnx"),
            recordings: Vec::new(),
            tolerance: 0.0,
        };
        let mut tally = Tally::default();
        let nowhere = Path::new("no/such");
        let problem = tally.judge(&change(is_fixed, result), nowhere, &model, nowhere);
        (tally, problem.unwrap())
    }

    #[test]
    fn what_the_code_depends_on_is_refused_by_its_name() {
        let named = json!({ "refused": "weight `w` .. whose code depends on its value: .." });
        let (tally, problem) = judged(true, named.clone());
        assert_eq!((tally.refused, problem), (1, None));
        assert!(judged(false, named).1.is_some());
        assert!(
            judged(true, json!({ "refused": "`m.onnx` differs" }))
                .1
                .is_some()
        );
        assert!(judged(true, json!({})).1.is_some());
    }

    #[test]
    fn what_onnx_runtime_does_not_run_is_counted() {
        let (tally, problem) = judged(false, json!({ "died": "panics" }));
        assert_eq!((tally.unanswered, problem), (1, None));
    }
}
