//! Effect of each threshold: `cargo run --release -p onnx-embed-kernels --example tune`
//!
//! Prints the table of `src/flex/plan/tuning.md`: for each threshold the time of operations with a quarter, a half, twice and
//! four times its value, in relation to the time with the value. Below 0.97 another value is faster on this processor.
//! Names in the command line select thresholds.
//!
//! Thresholds are those of a process: each value is measured by a process of its own, with `ONNX_EMBED_TUNING`. Processes with
//! different values alternate, because the frequency of processors changes. The times are the least of each operation, the
//! numbers of the table their geometric mean. Kernels have as many threads as the processor, or `RAYON_NUM_THREADS`.

mod workloads;

use std::{
    env,
    error::Error,
    process::{Command, ExitCode},
};

use onnx_embed_kernels::tuning::{THRESHOLDS, Threshold};

/// Number of processes that measure a value.
const ROUNDS: usize = 5;

/// Values that are compared with that of the threshold.
const VALUES: [fn(usize) -> usize; 4] =
    [|value| value / 4, |value| value / 2, |value| 2 * value, |value| 4 * value];

/// First argument of the processes that measure the workload of a threshold.
const MEASURE: &str = "--measure";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let result = match words.first() {
        Some(word) if word == MEASURE => measure(words.get(1).map_or("", String::as_str)),
        _ => table(&words),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn named(name: &str) -> Result<&'static Threshold, String> {
    let found = THRESHOLDS.iter().find(|threshold| threshold.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = THRESHOLDS.iter().map(|threshold| threshold.name).collect();
        format!("there is no threshold {name:?}; there are {}", names.join(", "))
    })
}

/// Prints the least time of each operation of a threshold's workload.
fn measure(name: &str) -> Result<(), Box<dyn Error>> {
    let Threshold { workload, .. } = named(name)?;
    for time in workloads::times(*workload) {
        println!("{time:e}");
    }
    Ok(())
}

/// Prints the table.
fn table(names: &[String]) -> Result<(), Box<dyn Error>> {
    let chosen: Vec<&Threshold> = match names {
        [] => THRESHOLDS.iter().collect(),
        names => names.iter().map(|name| named(name)).collect::<Result<_, _>>()?,
    };
    println!("| threshold | value | x 1/4 | x 1/2 | x 2 | x 4 |\n|---|---|---|---|---|---|");
    for threshold in chosen {
        let ratios = ratios(threshold)?;
        println!("| `{}` | {} {} |{ratios}", threshold.name, threshold.default, threshold.unit);
    }
    Ok(())
}

/// Returns the cells of a threshold.
fn ratios(threshold: &Threshold) -> Result<String, Box<dyn Error>> {
    let values = VALUES.map(|value| value(threshold.default));
    let exists = |value: usize| (1..=threshold.most).contains(&value);
    let mut times = [const { Vec::new() }; 1 + VALUES.len()];
    for _ in 0..ROUNDS {
        for (times, value) in times.iter_mut().zip([threshold.default].into_iter().chain(values)) {
            if exists(value) {
                fastest(times, run(threshold, value)?);
            }
        }
    }
    let [reference, others @ ..] = times;
    let cells = others.iter().zip(values).map(|(times, value)| {
        if !exists(value) {
            return " - |".into();
        }
        let logarithms = times.iter().zip(&reference).map(|(time, reference)| (time / reference).ln());
        let mean = logarithms.sum::<f64>() / times.len() as f64;
        format!(" {:.2} |", mean.exp())
    });
    Ok(cells.collect())
}

/// Keeps the lesser of the times of each operation.
fn fastest(times: &mut Vec<f64>, new: Vec<f64>) {
    if times.is_empty() {
        *times = new;
    } else {
        times.iter_mut().zip(new).for_each(|(time, new)| *time = time.min(new));
    }
}

/// Runs a process with a value of a threshold; returns the time of each operation.
fn run(threshold: &Threshold, value: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    let name = threshold.name;
    let mut process = Command::new(env::current_exe()?);
    process.args([MEASURE, name]).env("ONNX_EMBED_TUNING", format!("{name}={value}"));
    let output = process.output()?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}={value} ended with {}:\n{messages}", output.status).into());
    }
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines.lines().map(str::parse).collect::<Result<_, _>>()?)
}
