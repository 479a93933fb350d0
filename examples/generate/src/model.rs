//! The model and its state.

use anyhow::{Result, ensure};
use onnx_embed::{Device, Tensor};

onnx_embed::onnx_model! {
    /// SmolLM2-135M-Instruct with weights of 4 bits.
    #[onnx(state("past_key_values.*" = "present.*"))]
    struct SmolLm = "../model/smollm2.onnx";
}

/// Number of tokens that the model was trained with.
const CONTEXT: usize = 8192;
/// Number of tokens of a step, which limits the memory of a long question.
const STEP: usize = 512;

/// The model, and the state after the text that it has read.
pub struct Text {
    model: SmolLm,
    state: SmolLmState,
    device: Device,
}

impl Text {
    pub fn new() -> Self {
        let device = Device::flex();
        let model = SmolLm::new(&device);
        let state = model.state(1);
        Self { model, state, device }
    }

    /// Appends tokens, and returns the score of each token of the vocabulary as the next one.
    pub fn push(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.push_in_steps(tokens, STEP)
    }

    fn push_in_steps(&mut self, tokens: &[u32], step: usize) -> Result<Vec<f32>> {
        let length = self.state.len() + tokens.len();
        ensure!(length <= CONTEXT, "the conversation has {length} tokens, the model takes {CONTEXT}");
        let mut scores = None;
        for tokens in tokens.chunks(step) {
            let ids: Vec<i64> = tokens.iter().copied().map(i64::from).collect();
            let ids = Tensor::<1, onnx_embed::Int>::from_ints(ids.as_slice(), &self.device);
            scores = Some(self.model.step(&mut self.state, ids.unsqueeze()));
        }
        Ok(scores.map(|scores| scores.into_data().iter().collect()).unwrap_or_default())
    }

    /// Number of tokens that may still be appended.
    pub fn room(&self) -> usize {
        CONTEXT - self.state.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: [u32; 9] = [504, 2644, 3793, 335, 260, 5113, 30, 504, 2644];

    #[test]
    fn tokens_one_by_one_have_the_scores_of_all_at_once() -> Result<()> {
        let mut text = Text::new();
        let together = text.push(&TOKENS)?;
        for step in [1, 4] {
            text.state.reset();
            let parts = text.push_in_steps(&TOKENS, step)?;
            for (token, (a, b)) in together.iter().zip(&parts).enumerate() {
                assert!((a - b).abs() < 1e-2, "token {token} in steps of {step}: {b}, not {a}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_text_that_is_too_long_is_refused() {
        let mut text = Text::new();
        let error = text.push(&[1; CONTEXT + 1]).unwrap_err().to_string();
        assert_eq!(error, "the conversation has 8193 tokens, the model takes 8192");
        assert_eq!(text.room(), CONTEXT);
    }
}
