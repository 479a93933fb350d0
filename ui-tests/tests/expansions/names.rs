//! ONNX names that are keywords or invalid in Rust.

use onnx_embed::{Device, OnnxModel, onnx_model};

use crate::{values, vector};

onnx_model!("../../models/names.onnx");

mod other {
    onnx_embed::onnx_model!("../../models/pair.onnx");
}

#[test]
fn names_are_made_rust_names() {
    let input = ModelInput {
        type_: vector([1.0, 2.0]),
        input_1: vector([100.0, 200.0]),
        n1: vector([3.0, 4.0]),
        input_1_2: vector([5.0, 6.0]),
    };
    let ModelOutput { self_, out_add, résultat } = Model::new(&Device::flex()).forward(input);
    assert_eq!(values(self_), [111.0, 222.0]);
    assert_eq!(values(out_add), [8.0, 10.0]);
    assert_eq!(values(résultat), [888.0, 2220.0]);
}

/// Structs with names that generated code imports or that are in the prelude.
mod taken {
    use onnx_embed::onnx_model;

    onnx_model! { pub struct Table = "../../models/perceptron.onnx"; }
    onnx_model! { pub struct Weights = "../../models/perceptron.onnx"; }
    onnx_model! { pub struct Tensor = "../../models/perceptron.onnx"; }
    onnx_model! { pub struct Module = "../../models/perceptron.onnx"; }
    onnx_model! { pub struct Option = "../../models/perceptron.onnx"; }
    onnx_model! { pub struct Result = "../../models/perceptron.onnx"; }
    onnx_model! { pub struct ModelInput = "../../models/pair.onnx"; }
}

#[test]
fn a_struct_may_have_a_name_of_generated_code() {
    use crate::names::taken::{ModelInput, ModelInputInput, Option, Table};

    let device = Device::flex();
    let x = onnx_embed::Tensor::from_data([[1.0f32, 2.0, 3.0]], &device);
    let expected = values(Option::new(&device).forward(x.clone()));
    assert_eq!(values(Table::new(&device).forward(x.clone())), expected);
    let (a, b) = (x.clone(), x);
    let sums = ModelInput::new(&device).forward(ModelInputInput { a, b });
    assert_eq!(values(sums.total), [2.0, 4.0, 6.0]);
}

#[test]
fn the_signature_keeps_the_names_of_the_file() {
    let names = Model::SIGNATURE.outputs.iter().map(|port| port.name);
    assert_eq!(names.collect::<Vec<_>>(), ["self", "/out/Add", "résultat"]);
}

#[test]
fn several_models_stand_side_by_side() {
    assert_eq!(other::Model::SIGNATURE.inputs.len(), 2);
}
