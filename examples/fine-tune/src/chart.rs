//! Writes a curve as a PNG picture.

use anyhow::Result;
use image::{Rgb, RgbImage};

const WIDTH: u32 = 600;
const HEIGHT: u32 = 240;
const EDGE: u32 = 10;
const PAPER: Rgb<u8> = Rgb([24, 26, 32]);
const GRID: Rgb<u8> = Rgb([52, 55, 64]);
const POINT: Rgb<u8> = Rgb([70, 100, 150]);
const CURVE: Rgb<u8> = Rgb([120, 190, 255]);

/// Draws values as points and their running mean as a curve, from 0 at the bottom to the largest value, with a line
/// at each integer.
pub fn write(path: &str, values: &[f32]) -> Result<()> {
    let largest = values.iter().copied().fold(f32::EPSILON, f32::max);
    let mut chart = RgbImage::from_pixel(WIDTH, HEIGHT, PAPER);
    let height = |value: f32| {
        let inner = (HEIGHT - 2 * EDGE) as f32;
        HEIGHT - EDGE - (value / largest * inner).round() as u32
    };
    for unit in 0..=largest as u32 {
        for x in EDGE..WIDTH - EDGE {
            chart.put_pixel(x, height(unit as f32), GRID);
        }
    }
    let across = |at: usize| EDGE + at as u32 * (WIDTH - 2 * EDGE - 2) / values.len() as u32;
    let mut mean = values.first().copied().unwrap_or(0.0);
    for (at, value) in values.iter().enumerate() {
        let last = mean;
        mean += 0.15 * (value - mean);
        dot(&mut chart, across(at), height(*value), POINT);
        let (from, to) = (across(at), across(at + 1));
        for x in from..=to {
            let share = (x - from) as f32 / (to - from).max(1) as f32;
            dot(&mut chart, x, height(last + share * (mean - last)), CURVE);
        }
    }
    chart.save(path)?;
    Ok(())
}

/// Draws two by two pixels.
fn dot(chart: &mut RgbImage, x: u32, y: u32, color: Rgb<u8>) {
    for (x, y) in [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)] {
        chart.put_pixel(x, y, color);
    }
}
