//! A model in ONNX's text syntax.

use onnx_embed_ir::text;
use prost::Message;

use crate::compile::{compile, limit};
use crate::memory::within;

/// Parses and compiles the text.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    within(limit(bytes.len()), || {
        if let Ok(model) = text::model(text) {
            let _ = compile(&model.encode_to_vec(), true);
        }
    });
}
