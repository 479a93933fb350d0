//! Models whose results have the same bits on every CPU.

use onnx_embed::{Device, OnnxModel, TensorData, Value, Values, onnx_model, with_threads};

onnx_model! {
    #[onnx(deterministic)]
    struct Deterministic = "../../models/blocks/bert_layer/bert_layer.onnx";
}

onnx_model! {
    struct Plain = "../../models/blocks/bert_layer/bert_layer.onnx";
}

/// Number of tokens of a row.
const TOKENS: usize = 37;

/// Some rows of a batch, from `first` on.
fn inputs(first: usize, rows: usize) -> Values {
    let float = |at: usize| ((first * TOKENS * 8 + at) * 37 % 101) as f32 * 0.02 - 1.0;
    let hidden = (0..rows * TOKENS * 8).map(float).collect::<Vec<_>>();
    let mask = vec![0f32; rows * TOKENS];
    let mut inputs = Values::new();
    inputs.insert("hidden_states", Value::Tensor(TensorData::new(hidden, [rows, TOKENS, 8])));
    inputs.insert("attention_mask", Value::Tensor(TensorData::new(mask, [rows, 1, 1, TOKENS])));
    inputs
}

/// Returns all elements of the first output.
fn output(model: &impl OnnxModel, inputs: Values) -> Vec<f32> {
    let outputs = model.run(inputs).unwrap();
    let (_, value) = outputs.iter().next().unwrap();
    value.tensor().unwrap().try_to_vec().unwrap()
}

#[test]
fn rows_have_the_same_bits_alone_and_with_any_number_of_threads() {
    let model = Deterministic::new(&Device::flex());
    let all = output(&model, inputs(0, 6));
    for threads in [1, 2, 5] {
        assert_eq!(with_threads(threads, || output(&model, inputs(0, 6))), all, "{threads}");
    }
    let width = all.len() / 6;
    for row in 0..6 {
        assert_eq!(output(&model, inputs(row, 1)), all[row * width..][..width], "{row}");
    }
    let plain = output(&Plain::new(&Device::flex()), inputs(0, 6));
    let error = all.iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(error < 1e-5, "{error}");
}
