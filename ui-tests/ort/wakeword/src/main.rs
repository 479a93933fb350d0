//! Prints the scores of a wake word in sound files, by the published crate `livekit-wakeword`.
//!
//! The first argument is the classifier, the others are files. Each is scored whole, and in steps of 80 ms like a
//! microphone. Without files, the program only loads the models.

/// The models in the sources of `livekit-wakeword`, whose path `crates.py` finds.
#[cfg(feature = "compiled")]
mod models {
    onnx_embed::onnx_model!(
        #[onnx(weights = "file")]
        pub struct Melspectrogram = "$WAKEWORD_SOURCE/onnx/melspectrogram.onnx";
    );
    onnx_embed::onnx_model!(
        #[onnx(weights = "file")]
        pub struct Embedding = "$WAKEWORD_SOURCE/onnx/embedding_model.onnx";
    );
    onnx_embed::onnx_model!(
        #[onnx(weights = "file")]
        pub struct Classifier = "$WAKEWORD_SOURCE/tests/fixtures/hey_livekit.onnx";
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "compiled")]
    {
        onnx_embed_ort::register::<models::Melspectrogram>();
        onnx_embed_ort::register::<models::Embedding>();
        onnx_embed_ort::register::<models::Classifier>();
    }
    let mut arguments = std::env::args().skip(1);
    let classifier = arguments.next().ok_or("the first argument is the file of the classifier")?;
    if arguments.len() == 0 {
        livekit_wakeword::WakeWordModel::new(&[&classifier], 16000)?;
    }
    for path in arguments {
        let mut reader = hound::WavReader::open(&path)?;
        let (rate, channels) = (reader.spec().sample_rate, usize::from(reader.spec().channels));
        let samples: Vec<i16> = reader.samples().step_by(channels).collect::<Result<_, _>>()?;
        let mut model = livekit_wakeword::WakeWordModel::new(&[&classifier], rate)?;
        let mut show = |part: &str, samples: &[i16]| -> Result<(), livekit_wakeword::WakeWordError> {
            for (name, score) in model.predict(samples)? {
                println!("{path}\t{part}\t{name}\t{score:.4}");
            }
            Ok(())
        };
        show("whole", &samples)?;
        let (window, step) = (2 * rate as usize, rate as usize * 80 / 1000);
        // Before the file there is silence.
        let padded = [vec![0; window], samples].concat();
        for start in (0..=padded.len() - window).step_by(step) {
            show(&start.to_string(), &padded[start..start + window])?;
        }
    }
    Ok(())
}
