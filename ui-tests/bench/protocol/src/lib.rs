//! Protocol between `bench.py` and the programs that it times.
//!
//! A program is called with a model, a file of inputs, a file for outputs and a number of threads. It loads the
//! model, runs it once, writes the outputs and prints a line of JSON. Each line on its standard input is a number of
//! seconds: the program runs the model for that time and prints the times of the runs. After `idle` and a number of
//! seconds it rests for that time and prints how much memory it then has. It exits at the end of its input.

mod usage;
mod value;

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
pub use usage::Usage;
pub use value::Value;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Minimum number of runs in a round.
const FEWEST: usize = 3;

/// An engine that runs models.
pub trait Engine: Sized {
    /// Inputs in the form that the engine accepts.
    type Inputs;
    type Outputs;

    /// Loads the model, which will be called with inputs of the types and sizes of `values`.
    fn load(model: &Path, threads: usize, values: &[Value]) -> Result<Self>;

    fn inputs(&self, values: &[Value]) -> Result<Self::Inputs>;

    fn run(&self, inputs: &Self::Inputs) -> Result<Self::Outputs>;

    fn outputs(&self, outputs: Self::Outputs) -> Result<Vec<Value>>;
}

/// Serves requests for one model.
pub fn serve<E: Engine>() -> ExitCode {
    match served::<E>() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let text: String = problem.to_string().chars().take(400).collect();
            println!("{}", json!({ "problem": text }));
            ExitCode::FAILURE
        }
    }
}

fn served<E: Engine>() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, inputs, outputs, threads] = &arguments[..] else {
        return Err("called with MODEL INPUTS OUTPUTS THREADS, by bench.py".into());
    };
    let values = value::read(Path::new(inputs))?;
    let start = Instant::now();
    let engine = E::load(Path::new(model), threads.parse()?, &values)?;
    let load = start.elapsed();
    let loaded = Usage::resident();
    let inputs = engine.inputs(&values)?;
    let start = Instant::now();
    let first = engine.run(&inputs)?;
    let first_time = start.elapsed();
    value::write(Path::new(outputs), &engine.outputs(first)?)?;
    answer(&json!({
        "load_ms": milliseconds(load),
        "first_ms": milliseconds(first_time),
        "peak_bytes": Usage::peak(),
        "loaded_bytes": loaded,
    }))?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (is_idle, seconds) = line.strip_prefix("idle ").map_or((false, &line[..]), |seconds| (true, seconds));
        let seconds = Duration::try_from_secs_f64(seconds.trim().parse()?)?;
        if is_idle {
            std::thread::sleep(seconds);
            answer(&json!({ "held_bytes": Usage::resident() }))?;
        } else {
            answer(&round(&engine, &inputs, seconds)?)?;
        }
    }
    Ok(())
}

/// Runs the model for `seconds` and returns the times of the runs.
fn round<E: Engine>(engine: &E, inputs: &E::Inputs, seconds: Duration) -> Result<Json> {
    let mut times = Vec::new();
    let (start, before) = (Instant::now(), Usage::now());
    while times.len() < FEWEST || start.elapsed() < seconds {
        let start = Instant::now();
        let outputs = engine.run(inputs)?;
        times.push(start.elapsed());
        drop(outputs);
    }
    let used = Usage::now().since(before);
    times.sort();
    let runs = times.len() as f64;
    Ok(json!({
        "runs": times.len(),
        "median_ms": milliseconds(times[times.len() / 2]),
        "least_ms": milliseconds(times[0]),
        "cpu_ms": milliseconds(used.cpu) / runs,
        "faults": used.faults as f64 / runs,
        "peak_bytes": Usage::peak(),
    }))
}

fn answer(json: &Json) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{json}")?;
    out.flush()?;
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
