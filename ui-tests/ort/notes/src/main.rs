//! Prints the notes of a melody, by the published crate `basic-pitch-rs`. The argument is its number of seconds.

use basic_pitch::constants::AUDIO_SAMPLE_RATE;
use basic_pitch::{BasicPitch, model::OrtBackend};

/// The model in the sources of `basic-pitch-rs`, whose path `crates.py` finds.
#[cfg(feature = "compiled")]
mod model {
    onnx_embed::onnx_model!(
        #[onnx(weights = "file")]
        pub struct BasicPitch = "$NOTES_MODEL";
    );
}

/// Returns plucked tones of a scale, two each second, of which the second is a fifth above the first.
fn melody(seconds: usize) -> Vec<f32> {
    let rate = AUDIO_SAMPLE_RATE as usize;
    let scale = [0, 2, 4, 5, 7, 9, 11, 12];
    let tone = |steps: i32, time: f32| -> f32 {
        let frequency = 220.0 * 2f32.powf(steps as f32 / 12.0);
        let wave = |n: f32| (std::f32::consts::TAU * frequency * n * time).sin() / (n * n);
        (1..=6).map(|n| wave(n as f32)).sum::<f32>() * (-4.0 * time).exp() * 0.3
    };
    let sample = |index: usize| {
        let half = index * 2 / rate;
        let steps = scale[half / 2 * 3 % scale.len()] + if half % 2 == 1 { 7 } else { 0 };
        tone(steps, (index % (rate / 2)) as f32 / rate as f32)
    };
    (0..seconds * rate).map(sample).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "compiled")]
    {
        onnx_embed_ort::register::<model::BasicPitch>();
        ort::set_api(onnx_embed_ort::api());
    }
    let transcriber = BasicPitch::with_backend(OrtBackend::new()?);
    let Some(seconds) = std::env::args().nth(1) else { return Ok(()) };
    let transcription = transcriber.transcribe(&melody(seconds.parse()?))?;
    for note in transcription.sorted_notes() {
        let bends = note.pitch_bends.as_deref().unwrap_or_default();
        println!("{:.3}\t{:.3}\t{}\t{:.3}\t{bends:?}", note.start_s, note.end_s, note.pitch, note.amplitude);
    }
    let frames = &transcription.posteriorgrams;
    for (name, values) in [("note", &frames.note), ("onset", &frames.onset), ("contour", &frames.contour)] {
        println!("{name}\t{:.2}", values.as_slice().iter().map(|&value| f64::from(value)).sum::<f64>());
    }
    Ok(())
}
