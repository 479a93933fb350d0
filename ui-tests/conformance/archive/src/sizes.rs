//! Models with dynamic sizes as Rust modules, for `ui-tests/sizes`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_embed_ir::options::Options;

use crate::compile;
use crate::unpack::unpack;

/// Archive of the models and their recorded runs.
const ARCHIVE: &str = "sizes.tar.xz";

/// Writes `models.rs` into `OUT_DIR`, with a module for each subfolder of `sizes.tar.xz` or of the folder
/// `SIZES_FROM`. A subfolder contains a file `runs` and several forms of one model; the first form that compiles is
/// used.
///
/// # Panics
///
/// If the archive or a folder cannot be read, which stops the build.
pub fn write() {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let manifest = variable("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let out = variable("OUT_DIR").expect("cargo sets it");
    println!("cargo::rerun-if-env-changed=SIZES_FROM");
    println!("cargo::rerun-if-env-changed=CLIPPY_ARGS");
    // Expansions allow every lint, so linting them finds nothing and only takes time.
    let linting = std::env::var_os("CLIPPY_ARGS").is_some();
    let (folder, names) = match variable("SIZES_FROM") {
        _ if linting => (out.join("models"), BTreeSet::new()),
        Some(folder) => {
            println!("cargo::rerun-if-changed={}", folder.display());
            let names = subfolders(&folder);
            (folder, names)
        }
        None => {
            let archive = manifest.join(ARCHIVE);
            println!("cargo::rerun-if-changed={}", archive.display());
            let folder = out.join("models");
            let _ = fs::remove_dir_all(&folder);
            let names = unpack(&archive, &folder, &|_| true);
            (folder, names)
        }
    };
    let code = code(&folder, &names);
    fs::write(out.join("models.rs"), code).expect("cargo's folder can be written");
}

fn subfolders(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("SIZES_FROM is a folder");
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let names = folders.map(|entry| entry.file_name().into_string());
    names.map(|name| name.expect("names are UTF-8")).collect()
}

/// Returns the model files of a subfolder, sorted by name.
fn forms(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a model has a folder");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "onnx"));
    paths.sort();
    paths
}

fn code(folder: &Path, names: &BTreeSet<String>) -> String {
    let (mut modules, mut models, mut refused) = (String::new(), String::new(), String::new());
    for name in names {
        let folder = folder.join(name);
        let runs = folder.join("runs");
        let mut problem = "has no file of a model".to_owned();
        let compiles = |path: &PathBuf| match compile(path, &Options::default()) {
            Ok(_) => true,
            Err(text) => {
                problem = text;
                false
            }
        };
        match forms(&folder).into_iter().find(compiles) {
            Some(path) => {
                writeln!(modules, "mod {name} {{ onnx_embed::onnx_model!({path:?}); }}").unwrap();
                writeln!(
                    models,
                    "Model {{ name: {name:?}, path: {path:?}, runs: {runs:?}, \
                     load: |device| Box::new({name}::Model::new(device)) }},"
                )
                .unwrap();
            }
            None => writeln!(refused, "({name:?}, {problem:?}),").unwrap(),
        }
    }
    format!(
        "use onnx_embed::{{Device, DynModel}};\n\n{modules}\n\
         pub struct Model {{\n\
         pub name: &'static str,\n\
         pub path: &'static str,\n\
         /// The file of recorded runs.\n\
         pub runs: &'static str,\n\
         pub load: fn(&Device) -> Box<dyn DynModel>,\n\
         }}\n\n\
         pub const MODELS: &[Model] = &[\n{models}];\n\n\
         /// Models that the compiler refuses, each with the reason.\n\
         pub const REFUSED: &[(&str, &str)] = &[\n{refused}];\n"
    )
}
