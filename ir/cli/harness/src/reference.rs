//! ONNX Runtime, called through Python.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::value::Values;
use crate::{private, python, wire};

const SCRIPT: &str = include_str!("reference.py");
/// Exit code of the script if a package is missing.
const NO_PACKAGE: i32 = 3;

/// Runs a model on inputs. Writes these to an npz file at `output`, with the outputs or with every value of the graph.
pub fn run(python: &Path, model: &Path, inputs: &Values, output: &Path, everything: bool) -> Result<()> {
    let folder = private::folder()?;
    let file = folder.path().join("inputs");
    wire::write(&file, inputs)?;
    let mut command = python::isolated(python);
    // The script is passed on standard input: an argument would appear in every list of processes.
    command.arg("-").arg(model).arg(&file).arg(output);
    if everything {
        command.arg("--all");
    }
    speak(command, python, everything)
}

fn speak(mut command: Command, python: &Path, everything: bool) -> Result<()> {
    let packages = if everything { "onnx onnxruntime numpy" } else { "onnxruntime numpy" };
    let install = || {
        format!(
            "run `pip install {packages}` in a virtual environment, and select its Python with `--python PROGRAM` \
             (packages of `pip install --user` are ignored)"
        )
    };
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot run `{}`; {}", python.display(), install()))?;
    if let Some(mut stdin) = child.stdin.take() {
        std::io::Write::write_all(&mut stdin, SCRIPT.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().map(str::trim).rev();
    let last = lines.clone().find(|line| !line.is_empty()).unwrap_or("no error message");
    match output.status.code() {
        Some(NO_PACKAGE) => bail!("{last}; {}", install()),
        _ => bail!("ONNX Runtime: {last}"),
    }
}
