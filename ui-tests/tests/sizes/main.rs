//! Sizes from data and inputs: errors instead of failed allocations.

mod asked;
mod held;
mod limits;

use onnx_embed::{Error, TensorData, Value, Values};

/// Returns a value of one number, of rank 0.
fn one<T: onnx_embed::burn::tensor::Element>(value: T) -> Value {
    TensorData::new(vec![value], [0; 0]).into()
}

fn ints(values: &[i64]) -> Value {
    TensorData::from(values).into()
}

fn floats(values: &[f32]) -> Value {
    TensorData::from(values).into()
}

fn zeros(shape: &[usize]) -> TensorData {
    TensorData::new(vec![0f32; shape.iter().product()], shape.to_vec())
}

fn message(result: Result<Values, Error>) -> String {
    match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}
