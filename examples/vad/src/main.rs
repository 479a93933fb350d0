//! Detects speech in audio, block by block as from a microphone.
//!
//! `vad [sound.wav]` draws a timeline and lists where speech begins and ends.

use std::io::Write;
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, ensure};
use onnx_embed::{Device, Tensor, TensorData};

onnx_embed::onnx_model! {
    /// Spectrum, mel bands and a gated recurrent unit, whose state is passed from call to call.
    pub struct Vad = "../vad.onnx";
}

/// Samples per second.
const RATE: u32 = 8_000;
/// Number of samples for which the model returns one probability: 32 ms.
const FRAME: usize = 256;
/// Number of frames that a microphone would deliver at once.
const BLOCK: usize = 4;
const WIDTH: usize = 80;

/// A detector with its state after the samples so far.
struct Stream {
    model: Vad,
    state: Tensor<3>,
}

impl Stream {
    fn new(device: &Device) -> Self {
        Self { model: Vad::new(device), state: Tensor::zeros([1, 1, 32], device) }
    }

    /// Returns the probability of speech for each of the next frames.
    fn push(&mut self, samples: &[f32]) -> Vec<f32> {
        let shape = [samples.len() / FRAME, FRAME];
        let device = self.state.device();
        let output = self.model.forward(VadInput {
            samples: Tensor::from_data(TensorData::new(samples.to_vec(), shape), &device),
            state: self.state.clone(),
        });
        // The next call continues with this state.
        self.state = output.next_state;
        output.speech.into_data().iter().collect()
    }
}

fn main() -> Result<()> {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/sample.wav");
    let path = std::env::args_os().nth(1).unwrap_or_else(|| sample.into());
    let samples = read(&PathBuf::from(path))?;

    let mut stream = Stream::new(&Device::flex());
    let mut speech = Vec::new();
    for block in samples.chunks(BLOCK * FRAME) {
        speech.extend(stream.push(block));
    }

    let mut output = anstream::stdout().lock();
    timeline(&mut output, &samples, &speech)?;
    for (start, end) in segments(&speech) {
        let seconds = |frame: usize| frame as f32 * FRAME as f32 / RATE as f32;
        writeln!(output, "speech from {:.2} s to {:.2} s", seconds(start), seconds(end))?;
    }
    Ok(())
}

/// Reads the first channel of a file, as whole frames.
fn read(path: &PathBuf) -> Result<Vec<f32>> {
    let name = path.display();
    let mut file = hound::WavReader::open(path).with_context(|| format!("cannot read `{name}`"))?;
    let form = file.spec();
    ensure!(
        form.sample_rate == RATE && form.bits_per_sample == 16,
        "`{name}` has {} samples of {} bits a second, the model takes {RATE} of 16",
        form.sample_rate,
        form.bits_per_sample
    );
    let samples = file.samples::<i16>().step_by(form.channels.into());
    let scaled = samples.map(|sample| sample.map(|sample| f32::from(sample) / 32768.0));
    let mut samples = scaled.collect::<Result<Vec<f32>, _>>()?;
    samples.resize(samples.len().next_multiple_of(FRAME), 0.0);
    Ok(samples)
}

/// Returns the first frame of each segment of speech, and the frame after its last. Pauses of up to 0.2 s belong to
/// it.
fn segments(speech: &[f32]) -> Vec<(usize, usize)> {
    const PAUSE: usize = 6;
    let mut segments: Vec<(usize, usize)> = Vec::new();
    for (frame, _) in speech.iter().enumerate().filter(|(_, share)| **share > 0.5) {
        match segments.last_mut() {
            Some((_, end)) if frame - *end <= PAUSE => *end = frame + 1,
            _ => segments.push((frame, frame + 1)),
        }
    }
    segments
}

/// Draws the loudness, in green during speech, and below it the probability of speech.
fn timeline(output: &mut impl Write, samples: &[f32], speech: &[f32]) -> Result<()> {
    let frames = speech.len().div_ceil(WIDTH).max(1);
    let (mut levels, mut shares) = (String::new(), String::new());
    for (samples, speech) in samples.chunks(frames * FRAME).zip(speech.chunks(frames)) {
        let share = speech.iter().sum::<f32>() / speech.len() as f32;
        let peak = samples.iter().fold(0.0f32, |peak, sample| peak.max(sample.abs()));
        let style = match share > 0.5 {
            true => AnsiColor::Green.on_default(),
            false => Style::new().dimmed(),
        };
        levels += &format!("{style}{}{style:#}", level(peak.sqrt()));
        shares.push(level(share));
    }
    writeln!(output, "sound   {levels}\nspeech  {shares}")?;
    Ok(())
}

fn level(share: f32) -> char {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    LEVELS[(share.clamp(0.0, 1.0) * 8.0).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<f32> {
        read(&concat!(env!("CARGO_MANIFEST_DIR"), "/sample.wav").into()).unwrap()
    }

    fn in_blocks_of(frames: usize) -> Vec<f32> {
        let mut stream = Stream::new(&Device::flex());
        let blocks = sample();
        let blocks = blocks.chunks(frames * FRAME);
        blocks.flat_map(|block| stream.push(block)).collect()
    }

    #[test]
    fn nineteen_of_twenty_frames_are_right() {
        let truth = include_str!("../sample.txt").trim().chars();
        let truth: Vec<bool> = truth.map(|frame| frame == '1').collect();
        let speech = in_blocks_of(BLOCK);
        assert_eq!(speech.len(), truth.len());
        let right = speech.iter().zip(&truth).filter(|(share, truth)| (**share > 0.5) == **truth);
        let right = right.count();
        assert!(right * 20 >= truth.len() * 19, "{right} of {}", truth.len());
    }

    #[test]
    fn blocks_of_any_size_give_what_the_whole_sound_gives() {
        let whole = in_blocks_of(1_000);
        for frames in [1, 3] {
            for (at, (block, whole)) in in_blocks_of(frames).iter().zip(&whole).enumerate() {
                assert!((block - whole).abs() < 1e-4, "frame {at}: {block}, not {whole}");
            }
        }
    }

    #[test]
    fn short_pauses_are_part_of_speech() {
        let mut speech = [0.0; 40];
        speech[2..10].fill(0.9);
        speech[13..20].fill(0.8);
        speech[30..33].fill(0.7);
        assert_eq!(segments(&speech), [(2, 20), (30, 33)]);
        assert!(segments(&[]).is_empty());
    }

    #[test]
    fn a_sound_of_another_rate_is_refused() {
        let path = std::env::temp_dir().join("vad_44100.wav");
        let form = hound::WavSpec {
            channels: 1,
            sample_rate: 44_100,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        hound::WavWriter::create(&path, form).unwrap().finalize().unwrap();
        let error = read(&path).unwrap_err().to_string();
        let refusal = "44100 samples of 16 bits a second, the model takes 8000 of 16";
        assert!(error.contains(refusal), "{error}");
    }
}
