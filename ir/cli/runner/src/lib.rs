//! Runs compiled models, for `cargo onnx-embed`.
//!
//! `verify` and `bench` build small programs around this library. A program takes one argument, a
//! JSON object that says which model to run with which inputs, and answers with one line of JSON on
//! its standard output, so that a model that panics takes no other down.

#![forbid(unsafe_code)]

mod counts;
pub mod device;
mod memory;
mod steps;
mod times;
#[doc(hidden)]
pub mod wire;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use onnx_embed::{Device, Error, OnnxModel, Traced, TracedModel, Values};
use serde_json::{Value as Json, json};
use times::Times;

/// What the line with the answer begins with; models may print lines of their own.
pub const ANSWER: &str = "onnx-embed-runner: ";

/// With later runs asked for, a model is run at least this often.
const FEWEST: usize = 5;

/// A compiled model, whatever its type.
pub struct Subject {
    name: &'static str,
    load: Box<Load>,
    /// The same model, which shows the values of its runs.
    traced: Option<Box<LoadTraced>>,
    /// The same model with the weights of other files, by where the compiled one has its own.
    others: Vec<(&'static str, Box<Reload>)>,
}

type Reload = dyn Fn(&[&[u8]], &Device) -> Result<Loaded, Error>;
type Load = dyn Fn(&Device) -> Result<Loaded, Error>;

/// Outputs for inputs, of which a function sees the values on the way.
type LoadedTraced = Box<dyn Fn(Values, &mut dyn FnMut(&Traced<'_>)) -> Result<Values, Error>>;
type LoadTraced = dyn Fn(&Device) -> Result<LoadedTraced, Error>;

/// Outputs for inputs.
type Loaded = Box<dyn Fn(Values) -> Result<Values, Error>>;

impl Subject {
    /// The model that `load` makes on a device.
    pub fn new<M: OnnxModel + 'static>(
        name: &'static str,
        load: fn(&Device) -> Result<M, Error>,
    ) -> Self {
        Subject {
            name,
            load: Box::new(move |device| {
                let model = load(device)?;
                Ok(Box::new(move |inputs| model.run(inputs)))
            }),
            traced: None,
            others: Vec::new(),
        }
    }

    /// The model that `load` makes on a device, which was compiled to show the values of its runs.
    pub fn traced<M: TracedModel + 'static>(
        name: &'static str,
        load: fn(&Device) -> Result<M, Error>,
    ) -> Self {
        let traced = move |device: &Device| -> Result<LoadedTraced, Error> {
            let model = load(device)?;
            Ok(Box::new(move |inputs, visit| {
                model.trace(inputs, |value| visit(value))
            }))
        };
        Subject {
            traced: Some(Box::new(traced)),
            ..Subject::new(name, load)
        }
    }

    /// A model that takes the weights of other files.
    pub fn reloaded<M: OnnxModel + 'static>(mut self, weights: &'static str) -> Self {
        let load = |files: &[&[u8]], device: &Device| -> Result<Loaded, Error> {
            let model = M::from_bytes(files, device)?;
            Ok(Box::new(move |inputs| model.run(inputs)))
        };
        self.others.push((weights, Box::new(load)));
        self
    }
}

/// Answers the request in the program's argument with one of `subjects`.
pub fn main(subjects: &[Subject]) -> ExitCode {
    let request = std::env::args().nth(1).unwrap_or_default();
    match answer(&request, subjects) {
        Ok(answer) => {
            println!("{ANSWER}{answer}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn answer(request: &str, subjects: &[Subject]) -> Result<Json, String> {
    let request: Json = serde_json::from_str(request).map_err(|error| {
        format!("{error}; this program belongs to `cargo onnx-embed`, which calls it with JSON")
    })?;
    let device = request["device"].as_str().unwrap_or_default();
    let Some(model) = request["model"].as_str() else {
        return Ok(json!({ "devices": device::count(device) }));
    };
    let subject = subjects.iter().find(|subject| subject.name == model);
    let subject = subject.ok_or_else(|| format!("there is no model `{model}`"))?;
    let device = device::named(device)?;
    if let Some(others) = request["others"].as_array() {
        return other_weights(subject, &device, &request, others);
    }
    match request["trace"].as_str() {
        Some("times") => steps::times(subject, &device, &request),
        Some("values") => steps::values(subject, &device, &request),
        _ => run(subject, &device, &request),
    }
}

/// Runs the model with the weights of each of some other files, and writes what it gives to the files
/// `outputs` with the number behind.
fn other_weights(
    subject: &Subject,
    device: &Device,
    request: &Json,
    others: &[Json],
) -> Result<Json, String> {
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    let inputs = wire::read(Path::new(text("inputs")))?;
    let weights = text("weights");
    let load = subject.others.iter().find(|(file, _)| *file == weights);
    let (_, load) = load.ok_or_else(|| format!("the program has no model for {weights:?}"))?;
    let one = |(at, files): (usize, &Json)| -> Result<Json, String> {
        let paths = files.as_array().into_iter().flatten();
        let paths = paths.map(|path| path.as_str().unwrap_or_default());
        let read = |path| std::fs::read(path).map_err(|error| format!("{path}: {error}"));
        let files = paths.map(read).collect::<Result<Vec<_>, _>>()?;
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let model = match load(&files, device) {
            Ok(model) => model,
            Err(error) => return Ok(json!({ "refused": error.to_string() })),
        };
        // A model that panics is not used again.
        let run = std::panic::AssertUnwindSafe(|| model(inputs.clone()));
        match std::panic::catch_unwind(run) {
            Ok(Ok(outputs)) => {
                wire::write(Path::new(&format!("{}.{at}", text("outputs"))), &outputs)?;
                Ok(json!({}))
            }
            Ok(Err(error)) => Ok(json!({ "died": error.to_string() })),
            Err(_) => Ok(json!({ "died": "panics" })),
        }
    };
    let results = others.iter().enumerate().map(one);
    Ok(json!({ "results": results.collect::<Result<Vec<_>, _>>()? }))
}

/// Loads the model, runs it with the values in the file `inputs`, writes what it gives to the file
/// `outputs`, and goes on running it for as many `seconds`.
fn run(subject: &Subject, device: &Device, request: &Json) -> Result<Json, String> {
    let text = |error: Error| error.to_string();
    let path = |key: &str| Path::new(request[key].as_str().unwrap_or_default());
    let inputs = wire::read(path("inputs"))?;
    let start = Instant::now();
    let model = (subject.load)(device).map_err(text)?;
    device.sync().map_err(|error| error.to_string())?;
    let load = start.elapsed();
    let timed = || {
        let inputs = inputs.clone();
        let start = Instant::now();
        let outputs = model(inputs).map_err(text)?;
        Ok::<_, String>((outputs, start.elapsed()))
    };
    counts::begin(device);
    let (outputs, first) = timed()?;
    let mut counts = counts::take();
    if !request["outputs"].is_null() {
        wire::write(path("outputs"), &outputs)?;
    }
    let mut times = Times::new();
    if let Some(seconds) = request["seconds"].as_f64() {
        let start = Instant::now();
        while times.runs() < FEWEST || start.elapsed().as_secs_f64() < seconds {
            times.push(timed()?.1);
            counts = counts::take();
        }
    }
    let milliseconds = |time: &Duration| time.as_secs_f64() * 1e3;
    Ok(json!({
        "load_ms": milliseconds(&load),
        "first_ms": milliseconds(&first),
        "times_ms": times.kept().iter().map(milliseconds).collect::<Vec<_>>(),
        "runs": times.runs(),
        "peak_bytes": memory::peak(),
        "launches": counts.launches.values().sum::<usize>(),
        "kernels": counts.launches,
        "reads": counts.reads,
    }))
}
