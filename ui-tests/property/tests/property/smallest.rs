//! The smallest graphs that still differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use onnx_embed_property_graphs::write_smaller;

/// Maximum number of iterations. A graph stops shrinking after a few.
const ITERATIONS: usize = 12;

/// Returns for each graph the smallest graph derived from it that also differs.
pub fn all(paths: &[&Path]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failing");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("cargo's folder can be written");
    // Building other graphs removes the current ones.
    let copies = paths.iter().map(|path| {
        let copy = folder.join(path.file_name().unwrap_or_default());
        fs::copy(path, &copy).expect("cargo's folder can be written");
        copy
    });
    let copies: Vec<PathBuf> = copies.collect();
    copies.into_iter().map(|path| smallest(path, &folder)).collect()
}

fn smallest(path: PathBuf, folder: &Path) -> PathBuf {
    for iteration in 0..ITERATIONS {
        // The folder has a new name in each iteration, since Cargo builds again if a variable changes.
        let name = path.file_stem().unwrap_or_default().display();
        let smaller = folder.join(format!("{name}-{iteration}"));
        let candidates = write_smaller(&path, &smaller);
        let Some(first) = failing(&candidates, &smaller) else {
            break;
        };
        fs::copy(first, &path).expect("cargo's folder can be written");
    }
    path
}

/// Builds and runs all graphs in a folder, and returns the first that differs.
fn failing<'a>(candidates: &'a [PathBuf], folder: &Path) -> Option<&'a PathBuf> {
    let tested = Command::new(env!("CARGO"))
        .args(["test", "-p", "onnx-embed-property"])
        .env("GRAPHS_FROM", folder)
        .output()
        .expect("cargo is there");
    let report = String::from_utf8_lossy(&tested.stdout);
    let named = report.lines().filter_map(|line| line.strip_prefix("FAILED "));
    let named = named.filter_map(|line| Path::new(line.split(':').next()?).file_name());
    let first = named.min()?;
    candidates.iter().find(|path| path.file_name() == Some(first))
}
