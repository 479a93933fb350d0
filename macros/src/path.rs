//! Where the model file is.

use std::path::{Path, PathBuf};

use proc_macro2::Span;

/// The file that a literal names: beside the calling file, else in the package's folder.
pub fn resolve(written: &str, literal: Span) -> Result<PathBuf, String> {
    let path = Path::new(written);
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let caller = literal.unwrap().local_file();
    let beside = caller.as_deref().and_then(Path::parent).map(absolute);
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let folders: Vec<PathBuf> = beside.into_iter().chain(package).collect();
    let candidates = folders.iter().map(|folder| folder.join(path));
    match candidates.clone().find(|file| file.is_file()) {
        Some(file) => Ok(file),
        // The compiler's own message for the first place looked at names files beside it.
        None => candidates.into_iter().next().ok_or_else(|| {
            format!("`{written}` cannot be found: write an absolute path where Cargo is not used")
        }),
    }
}

/// rustc is started in the workspace's folder, to which it gives paths of files.
fn absolute(folder: &Path) -> PathBuf {
    std::env::current_dir().map_or_else(|_| folder.to_owned(), |here| here.join(folder))
}
