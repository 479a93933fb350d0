//! Stands in for the crate `ort-tract`, by which `livekit-wakeword` chooses its backend.

#[cfg(all(feature = "library", not(feature = "compiled")))]
#[path = "../../../library.rs"]
mod library;

#[cfg(all(feature = "library", not(feature = "compiled")))]
pub use library::api;
#[cfg(feature = "compiled")]
pub use onnx_embed_ort::api;
