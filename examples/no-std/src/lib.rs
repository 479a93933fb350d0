//! Reads handwritten digits without `std`.
//!
//! The library is the same on a microcontroller and on a computer.

#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::fmt::{Result, Write};

use onnx_embed::{Device, Tensor, TensorData};

mod mnist {
    onnx_embed::onnx_model!("../../mnist/mnist.onnx");
}

/// Number of rows and of columns of a picture.
pub const SIDE: usize = 28;

/// Rows of ink: 0 for paper, 255 for full ink.
pub type Picture = [u8; SIDE * SIDE];

/// Ten pictures, one for each digit.
pub static SAMPLES: &[Picture; 10] = pictures(include_bytes!("../digits.pgm"));

/// The digit in a picture.
pub struct Answer {
    pub digit: usize,
    pub probability: f32,
}

/// The model, whose weights have been copied to memory.
pub struct Reader {
    model: mnist::Model,
    device: Device,
}

impl Reader {
    #[allow(clippy::new_without_default, reason = "it copies weights")]
    pub fn new() -> Self {
        let device = Device::flex();
        Self { model: mnist::Model::new(&device), device }
    }

    /// Returns the likeliest digit.
    pub fn read(&self, picture: &Picture) -> Answer {
        let ink: Vec<f32> = picture.iter().map(|&ink| f32::from(ink) / 255.0).collect();
        let image: Tensor<4> = Tensor::from_data(TensorData::new(ink, [1, 1, SIDE, SIDE]), &self.device);
        let probabilities = self.model.forward(image).into_data();
        probabilities
            .iter::<f32>()
            .enumerate()
            .map(|(digit, probability)| Answer { digit, probability })
            .fold(None, likelier)
            .expect("the model tells ten digits apart")
    }
}

fn likelier(best: Option<Answer>, next: Answer) -> Option<Answer> {
    match best {
        Some(best) if best.probability >= next.probability => Some(best),
        _ => Some(next),
    }
}

/// Draws `picture`, with two rows in a line.
pub fn draw(output: &mut impl Write, picture: &Picture) -> Result {
    for rows in picture.chunks(2 * SIDE) {
        for column in 0..SIDE {
            let shade = match (rows[column] > 100, rows[column + SIDE] > 100) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            };
            output.write_char(shade)?;
        }
        output.write_char('\n')?;
    }
    Ok(())
}

/// Returns the pictures of a PGM file, in which one is below the other.
const fn pictures(file: &[u8]) -> &[Picture; 10] {
    let (_, pixels) = file.split_at(file.len() - 10 * SIDE * SIDE);
    match pixels.as_chunks().0.as_array() {
        Some(pictures) => pictures,
        None => panic!("digits.pgm has ten pictures"),
    }
}
