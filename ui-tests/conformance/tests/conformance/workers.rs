//! Cases on several threads, panics caught.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::Outcome;
use crate::case::Case;
use crate::devices;

/// Models of thousands of nodes nest deep in debug builds.
const STACK: usize = 64 << 20;

/// The outcomes, in the order of the cases.
pub fn run(cases: &[Case], threads: usize) -> Vec<Outcome> {
    std::panic::set_hook(Box::new(|_| ()));
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for _ in 0..threads {
            let work = || {
                while let Some((case, slot)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(at).zip(outcomes.get(at))
                } {
                    *slot.lock().unwrap() = Some(outcome(case));
                }
            };
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, work).unwrap();
        }
    });
    let done = outcomes.into_iter().map(|slot| slot.into_inner().unwrap());
    done.map(|outcome| outcome.expect("every case was taken"))
        .collect()
}

/// How many cases run at a time, if nothing else is asked for.
pub fn count() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn outcome(case: &Case) -> Outcome {
    devices::take();
    let result = catch_unwind(AssertUnwindSafe(|| case.run())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panics: {}", text.unwrap_or("?")))
    });
    let (operators, types) = case.contents();
    Outcome {
        name: case.name().to_owned(),
        origin: case.origin(),
        operators,
        types,
        simplified: case.is_simplified(),
        events: devices::take(),
        result,
    }
}
