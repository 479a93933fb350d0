//! Damaged and hostile files: no panics, bounded time and memory.
//!
//! `HOSTILE=100 cargo test --release -p onnx-embed-ir --test hostile` tries a hundred times the damages of an ordinary
//! run.

#[path = "hostile/damage.rs"]
mod damage;
#[path = "hostile/limits.rs"]
mod limits;
#[path = "hostile/numbers.rs"]
mod numbers;
#[path = "hostile/texts.rs"]
mod texts;

use bytes::Bytes;
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::Options;

/// Returns the expansion of a model, or the report of its problems.
fn compile(bytes: Bytes) -> Result<String, String> {
    let options = Options::default();
    let item = Item::model("model.onnx");
    let code = onnx_embed_ir::load_bytes(bytes, &options)
        .and_then(|model| onnx_embed_ir::code(&model, &item, &options));
    match code {
        Ok(tokens) => Ok(tokens.to_string()),
        Err(problems) => Err(problems.report("model.onnx")),
    }
}
