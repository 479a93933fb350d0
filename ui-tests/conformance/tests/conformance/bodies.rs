//! Implementations that operators use: our kernels, Burn's, or the host.

use std::cell::RefCell;
use std::collections::BTreeSet;

use onnx_embed::__private::ops::observe::{self, Event};

use crate::Outcome;

thread_local! {
    static EVENTS: RefCell<BTreeSet<Event>> = const { RefCell::new(BTreeSet::new()) };
}

/// Starts to collect events.
pub fn observe() {
    let first = observe::observe(|event| {
        EVENTS.with_borrow_mut(|events| events.insert(event));
    });
    assert!(first, "nobody else observes");
}

/// Returns the events of this thread since the last call.
pub fn take() -> BTreeSet<Event> {
    EVENTS.take()
}

/// Runs a function and returns its result and its events, which [`take`] returns too.
pub fn during<T>(run: impl FnOnce() -> T) -> (T, BTreeSet<Event>) {
    let before = EVENTS.take();
    let result = run();
    let events = EVENTS.with_borrow(Clone::clone);
    EVENTS.with_borrow_mut(|all| all.extend(before));
    (result, events)
}

/// Operations of the kernels' table with a kernel for CPUs, and with one for CubeCL devices.
pub struct Bodies {
    cpu: BTreeSet<&'static str>,
    gpu: BTreeSet<&'static str>,
}

impl Bodies {
    pub fn of_sources() -> Self {
        let lines = operations(include_str!("../../../../kernels/src/backend/table.rs"));
        let with = |devices: &[&str]| -> BTreeSet<&'static str> {
            let has = |line: &str| devices.iter().any(|device| line.contains(device));
            lines.iter().filter(|(_, line)| has(line)).map(|(name, _)| *name).collect()
        };
        let (cpu, gpu) = (with(&["flex["]), with(&["cube[", "wgpu["]));
        assert!(cpu.contains("exp") && gpu.contains("matmul"), "the table has kernels");
        Self { cpu, gpu }
    }

    /// Returns the table cells that list the kernels of an operator on a CPU and on a GPU.
    pub fn cells(&self, outcomes: &[&Outcome]) -> [String; 2] {
        let kernels = |bodies: &BTreeSet<&'static str>| {
            let all = outcomes.iter().flat_map(|outcome| &outcome.events);
            let own: BTreeSet<&str> = all
                .filter_map(|event| match event {
                    Event::Kernel(name) => bodies.get(name).copied(),
                    Event::Read | Event::Wait | Event::Launch(_) => None,
                })
                .collect();
            own.into_iter().map(|name| format!("`{name}`")).collect()
        };
        let cpu: Vec<String> = kernels(&self.cpu);
        let mut gpu: Vec<String> = kernels(&self.gpu);
        // If the operator has a GPU kernel, the kernel runs instead of the computation that reads.
        let by_host = |outcome: &&&Outcome| {
            let own = |event: &Event| matches!(event, Event::Kernel(name) if self.gpu.contains(name));
            outcome.events.contains(&Event::Read) && !outcome.events.iter().any(own)
        };
        match outcomes.iter().filter(by_host).count() {
            0 => {}
            count if count == outcomes.len() => gpu.push("reads".to_owned()),
            _ => gpu.push("may read".to_owned()),
        }
        [cpu.join(", "), gpu.join(", ")]
    }
}

/// Returns the lines of the table by the names of their operations. A line starts at an indentation of 8 spaces.
fn operations(source: &'static str) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let table = source.lines().skip_while(|line| !line.starts_with("macro_rules! operations"));
    for line in table {
        let begins = line.strip_prefix("        ").filter(|rest| rest.starts_with(char::is_lowercase));
        if let Some((name, _)) = begins.and_then(|rest| rest.split_once('(')) {
            lines.push((name, String::new()));
        }
        if let Some((_, text)) = lines.last_mut() {
            text.push_str(line);
        }
    }
    lines
}
