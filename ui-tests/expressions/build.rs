//! Writes random expressions over sizes.

fn main() {
    onnx_embed_property_graphs::expressions::write();
}
