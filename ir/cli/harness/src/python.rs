//! Calls of Python.

use std::path::Path;
use std::process::Command;

/// Returns a command that runs Python in isolated mode: it imports nothing from the current folder, the folder of a
/// script or `PYTHONPATH`, where a file that came with a model could replace a package.
pub fn isolated(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("-I");
    command
}
