//! The smallest graphs that still differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use onnx_embed_property_graphs::write_smaller;

/// A graph comes to rest after a few iterations.
const ITERATIONS: usize = 12;

/// For each graph the smallest that can be made of it and differs too.
pub fn all(paths: &[&Path]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failing");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("cargo's folder can be written");
    // Building others takes away those that were built.
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
        // Cargo builds anew where a variable changes.
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

/// The first of the graphs in a folder that differs, by building and running all of them.
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
