//! Models of the tests, registered once.

use std::sync::Once;

use onnx_embed::onnx_model;
use ort::session::Session;

onnx_model!(
    pub struct Affine = "../models/affine.onnx";
);
onnx_model!(
    pub struct Types = "../models/types.onnx";
);
onnx_model!(
    pub struct Texts = "../models/strings.onnx";
);
onnx_model!(
    pub struct Sequences = "../models/sequences.onnx";
);
onnx_model!(
    pub struct Scalar = "../models/scalar.onnx";
);
onnx_model!(
    pub struct Classes = "../models/classes.onnx";
);
onnx_model!(
    #[onnx(weights = "file")]
    pub struct External = "../models/external.onnx";
);

pub const AFFINE: &[u8] = include_bytes!("../models/affine.onnx");
pub const TYPES: &[u8] = include_bytes!("../models/types.onnx");
pub const TEXTS: &[u8] = include_bytes!("../models/strings.onnx");
pub const SEQUENCES: &[u8] = include_bytes!("../models/sequences.onnx");
pub const SCALAR: &[u8] = include_bytes!("../models/scalar.onnx");
pub const EXTERNAL: &[u8] = include_bytes!("../models/external.onnx");
pub const EXTERNAL_DATA: &[u8] = include_bytes!("../models/external.bin");

/// Registers all models and makes this backend that of `ort`.
pub fn set_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        onnx_embed_ort::register::<Affine>();
        onnx_embed_ort::register::<Types>();
        onnx_embed_ort::register::<Texts>();
        onnx_embed_ort::register::<Sequences>();
        onnx_embed_ort::register::<Scalar>();
        onnx_embed_ort::register::<Classes>();
        onnx_embed_ort::register::<External>();
        assert!(ort::set_api(onnx_embed_ort::api()));
    });
}

/// Creates a session of a model in memory.
pub fn session(bytes: &[u8]) -> Session {
    set_up();
    Session::builder().unwrap().commit_from_memory(bytes).unwrap()
}

/// Returns the text of an error.
pub fn message<T>(result: ort::Result<T>) -> String {
    result.err().expect("no error").to_string()
}

pub fn path(name: &str) -> String {
    format!("{}/tests/models/{name}", env!("CARGO_MANIFEST_DIR"))
}
