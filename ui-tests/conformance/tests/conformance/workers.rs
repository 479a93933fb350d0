//! Runs cases on several threads, or in processes.

mod process;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;

use onnx_embed_conformance::arguments::Arguments;

use crate::bodies;
use crate::case::{Case, Outcome};
use crate::device::Chosen;
use process::Process;

pub use process::serve;

/// Stack size of a thread, in bytes. Models of thousands of nodes nest deeply in debug builds.
const STACK: usize = 64 << 20;

/// Runs the cases and returns the outcomes in the order of the cases.
///
/// On a CPU this process runs the cases. On a GPU a case that fails may hang or leave the device unusable, so cases
/// run in separate processes, one for each thread.
pub fn run(cases: &[Case], chosen: &Chosen, arguments: &Arguments) -> Vec<Outcome> {
    ignore_panics();
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for _ in 0..count(arguments) {
            let work = || {
                let mut process = Process::default();
                while let Some((case, slot)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(at).zip(outcomes.get(at))
                } {
                    let start = Instant::now();
                    let outcome = if chosen.is_cpu() {
                        outcome(case, || caught(case, chosen))
                    } else {
                        outcome(case, || process.run(case.name()))
                    };
                    if arguments.times {
                        print_time(&outcome, start);
                    }
                    *slot.lock().unwrap() = Some(outcome);
                }
            };
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, work).unwrap();
        }
    });
    let done = outcomes.into_iter().map(|slot| slot.into_inner().unwrap());
    done.map(|outcome| outcome.expect("every case was taken")).collect()
}

/// Returns the number of cases that run at a time.
pub fn count(arguments: &Arguments) -> usize {
    let asked = arguments.threads.or(thread::available_parallelism().ok());
    asked.map_or(1, usize::from)
}

fn print_time(outcome: &Outcome, start: Instant) {
    let result = outcome.result.as_ref().err();
    println!(
        "{:.2} s: {} ... {}",
        start.elapsed().as_secs_f32(),
        outcome.name,
        result.map_or("ok", String::as_str)
    );
}

fn outcome(case: &Case, run: impl FnOnce() -> Result<(), String>) -> Outcome {
    bodies::take();
    let result = run();
    let (operators, types) = case.contents();
    Outcome {
        name: case.name().to_owned(),
        origin: case.origin(),
        operators,
        types,
        simplified: case.is_simplified(),
        events: bodies::take(),
        result,
    }
}

/// Message and location of this process's first panic, which may be that of another thread.
static PANIC: OnceLock<String> = OnceLock::new();

fn ignore_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let _ = PANIC.set(panic.to_string());
    }));
}

/// Runs a case in this process. Panics are errors.
fn caught(case: &Case, chosen: &Chosen) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| case.run(&chosen.device))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panics: {}", text.unwrap_or("?")))
    })
}
