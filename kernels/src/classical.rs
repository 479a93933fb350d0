//! Models of `ai.onnx.ml`.

pub mod distances;
pub mod features;
pub mod scores;
pub mod svm;
pub mod trees;
