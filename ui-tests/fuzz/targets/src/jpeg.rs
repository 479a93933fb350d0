//! A JPEG file.

use crate::memory::within;

/// Memory for tables, and for copies of parts of the file.
const BASE: usize = 1 << 20;
/// Larger pictures are not decoded, which would only take time.
const MOST: usize = 64 << 20;

/// Decodes the bytes, in the memory that their header requires.
pub fn run(bytes: &[u8]) {
    let Some(header) = within(BASE, || onnx_embed_jpeg::header(bytes)) else {
        return;
    };
    if header.memory > MOST {
        return;
    }
    let picture = within(BASE + bytes.len() + header.memory, || onnx_embed_jpeg::decode(bytes));
    if let Some(picture) = picture {
        assert_eq!((picture.width, picture.height), (header.width, header.height));
        assert_eq!(picture.pixels.len(), 3 * header.width * header.height);
    }
}
