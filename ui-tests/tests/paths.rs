//! Paths of models that contain environment variables.

use onnx_embed::{Device, Tensor};

mod variable {
    onnx_embed::onnx_model!("$OUT_DIR/fetched.onnx");
}

mod concatenated {
    onnx_embed::onnx_model!(concat!(env!("OUT_DIR"), "/fetched", '.', "onnx"));
}

mod named {
    onnx_embed::onnx_model! {
        pub struct Perceptron = "${CARGO_MANIFEST_DIR}/models/perceptron.onnx";
    }
}

#[test]
fn a_model_may_be_where_a_build_script_put_it() {
    let device = Device::flex();
    let x = || Tensor::<2>::from_data([[1.0, 2.0, 3.0]], &device);
    let expected = named::Perceptron::new(&device).forward(x()).into_data();
    let found = variable::Model::new(&device).forward(x()).into_data();
    assert_eq!(found, expected);
    let found = concatenated::Model::new(&device).forward(x()).into_data();
    assert_eq!(found, expected);
}
