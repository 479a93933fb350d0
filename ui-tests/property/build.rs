//! Writes random graphs.

fn main() {
    onnx_embed_property_graphs::write();
}
