//! The path is relative to this file.

use onnx_embed::Device;

use crate::values;

onnx_embed::onnx_model!("../../../models/no_inputs.onnx");

#[test]
fn a_path_is_relative_to_the_calling_file() {
    let output = Model::new(&Device::flex()).forward();
    assert_eq!(values(output), [3.0, 8.0]);
}

mod package {
    onnx_embed::onnx_model!("models/no_inputs.onnx");
}

#[test]
fn else_it_is_relative_to_the_package() {
    let output = package::Model::new(&Device::flex()).forward();
    assert_eq!(values(output), [3.0, 8.0]);
}
