//! Errors for wrong inputs, which contain the names of inputs.

use onnx_embed::{Device, OnnxModel, Tensor, TensorData, Values, onnx_model};

use crate::{panic_of, rows, vector};

onnx_model! { struct Pair = "../../models/pair.onnx"; }
onnx_model! { struct Listed = "../../models/listed_initializer.onnx"; }

const A: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
const B: [[f32; 3]; 3] = [[0.0; 3]; 3];

fn complaint(inputs: impl Into<Values>) -> String {
    let outputs = Pair::new(&Device::flex()).run(inputs.into());
    outputs.map(drop).unwrap_err().to_string()
}

#[test]
fn sizes_of_one_name_agree() {
    let b: Tensor<2> = Tensor::from_data(TensorData::from(B), &Device::flex());
    let message = panic_of(|| Pair::new(&Device::flex()).forward(PairInput { a: rows(A), b }));
    assert_eq!(message, "size `batch` is 2 in `a` but 3 in `b`");
}

#[test]
fn fixed_sizes_are_those_of_the_model() {
    let model = Listed::new(&Device::flex());
    let message = panic_of(|| model.forward(vector([1.0, 2.0, 3.0])));
    assert_eq!(message, "`x` has shape [3], expected [2]");
}

#[test]
fn inputs_are_taken_by_their_names() {
    let inputs = Values::from([("b", TensorData::from(A)), ("a", TensorData::from(A))]);
    let outputs = Pair::new(&Device::flex()).run(inputs).unwrap();
    let names: Vec<&str> = outputs.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["total", "difference"]);
    let doubled = TensorData::from([[2.0f32, 4.0, 6.0], [8.0, 10.0, 12.0]]);
    assert_eq!(outputs["total"].tensor(), Some(&doubled));
}

#[test]
fn missing_unexpected_and_wrong_inputs_are_named() {
    let a = || ("a", TensorData::from(A));
    assert_eq!(complaint([a()]), "missing input `b` (inputs are: `a`, `b`)");
    assert_eq!(complaint([a(), ("c", TensorData::from(A))]), "unexpected input `c` (inputs are: `a`, `b`)");
    assert_eq!(
        complaint([a(), ("b", TensorData::from([[1i64, 2, 3]]))]),
        "`b` has type int64, expected float32"
    );
    assert_eq!(complaint([a(), ("b", TensorData::from([1.0f32]))]), "`b` has shape [1], expected [batch, 3]");
    assert_eq!(complaint([a(), ("b", TensorData::from(B))]), "size `batch` is 2 in `a` but 3 in `b`");
}
