//! The compiler of onnx-embed: ONNX bytes in, Rust tokens out.

#![deny(unsafe_code)]

pub mod proto;
pub mod text;
