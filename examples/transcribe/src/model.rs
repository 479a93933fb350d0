//! The model: an encoder of sound, and a decoder that writes tokens.

use anyhow::Result;
use onnx_embed::{Array, Device, Int, Tensor};

use crate::vocabulary::Vocabulary;

onnx_embed::onnx_model! {
    /// Sound to features: about 41 for each second.
    struct Encoder = "../model/encoder.onnx";
}

onnx_embed::onnx_model! {
    /// Features and tokens to the scores of the next token. Its first step computes keys and values of the features, its
    /// other steps use them.
    #[onnx(
        inputs(encoder_attention_mask: [batch_size, samples]),
        state(
            "past_key_values.*.decoder.*" = "present.*.decoder.*",
            "past_key_values.*.encoder.*" = first("present.*.encoder.*"),
        ),
    )]
    struct Decoder = "../model/decoder.onnx";
}

/// Tokens at the start and at the end of a text.
const START: i64 = 1;
const END: i64 = 2;
/// Number of tokens per second of sound after which a text ends. Of noise, the model may write the same words again and again.
const TOKENS: usize = 7;

pub struct Speech {
    encoder: Encoder,
    decoder: Decoder,
    vocabulary: Vocabulary,
    device: Device,
}

impl Speech {
    pub fn new() -> Self {
        let device = Device::flex();
        Self {
            encoder: Encoder::new(&device),
            decoder: Decoder::new(&device),
            vocabulary: Vocabulary::read(include_bytes!("../model/tokenizer.bin")),
            device,
        }
    }

    /// Passes pieces of what is said to `print`, and returns their number of tokens.
    pub fn transcribe(&self, samples: &[f32], mut print: impl FnMut(&str) -> Result<()>) -> Result<usize> {
        let input_values = Tensor::<1>::from_floats(samples, &self.device).unsqueeze();
        let attention_mask = Tensor::<2, Int>::ones([1, samples.len()], &self.device);
        let features = self
            .encoder
            .try_forward(EncoderInput { input_values, attention_mask: attention_mask.clone() })?;
        let mut state = self.decoder.state(1, features.dims()[1]);
        let mut pieces = self.vocabulary.pieces();
        let most = samples.len() * TOKENS / crate::sound::RATE as usize;
        let (mut token, mut count) = (START, 0);
        while count < most {
            let scores = self.decoder.try_step(
                &mut state,
                DecoderStep {
                    encoder_attention_mask: attention_mask.clone(),
                    input_ids: Tensor::from_ints([[token]], &self.device),
                    encoder_hidden_states: features.clone(),
                    use_cache_branch: Array::vector([count > 0]),
                },
            )?;
            token = scores.reshape([-1]).argmax(0).into_scalar();
            if token == END {
                break;
            }
            count += 1;
            print(&pieces.push(usize::try_from(token)?))?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sound;

    fn text(file: &str) -> Result<String> {
        let samples = sound::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("model").join(file))?;
        let speech = Speech::new();
        let mut text = String::new();
        for part in sound::parts(&samples) {
            speech.transcribe(&samples[part], |piece| {
                text += piece;
                Ok(())
            })?;
        }
        Ok(text.trim().to_owned())
    }

    #[test]
    fn the_text_is_that_of_onnx_runtime() -> Result<()> {
        assert_eq!(text("beckett.wav")? + "\n", include_str!("../expected.txt"));
        Ok(())
    }

    #[test]
    fn a_long_recording_of_another_rate_is_divided() -> Result<()> {
        let text = text("two_cities.wav")?;
        for words in ["It was the best of times", "the age of foolishness", "season of light"] {
            assert!(text.to_lowercase().contains(&words.to_lowercase()), "{words}: {text}");
        }
        Ok(())
    }
}
