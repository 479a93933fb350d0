//! Reads digits in a browser: the module that the page calls.

pub mod digit;
#[cfg(any(feature = "flex", feature = "webgpu"))]
mod reader;

use wasm_bindgen::prelude::*;

/// The picture that the model sees of strokes: `lengths` points each, x and y of all of them in `points`.
#[wasm_bindgen]
pub fn picture(points: &[f32], lengths: &[usize]) -> Vec<f32> {
    let (points, _) = points.as_chunks();
    let mut rest = points;
    let strokes: Vec<&[[f32; 2]]> = lengths.iter().map_while(|length| rest.split_off(..*length)).collect();
    digit::picture(&strokes).to_vec()
}
