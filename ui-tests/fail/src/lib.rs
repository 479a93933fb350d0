//! The macro's errors, without Burn.
//!
//! trybuild compiles the dependencies of the package under test once more for itself. If the
//! macro fails, its expansion contains no items of the runtime crate. These few items therefore
//! replace `onnx_embed`, and the tests take seconds.

pub use onnx_embed_macros::onnx_model;

/// Stand-in for Burn's `Device`.
#[derive(Clone, Debug, Default)]
pub struct Device;

/// Stand-in for Burn's `Tensor`.
#[derive(Clone, Debug)]
pub struct Tensor<const D: usize>;
