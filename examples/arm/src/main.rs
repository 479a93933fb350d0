//! Detects speech in audio as fast as the processor can.

use std::env::consts::ARCH;
use std::time::Instant;

use onnx_embed::{Device, Tensor, TensorData};

onnx_embed::onnx_model! {
    /// A model that returns the probability of speech for each frame, and a state for the next call.
    pub struct Vad = "../../vad/vad.onnx";
}

/// Samples per second.
const RATE: f32 = 8_000.0;
/// Number of samples for which the model returns one probability.
const FRAME: usize = 256;

fn main() {
    let samples = samples();
    let device = Device::flex();
    let model = Vad::new(&device);
    let mut state = Tensor::zeros([1, 1, 32], &device);
    let mut speech: Vec<f32> = Vec::new();

    let start = Instant::now();
    for block in samples.chunks_exact(FRAME) {
        let output = model.forward(VadInput {
            samples: Tensor::from_data(TensorData::new(block.to_vec(), [1, FRAME]), &device),
            state,
        });
        speech.extend(output.speech.into_data().iter::<f32>());
        state = output.next_state;
    }
    let taken = start.elapsed().as_secs_f32();

    for (start, end) in segments(&speech) {
        println!("speech from {start:.2} s to {end:.2} s");
    }
    let sound = samples.len() as f32 / RATE;
    println!(
        "{sound:.1} s of sound in {taken:.2} s on {ARCH}, {:.0} times faster than it is spoken",
        sound / taken
    );
}

/// Returns the audio of the example `vad`.
fn samples() -> Vec<f32> {
    let file = include_bytes!("../../vad/sample.wav");
    let mut file = hound::WavReader::new(&file[..]).expect("the file is a WAV");
    let samples = file.samples::<i16>();
    samples.map(|sample| f32::from(sample.expect("the file is whole")) / 32768.0).collect()
}

/// Returns the seconds at which speech begins and ends. Pauses of up to 0.2 s belong to it.
fn segments(speech: &[f32]) -> Vec<(f32, f32)> {
    const PAUSE: usize = 6;
    let mut segments: Vec<(usize, usize)> = Vec::new();
    for (frame, _) in speech.iter().enumerate().filter(|(_, share)| **share > 0.5) {
        match segments.last_mut() {
            Some((_, end)) if frame - *end <= PAUSE => *end = frame + 1,
            _ => segments.push((frame, frame + 1)),
        }
    }
    let seconds = |frame: usize| (frame * FRAME) as f32 / RATE;
    segments.into_iter().map(|(start, end)| (seconds(start), seconds(end))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pauses_are_part_of_speech() {
        let mut speech = [0.0; 40];
        speech[5..10].fill(0.9);
        speech[15..20].fill(0.9);
        speech[35] = 0.9;
        let frames = |(start, end): (f32, f32)| (start * RATE / 256.0, end * RATE / 256.0);
        let found: Vec<_> = segments(&speech).into_iter().map(frames).collect();
        assert_eq!(found, [(5.0, 20.0), (35.0, 36.0)]);
    }
}
