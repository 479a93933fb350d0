//! Rounding errors that ONNX Runtime itself amplifies.
//!
//! A network that quantizes or compares activations turns a rounding error into a step. If both results of ONNX Runtime
//! differ from ours, it runs again with weights and inputs in which each float is changed by at most 2⁻²² of itself,
//! about the error of a sum of a few terms. An output is unstable if it is at most twice as far from ONNX Runtime's
//! result as the new results are. It is also unstable if it is at most twice as far from the result in double precision
//! as ONNX Runtime's result is. Otherwise it is wrong.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::answer_by_onnx_runtime;
use super::plan::{Change, ChangePlan};
use crate::comparison::{compare, is_within};
use crate::npz::{Expected, Recording};
use crate::value::Values;

/// Arguments for runs of ONNX Runtime with other roundings.
pub struct Noise<'p> {
    pub plan: &'p ChangePlan,
    pub python: &'p Path,
    pub recording: &'p Path,
}

/// Number of runs with other roundings, with optimizations and without them each.
const TIMES: u64 = 4;

impl Noise<'_> {
    /// Returns ONNX Runtime's results for a changed file that it runs: with other roundings, and without optimizations.
    pub fn answers(&self, change: &Change) -> Result<Vec<Recording>> {
        let folder = change.folder.join("noise");
        if !folder.exists() {
            let mut folders = Vec::new();
            for number in 0..TIMES {
                let folder = folder.join(number.to_string());
                self.plan.write_noise(change, number, &folder)?;
                folders.push(folder);
            }
            let folders = folders.iter().map(|folder| folder.as_path());
            answer_by_onnx_runtime(self.python, self.recording, &["--noise"], folders)?;
        }
        let mut answers = vec![Recording::open(&change.folder.join("plain.npz"))?];
        for number in fs::read_dir(&folder)? {
            for name in ["io.npz", "plain.npz"] {
                let path = number.as_ref().map(|number| number.path().join(name));
                // A file that ONNX Runtime does not run has no results.
                if let Ok(path) = path
                    && path.is_file()
                {
                    answers.push(Recording::open(&path)?);
                }
            }
        }
        Ok(answers)
    }

    /// Returns the outputs for a changed file in double precision, or no values if they cannot be evaluated.
    pub fn exact(&self, change: &Change) -> Result<Values> {
        let path = change.folder.join("exact.npz");
        if !path.is_file() {
            let folder = std::iter::once(change.folder.as_path());
            answer_by_onnx_runtime(self.python, self.recording, &["--exact"], folder)?;
        }
        if path.is_file() { Ok(Recording::open(&path)?.exact) } else { Ok(Values::new()) }
    }
}

/// Returns `true` if each output is the expected one, or differs from it about as much as the other results do.
pub fn is_noise(found: &Values, expected: &Recording, answers: &[Recording], tolerance: f64) -> bool {
    found.len() == expected.outputs.len()
        && expected.outputs.iter().all(|(name, expected)| {
            let Some((_, found)) = found.iter().find(|(output, _)| output == name) else {
                return false;
            };
            let others = answers.iter().filter_map(|answer| {
                let mut outputs = answer.outputs.iter();
                outputs.find_map(|(output, other)| (output == name).then_some(other))
            });
            let others: Vec<&Expected> = others.collect();
            compare(found, expected, tolerance).problem.is_none() || is_within(found, expected, &others)
        })
}

#[cfg(test)]
mod tests {
    use onnx_embed_ir::dtype::DType;

    use super::*;
    use crate::value::{Tensor, Value};

    fn values(outputs: &[(&str, f32)]) -> Values {
        let value = |number: f32| {
            Value::Tensor(Tensor {
                dtype: DType::F32,
                shape: Vec::new(),
                bytes: number.to_le_bytes().to_vec(),
            })
        };
        let outputs = outputs.iter();
        outputs.map(|(name, number)| ((*name).to_owned(), value(*number))).collect()
    }

    fn recording(outputs: &[(&str, f32)]) -> Recording {
        let outputs = values(outputs).into_iter();
        Recording {
            outputs: outputs.map(|(name, value)| (name, Expected::Value(value))).collect(),
            ..Recording::default()
        }
    }

    #[test]
    fn each_output_must_differ_as_the_other_answers_do() {
        let expected = recording(&[("x", 1.0), ("y", 10.0)]);
        let answers = [recording(&[("x", 1.0), ("y", 10.5)]), recording(&[("x", 1.0), ("y", 11.0)])];
        let is_noise = |outputs: &[(&str, f32)]| is_noise(&values(outputs), &expected, &answers, 1e-4);
        assert!(is_noise(&[("x", 1.0), ("y", 12.0)]));
        assert!(!is_noise(&[("x", 1.0), ("y", 12.1)]));
        assert!(!is_noise(&[("x", 1.1), ("y", 10.0)]));
        assert!(!is_noise(&[("x", 1.0)]));
        assert!(!is_noise(&[("x", 1.0), ("z", 10.0)]));
    }

    #[test]
    fn without_answers_a_difference_is_wrong() {
        let expected = recording(&[("y", 10.0)]);
        assert!(!is_noise(&values(&[("y", 11.0)]), &expected, &[], 1e-4));
        assert!(is_noise(&values(&[("y", 10.0)]), &expected, &[], 1e-4));
    }
}
