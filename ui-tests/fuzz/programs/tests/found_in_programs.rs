//! Inputs that fuzzers found for compiled programs, and pseudorandom ones.
//!
//! `cargo test -p onnx-embed-fuzz-programs -- run FILE` runs a target on one file.

use std::process::ExitCode;

use onnx_embed_fuzz_programs::TARGETS;
use onnx_embed_fuzz_targets::repeat::repeat;

fn main() -> ExitCode {
    repeat(TARGETS)
}
