//! The first node at which a run differs from others.

use std::path::Path;

use anyhow::Result;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::options::Options;

use super::Verify;
use crate::models::Model;
use crate::npz::Recording;
use crate::scratch::Scratch;
use crate::style::{BAD, DIM, DOUBTFUL, GOOD, HEADING, count};
use crate::trace::{Run, Setting, onnx_runtime, ours};
use crate::trace_diff::Differences;

/// Prints the first node at which each model differs from other ways to compute it.
pub fn explain(arguments: &Verify, scratch: &mut Scratch, models: &[Model]) {
    for model in models {
        anstream::println!("{HEADING}{}{HEADING:#}  first node that differs", model.name);
        if let Err(error) = each(arguments, scratch, model) {
            anstream::println!("  {BAD}error{BAD:#}: {error:#}");
        }
    }
}

fn each(arguments: &Verify, scratch: &mut Scratch, model: &Model) -> Result<()> {
    for recording in &model.recordings {
        one(arguments, scratch, model, recording)?;
    }
    Ok(())
}

fn one(arguments: &Verify, scratch: &mut Scratch, model: &Model, recording: &Path) -> Result<()> {
    let inputs = Recording::open(recording)?.inputs;
    let device = arguments.programs.device.name();
    let own = Setting { options: arguments.programs.options(), variables: Vec::new() };
    let run = ours(scratch, model, &own, &inputs, device, arguments.release)?;
    if let Some(problem) = &run.problem {
        anstream::println!("  {BAD}ended early{BAD:#}: {problem}");
    }
    let plain = Setting { variables: vec![("ONNX_EMBED_PLAIN", "1".to_owned())], ..own.clone() };
    let unsimplified = Setting { options: Options { simplify: false, ..own.options.clone() }, ..own.clone() };
    let tolerance = model.tolerance;
    let mut program = |setting: &Setting| ours(scratch, model, setting, &inputs, device, arguments.release);
    let mut others = vec![("only Burn's own operations (if different, a kernel is wrong)", program(&plain))];
    if own.options.simplify {
        let what = "without simplification (if different, a rule is wrong)";
        others.push((what, program(&unsimplified)));
    }
    let reference = onnx_runtime(&arguments.python, model, &inputs);
    others.push(("ONNX Runtime", reference));
    let mut agrees = true;
    for (what, other) in &others {
        agrees &= say(what, &run, other, tolerance);
    }
    if agrees {
        let file = recording.file_name().unwrap_or_default().display();
        anstream::println!(
            "  {DOUBTFUL}{file} may belong to another model{DOUBTFUL:#}: create a new one with \
             `cargo onnx-embed record`"
        );
    }
    Ok(())
}

/// Prints the first difference between two runs. Returns `true` if none is known.
fn say(what: &str, run: &Run, other: &Result<Run>, tolerance: f64) -> bool {
    let other = match other {
        Ok(other) => other,
        Err(error) => {
            anstream::println!("  {DIM}unknown{DIM:#}  {what}: {error:#}");
            return true;
        }
    };
    let differences = Differences::new(run, other, tolerance);
    let Some(headline) = differences.headline() else {
        let values = count(differences.rows.len(), "value");
        anstream::println!("  {GOOD}equal{GOOD:#}    {what}: {values}");
        return true;
    };
    anstream::println!("  {BAD}differs{BAD:#}  {what}: first at {headline}");
    let before = differences.first.and_then(|at| at.checked_sub(1));
    if let Some(before) = before.and_then(|at| differences.rows.get(at)) {
        let (value, error) = (shown(&before.step.value), before.relative);
        anstream::println!("           {DIM}`{value}` before it is equal, error {error:.1e}{DIM:#}");
    }
    false
}
