//! Tests of everything that goes through the real macro from outside.
//!
//! A call may stand in an example of the documentation:
//!
//! ```
//! onnx_embed::onnx_model!("../models/no_inputs.onnx");
//!
//! let model = Model::new(&onnx_embed::Device::flex());
//! assert_eq!(model.forward().into_data().try_to_vec::<f32>().unwrap(), [3.0, 8.0]);
//! ```
