//! What fuzzers found in the compiler and in what reads files, and the seeds.
//!
//! `cargo test -p onnx-embed-fuzz-targets -- graph FILE` runs a target on one file.

use std::process::ExitCode;

use onnx_embed_fuzz_targets::{TARGETS, repeat::repeat};

fn main() -> ExitCode {
    repeat(TARGETS)
}
