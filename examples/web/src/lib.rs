//! The module that the page calls to read digits.

pub mod digit;
#[cfg(any(feature = "flex", feature = "webgpu"))]
mod reader;

use wasm_bindgen::prelude::*;

/// Returns the picture of strokes for the model. `lengths` contains their numbers of points, `points` x and y of all
/// points.
#[wasm_bindgen]
pub fn picture(points: &[f32], lengths: &[usize]) -> Vec<f32> {
    let (points, _) = points.as_chunks();
    let mut rest = points;
    let strokes: Vec<&[[f32; 2]]> = lengths.iter().map_while(|length| rest.split_off(..*length)).collect();
    digit::picture(&strokes).to_vec()
}
