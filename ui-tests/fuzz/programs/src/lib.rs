//! Functions of compiled programs that must end well for any bytes. Fuzzers search for bytes for which they do not.

pub mod run;
pub mod weights;

use onnx_embed_fuzz_targets::Target;

pub const TARGETS: &[Target] =
    &[Target { name: "run", run: run::run }, Target { name: "weights", run: weights::run }];
