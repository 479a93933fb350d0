//! Runs compiled models, for `cargo onnx-embed`.
//!
//! `verify` and `bench` build small programs around this library. A program takes one argument, a JSON object that
//! specifies the model and its inputs, and replies with one line of JSON on its standard output. A model that panics
//! therefore affects no other model.

#![forbid(unsafe_code)]

mod counts;
pub mod device;
mod memory;
mod message;
mod steps;
mod times;
#[doc(hidden)]
pub mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use onnx_embed::{Device, Error, OnnxModel, Traced, TracedModel, Values};
use serde::Serialize;

use message::{Devices, ReloadResult, Reloaded, Request, Run, Timed};
use times::Times;

/// Prefix of the line with the reply; models may print lines of their own.
pub const ANSWER: &str = "onnx-embed-runner: ";

/// Minimum number of measured runs, whatever time they take.
const FEWEST: usize = 5;

/// A compiled model of any type.
pub struct Subject {
    name: &'static str,
    load: Box<Load>,
    /// The model compiled with `trace`, which reports the values of its runs.
    traced: Option<Box<LoadTraced>>,
    /// Loaders for the weights of other files, with the weight storage of the compiled model: `file` or `embed`.
    others: Vec<(&'static str, Box<Reload>)>,
}

type Reload = dyn Fn(&[&[u8]], &Device) -> Result<Loaded, Error>;
type Load = dyn Fn(&Device) -> Result<Loaded, Error>;

/// A loaded model that passes each value of a run to a function.
type LoadedTraced = Box<dyn Fn(Values, &mut dyn FnMut(&Traced<'_>)) -> Result<Values, Error>>;
type LoadTraced = dyn Fn(&Device) -> Result<LoadedTraced, Error>;

/// A loaded model that computes outputs from inputs.
type Loaded = Box<dyn Fn(Values) -> Result<Values, Error>>;

impl Subject {
    /// Creates a subject from the model that `load` returns.
    pub fn new<M: OnnxModel + 'static>(name: &'static str, load: fn(&Device) -> Result<M, Error>) -> Self {
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

    /// Creates a subject from the model that `load` returns, which was compiled with `trace`.
    pub fn traced<M: TracedModel + 'static>(
        name: &'static str,
        load: fn(&Device) -> Result<M, Error>,
    ) -> Self {
        let traced = move |device: &Device| -> Result<LoadedTraced, Error> {
            let model = load(device)?;
            Ok(Box::new(move |inputs, visit| model.trace(inputs, |value| visit(value))))
        };
        Subject { traced: Some(Box::new(traced)), ..Subject::new(name, load) }
    }

    /// Adds a model that can load the weights of other files. Its own weights are stored as `weights` specifies.
    pub fn reloaded<M: OnnxModel + 'static>(mut self, weights: &'static str) -> Self {
        let load = |files: &[&[u8]], device: &Device| -> Result<Loaded, Error> {
            let model = M::from_bytes(files, device)?;
            Ok(Box::new(move |inputs| model.run(inputs)))
        };
        self.others.push((weights, Box::new(load)));
        self
    }
}

/// Replies to the request in the program's argument, which refers to one of `subjects`.
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

fn answer(request: &str, subjects: &[Subject]) -> Result<String, String> {
    let request: Request = serde_json::from_str(request)
        .map_err(|error| format!("invalid request: {error}; this program is run by `cargo onnx-embed`"))?;
    let find = |run: &Run| -> Result<(&Subject, Device), String> {
        let subject = subjects.iter().find(|subject| subject.name == run.model);
        let subject = subject.ok_or_else(|| format!("the program has no model `{}`", run.model))?;
        Ok((subject, device::named(&run.device)?))
    };
    match &request {
        Request::Devices { device } => json(&Devices { devices: device::count(device) }),
        Request::Run { run, outputs, seconds } => {
            let (subject, device) = find(run)?;
            json(&timed(subject, &device, &run.inputs, outputs.as_deref(), *seconds)?)
        }
        Request::Profile { run, seconds } => {
            let (subject, device) = find(run)?;
            json(&steps::times(subject, &device, &run.inputs, *seconds)?)
        }
        Request::Trace { run, outputs } => {
            let (subject, device) = find(run)?;
            json(&steps::values(subject, &device, &run.inputs, outputs)?)
        }
        Request::Reload { run, weights, outputs, files } => {
            let (subject, device) = find(run)?;
            let load = subject.others.iter().find(|(form, _)| form == weights);
            let (_, load) =
                load.ok_or_else(|| format!("the program has no model with weights = {weights:?}"))?;
            let inputs = wire::read(&run.inputs)?;
            let one = |(at, files): (usize, &Vec<PathBuf>)| {
                let outputs = PathBuf::from(format!("{}.{at}", outputs.display()));
                reload(load, &device, &inputs, files, &outputs)
            };
            let results = files.iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
            json(&Reloaded { results })
        }
    }
}

fn json(answer: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map_err(|error| error.to_string())
}

/// Runs a model with the weights of other files, and writes its outputs to `outputs`.
fn reload(
    load: &Reload,
    device: &Device,
    inputs: &Values,
    files: &[PathBuf],
    outputs: &Path,
) -> Result<ReloadResult, String> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    };
    let files = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let model = match load(&files, device) {
        Ok(model) => model,
        Err(error @ Error::WeightDiffers { .. }) => {
            return Ok(ReloadResult::WeightDiffers(error.to_string()));
        }
        Err(error) => return Ok(ReloadResult::Refused(error.to_string())),
    };
    // A model that panics is not used again.
    let run = std::panic::AssertUnwindSafe(|| model(inputs.clone()));
    Ok(match std::panic::catch_unwind(run) {
        Ok(Ok(found)) => {
            wire::write(outputs, &found)?;
            ReloadResult::Ran
        }
        Ok(Err(error)) => ReloadResult::Died(error.to_string()),
        Err(_) => ReloadResult::Died("panicked".to_owned()),
    })
}

/// Loads the model, runs it with the values in the file `inputs`, and writes its outputs to the file `outputs`, if any.
/// If `seconds` are specified, runs it again for that time.
fn timed(
    subject: &Subject,
    device: &Device,
    inputs: &Path,
    outputs: Option<&Path>,
    seconds: Option<f64>,
) -> Result<Timed, String> {
    let text = |error: Error| error.to_string();
    let inputs = wire::read(inputs)?;
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
    let (found, first) = timed()?;
    let mut counts = counts::take();
    if let Some(outputs) = outputs {
        wire::write(outputs, &found)?;
    }
    let mut times = Times::new();
    if let Some(seconds) = seconds {
        let start = Instant::now();
        while times.runs() < FEWEST || start.elapsed().as_secs_f64() < seconds {
            times.push(timed()?.1);
            counts = counts::take();
        }
    }
    let milliseconds = |time: &Duration| time.as_secs_f64() * 1e3;
    let kernels = counts.launches.into_iter();
    Ok(Timed {
        load_ms: milliseconds(&load),
        first_ms: milliseconds(&first),
        times_ms: times.kept().iter().map(milliseconds).collect(),
        runs: times.runs(),
        peak_bytes: memory::peak(),
        kernels: kernels.map(|(name, count)| (name.to_owned(), count as u64)).collect(),
        reads: counts.reads as u64,
    })
}
