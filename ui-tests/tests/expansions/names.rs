//! ONNX names that are keywords or no names in Rust.

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
    let ModelOutput {
        self_,
        out_add,
        résultat,
    } = Model::new(&Device::flex()).forward(input);
    assert_eq!(values(self_), [111.0, 222.0]);
    assert_eq!(values(out_add), [8.0, 10.0]);
    assert_eq!(values(résultat), [888.0, 2220.0]);
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
