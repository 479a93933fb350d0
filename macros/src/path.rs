//! Where the model file is.

use std::path::{Path, PathBuf};

use onnx_embed_ir::diagnostics::Problem;
use onnx_embed_ir::files::no_file;
use proc_macro2::Span;

/// The file that a literal names: beside the calling file, else in the package's folder.
pub fn resolve(written: &str, literal: Span) -> Result<PathBuf, Problem> {
    let path = Path::new(written);
    let caller = literal.unwrap().local_file();
    let beside = caller.as_deref().and_then(Path::parent).map(absolute);
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let mut candidates: Vec<PathBuf> = beside.into_iter().chain(package).collect();
    for folder in &mut candidates {
        // An absolute path takes the folder's place.
        folder.push(path);
    }
    if path.is_absolute() {
        candidates = vec![path.to_owned()];
    }
    candidates.dedup();
    let found = candidates.iter().find(|file| file.is_file()).cloned();
    found.ok_or_else(|| no_file(&candidates))
}

/// rustc is started in the workspace's folder, to which it gives paths of files.
fn absolute(folder: &Path) -> PathBuf {
    std::env::current_dir().map_or_else(|_| folder.to_owned(), |here| here.join(folder))
}
