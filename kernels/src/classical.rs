//! Models of `ai.onnx.ml`.

pub mod distances;
pub mod features;
mod rows;
pub mod scores;
pub mod svm;
pub mod trees;
