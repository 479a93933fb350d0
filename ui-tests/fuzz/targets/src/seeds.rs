//! Files from which fuzzers start.

use std::fs;
use std::path::{Path, PathBuf};

use onnx_embed_ir::passes::rules;
use onnx_embed_ir::text;
use prost::Message;

/// Longer files are left out: fuzzers change bytes at random, and few of them would be in the structure.
const LONGEST: u64 = 64 << 10;
/// Archives with models of one operator.
const ARCHIVES: [&str; 2] = ["upstream.tar.xz", "package.tar.xz"];

/// Returns the files from which a target starts, with names. There are none for targets whose bytes are choices.
///
/// # Panics
/// If a file cannot be read.
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let each = |folder: &Path, ending: &str| -> Vec<(String, Vec<u8>)> {
        let read = |path: PathBuf| {
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('/', "_");
            (name, fs::read(path).expect("the file exists"))
        };
        files(folder, ending).into_iter().map(read).collect()
    };
    match target {
        "bytes" => {
            let mut seeds = each(&checkout.join("ui-tests/models"), "onnx");
            seeds.extend(texts().map(|(name, text)| {
                let model = text::model(&text).expect("the example of a rule is a model");
                (name, model.encode_to_vec())
            }));
            let cases = tempfile::tempdir().expect("a temporary folder can be written");
            for archive in ARCHIVES {
                let archive = checkout.join("ui-tests/conformance").join(archive);
                onnx_embed_conformance_archive::unpack(&archive, cases.path(), &|_| true);
            }
            seeds.extend(each(cases.path(), "onnx"));
            seeds
        }
        "jpeg" => each(&checkout.join("runtime/jpeg/samples"), "jpg"),
        "npz" => each(&checkout.join("ui-tests/models"), "npz"),
        "text" => texts().map(|(name, text)| (name, text.into_bytes())).collect(),
        _ => Vec::new(),
    }
}

/// Writes the files from which a target starts into a folder.
///
/// # Panics
/// If a file cannot be read or written.
pub fn write(target: &str, folder: &Path) {
    fs::create_dir_all(folder).expect("the folder can be written");
    for (name, bytes) in of(target) {
        fs::write(folder.join(name), bytes).expect("the folder can be written");
    }
}

/// Returns the examples of all rules as models.
fn texts() -> impl Iterator<Item = (String, String)> {
    rules::all().map(|rule| {
        let text = format!("<ir_version: 10, opset_import: [\"\": 25]> g {}", rule.example);
        (rule.name.replace(' ', "_"), text)
    })
}

/// Returns the short files below a folder whose names have an ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata());
        match metadata {
            Ok(metadata) if metadata.is_dir() => paths.extend(files(&path, ending)),
            Ok(metadata)
                if metadata.len() <= LONGEST && path.extension().is_some_and(|found| found == ending) =>
            {
                paths.push(path);
            }
            _ => {}
        }
    }
    paths.sort();
    paths
}
