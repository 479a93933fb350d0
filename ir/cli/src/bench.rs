//! `bench`: times and memory as JSON lines.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use onnx_embed_ir::inspect::inspect;
use onnx_embed_ir::options::Options;
use serde_json::{Value as Json, json};

use crate::args::Bench;
use crate::models::{self, Model};
use crate::npz::Recording;
use crate::prepare::{Obstacle, Ready, prepare};
use crate::process::{Outcome, ask};
use crate::scratch::Scratch;
use crate::value::Values;
use crate::{parallel, random, wire};

/// A run that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(3600);

pub fn bench(arguments: &Bench) -> Result<ExitCode> {
    let programs = &arguments.programs;
    let models = models::collect(&arguments.models, programs.filter.as_deref())?;
    let scratch = Scratch::open(programs, false)?;
    let mut failed = false;
    let mut fail = |model: &Model, reason: &str| {
        failed = true;
        println!("{}", json!({ "model": model.name, "error": reason }));
    };
    let bar = ProgressBar::new_spinner();
    let ready = prepare(
        &scratch,
        &models,
        true,
        &bar,
        |model, obstacle| match obstacle {
            Obstacle::Unsupported(text) | Obstacle::Broken(text) => fail(model, &text),
        },
    )?;
    bar.finish_and_clear();
    let threads = if arguments.threads.is_empty() {
        vec![parallel::cores()]
    } else {
        arguments.threads.clone()
    };
    for ready in &ready {
        for &threads in &threads {
            match measure(arguments, &scratch, ready, threads) {
                Ok(line) => println!("{line}"),
                Err(error) => fail(ready.model, &format!("{error:#}")),
            }
        }
    }
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// One line of the result.
fn measure(
    arguments: &Bench,
    scratch: &Scratch,
    ready: &Ready<'_>,
    threads: usize,
) -> Result<Json> {
    let (model, device) = (ready.model, arguments.programs.device.name());
    let file = scratch.values(model, "in");
    wire::write(&file, &inputs(arguments, model)?)?;
    let request = json!({
        "model": model.package(),
        "device": device,
        "inputs": file,
        "seconds": arguments.seconds,
    });
    let messages = scratch.messages(model);
    let outcome = ask(&ready.program, &request, Some(threads), LIMIT, &messages)?;
    if !arguments.programs.keep {
        let _ = std::fs::remove_file(file);
        let _ = std::fs::remove_file(messages);
    }
    let answer = match outcome {
        Outcome::Answer(answer) => answer,
        Outcome::Refused(text) | Outcome::Died(text) => bail!("{text}"),
    };
    let times = answer["times_ms"].as_array().into_iter().flatten();
    let times: Vec<f64> = times.filter_map(Json::as_f64).collect();
    let micro = |time: Option<f64>| time.map(|time| (time * 1e3).round() / 1e3);
    Ok(json!({
        "model": model.name,
        "device": device,
        "threads": threads,
        "median_ms": micro(median(times.clone())),
        "first_ms": micro(answer["first_ms"].as_f64()),
        "load_ms": micro(answer["load_ms"].as_f64()),
        "peak_bytes": answer["peak_bytes"],
        "runs": answer["runs"],
        "launches": answer["launches"],
        "reads": answer["reads"],
    }))
}

/// The recorded inputs, else random ones.
fn inputs(arguments: &Bench, model: &Model) -> Result<Values> {
    match model.recordings.first() {
        Some(path) => Ok(Recording::open(path)?.inputs),
        None => match inspect(&model.path, &Options::default()) {
            Ok(inspection) => random::inputs(&inspection.inputs, &arguments.dims),
            Err(problems) => bail!("{}", problems.report(&model.name)),
        },
    }
}

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let upper = times.get(times.len() / 2)?;
    let lower = times.get(times.len().saturating_sub(1) / 2)?;
    Some((upper + lower) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(vec![100.0, 1.0, 5.0, 3.0]), Some(4.0));
        assert_eq!(median(vec![3.0, 1.0, 100.0]), Some(3.0));
        assert_eq!(median(Vec::new()), None);
    }
}
