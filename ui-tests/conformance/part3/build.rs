//! Writes this part's cases.

fn main() {
    onnx_embed_conformance_archive::write_part(3);
}
