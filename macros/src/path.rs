//! Lookup of the model file.

use std::path::{Path, PathBuf};

use onnx_embed_ir::diagnostics::Problem;
use onnx_embed_ir::files::no_file;
use onnx_embed_ir::files::variables::expanded;
use proc_macro2::Span;

/// Returns the file that a literal names, in the folder of the calling file or else in the folder of the package.
pub fn resolve(written: &str, literal: Span) -> Result<PathBuf, Problem> {
    let path = expanded(written, |name| std::env::var(name).ok())?;
    let path = Path::new(&path);
    let caller = literal.unwrap().local_file();
    let beside = caller.as_deref().and_then(Path::parent).map(absolute);
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let mut candidates: Vec<PathBuf> = beside.into_iter().chain(package).collect();
    for folder in &mut candidates {
        // An absolute path replaces the folder.
        folder.push(path);
    }
    if path.is_absolute() {
        candidates = vec![path.to_owned()];
    }
    candidates.dedup();
    let found = candidates.iter().find(|file| file.is_file()).cloned();
    found.ok_or_else(|| no_file(&candidates))
}

/// Returns a name of a model's file that is the same wherever the package is: its version, and the path in its folder or
/// in that of its build script.
pub fn origin(file: &Path) -> String {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let words = ["CARGO_PKG_NAME", "CARGO_PKG_VERSION"].map(|name| std::env::var(name).unwrap_or_default());
    let folders = ["OUT_DIR", "CARGO_MANIFEST_DIR"];
    let inside = folders.iter().find_map(|name| {
        let path = file.strip_prefix(variable(name)?).ok()?;
        Some(format!("{name} {}", path.display()))
    });
    let inside = inside.unwrap_or_else(|| file.display().to_string());
    format!("{} {inside}", words.join(" "))
}

/// Returns an absolute path: rustc runs in the folder of the workspace, and its paths of files are relative to it.
fn absolute(folder: &Path) -> PathBuf {
    std::env::current_dir().map_or_else(|_| folder.to_owned(), |here| here.join(folder))
}
