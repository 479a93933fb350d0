//! The macro's errors, without Burn.
//!
//! trybuild compiles the dependencies of the package under test once more for itself. Where the
//! macro fails nothing of the run-time crate is in its expansion, so that these few items stand for
//! `onnx_embed` and the errors are seen within seconds.

pub use onnx_embed_macros::onnx_model;

/// Stands for Burn's.
#[derive(Clone, Debug, Default)]
pub struct Device;

/// Stands for Burn's.
#[derive(Clone, Debug)]
pub struct Tensor<const D: usize>;
