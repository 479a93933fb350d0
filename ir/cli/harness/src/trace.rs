//! All values of a run, of our program or ONNX Runtime.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use onnx_embed_ir::dtype::ElementClass;
use onnx_embed_ir::options::Options;

use crate::message::{Request, Run as RunRequest, Traced};
use crate::models::Model;
use crate::npz::{Expected, Recording};
use crate::prepare::{Obstacle, prepare};
use crate::process::{Outcome, ask_with};
use crate::scratch::Scratch;
use crate::value::{Value, Values};
use crate::{private, reference, wire};

/// Values of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Values in the order in which they were computed, or none if the order is unknown.
    pub steps: Vec<TracedValue>,
    pub values: HashMap<String, Value>,
    /// Reason why the run ended before its last node, if it did.
    pub problem: Option<String>,
}

impl Run {
    /// Widens 16-bit floats if the other run has the value in another float type, so that the two can be compared.
    /// Returns `true` if any value was widened.
    pub fn widen_halves(&mut self, other: &mut Run) -> bool {
        let mut any = false;
        for (name, value) in &mut self.values {
            let (Value::Tensor(one), Some(Value::Tensor(two))) = (value, other.values.get_mut(name)) else {
                continue;
            };
            let floats = [one.dtype, two.dtype].map(|dtype| dtype.kind() == ElementClass::Float);
            if floats != [true; 2] || one.dtype == two.dtype {
                continue;
            }
            for tensor in [one, two] {
                if let Some(wide) = tensor.widened() {
                    *tensor = wide;
                    any = true;
                }
            }
        }
        any
    }
}

/// A value with the node that computed it.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedValue {
    pub value: String,
    pub node: String,
    pub operator: String,
}

/// Settings with which a model is compiled and run.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    pub options: Options,
    /// Environment variables of the run.
    pub variables: Vec<(&'static str, String)>,
}

/// Compiles and runs a model with a setting, and returns all values of the run.
pub fn ours(
    scratch: &mut Scratch,
    model: &Model,
    setting: &Setting,
    inputs: &Values,
    device: &str,
    release: bool,
) -> Result<Run> {
    scratch.options = Options {
        trace: true,
        operators: std::mem::take(&mut scratch.options.operators),
        ..setting.options.clone()
    };
    let mut obstacle = None;
    let models = std::slice::from_ref(model);
    let bar = ProgressBar::hidden();
    let ready = prepare(scratch, models, release, &bar, |_, why| obstacle = Some(why))?;
    if let Some(Obstacle::Unsupported(text) | Obstacle::Broken(text)) = obstacle {
        bail!("{text}");
    }
    let ready = ready.first().context("the model was not built")?;
    let (taken, given) = (scratch.values(model, "in"), scratch.values(model, "trace"));
    wire::write(&taken, inputs)?;
    let request = Request::Trace {
        run: RunRequest { model: model.package(), device: device.to_owned(), inputs: taken.clone() },
        outputs: given.clone(),
    };
    let (limit, messages) = (Duration::from_secs(3600), scratch.messages(model));
    let outcome = ask_with::<Traced>(&ready.program, &request, None, &setting.variables, limit, &messages)?;
    let answer = match outcome {
        Outcome::Answer(answer) => answer,
        Outcome::Refused(text) | Outcome::Died(text) => bail!("{text}"),
    };
    let values = wire::read(&given)?;
    for file in [taken, given, messages] {
        let _ = std::fs::remove_file(file);
    }
    let steps = answer.values.into_iter().map(|value| TracedValue {
        value: value.name,
        node: value.node,
        operator: value.operator,
    });
    Ok(Run { steps: steps.collect(), values: values.into_iter().collect(), problem: answer.problem })
}

/// Returns the values that ONNX Runtime computes without its optimizations.
pub fn onnx_runtime(python: &Path, model: &Model, inputs: &Values) -> Result<Run> {
    let folder = private::folder()?;
    let file = folder.path().join("values.npz");
    reference::run(python, &model.path, inputs, &file, true)?;
    let values = Recording::open(&file)?.outputs.into_iter();
    let values = values.filter_map(|(name, value)| match value {
        Expected::Value(value) => Some((name, value)),
        Expected::Maps { .. } => None,
    });
    Ok(Run { values: values.collect(), ..Run::default() })
}
