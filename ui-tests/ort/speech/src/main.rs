//! Prints the probability of speech in each part of a sound, by the published crate `voice_activity_detector`. The argument is
//! its number of seconds.

use voice_activity_detector::VoiceActivityDetector;

/// The model in the sources of `voice_activity_detector`, whose path `crates.py` finds.
#[cfg(feature = "compiled")]
mod model {
    onnx_embed::onnx_model!(
        #[onnx(weights = "file")]
        pub struct Silero = "$SPEECH_MODEL";
    );
}

#[cfg(not(feature = "compiled"))]
#[path = "../../library.rs"]
mod library;

/// Returns vowels of half a second, noise and silence, in turns.
fn sound(seconds: usize, rate: usize) -> Vec<i16> {
    let formants = [(730.0, 1090.0), (270.0, 2290.0), (300.0, 870.0), (530.0, 1840.0)];
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as f32 / u32::MAX as f32 - 0.5
    };
    let mut sample = |index: usize| {
        let (part, time) = (index * 2 / rate, index as f32 / rate as f32);
        let value = match part % 8 {
            6 => noise() * 0.3,
            7 => 0.0,
            vowel => {
                let (first, second) = formants[(part / 8 + vowel) % formants.len()];
                let pitch = 120.0 + 20.0 * (3.0 * time).sin();
                let near =
                    |frequency: f32, formant: f32| 1.0 / (1.0 + ((frequency - formant) / 90.0).powi(2));
                let wave = |n: usize| {
                    let frequency = pitch * n as f32;
                    (near(frequency, first) + 0.5 * near(frequency, second))
                        * (std::f32::consts::TAU * frequency * time).sin()
                };
                (1..25).map(wave).sum::<f32>() * 0.3 + noise() * 0.01
            }
        };
        (value.clamp(-1.0, 1.0) * f32::from(i16::MAX)) as i16
    };
    (0..seconds * rate).map(&mut sample).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "compiled")]
    {
        onnx_embed_ort::register::<model::Silero>();
        ort::set_api(onnx_embed_ort::api());
    }
    #[cfg(not(feature = "compiled"))]
    ort::set_api(library::api());
    let seconds = std::env::args().nth(1).map_or(Ok(0), |text| text.parse())?;
    for (rate, window) in [(16_000, 512usize), (8_000, 256)] {
        let mut detector = VoiceActivityDetector::builder().sample_rate(rate).chunk_size(window).build()?;
        for part in sound(seconds, rate as usize).chunks(window) {
            println!("{rate}\t{:.3}", detector.predict(part.iter().copied()));
        }
    }
    Ok(())
}
