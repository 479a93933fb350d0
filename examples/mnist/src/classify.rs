//! Runs the embedded model.

use onnx_embed::{Device, Tensor, TensorData};

use crate::digit::{Pixels, SIDE};

mod mnist {
    onnx_embed::onnx_model!("../mnist.onnx");
}

/// Returns the probabilities of 0 to 9 for each picture.
pub fn classify(pictures: &[Pixels]) -> Vec<[f32; 10]> {
    let device = Device::flex();
    let model = mnist::Model::new(&device);
    let pixels = TensorData::new(pictures.concat(), [pictures.len(), 1, SIDE, SIDE]);
    let images: Tensor<4> = Tensor::from_data(pixels, &device);
    let probabilities: Tensor<2> = model.forward(images);
    let values: Vec<f32> = probabilities.into_data().iter().collect();
    values.as_chunks().0.to_vec()
}
