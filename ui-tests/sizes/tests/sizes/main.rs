//! Runs models of one operator on random sizes.
//!
//! The sizes are between 0 and 9. Some of them disagree.
//!
//! `cargo test -p onnx-embed-sizes` repeats the runs in `sizes.tar.xz`, which contains the results of ONNX Runtime or
//! of the reference evaluator. `sizes.py` (its documentation describes the random choices) builds other models and
//! compares with both while it runs:
//!
//! ```sh
//! python ui-tests/sizes/sizes.py --seed 7 --minutes 10
//! ```
//!
//! A run is right if it returns the expected values, or an error if the references refuse the sizes too. Panics,
//! other values, and values although both references refuse, are wrong.

mod compare;
mod runs;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use onnx_embed::{Device, DynModel, Values};
use onnx_embed_runner::wire::encode;
use onnx_embed_sizes::{MODELS, REFUSED};
use serde_json::json;

use compare::agree;
use runs::Run;

/// Stack size of a thread, in bytes. Debug builds nest deeply.
const STACK: usize = 64 << 20;

/// Outcome of a run.
enum Outcome {
    /// The expected values, or an error if one is expected.
    Right,
    /// Kind of the fault and its description.
    Wrong(&'static str, String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    std::panic::set_hook(Box::new(|_| ()));
    if has("--list") {
        for model in MODELS {
            println!("{}: test", model.name);
        }
        return ExitCode::SUCCESS;
    }
    if has("--files") {
        for model in MODELS {
            println!("{}\t{}", model.name, model.path);
        }
        return ExitCode::SUCCESS;
    }
    if has("--refused") {
        for refused in REFUSED {
            println!("{}", json!(refused));
        }
        return ExitCode::SUCCESS;
    }
    if has("--serve") {
        let answer = if has("--values") { write_values } else { write_outcome };
        return match on_large_stack(|| serve(answer)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let only: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    repeat(&|name| only.is_empty() || only.iter().any(|part| name.contains(*part)))
}

/// Repeats the recorded runs of the models whose names are wanted.
fn repeat(wanted: &(dyn Fn(&str) -> bool + Sync)) -> ExitCode {
    let mut failures: Vec<String> = Vec::new();
    for (name, problem) in REFUSED.iter().filter(|(name, _)| wanted(name)) {
        failures.push(format!("{name}: does not compile: {problem}"));
    }
    let (next, count, found) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(failures));
    let work = || {
        while let Some(case) = MODELS.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !wanted(case.name) {
                continue;
            }
            let model = (case.load)(&Device::flex());
            let bytes = std::fs::read(case.runs).expect("the archive has the file");
            let mut bytes = bytes.as_slice();
            while let Some(run) = Run::read(&mut bytes).expect("the recording is whole") {
                count.fetch_add(1, Ordering::Relaxed);
                if let Outcome::Wrong(kind, problem) = outcome(&*model, &run) {
                    let text = format!("{} {}: {kind}: {problem}", case.name, run.label);
                    found.lock().expect("no holder panics").push(text);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, work).expect("threads can be started");
        }
    });
    let mut failures = found.into_inner().expect("no holder panics");
    failures.sort();
    for failure in &failures {
        println!("FAILED {failure}");
    }
    let count = count.into_inner();
    println!("{} models, {count} runs; {} failed", MODELS.len(), failures.len());
    // A recording without runs checks nothing.
    let is_empty = count == 0 && cfg!(not(clippy));
    match failures.is_empty() && !is_empty {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Writes what a model makes of a run.
type Answer = fn(&dyn DynModel, &Run, &mut dyn Write) -> io::Result<()>;

/// Answers each run on standard input.
fn serve(answer: Answer) -> io::Result<()> {
    let mut models: BTreeMap<String, Box<dyn DynModel>> = BTreeMap::new();
    let (mut input, mut output) = (BufReader::new(io::stdin()), io::stdout());
    while let Some(run) = Run::read(&mut input)? {
        let Some(case) = MODELS.iter().find(|case| case.name == run.model) else {
            writeln!(output, "{}", json!({ "kind": "unknown", "problem": "no such model" }))?;
            continue;
        };
        let model = match models.entry(case.name.to_owned()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => match caught(|| (case.load)(&Device::flex())) {
                Ok(model) => entry.insert(model),
                Err(problem) => {
                    writeln!(output, "{}", json!({ "kind": "panics", "problem": problem }))?;
                    output.flush()?;
                    continue;
                }
            },
        };
        answer(&**model, &run, &mut output)?;
        output.flush()?;
    }
    Ok(())
}

/// Writes a line of JSON with the outcome of a run.
fn write_outcome(model: &dyn DynModel, run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let answer = match outcome(model, run) {
        Outcome::Right => json!({ "kind": "right" }),
        Outcome::Wrong(kind, problem) => json!({ "kind": kind, "problem": problem }),
    };
    writeln!(output, "{answer}")
}

/// Writes a line of JSON with the number of bytes of the outputs, and these bytes; or why there are none.
fn write_values(model: &dyn DynModel, run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let found = match call(model, run.inputs.clone()) {
        Ok(found) => found.and_then(|values| encode(&values)).map_err(|problem| ("refuses", problem)),
        Err(problem) => Err(("panics", problem)),
    };
    match found {
        Ok(bytes) => {
            writeln!(output, "{}", json!({ "kind": "values", "length": bytes.len() }))?;
            output.write_all(&bytes)
        }
        Err((kind, problem)) => writeln!(output, "{}", json!({ "kind": kind, "problem": problem })),
    }
}

fn outcome(model: &dyn DynModel, run: &Run) -> Outcome {
    let found = match call(model, run.inputs.clone()) {
        Ok(found) => found,
        Err(problem) => return Outcome::Wrong("panics", problem),
    };
    match (found, &run.expected) {
        (Err(_), _) if run.may_fail => Outcome::Right,
        (Err(problem), _) => Outcome::Wrong("refuses", problem),
        (Ok(found), None) => Outcome::Wrong("accepts", shapes(&found)),
        (Ok(found), Some(expected)) => match agree(&found, expected) {
            Ok(()) => Outcome::Right,
            Err(problem) => Outcome::Wrong("differs", problem),
        },
    }
}

/// Returns the outputs or the error of a run. The outer result is an error if the run panics.
fn call(model: &dyn DynModel, inputs: Values) -> Result<Result<Values, String>, String> {
    caught(|| model.run(inputs).map_err(|error| error.to_string()))
}

/// Returns the result of `work`, or the text of its panic.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without text").to_owned()
    })
}

fn shapes(values: &Values) -> String {
    let shape = |value: &onnx_embed::Value| match value {
        onnx_embed::Value::Tensor(data) => format!("{:?}", data.shape().as_slice()),
        other => format!("{other:?}"),
    };
    let outputs = values.iter().map(|(name, value)| format!("{name} {}", shape(value)));
    outputs.collect::<Vec<String>>().join(", ")
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        let handle = thread.spawn_scoped(scope, work).expect("threads can be started");
        handle.join().expect("panics of models are caught")
    })
}
