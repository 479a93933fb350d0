//! Tests that use the macro as a user does.
//!
//! A call may be in an example of the documentation:
//!
//! ```
//! onnx_embed::onnx_model!("../models/no_inputs.onnx");
//!
//! let model = Model::new(&onnx_embed::Device::flex());
//! assert_eq!(model.forward().into_data().try_to_vec::<f32>().unwrap(), [3.0, 8.0]);
//! ```

#![deny(
    future_incompatible,
    let_underscore,
    missing_debug_implementations,
    missing_docs,
    nonstandard_style,
    rust_2018_idioms,
    rustdoc::all,
    unreachable_pub,
    unsafe_code,
    unused,
    unused_qualifications,
    clippy::all,
    clippy::pedantic
)]

/// Expansions in a crate that denies all lints.
pub mod strict {
    onnx_embed::onnx_model! {
        /// Two inputs, two outputs.
        pub struct Pair = "../models/pair.onnx";
    }

    onnx_embed::onnx_model! {
        /// Names that are invalid in Rust.
        #[onnx(weights = "file")]
        pub(crate) struct Names = "../models/names.onnx";
    }

    onnx_embed::onnx_model! {
        /// Flowers. An example in the file's documentation is not run as one of this crate.
        pub struct Iris = "../models/iris.onnx";
    }

    onnx_embed::onnx_model!("../models/encodings.onnx");
}
