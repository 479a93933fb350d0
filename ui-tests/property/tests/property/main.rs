//! Checks that simplification does not change results of random graphs.
//!
//! `SEED=7 GRAPHS=2000 cargo test -p onnx-embed-property` tests other graphs than CI.

mod compare;
mod inputs;
mod smallest;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use onnx_embed::{Device, Values};
use onnx_embed_property::{APPLIED, CASES, Case, REFUSED, Run};
use onnx_embed_property_graphs::text;

/// Stack size of a thread, in bytes. Debug builds nest deeply.
const STACK: usize = 64 << 20;

/// Maximum number of failures that are reduced.
const SHRUNK: usize = 3;

/// Number of runs on inputs that differ by a rounding.
const NUDGES: u64 = 3;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    std::panic::set_hook(Box::new(|_| ()));
    let (runs, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    each(CASES, |case| match differs(case) {
        Ok(count) => drop(runs.fetch_add(count, Ordering::Relaxed)),
        Err(problem) => failures.lock().unwrap().push((case.path, case.rules, problem)),
    });
    let runs = runs.into_inner();
    let mut failures = failures.into_inner().unwrap();
    failures.extend(REFUSED.iter().map(|(path, problem)| {
        let none: &[&str] = &[];
        (*path, none, (*problem).to_owned())
    }));
    failures.sort();
    for (path, rules, problem) in &failures {
        println!("FAILED {path}: {problem}; rules: {}", rules.join(", "));
    }
    let part = std::env::var_os("GRAPHS_FROM").is_some();
    if !part {
        let paths = failures.iter().map(|(path, ..)| Path::new(path));
        for smallest in smallest::all(&paths.take(SHRUNK).collect::<Vec<&Path>>()) {
            println!("\n{}\n{}", smallest.display(), text(&smallest));
        }
    }
    let mut wrong = failures.len();
    let unused: Vec<&str> = APPLIED.iter().filter(|(_, count)| *count == 0).map(|(rule, _)| *rule).collect();
    // Each of the first graphs contains the example of one rule.
    if !part && CASES.len() >= APPLIED.len() && !unused.is_empty() {
        wrong += 1;
        println!("no graph has anything for these rules: {}", unused.join(", "));
    }
    if !part && runs < 2 * CASES.len() {
        wrong += 1;
        println!("too few graphs take the inputs that they are given");
    }
    let applied: usize = APPLIED.iter().map(|(_, count)| count).sum();
    println!(
        "{} graphs, {runs} runs; {applied} applications of {} of {} rules; {} differ",
        CASES.len() + REFUSED.len(),
        APPLIED.len() - unused.len(),
        APPLIED.len(),
        failures.len()
    );
    match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Calls `work` for each case, on several threads.
fn each(cases: &[Case], work: impl Fn(&Case) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let work = || {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(case);
                }
            };
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, work).unwrap();
        }
    });
}

/// Fails if the outputs depend on simplification. Returns the number of kinds of inputs that the graph accepts.
fn differs(case: &Case) -> Result<usize, String> {
    let mut count = 0;
    for mood in inputs::MOODS {
        let Some(values) = inputs::inputs(case.signature.inputs, case.steering, mood) else {
            continue;
        };
        // If the graph refuses these inputs without simplification, no result can be compared.
        let Ok(expected) = call(case.plain, &values) else {
            continue;
        };
        let failed = |problem| format!("{mood:?}: {problem}");
        let found = call(case.simplified, &values).map_err(failed)?;
        let nudged = (0..NUDGES).filter_map(|seed| call(case.plain, &inputs::nudged(&values, seed)).ok());
        compare::agree(&found, &expected, &nudged.collect::<Vec<_>>()).map_err(failed)?;
        count += 1;
    }
    Ok(count)
}

fn call(run: Run, values: &Values) -> Result<Values, String> {
    let values = values.clone();
    let result = catch_unwind(AssertUnwindSafe(|| run(&Device::flex(), values)));
    match result {
        Ok(Ok(values)) => Ok(values),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panics: {}", text.unwrap_or("?")))
        }
    }
}
