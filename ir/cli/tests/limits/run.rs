//! Actions of the test, selected by environment variables.

#[path = "files.rs"]
mod files;
#[path = "flows.rs"]
mod flows;
#[path = "growth.rs"]
mod growth;
#[path = "measure.rs"]
mod measure;
#[path = "parts.rs"]
mod parts;
#[path = "said.rs"]
mod said;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use measure::{Measured, measure};

/// CPU seconds that a file may take; ten times as many without optimization.
const SECONDS: f64 = if cfg!(debug_assertions) { 20.0 } else { 2.0 };
/// Bytes of memory that a file may take in addition to ten times its length.
const SPARE: usize = 64 << 20;

pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, command, file] = arguments.as_slice()
        && flag == measure::FLAG
    {
        return measure::alone(command, Path::new(file));
    }
    let variable = |name: &str| std::env::var(name).ok();
    if let Some(sizes) = variable("GROWTH") {
        growth::print(&sizes);
        return ExitCode::SUCCESS;
    }
    let folder = match variable("FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limits");
            files::write(&folder);
            folder
        }
    };
    let mut files = Vec::new();
    find(&folder, &mut files);
    files.sort();
    let mut beyond = 0;
    for file in &files {
        for command in ["expand", "inspect"] {
            let complaints = complaints(command, file);
            beyond += usize::from(!complaints.is_empty());
            for complaint in complaints {
                println!("{command} {}: {complaint}", file.display());
            }
        }
    }
    println!("{} files, {beyond} times beyond the limits", files.len());
    if beyond == 0 && !files.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the problems of a run: an abnormal end, too much time, too much memory.
fn complaints(command: &str, file: &Path) -> Vec<String> {
    let Measured { seconds, bytes, end } = measure(command, file);
    let length = file.metadata().map_or(0, |facts| facts.len());
    let allowed = usize::try_from(length).unwrap_or(0) * 10 + SPARE;
    let mut complaints = Vec::new();
    if let Some(end) = end {
        complaints.push(end);
    }
    if seconds > SECONDS {
        complaints.push(format!("takes {seconds:.1} s"));
    }
    if bytes > allowed {
        let (bytes, allowed) = (bytes >> 20, allowed >> 20);
        complaints.push(format!("takes {bytes} MB, {allowed} are allowed"));
    }
    complaints
}

/// Adds the models in a folder and its subfolders.
fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|ty| ty.is_dir());
        if is_folder {
            find(&path, files);
        } else if path.extension().is_some_and(|end| end == "onnx") {
            files.push(path);
        }
    }
}
