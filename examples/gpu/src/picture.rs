//! Pictures to classify, drawn by formula.
//!
//! The example therefore needs no picture file.

pub const SIDE: usize = 64;
/// Mean and standard deviation of red, green and blue, as in the example `classify`.
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const STD: [f32; 3] = [0.229, 0.224, 0.225];
const PAPER: [f32; 3] = [0.85, 0.8, 0.7];
const INK: [f32; 3] = [0.1, 0.3, 0.7];

/// Returns the shapes in the pictures, repeated without end.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    ["circle", "ring", "square", "cross"].into_iter().cycle()
}

/// Returns the normalized pixels of one picture: all reds, then all greens, then all blues.
pub fn draw(kind: &'static str) -> impl Iterator<Item = f32> {
    let pixels = (0..3).flat_map(|channel| (0..SIDE * SIDE).map(move |at| (channel, at)));
    pixels.map(move |(channel, at)| {
        let value = if is_inside(kind, at) { INK } else { PAPER };
        (value[channel] - MEAN[channel]) / STD[channel]
    })
}

fn is_inside(kind: &str, at: usize) -> bool {
    let middle = (SIDE - 1) as f32 / 2.0;
    let [x, y] = [at % SIDE, at / SIDE].map(|place| (place as f32 - middle).abs());
    match kind {
        "circle" => x.hypot(y) < 20.0,
        "ring" => (11.0..20.0).contains(&x.hypot(y)),
        "square" => x.max(y) < 17.0,
        _ => x.max(y) < 20.0 && x.min(y) < 6.5,
    }
}
