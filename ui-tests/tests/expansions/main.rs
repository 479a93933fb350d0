//! Expansions that are compiled and run.

mod between_scales;
mod checks;
mod constants;
mod deep;
mod deterministic;
mod faults;
mod half_precision;
mod hostile;
mod layers;
mod long_form;
mod metadata;
mod module;
mod names;
mod other_weights;
mod outputs;
mod ports;
mod precision;
mod server;
mod signed;
mod state;
mod traced;
mod training;
mod typed_values;

use onnx_embed::{Device, Tensor, TensorData};

/// Returns the message of the panic of `run`.
fn panic_of<T>(run: impl FnOnce() -> T) -> String {
    let run = std::panic::AssertUnwindSafe(run);
    match std::panic::catch_unwind(run) {
        Ok(_) => "no panic".to_owned(),
        Err(payload) => match payload.downcast::<String>() {
            Ok(message) => *message,
            Err(_) => "a panic without a message".to_owned(),
        },
    }
}

fn rows<const N: usize>(rows: [[f32; N]; 2]) -> Tensor<2> {
    Tensor::from_data(TensorData::from(rows), &Device::flex())
}

fn vector<const N: usize>(values: [f32; N]) -> Tensor<1> {
    Tensor::from_data(TensorData::from(values), &Device::flex())
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}
