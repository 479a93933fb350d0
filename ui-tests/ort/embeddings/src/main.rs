//! Prints the vectors of sentences, by the published crate `fastembed`.
//!
//! The first argument is the folder of `minilm.onnx` and `tokenizer.json`, the second a file with a sentence in each line.
//! Without the second, the program only loads the model.

use fastembed::{
    InitOptionsUserDefined, Pooling, QuantizationMode, TextEmbedding, TokenizerFiles,
    UserDefinedEmbeddingModel,
};

/// The model that `examples/embeddings/fetch.py` fetches.
#[cfg(feature = "compiled")]
mod model {
    onnx_embed::onnx_model!(
        #[onnx(weights = "file")]
        pub struct MiniLm = "../../../examples/embeddings/model/minilm.onnx";
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "compiled")]
    {
        onnx_embed_ort::register::<model::MiniLm>();
        ort::set_api(onnx_embed_ort::api());
    }
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("the first argument is the folder of the model")?;
    let tokenizer_files = TokenizerFiles {
        tokenizer_file: std::fs::read(format!("{folder}/tokenizer.json"))?,
        config_file: br#"{"pad_token_id": 0}"#.to_vec(),
        special_tokens_map_file: b"{}".to_vec(),
        tokenizer_config_file: br#"{"model_max_length": 256, "pad_token": "[PAD]"}"#.to_vec(),
    };
    let model =
        UserDefinedEmbeddingModel::new(std::fs::read(format!("{folder}/minilm.onnx"))?, tokenizer_files)
            .with_pooling(Pooling::Mean)
            .with_quantization(QuantizationMode::Dynamic);
    let mut model = TextEmbedding::try_new_from_user_defined(model, InitOptionsUserDefined::new())?;
    let Some(path) = arguments.next() else { return Ok(()) };
    let text = std::fs::read_to_string(path)?;
    let sentences: Vec<&str> = text.lines().collect();
    // Each alone, then all at once.
    let mut vectors = Vec::new();
    for sentence in &sentences {
        vectors.extend(model.embed([sentence], None)?);
    }
    vectors.extend(model.embed(&sentences, None)?);
    for vector in vectors {
        let numbers: Vec<String> = vector.iter().map(|number| format!("{number:.3}")).collect();
        println!("{}", numbers.join("\t"));
    }
    Ok(())
}
