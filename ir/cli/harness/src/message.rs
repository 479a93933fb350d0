//! Messages between `cargo onnx-embed` and the programs that it builds, as JSON.
//!
//! `cargo-onnx-embed` and `onnx-embed-runner` have the same file, which a test compares: neither can depend on the
//! other. Every field must be present, so that a missing count is not read as 0.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

/// A request to a program, passed as its argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Counts the devices of a name; the reply is [`Devices`].
    Devices { device: String },
    /// Loads and runs a model; the reply is [`Timed`].
    Run {
        run: Run,
        /// File that the outputs are written to, if any.
        outputs: Option<PathBuf>,
        /// Number of seconds during which the model runs again.
        seconds: Option<f64>,
    },
    /// Measures each node; the reply is [`Profiled`].
    Profile { run: Run, seconds: f64 },
    /// Writes every value of a run to `outputs`; the reply is [`Traced`].
    Trace { run: Run, outputs: PathBuf },
    /// Runs a model with the weights of other files, each a list of paths; the reply is [`Reloaded`].
    Reload {
        run: Run,
        /// Weight storage of the compiled model: `file` or `embed`.
        weights: String,
        /// Path of the outputs, to which `.` and the number of the file are appended.
        outputs: PathBuf,
        files: Vec<Vec<PathBuf>>,
    },
}

/// A model of a program, and the device that it runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub model: String,
    pub device: String,
    /// File that contains the inputs.
    pub inputs: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Devices {
    pub devices: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    pub load_ms: f64,
    pub first_ms: f64,
    /// Milliseconds of later runs: of all, or of a sample if there are many.
    pub times_ms: Vec<f64>,
    /// Number of later runs.
    pub runs: usize,
    /// Peak resident memory in bytes, if the system reports it.
    #[serde(deserialize_with = "present")]
    pub peak_bytes: Option<u64>,
    /// Number of launches of each kernel on the device in the last run.
    pub kernels: BTreeMap<String, u64>,
    /// Number of values that the last run read back from the device.
    pub reads: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiled {
    pub nodes: Vec<NodeTime>,
    pub runs: usize,
    /// Mean duration of a run, in milliseconds.
    pub ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeTime {
    pub node: String,
    pub operator: String,
    pub values: Vec<ValueShape>,
    /// Milliseconds per run, for all executions of the node.
    pub ms: f64,
    /// Number of executions per run.
    pub count: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueShape {
    pub name: String,
    /// `None` if the value is not a tensor.
    #[serde(deserialize_with = "present")]
    pub shape: Option<Vec<usize>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traced {
    /// Values in the order in which they were computed.
    pub values: Vec<TracedValue>,
    /// Reason why the run ended before its last node, if it did.
    #[serde(deserialize_with = "present")]
    pub problem: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedValue {
    pub name: String,
    pub node: String,
    pub operator: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reloaded {
    /// One result for each list of files.
    pub results: Vec<ReloadResult>,
}

/// Results of a model with the weights of other files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReloadResult {
    /// The model ran, and its outputs were written.
    Ran,
    /// The files were not loaded because of a weight whose value the code depends on.
    WeightDiffers(String),
    /// The files were not loaded for another reason.
    Refused(String),
    /// The model was loaded, and running it failed.
    Died(String),
}

/// Deserializes an option whose field must be present: serde reads a missing field as `None`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_missing_is_an_error() {
        let whole = r#"{"load_ms":1.0,"first_ms":1.0,"times_ms":[],"runs":0,"peak_bytes":null,"kernels":{},"reads":0}"#;
        assert!(serde_json::from_str::<Timed>(whole).is_ok());
        for field in ["load_ms", "first_ms", "times_ms", "runs", "peak_bytes", "kernels", "reads"] {
            let cut = whole.replace(field, "else");
            assert!(serde_json::from_str::<Timed>(&cut).is_err(), "{cut}");
        }
        assert!(serde_json::from_str::<Traced>(r#"{"values":[]}"#).is_err());
        assert!(serde_json::from_str::<Reloaded>("{}").is_err());
        assert!(serde_json::from_str::<Devices>("{}").is_err());
    }

    #[test]
    fn requests_come_as_they_go() {
        let run = Run { model: "m".to_owned(), device: "flex".to_owned(), inputs: "in".into() };
        let requests = [
            Request::Devices { device: "wgpu".to_owned() },
            Request::Run { run: run.clone(), outputs: None, seconds: Some(1.5) },
            Request::Profile { run: run.clone(), seconds: 2.0 },
            Request::Trace { run: run.clone(), outputs: "out".into() },
            Request::Reload {
                run,
                weights: "file".to_owned(),
                outputs: "out".into(),
                files: vec![vec!["a".into(), "b".into()]],
            },
        ];
        for request in requests {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
    }
}
