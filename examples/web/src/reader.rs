//! The model, on the device for which the module is built.

use onnx_embed::{Device, OnnxModel, Tensor, TensorData};
use wasm_bindgen::prelude::*;

use crate::digit::SIDE;

mod mnist {
    onnx_embed::onnx_model!("../mnist/mnist.onnx");
}

#[wasm_bindgen]
pub struct Reader {
    device: Device,
    model: mnist::Model,
}

#[wasm_bindgen]
impl Reader {
    /// Loads the model and compiles its shaders. Called once.
    pub async fn open() -> Result<Reader, JsError> {
        prepare();
        let device = device().await?;
        let model = mnist::Model::new(&device);
        model.warm_up_async(&[]).await?;
        Ok(Self { device, model })
    }

    /// Returns the probabilities of 0 to 9 for a picture.
    pub async fn answer(&self, picture: Vec<f32>) -> Result<Vec<f32>, JsError> {
        let picture = TensorData::new(picture, [1, 1, SIDE, SIDE]);
        let picture = Tensor::<4>::from_data(picture, &self.device);
        let probabilities = self.model.forward_async(picture).await;
        Ok(probabilities.into_data_async().await?.try_to_vec()?)
    }
}

#[cfg(not(feature = "webgpu"))]
async fn device() -> Result<Device, JsError> {
    Ok(Device::flex())
}

#[cfg(feature = "webgpu")]
async fn device() -> Result<Device, JsError> {
    Ok(Device::wgpu_options().init_async().await?)
}

#[cfg(target_family = "wasm")]
fn prepare() {
    unsafe extern "C" {
        fn __wasm_call_ctors();
    }
    // SAFETY: no code that depends on constructors has run yet. If they are not called here, the linker inserts a
    // call into each export of the module.
    unsafe { __wasm_call_ctors() };
    console_error_panic_hook::set_once();
}

#[cfg(not(target_family = "wasm"))]
fn prepare() {}
