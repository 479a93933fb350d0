//! Runs targets without a fuzzer: on the files that fuzzers found, on the seeds, and on bytes that look random.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::{Target, seeds};

/// Maximum time of one call, without optimization on a slow machine.
const LONGEST: Duration = Duration::from_secs(60);
/// Number of inputs that look random for each target whose bytes are choices.
const RANDOM: usize = 400;

/// The input that runs, and when it began.
static RUNNING: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// Runs the targets that the arguments of the process name, or all; on the files that they name, or on all.
pub fn repeat(targets: &[Target]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (files, names): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| Path::new(word).is_file());
    std::thread::spawn(watch);
    let mut count = 0;
    let mut failed = Vec::new();
    for target in
        targets.iter().filter(|target| names.is_empty() || names.iter().any(|name| name == target.name))
    {
        let inputs = match files.is_empty() {
            true => inputs(target.name),
            false => files.iter().map(|path| input(Path::new(path))).collect(),
        };
        count += inputs.len();
        failed.extend(inputs.into_iter().filter(|(name, bytes)| !ends_well(target, name, bytes)));
    }
    for (name, _) in &failed {
        println!("FAILED {name}");
    }
    println!("{count} inputs; {} failed", failed.len());
    match failed.is_empty() && count > 0 {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

type Input = (String, Vec<u8>);

fn input(path: &Path) -> Input {
    (path.display().to_string(), fs::read(path).expect("the file exists"))
}

/// Returns the inputs of a target.
fn inputs(target: &str) -> Vec<Input> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../found").join(target);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(found).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut inputs: Vec<Input> = paths.iter().map(|path| input(path)).collect();
    let seeds = seeds::of(target);
    if seeds.is_empty() {
        inputs.extend((0..RANDOM).map(|at| (format!("{target}, random input {at}"), random(at))));
    }
    inputs.extend(seeds);
    inputs
}

/// Returns bytes that look random, of up to 2,000, and are the same in every run.
fn random(at: usize) -> Vec<u8> {
    let mut state = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..at * 5).map(|_| next()).collect()
}

fn ends_well(target: &Target, name: &str, bytes: &[u8]) -> bool {
    *RUNNING.lock().expect("no holder panics") = Some((name.to_owned(), Instant::now()));
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    *RUNNING.lock().expect("no holder panics") = None;
    outcome.is_ok()
}

/// Ends the process if a call takes too long.
fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        if let Some((name, since)) = &*RUNNING.lock().expect("no holder panics")
            && since.elapsed() > LONGEST
        {
            println!("FAILED {name}: takes longer than {LONGEST:?}");
            std::process::exit(1);
        }
    }
}
