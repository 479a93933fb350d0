//! Commands that look inside running models, as users call them.
//!
//! Programs are built in the target folder of the workspace, one after the other. Parts that need ONNX Runtime use the
//! Python that the variable `PYTHON` names, and are skipped if it lacks the package.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use npyz::WriterBuilder;

const MNIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mnist/mnist.onnx");

const OWN: &str = "../../ui-tests/models/custom_swish.onnx";

fn call(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-onnx-embed"));
    command.args(words).output().unwrap()
}

/// Returns the text that a call prints, on both its outputs.
fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns a folder for this test that contains the digit classifier.
fn folder(name: &str) -> PathBuf {
    let name = format!("onnx-embed-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(MNIST, folder.join("mnist.onnx")).unwrap();
    folder
}

/// Returns the Python that has ONNX Runtime, if any.
fn python() -> Option<String> {
    let program = std::env::var("PYTHON").unwrap_or("python3".to_owned());
    let asked = Command::new(&program).args(["-c", "import onnx, onnxruntime"]).output();
    let found = asked.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} has no ONNX Runtime");
    }
    found.then_some(program)
}

/// Times of nodes, the effect of a setting, and the first wrong node of a model.
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
    let words = [&["bench", model, "--layers", "--flame", flame], &seconds[..]].concat();
    let output = call(&words);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    let convolution = text.lines().find(|line| line.contains("/conv2/Conv")).unwrap();
    assert!(convolution.contains("[2, 8, 14, 14] x [16, 8, 3, 3]"), "{text}");
    assert!(text.contains("7 nodes: "), "{text}");
    let picture = std::fs::read_to_string(flame).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("/conv2/Conv"), "{picture}");
    let output = call(&[&["bench", model, "--layers", "--json"], &seconds[..]].concat());
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["layers"].as_array().unwrap().len(), 7);
    // 2 * 16 * 14 * 14 results of 8 * 3 * 3 products each.
    let counted = line["layers"].as_array().unwrap().iter().map(|layer| &layer["multiply_adds"]);
    assert!(counted.clone().any(|count| *count == 451_584.0), "{line}");
}

fn settings_are_compared(model: &str) {
    let output = call(&["compare", model, "--b", "simplify=false", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["first"], serde_json::Value::Null);
    assert_eq!(json["values"].as_array().unwrap().len(), 7);
    let output = call(&["compare", model, "--b", "simplify=false"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("equal within 1e-4: compared 7 values"), "{text}");
    let output = call(&["compare", model, "--b", "precision=f16", "--tolerance", "1e-9"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("7 values: `/conv1/Conv` (com.microsoft.FusedConv): `/relu1/Relu_output_0`"),
        "{text}"
    );
}

fn a_wrong_recording_is_found(folder: &Path, model: &str) {
    std::fs::copy(Path::new(MNIST).with_file_name("io.npz"), folder.join("io.npz")).unwrap();
    let mut bytes = std::fs::read(model).unwrap();
    // Invert the signs of the weights of the second convolution.
    let floats = bytes[1716..1716 + 4608].chunks_mut(4);
    floats.for_each(|float| float[3] ^= 0x80);
    std::fs::write(model, bytes).unwrap();
    let output = call(&["verify", model, "--bisect", "--python", "/no/python"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("equal    only Burn's own operations (if different, a kernel is wrong): 7 values"),
        "{text}"
    );
    assert!(
        text.contains("equal    without simplification (if different, a rule is wrong): 7 values"),
        "{text}"
    );
    assert!(text.contains("unknown  ONNX Runtime: cannot run `/no/python`"), "{text}");
    assert!(
        text.contains("io.npz may belong to another model: create a new one with `cargo onnx-embed record`"),
        "{text}"
    );
}

/// A user's model with a custom operator.
#[test]
fn a_model_with_an_operator_of_ones_own_is_timed_and_verified() {
    let folder = folder("own");
    let source = "//! Functions of the program.\n\nuse onnx_embed::{Tensor, burn::tensor::activation};\n\n\
        pub fn bias_swish(x: Tensor<2>, bias: Tensor<1>, beta: f32) -> Tensor<2> {\n    \
        let y = x + bias.unsqueeze();\n    y.clone() * activation::sigmoid(y * beta)\n}\n";
    let (model, functions) = (folder.join("own.onnx"), folder.join("operators.rs"));
    std::fs::copy(Path::new(MNIST).with_file_name(OWN), &model).unwrap();
    std::fs::write(&functions, source).unwrap();
    let (model, functions) = (model.to_str().unwrap(), functions.to_str().unwrap());
    let own = ["--op", "my.company.BiasSwish", "--functions", functions];
    let refused = call(&["bench", model, "--debug"]);
    assert!(
        said(&refused).contains("own: does not compile: operator `my.company.BiasSwish` is not supported")
    );
    let words = ["bench", model, "--debug", "--seconds", "0", "--json"];
    let output = call(&[&words, &own[..]].concat());
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["runs"], 5, "{line}");
    let output = call(&[&["compare", model, "--b", "simplify=false"], &own[..]].concat());
    let text = said(&output);
    assert!(text.contains("compared 1 value"), "{text}");
    // x = [[0, 1, 2]] with bias [0.5, -0.5, 1] and beta 1.5.
    recording(&folder, &[0.0, 1.0, 2.0], &[0.339_589_35, 0.339_589_35, 2.967_039]);
    let output = call(&[&["verify", model], &own[..]].concat());
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_recording_is_made_by_onnx_runtime() {
    let folder = folder("record");
    let model = folder.join("mnist.onnx");
    let model = model.to_str().unwrap();
    let output = call(&["record", model, "--dim", "bach=2"]);
    assert!(said(&output).contains("the model has no size `bach`, expected `batch`"));
    let output = call(&["record", model, "--python", "/no/python"]);
    assert!(said(&output).contains("`pip install onnxruntime numpy`"));
    if let Some(python) = python() {
        let output = call(&["record", model, "--dim", "batch=2", "--python", &python]);
        assert!(said(&output).contains("1 input and 1 output"), "{}", said(&output));
        assert!(folder.join("io.npz").is_file());
        let output = call(&["record", model, "--python", &python]);
        assert!(said(&output).contains("overwrite it with `--force`"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Writes a recording of one row.
fn recording(folder: &Path, x: &[f32], y: &[f32]) {
    let file = std::fs::File::create(folder.join("io.npz")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    for (name, row) in [("in/x.npy", x), ("out/y.npy", y)] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(name, options).unwrap();
        let options = npyz::WriteOptions::new().default_dtype();
        let options = options.shape(&[1, row.len() as u64]).writer(&mut archive);
        let mut array = options.begin_nd().unwrap();
        array.extend(row.iter().copied()).unwrap();
        array.finish().unwrap();
    }
    archive.finish().unwrap();
}
