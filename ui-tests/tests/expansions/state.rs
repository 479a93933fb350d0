//! Models that keep their state from step to step.

use onnx_embed::{Array, Device, Tensor};

mod decoder {
    onnx_embed::onnx_model! {
        #[onnx(state("past_*" = "present_*"))]
        pub struct Decoder = "models/decoder/decoder.onnx";
    }
}

mod vad {
    onnx_embed::onnx_model! {
        #[onnx(state(state = next_state))]
        pub struct Vad = "../examples/vad/vad.onnx";
    }
}

mod merged {
    onnx_embed::onnx_model! {
        #[onnx(state(past_decoder = present_decoder, past_encoder = first(present_encoder)))]
        pub struct Merged = "models/merged.onnx";
    }
}

use decoder::{Decoder, DecoderInput, DecoderState, DecoderStep};
use merged::{Merged, MergedState, MergedStep};
use vad::{Vad, VadInput, VadOutput};

/// Returns the scores of each token, and the state after them.
fn steps(model: &Decoder, tokens: &[i64], state: &mut DecoderState) -> Vec<Vec<f32>> {
    let device = Device::flex();
    let step = |token: &i64| {
        let seen = state.len() + 1;
        let ids = Tensor::from_ints([[*token]], &device);
        let output = model.step(state, DecoderStep { ids, mask: Tensor::ones([1, seen], &device) });
        output.scores.into_data().iter().collect()
    };
    tokens.iter().map(step).collect()
}

#[test]
fn steps_are_calls_with_the_state() {
    let device = Device::flex();
    let model = Decoder::default();
    let mut state = model.state(1);
    let scores = steps(&model, &[3, 1, 4, 1, 5], &mut state);
    let empty = || Tensor::zeros([1, 2, 0, 8], &device);
    let mut past = [(); 4].map(|()| empty());
    for (seen, (token, scores)) in [3, 1, 4, 1, 5].into_iter().zip(scores).enumerate() {
        let [past_key_0, past_value_0, past_key_1, past_value_1] = past;
        let output = model.forward(DecoderInput {
            ids: Tensor::from_ints([[token]], &device),
            mask: Tensor::ones([1, seen + 1], &device),
            past_key_0,
            past_value_0,
            past_key_1,
            past_value_1,
        });
        let expected = output.scores.into_data();
        past = [output.present_key_0, output.present_value_0, output.present_key_1, output.present_value_1];
        assert_eq!(expected.iter().collect::<Vec<f32>>(), scores);
    }
    assert_eq!(state.len(), 5);
}

#[test]
fn states_are_cloned_truncated_and_reset() {
    let model = Decoder::default();
    let mut state = model.state(1);
    let first = steps(&model, &[3, 1, 4], &mut state);
    let mut other = state.clone();
    let one = steps(&model, &[1, 5], &mut state);
    let two = steps(&model, &[9, 2], &mut other);
    assert_ne!(one, two);
    state.truncate(3);
    assert_eq!(steps(&model, &[9, 2], &mut state), two);
    other.truncate(3);
    assert_eq!(steps(&model, &[1, 5], &mut other), one);
    state.reset();
    assert!(state.is_empty());
    assert_eq!(steps(&model, &[3, 1, 4], &mut state), first);
}

#[test]
fn a_step_that_fails_leaves_the_first_state() {
    let model = Decoder::default();
    let mut state = model.state(1);
    let first = steps(&model, &[3], &mut state);
    let device = Device::flex();
    let wrong = DecoderStep { ids: Tensor::from_ints([[1]], &device), mask: Tensor::ones([1, 7], &device) };
    assert!(model.try_step(&mut state, wrong).is_err());
    assert!(state.is_empty());
    assert_eq!(steps(&model, &[3], &mut state), first);
}

/// Returns the result of a step of which only the first reads the features.
fn merged_step(
    model: &Merged,
    state: &mut MergedState,
    features: f32,
    x: f32,
) -> Result<Vec<f32>, onnx_embed::Error> {
    let device = Device::flex();
    let later = !state.is_empty();
    let step = MergedStep {
        features: Tensor::from_floats([[[features, 1.0], [0.0, 2.0]]], &device),
        x: Tensor::from_floats([[[x, 0.0]]], &device),
        later: Array::vector([later]),
    };
    Ok(model.try_step(state, step)?.into_data().iter().collect())
}

#[test]
fn what_the_first_step_computes_stays_until_the_next_reset() {
    let model = Merged::default();
    let mut state = model.state(1, 2);
    // Three times the sum of the features, and all `x` so far.
    assert_eq!(merged_step(&model, &mut state, 2.0, 1.0).unwrap(), [7.0, 9.0]);
    assert_eq!(merged_step(&model, &mut state, 50.0, 5.0).unwrap(), [7.0, 9.0, 11.0, 9.0]);
    let mut other = state.clone();
    assert_eq!(merged_step(&model, &mut other, 50.0, 0.0).unwrap(), [7.0, 9.0, 11.0, 9.0, 6.0, 9.0]);
    assert_eq!(state.past_encoder.get().into_data().iter().collect::<Vec<f32>>(), [6.0, 3.0, 0.0, 6.0]);
    state.reset();
    assert_eq!(merged_step(&model, &mut state, 1.0, 1.0).unwrap(), [4.0, 9.0]);
    assert_eq!(merged_step(&model, &mut other, 1.0, 1.0).unwrap().len(), 8);
}

#[test]
fn states_of_one_size_are_replaced() {
    let device = Device::flex();
    let model = Vad::default();
    let mut state = model.state();
    let mut before = Tensor::zeros(state.state.get().dims(), &device);
    for block in 0..3 {
        let samples = || Tensor::<2>::ones([1, 256], &device) * block;
        let speech = model.step(&mut state, samples());
        let VadOutput { speech: expected, next_state } =
            model.forward(VadInput { samples: samples(), state: before });
        assert_eq!(speech.into_data(), expected.into_data());
        assert_eq!(state.state.get().into_data(), next_state.to_data());
        before = next_state;
    }
}
