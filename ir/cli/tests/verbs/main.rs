//! Commands as users call them: their output and exit codes.

mod adapt;
mod diff;
mod doctor;
mod expand;
mod inspect;
mod isolated;
mod new;
mod operators;
mod resave;
mod sbom;
mod view;

use std::path::{Path, PathBuf};
use std::process::Command;

use onnx_embed_ir::text;
use prost::Message;

/// A small model that compiles.
pub const RELU: &str = r#"<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (float[2] y) { y = Relu (x) }"#;
/// A model with an unknown operator.
pub const TWIST: &str = r#"<ir_version: 8, opset_import: ["": 17, "acme": 1], producer_name: "hand">
    main (float[N, 2] x) => (float[N, 2] y) <float[2] b = {1, 2}> {
        sum = Add (x, b)
        y = acme.Twist (sum)
    }"#;

/// Output and exit code of a command.
pub struct Answer {
    pub out: String,
    pub err: String,
    pub code: i32,
}

/// Runs `cargo onnx-embed` in the root folder of the repository.
pub fn run(arguments: &[&str]) -> Answer {
    run_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), arguments)
}

/// Runs `cargo onnx-embed` in a folder.
pub fn run_in(folder: &Path, arguments: &[&str]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-onnx-embed"));
    command.arg("onnx-embed").args(arguments);
    command.current_dir(folder);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer { out: text(output.stdout), err: text(output.stderr), code: output.status.code().unwrap() }
}

/// Creates an empty folder for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verbs").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a model, given in ONNX's text syntax, to a file.
pub fn model(folder: &Path, name: &str, source: &str) -> PathBuf {
    let path = folder.join(name);
    let model = text::model(source).unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(&path, model.encode_to_vec()).unwrap();
    path
}

/// Runs a command on a model, whose path is `m.onnx` in the output.
pub fn on(test: &str, source: &str, verb: &[&str]) -> Answer {
    let path = model(&folder(test), "m.onnx", source);
    let path = path.to_str().unwrap();
    let answer = run(&[verb, &[path]].concat());
    Answer { out: answer.out.replace(path, "m.onnx"), err: answer.err.replace(path, "m.onnx"), ..answer }
}
