//! Names, options, and weights that remain in files.

use std::path::Path;

use onnx_embed::{Device, OnnxModel, Tensor, onnx_model};

use crate::{rows, values, vector};

onnx_model! {
    /// Two layers whose weights are in the file.
    #[onnx(weights = "file")]
    pub(crate) struct Perceptron = "../../models/perceptron.onnx";
}

onnx_model! {
    #[onnx(dims(batch = 2))]
    struct Pinned = "../../models/pair.onnx";
}

onnx_model! {
    #[onnx(inputs(x: [rows, 2]))]
    struct Ranked = "../../models/open_rank.onnx";
}

onnx_model! {
    #[onnx(inputs("x": [n, 2]), dims(n = 2), crate = crate::long_form::reexported::embed)]
    struct Renamed = "../../models/open_rank.onnx";
}

onnx_model! {
    #[onnx(inputs(b: [other]))]
    struct SeparateNames = "../../models/one_name.onnx";
}

onnx_model! {
    #[onnx(inputs(bias: [2]))]
    struct Overridden = "../../models/listed_initializer.onnx";
}

mod reexported {
    pub use onnx_embed as embed;
}

const X: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]];
const Y: [f32; 4] = [3.5, 9.5, 1.5, -0.5];

fn model(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    folder.join(name)
}

fn complaint(made: Result<Perceptron, onnx_embed::Error>) -> String {
    made.map(drop).unwrap_err().to_string()
}

#[test]
fn weights_come_from_the_file() {
    let model = Perceptron::from_file(model("perceptron.onnx"), &Device::flex()).unwrap();
    assert_eq!(values(model.forward(rows(X))), Y);
}

#[test]
fn weights_come_from_bytes() {
    let bytes = std::fs::read(model("perceptron.onnx")).unwrap();
    let model = Perceptron::from_bytes(&bytes, &Device::flex()).unwrap();
    assert_eq!(values(model.forward(rows(X))), Y);
}

#[test]
fn other_weights_of_the_same_graph_are_taken() {
    let model = Perceptron::from_file(model("perceptron_other_weights.onnx"), &Device::flex());
    let other = model.unwrap().forward(rows(X));
    assert_ne!(values(other), Y);
}

#[test]
fn another_graph_is_refused() {
    let found = Perceptron::from_file(model("perceptron_other_graph.onnx"), &Device::flex());
    let path = model("perceptron_other_graph.onnx");
    let expected = format!(
        "`{}` differs from the compiled model `perceptron.onnx`: it differs just before weight \
         `hidden.weight`; export with the same exporter and opset, or compile again",
        path.display()
    );
    assert_eq!(complaint(found), expected);
}

#[test]
fn a_file_of_another_length_is_refused() {
    let found = Perceptron::from_file(model("pair.onnx"), &Device::flex());
    let found = complaint(found);
    assert!(
        found.contains("pair.onnx` differs from the compiled model `perceptron.onnx`: ")
            && found.contains("its size in bytes is ")
            && found.contains(", expected 396; "),
        "{found}"
    );
    let found = complaint(Perceptron::from_bytes(&[], &Device::flex()));
    assert!(found.contains("its size in bytes is 0, expected 396"), "{found}");
}

#[test]
fn a_missing_file_is_named() {
    let found = complaint(Perceptron::from_file("no/such.onnx", &Device::flex()));
    assert!(found.starts_with("cannot read `no/such.onnx`"), "{found}");
}

#[test]
fn a_pinned_size_stands_in_the_signature() {
    assert_eq!(
        Pinned::SIGNATURE.to_string(),
        "(a: float32[2, 3], b: float32[2, 3]) -> (total: float32[2, 3], difference: float32[2, 3])"
    );
    let input = PinnedInput { a: rows(X), b: rows(X) };
    let PinnedOutput { total, difference } = Pinned::new(&Device::flex()).forward(input);
    assert_eq!(total.into_data(), (rows(X) + rows(X)).into_data());
    assert_eq!(difference.into_data(), Tensor::<2>::zeros([2, 3], &Device::flex()).into_data());
}

#[test]
fn a_shape_may_be_given() {
    assert_eq!(Ranked::SIGNATURE.to_string(), "(x: float32[rows, 2]) -> (y: float32[rows, 2])");
    let y = Ranked::new(&Device::flex()).forward(rows([[1.0, -1.0], [-2.0, 2.0]]));
    assert_eq!(values(y), [1.0, 0.0, 0.0, 2.0]);
}

#[test]
fn sizes_of_one_name_may_get_names_of_their_own() {
    assert_eq!(
        SeparateNames::SIGNATURE.to_string(),
        "(a: float32[N], b: float32[other]) -> (y: float32[broadcast])"
    );
    let input = SeparateNamesInput { a: vector([1.0, 2.0, 3.0]), b: vector([10.0]) };
    let y = SeparateNames::new(&Device::flex()).forward(input);
    assert_eq!(values(y), [11.0, 12.0, 13.0]);
}

#[test]
fn a_constant_that_the_file_lists_may_be_an_input() {
    let input = OverriddenInput { x: vector([1.0, 1.0]), bias: vector([5.0, 6.0]) };
    let y = Overridden::new(&Device::flex()).forward(input);
    assert_eq!(values(y), [6.0, 7.0]);
}

#[test]
fn the_run_time_crate_may_have_another_name() {
    assert_eq!(Renamed::SIGNATURE.to_string(), "(x: float32[2, 2]) -> (y: float32[2, 2])");
    let y = Renamed::new(&Device::flex()).forward(rows([[1.0, -1.0], [-2.0, 2.0]]));
    assert_eq!(values(y), [1.0, 0.0, 0.0, 2.0]);
}

#[test]
fn a_call_may_stand_in_a_function() {
    onnx_model!("../../models/listed_initializer.onnx");
    let y = Model::new(&Device::flex()).forward(vector([1.0, 1.0]));
    assert_eq!(values(y), [2.0, 3.0]);
}
