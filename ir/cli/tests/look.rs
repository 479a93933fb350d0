//! Verbs that look inside of a model that runs, as people call them.
//!
//! Programs are built in the target folder of the workspace, one after the other. What needs ONNX Runtime asks the
//! Python that the variable `PYTHON` names, and is skipped where that lacks it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MNIST: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/mnist/mnist.onnx"
);

fn call(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-onnx-embed"));
    command.args(words).output().unwrap()
}

/// What a call prints, on both its outputs.
fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// A folder of this test with the digit classifier in it.
fn folder(name: &str) -> PathBuf {
    let name = format!("onnx-embed-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(MNIST, folder.join("mnist.onnx")).unwrap();
    folder
}

/// The Python that has ONNX Runtime.
fn python() -> Option<String> {
    let program = std::env::var("PYTHON").unwrap_or("python3".to_owned());
    let asked = Command::new(&program)
        .args(["-c", "import onnx, onnxruntime"])
        .output();
    let found = asked.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} has no ONNX Runtime");
    }
    found.then_some(program)
}

/// Which node takes the time, what a setting changes, and where a model goes wrong.
#[test]
fn the_values_and_times_of_a_model_are_seen() {
    let folder = folder("look");
    let flame = folder.join("flame.svg");
    let model = folder.join("mnist.onnx");
    let (model, flame) = (model.to_str().unwrap(), flame.to_str().unwrap());
    times_of_nodes(model, flame);
    settings_are_compared(model);
    a_wrong_recording_is_found(&folder, model);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn times_of_nodes(model: &str, flame: &str) {
    let seconds = ["--seconds", "0.01", "--debug", "--dim", "batch=2"];
    let words = [
        &["bench", model, "--layers", "--flame", flame],
        &seconds[..],
    ]
    .concat();
    let output = call(&words);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    let convolution = text
        .lines()
        .find(|line| line.contains("/conv2/Conv"))
        .unwrap();
    assert!(
        convolution.contains("[2, 8, 14, 14] x [16, 8, 3, 3]"),
        "{text}"
    );
    assert!(text.contains("7 nodes in "), "{text}");
    let picture = std::fs::read_to_string(flame).unwrap();
    assert!(
        picture.starts_with("<svg") && picture.contains("/conv2/Conv"),
        "{picture}"
    );
    let output = call(&[&["bench", model, "--layers", "--json"], &seconds[..]].concat());
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["layers"].as_array().unwrap().len(), 7);
    // 2 * 16 * 14 * 14 results of 8 * 3 * 3 products each.
    let counted = line["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| &layer["multiply_adds"]);
    assert!(counted.clone().any(|count| *count == 451_584.0), "{line}");
}

fn settings_are_compared(model: &str) {
    let output = call(&["compare", model, "--b", "simplify=false"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("equal within 1e-4: 7 values of the same name"),
        "{text}"
    );
    let output = call(&[
        "compare",
        model,
        "--b",
        "precision=f16",
        "--tolerance",
        "1e-9",
    ]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("differs: `/conv1/Conv` (com.microsoft.FusedConv): `/relu1/Relu_output_0`"),
        "{text}"
    );
}

fn a_wrong_recording_is_found(folder: &Path, model: &str) {
    std::fs::copy(
        Path::new(MNIST).with_file_name("io.npz"),
        folder.join("io.npz"),
    )
    .unwrap();
    let mut bytes = std::fs::read(model).unwrap();
    // The weights of the second convolution with other signs.
    let floats = bytes[1716..1716 + 4608].chunks_mut(4);
    floats.for_each(|float| float[3] ^= 0x80);
    std::fs::write(model, bytes).unwrap();
    let output = call(&["verify", model, "--bisect", "--python", "/no/python"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("equal    by primitives alone (else a body is wrong): 7 values"),
        "{text}"
    );
    assert!(
        text.contains("equal    without simplification (else a rule is wrong): 7 values"),
        "{text}"
    );
    assert!(
        text.contains("unknown  ONNX Runtime: cannot run `/no/python`"),
        "{text}"
    );
    assert!(
        text.contains("io.npz may be of another model: `record` makes one"),
        "{text}"
    );
}

#[test]
fn a_recording_is_made_by_onnx_runtime() {
    let folder = folder("record");
    let model = folder.join("mnist.onnx");
    let model = model.to_str().unwrap();
    let output = call(&["record", model, "--dim", "bach=2"]);
    assert!(said(&output).contains("no input has a size `bach`; the named sizes are `batch`"));
    let output = call(&["record", model, "--python", "/no/python"]);
    assert!(said(&output).contains("`pip install onnxruntime numpy`"));
    if let Some(python) = python() {
        let output = call(&["record", model, "--dim", "batch=2", "--python", &python]);
        assert!(
            said(&output).contains("1 input and 1 output"),
            "{}",
            said(&output)
        );
        assert!(folder.join("io.npz").is_file());
        let output = call(&["record", model, "--python", &python]);
        assert!(said(&output).contains("`--force` writes over it"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
