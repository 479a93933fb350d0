//! Writes the models.

fn main() {
    onnx_embed_conformance_archive::sizes::write();
}
