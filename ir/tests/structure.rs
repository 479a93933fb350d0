//! Weights of one network from the files of several exporters.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use expect_test::{Expect, expect};
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::emit::packed::packed;
use onnx_embed_ir::files::Given;
use onnx_embed_ir::options::{Options, Weights};
use onnx_embed_ir::structure::{Adapted, Compiled, Obstacle, adapt};

const FORMS: [&str; 5] = ["script14", "script17", "unfolded", "dynamo18", "dynamo20"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models/structure").join(format!("{name}.onnx"))
}

fn options() -> Options {
    Options { weights: Weights::File, ..Options::default() }
}

fn adapted(first: &str, second: &str) -> Result<Adapted, Obstacle> {
    adapt(&path(first), &path(second), &options())
}

/// Returns what a program keeps of a model.
fn kept(name: &str) -> &'static [u8] {
    let model = onnx_embed_ir::load(&path(name), &options()).unwrap();
    onnx_embed_ir::check(&model, &Item::model("m.onnx"), &options()).unwrap();
    packed(&model, &options()).leak()
}

/// Returns a model without external data.
fn alone(bytes: Vec<u8>) -> Given {
    Given::new(Bytes::from(bytes), |_| Err("it has no external data".to_owned()))
}

/// Checks that the file of each exporter gets the weights of each other one, and the number of its weights.
fn all(network: &str, weights: [usize; 5]) {
    for (first, expected) in FORMS.iter().zip(weights) {
        for second in FORMS.iter().filter(|second| *second != first) {
            let (first, second) = (format!("{network}_{first}"), format!("{network}_{second}"));
            let adapted = adapted(&first, &second);
            let count = adapted.map(|adapted| adapted.weights.len());
            assert_eq!(count.map_err(|obstacle| obstacle.to_string()), Ok(expected), "{first} {second}");
        }
    }
}

#[test]
fn transformers_of_several_exporters_have_the_same_structure() {
    all("bert", [39, 39, 39, 39, 39]);
}

#[test]
fn normalizations_may_be_folded_into_convolutions() {
    all("mobilenet", [36, 36, 66, 36, 66]);
}

#[test]
fn gates_of_recurrent_networks_may_be_stored_in_another_order() {
    all("vad", [10, 10, 11, 10, 11]);
}

#[track_caller]
fn refused(first: &str, second: &str, expected: Expect) {
    let obstacle = adapted(first, &format!("almost/{second}")).unwrap_err();
    expected.assert_eq(&format!("{obstacle}\n"));
}

#[test]
fn another_activation_is_refused() {
    refused(
        "bert_script14",
        "bert_activation",
        expect![[r#"
        the graphs differ in node `/layers.0/intermediate/MatMul`: activation: {name: "Gelu"}; in the other file activation: {name: "Relu"}
    "#]],
    );
}

#[test]
fn another_number_of_heads_is_refused() {
    refused(
        "bert_script14",
        "bert_heads",
        expect![[r#"
        the graphs differ in node `/layers.0/attention/Reshape_3`: query_heads: 4; in the other file query_heads: 2
    "#]],
    );
}

#[test]
fn another_epsilon_is_refused() {
    refused(
        "bert_script14",
        "bert_epsilon",
        expect![[r#"
        the graphs differ in node `/norm/Add_1`: epsilon: 1e-12; in the other file epsilon: 1e-5
    "#]],
    );
}

#[test]
fn a_missing_bias_is_refused() {
    refused(
        "bert_script14",
        "bert_bias",
        expect![[r#"
        the graphs differ in the bias of node `/layers.1/attention/value/MatMul`: present; in the other file absent
    "#]],
    );
}

#[test]
fn a_missing_layer_is_refused() {
    refused(
        "bert_script14",
        "bert_layers",
        expect![[r#"
        the graphs differ in node `/layers.0/output/MatMul`: FusedLinear; in the other file Add, node `node_add_1`
    "#]],
    );
}

#[test]
fn another_stride_is_refused() {
    refused(
        "mobilenet_script14",
        "mobilenet_stride",
        expect![[r#"
        the graphs differ in node `/stem/stem.0/Conv`: window: {kernel: [3, 3], strides: [2, 2], dilations: [1, 1], pads: [1, 1, 1, 1], padding: Explicit}; in the other file window: {kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1], padding: Explicit}
    "#]],
    );
}

#[test]
fn another_element_type_is_refused() {
    refused(
        "vad_script14",
        "vad_type",
        expect![[r#"
        the graphs differ in input `audio`: float32[1, 256]; in the other file float64[1, 256]
    "#]],
    );
}

#[test]
fn a_program_adapts_files_without_the_compiled_one() {
    for network in ["bert", "mobilenet", "vad"] {
        for (first, second) in [(0, 3), (2, 0), (3, 4), (4, 2)] {
            let [first, second] = [first, second].map(|at: usize| format!("{network}_{}", FORMS[at]));
            let kept = kept(&first);
            let length = std::fs::metadata(path(&first)).unwrap().len();
            assert!(kept.len() as u64 * 10 < length * 9, "{first}: {} of {length}", kept.len());
            let other = alone(std::fs::read(path(&second)).unwrap());
            let copy = Compiled::read(kept).unwrap().with_weights(&other).unwrap();
            let expected = adapted(&first, &second).unwrap();
            assert!(copy.files[0].1 == expected.files[0].1, "{first} {second}");
        }
    }
}

#[test]
fn any_bytes_are_adapted_or_refused() {
    let compiled = Compiled::read(kept("vad_script17")).unwrap();
    let export = std::fs::read(path("vad_dynamo18")).unwrap();
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let mut refused = 0;
    for _ in 0..100 {
        let mut bytes = export.clone();
        for _ in 0..4 {
            let at = random(bytes.len());
            bytes[at] ^= 1 << random(8);
        }
        bytes.truncate(random(8 * export.len()));
        refused += usize::from(compiled.with_weights(&alone(bytes)).is_err());
    }
    assert!((10..100).contains(&refused), "{refused}");
    let hostile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models/hostile");
    let mut files = 0;
    for entry in std::fs::read_dir(hostile).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            assert!(compiled.with_weights(&alone(std::fs::read(path).unwrap())).is_err());
            files += 1;
        }
    }
    assert!(files > 5, "{files}");
}
