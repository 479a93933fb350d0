//! Runs every case and compares the results with the reference.
//!
//! `cargo test -p onnx-embed-conformance NAME ..` runs the cases whose names contain one of these, with libtest's
//! `--exact`, `--skip` and `--list`; `--slice 2/100` runs every hundredth case from the second on, and `--times`
//! prints the time of each. Cases are built before arguments are read: `CASES='NAME|NAME'` builds only the cases with
//! such names, `EVERY=25` about one of 25. Large networks take minutes without optimization: in a debug build they
//! run only with `NETWORKS=1` or if a filter names them. `DEVICE=wgpu`, with the features `wgpu` and `fusion`, runs
//! the cases on that device.

mod bodies;
mod bounds;
mod case;
mod compare;
mod coverage;
mod device;
mod expectations;
mod message;
mod table;
mod workers;

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use case::{Case, Origin, Outcome};
use device::Chosen;
use expectations::Expectations;
use onnx_embed_conformance::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = match Arguments::of_process() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let mut cases = case::all();
    cases.retain(|case| arguments.includes(case.name()));
    let left_out = networks_left_out(&mut cases, &arguments);
    let mut places = 0..;
    cases.retain(|_| places.next().is_some_and(|place| arguments.is_in_slice(place)));
    if arguments.list {
        for case in &cases {
            println!("{}: test", case.name());
        }
        return ExitCode::SUCCESS;
    }
    let chosen = match Chosen::of_environment() {
        Ok(Some(chosen)) => chosen,
        Ok(None) => {
            println!("skipped: no adapter for what `DEVICE` names on this machine");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::FAILURE;
        }
    };
    bodies::observe();
    if arguments.serve {
        workers::serve(&cases, &chosen);
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    let expectations = Expectations::open(&chosen.name);
    let outcomes = workers::run(&cases, &chosen, &arguments);
    let mut wrong = 0;
    for outcome in &outcomes {
        let name = &outcome.name;
        match (&outcome.result, expectations.reason(name)) {
            (Err(problem), None) => {
                wrong += 1;
                println!("{name}: {problem}");
            }
            (Ok(()), Some(reason)) => {
                wrong += 1;
                println!("{name}: passes, but is listed as failing: {reason}");
            }
            (Ok(()), None) | (Err(_), Some(_)) => {}
        }
    }
    if cfg!(not(feature = "image")) {
        println!("cases of ImageDecoder are left out: this is built without the feature `image`");
    }
    if left_out > 0 {
        println!("{left_out} large networks are left out: `NETWORKS=1` runs them");
    }
    let whole = cfg!(feature = "image")
        && arguments.is_everything()
        && ["CASES", "EVERY"].iter().all(|name| env::var_os(name).is_none());
    if whole {
        for name in expectations.names() {
            if !outcomes.iter().any(|outcome| outcome.name == name) {
                wrong += 1;
                println!("{name}: is listed, but there is no such case");
            }
        }
    }
    let missing = coverage::missing(&outcomes);
    if whole {
        for operator in &missing.operators {
            wrong += 1;
            println!("{operator}: no case of our own");
        }
        // The table lists the kernels that run by default.
        let is_default = chosen.is_cpu() && env::var_os("ONNX_EMBED_PLAIN").is_none();
        if is_default && !table::is_fresh(&outcomes) {
            wrong += 1;
            println!(
                "OPERATORS.md is stale; write it anew with `BLESS=1 cargo test -p \
                 onnx-embed-conformance`"
            );
        }
    }
    let (standard, absent) = coverage::absent();
    for operator in &absent {
        wrong += 1;
        println!("{operator}: is in the standard and not known");
    }
    let count = |origin: Origin| {
        let mut all = outcomes.iter().filter(|outcome| outcome.origin == origin);
        let passed = all.clone().filter(|outcome| outcome.result.is_ok()).count();
        (passed, all.by_ref().count())
    };
    let seconds = start.elapsed().as_secs_f32();
    let (passed, all) = count(Origin::Own);
    let (covered, versions) = (missing.versions - missing.operators.len(), missing.versions);
    println!("own fixtures: {passed} of {all} pass; {covered} of {versions} operator versions have one");
    let (models, of) = count(Origin::Package);
    println!("models of the onnx package: {models} of {of} pass");
    let (upstream, of) = count(Origin::Upstream);
    let known = standard - absent.len();
    println!("the standard's operators: {known} of {standard} versions known");
    println!("conformance: {upstream} of {of} pass");
    let simplified = outcomes.iter().filter(|outcome| outcome.simplified);
    let simplified = simplified.count();
    println!("{simplified} ran without simplification too, without which the code of the others is the same");
    let threads = workers::count(&arguments);
    println!("{seconds:.1} s on {}, {threads} at a time", chosen.name);
    let failed = wrong.min(outcomes.len().max(1));
    println!("{} passed, {wrong} failed", outcomes.len().saturating_sub(failed));
    match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Networks of the onnx package that take more than 10 seconds on two cores without optimization.
const LARGE: [&str; 6] = [
    "package_light_densenet121",
    "package_light_inception_v1",
    "package_light_inception_v2",
    "package_light_resnet50",
    "package_light_shufflenet",
    "package_light_squeezenet",
];

/// Removes large networks from the cases, unless they are requested, and returns their number.
fn networks_left_out(cases: &mut Vec<Case>, arguments: &Arguments) -> usize {
    if !cfg!(debug_assertions) || arguments.has_filters() || env::var_os("NETWORKS").is_some() {
        return 0;
    }
    let all = cases.len();
    cases.retain(|case| !LARGE.contains(&case.name()));
    all - cases.len()
}
