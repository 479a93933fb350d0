//! Results in double precision, for models that amplify rounding errors.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::npz::Recording;
use crate::python::isolated;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../ui-tests/models/exact.py");

/// Returns the recording with `exact/NAME` for its outputs. `file` is a temporary file.
pub fn in_double_precision(python: &Path, recording: &Path, file: &Path) -> Result<Recording> {
    if !Path::new(SCRIPT).is_file() {
        bail!("cannot find `{SCRIPT}`; build the command in a checkout of the repository");
    }
    let mut command = isolated(python);
    command.arg(SCRIPT).arg("--into").arg(file).arg(recording);
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run `{}`", python.display()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let text = text.trim().lines().next_back().unwrap_or("no error message");
        bail!("{text}");
    }
    let exact = Recording::open(file);
    let _ = std::fs::remove_file(file);
    exact
}
