//! Recorded runs.
//!
//! A run is a line of JSON, then inputs and outputs in the format of the runner's `wire.rs`.

use std::io::{self, BufRead, Read};

use onnx_embed::Values;
use onnx_embed_runner::wire::decode;
use serde_json::Value as Json;

/// Inputs of a model and the results of the references.
pub struct Run {
    pub model: String,
    /// Shapes of the inputs, for messages.
    pub label: String,
    pub inputs: Values,
    /// `None` if the references refuse the inputs.
    pub expected: Option<Values>,
    /// `true` if an error is right.
    pub may_fail: bool,
}

impl Run {
    /// Returns the next run, or `None` at the end.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let head: Json = serde_json::from_str(&line)?;
        let text = |key: &str| head[key].as_str().unwrap_or_default().to_owned();
        let inputs = match head["inputs"].as_u64() {
            Some(length) => values(from, length)?,
            None => return Err(broken()),
        };
        let expected = match head["expected"].as_u64() {
            Some(length) => Some(values(from, length)?),
            None => None,
        };
        let may_fail = head["may_fail"].as_bool().ok_or_else(broken)?;
        let (model, label) = (text("model"), text("label"));
        Ok(Some(Run { model, label, inputs, expected, may_fail }))
    }
}

fn values(from: &mut impl Read, length: u64) -> io::Result<Values> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    decode(&bytes).ok_or_else(broken)
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a recorded run")
}
