//! A file of numpy's arrays.

use std::io::Cursor;

use onnx_embed_harness::npz::Recording;

use crate::memory::within;

/// Maximum number of bytes of the arrays.
const ARRAYS: u64 = 16 << 20;

/// Reads the bytes as a recording, in memory for the arrays and their copies.
pub fn run(bytes: &[u8]) {
    let limit = bytes.len() * 10 + 10 * ARRAYS as usize;
    let _ = within(limit, || Recording::read(Cursor::new(bytes), ARRAYS));
}
