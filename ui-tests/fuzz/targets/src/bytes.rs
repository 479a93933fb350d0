//! The bytes of a model file.

use crate::compile::{compile, limit};
use crate::memory::within;

/// Compiles the bytes.
pub fn run(bytes: &[u8]) {
    let _ = within(limit(bytes.len()), || compile(bytes, true));
}
