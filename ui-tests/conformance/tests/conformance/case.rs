//! One case: its files, one call, and the comparison.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use onnx_embed::__private::ops::observe::Event;
use onnx_embed::__private::ops::poison::{self, Poison};
use onnx_embed::{Device, Error, Port, Signature, ValueType, Values};
use onnx_embed_ir::dtype::DType;

use crate::compare::{Tolerance, agree, equal};
use crate::coverage::{Used, used};
use crate::message;
use crate::{bodies, bounds};

/// A case of one of the parts.
pub enum Case {
    Compiled {
        name: &'static str,
        folder: &'static Path,
        signature: Signature,
        run: Run,
        /// The model without simplification, if its code differs.
        unsimplified: Option<Run>,
        /// The async version, if the code reads values from the device.
        waiting: Option<Run>,
    },
    Refused {
        name: &'static str,
        problem: &'static str,
    },
}

/// Duration above which a run is not repeated with another pattern in blank memory.
const SHORT: Duration = Duration::from_secs(5);

type Run = fn(&Device, Values) -> Result<Values, Error>;

/// Origin of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A node case of the `onnx` package.
    Upstream,
    /// Another model of the `onnx` package.
    Package,
    /// A case of this project.
    Own,
}

/// Outcome of a case.
pub struct Outcome {
    pub name: String,
    pub origin: Origin,
    /// Operators and versions in the model.
    pub operators: Vec<Used>,
    /// Element types of its inputs and outputs.
    pub types: Vec<DType>,
    /// `true` if the model also ran without simplification.
    pub simplified: bool,
    /// Events of its operators.
    pub events: BTreeSet<Event>,
    pub result: Result<(), String>,
}

/// Returns all cases that were built.
pub fn all() -> Vec<Case> {
    macro_rules! cases {
        ($($part:ident)*) => {{
            let mut all = Vec::new();
            $(
                for &(name, folder, signature, run, unsimplified, waiting) in $part::CASES {
                    all.push(Case::Compiled {
                        name,
                        folder: Path::new(folder),
                        signature,
                        run,
                        unsimplified,
                        waiting,
                    });
                }
                for &(name, problem) in $part::REFUSED {
                    all.push(Case::Refused { name, problem });
                }
            )*
            all
        }};
    }
    cases!(
        onnx_embed_conformance_part1
        onnx_embed_conformance_part2
        onnx_embed_conformance_part3
        onnx_embed_conformance_part4
        onnx_embed_conformance_part5
        onnx_embed_conformance_part6
        onnx_embed_conformance_part7
        onnx_embed_conformance_part8
        onnx_embed_conformance_part9
        onnx_embed_conformance_part10
        onnx_embed_conformance_part11
        onnx_embed_conformance_part12
        onnx_embed_conformance_part13
        onnx_embed_conformance_part14
        onnx_embed_conformance_part15
        onnx_embed_conformance_part16
    )
}

impl Case {
    pub fn name(&self) -> &'static str {
        match self {
            Case::Compiled { name, .. } | Case::Refused { name, .. } => name,
        }
    }

    pub fn origin(&self) -> Origin {
        match self.name() {
            name if name.starts_with("own_") => Origin::Own,
            name if name.starts_with("package_") => Origin::Package,
            _ => Origin::Upstream,
        }
    }

    /// Returns the operators of the model, and the element types of its inputs and outputs.
    pub fn contents(&self) -> (Vec<Used>, Vec<DType>) {
        match self {
            Case::Compiled { folder, .. } => used(&folder.join("model.onnx")),
            Case::Refused { .. } => (Vec::new(), Vec::new()),
        }
    }

    /// Calls the model simplified, without simplification and without blocking, and compares the outputs. Fails at
    /// the first difference.
    ///
    /// On a CPU each form runs twice, with two patterns in blank memory (`kernels/src/flex/memory/poison.rs`): the
    /// results must have the same bits. Whole networks, which take seconds, run once.
    pub fn run(&self, device: &Device) -> Result<(), String> {
        match *self {
            Case::Refused { problem, .. } => Err(problem.to_owned()),
            Case::Compiled { name, folder, signature, run, unsimplified, waiting } => {
                let call = |run| call(device, name, folder, signature, run);
                let (result, events) = bodies::during(|| call(run));
                result?;
                match waiting {
                    Some(waiting) => {
                        let (result, events) = bodies::during(|| call(waiting));
                        result.map_err(|problem| format!("while it waits: {problem}"))?;
                        blocks(&events, "`run_async`")?;
                    }
                    None => blocks(&events, "a model without functions that wait")?,
                }
                unsimplified
                    .map_or(Ok(()), call)
                    .map_err(|problem| format!("without simplification: {problem}"))
            }
        }
    }

    /// Returns `true` if the model also runs without simplification.
    pub fn is_simplified(&self) -> bool {
        matches!(self, Case::Compiled { unsimplified: Some(_), .. })
    }
}

/// Fails if reading values has blocked, which browsers do not allow.
fn blocks(events: &BTreeSet<Event>, what: &str) -> Result<(), String> {
    if events.contains(&Event::Read) {
        return Err(format!("{what} blocks for values of the device"));
    }
    Ok(())
}

fn call(device: &Device, name: &str, folder: &Path, signature: Signature, run: Run) -> Result<(), String> {
    let inputs = read(folder, "input", signature.inputs)?;
    let under = |poison| {
        let found = poison::with(poison, || run(device, inputs.clone()));
        found.map_err(|error| format!("refuses its inputs: {error}"))
    };
    let start = Instant::now();
    let found = under(Poison::NotANumber)?;
    let is_short = start.elapsed() < SHORT;
    let expected = read(folder, "output", signature.outputs)?;
    if let Some(law) = bounds::law(name) {
        return law(&inputs, &found, &expected);
    }
    if poison::IS_ON && is_short && *device == Device::flex() {
        let again = under(Poison::Large)?;
        for port in signature.outputs {
            equal(&again[port.name], &found[port.name])
                .map_err(|problem| format!("output `{}` depends on blank memory: {problem}", port.name))?;
        }
    }
    let tolerance = Tolerance::of(name, folder, device);
    for port in signature.outputs {
        agree(&found[port.name], &expected[port.name], tolerance)
            .map_err(|problem| format!("output `{}`: {problem}", port.name))?;
    }
    Ok(())
}

/// Reads the recorded values of the ports.
fn read(folder: &Path, what: &str, ports: &[Port]) -> Result<Values, String> {
    let mut values = Values::new();
    for (at, port) in ports.iter().enumerate() {
        let path: PathBuf = folder.join(format!("{what}_{at}.pb"));
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let kind: &ValueType = &port.kind;
        let value =
            message::value(&bytes, kind).map_err(|problem| format!("{what} `{}`: {problem}", port.name))?;
        values.insert(port.name, value);
    }
    Ok(values)
}
