//! A program that registers no model.

use ort::session::Session;

#[test]
fn a_session_without_registered_models_is_an_error_with_the_cure() {
    ort::set_api(onnx_embed_ort::api());
    let bytes = include_bytes!("models/affine.onnx");
    let text = Session::builder().unwrap().commit_from_memory(bytes).unwrap_err().to_string();
    assert!(
        text.contains("no model is registered: call `onnx_embed_ort::register::<Model>()` first"),
        "{text}"
    );
}
