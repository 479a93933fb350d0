//! Compilation of a model in memory.

use bytes::Bytes;
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::model::Model;
use onnx_embed_ir::options::Options;

/// Memory that compilation of a small file may hold: ten times the file and this number of bytes (SECURITY.md).
const BASE: usize = 64 << 20;

/// Returns the memory that compilation of a file may hold.
pub fn limit(file: usize) -> usize {
    file.saturating_mul(10).saturating_add(BASE)
}

/// Returns the model and its code, or the report of its problems.
pub fn compile(bytes: &[u8], simplify: bool) -> Result<(Model, String), String> {
    let options = Options { simplify, ..Options::default() };
    let model = onnx_embed_ir::load_bytes(Bytes::copy_from_slice(bytes), &options);
    let report = |problems: onnx_embed_ir::diagnostics::Diagnostics| problems.report("model.onnx");
    let model = model.map_err(report)?;
    let code = onnx_embed_ir::code(&model, &item(), &options).map_err(report)?;
    Ok((model, code.to_string()))
}

pub fn item() -> Item {
    Item::model("model.onnx")
}
