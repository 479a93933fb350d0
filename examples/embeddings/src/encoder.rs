//! Converts sentences to vectors.
//!
//! The vector of a sentence is the mean of the model's results over its tokens.

use anyhow::{Result, anyhow};
use onnx_embed::{Device, Int, Tensor, TensorData};
use tokenizers::{Encoding, PaddingParams, Tokenizer};

onnx_embed::onnx_model! {
    /// all-MiniLM-L6-v2 with 8-bit matrix products.
    struct MiniLm = "../model/minilm.onnx";
}

/// Encoder of sentences as vectors.
pub struct Encoder {
    tokenizer: Tokenizer,
    model: MiniLm,
    device: Device,
}

impl Encoder {
    pub fn new() -> Result<Self> {
        let mut tokenizer =
            Tokenizer::from_bytes(include_bytes!("../model/tokenizer.json")).map_err(readable)?;
        // Pads to the longest sentence of a call. The file specifies 128 tokens.
        tokenizer.with_padding(Some(PaddingParams::default()));
        let device = Device::flex();
        Ok(Self { tokenizer, model: MiniLm::new(&device), device })
    }

    /// Returns a vector of length 1 for each sentence.
    pub fn vectors(&self, sentences: &[&str]) -> Result<Vec<Vec<f32>>> {
        let encodings = self.tokenizer.encode_batch(sentences.to_vec(), true);
        let encodings = encodings.map_err(readable)?;
        let mask = self.integers(&encodings, Encoding::get_attention_mask);
        let states = self.model.forward(MiniLmInput {
            input_ids: self.integers(&encodings, Encoding::get_ids),
            attention_mask: mask.clone(),
            token_type_ids: self.integers(&encodings, Encoding::get_type_ids),
        });
        let mask = mask.float().unsqueeze_dim::<3>(2);
        let sums: Tensor<2> = (states * mask.clone()).sum_dim(1).squeeze_dim(1);
        let means = sums / mask.sum_dim(1).squeeze_dim(1);
        let lengths = means.clone().square().sum_dim(1).sqrt();
        let vectors: Vec<f32> = (means / lengths).into_data().iter().collect();
        let size = vectors.len() / sentences.len().max(1);
        Ok(vectors.chunks(size.max(1)).map(<[f32]>::to_vec).collect())
    }

    fn integers(&self, encodings: &[Encoding], part: fn(&Encoding) -> &[u32]) -> Tensor<2, Int> {
        let rows = encodings.iter().flat_map(part);
        let numbers: Vec<i64> = rows.map(|&number| number.into()).collect();
        let shape = [encodings.len(), numbers.len() / encodings.len().max(1)];
        Tensor::from_data(TensorData::new(numbers, shape), &self.device)
    }
}

/// Returns the cosine of the angle between two vectors of length 1.
pub fn similarity(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn readable(error: tokenizers::Error) -> anyhow::Error {
    anyhow!("{error}")
}
