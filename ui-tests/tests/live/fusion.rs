//! Operations with and without Burn's fusion.

use onnx_embed::__private::ops::observe::Event;
use onnx_embed::{Device, OnnxModel, TensorData, onnx_model};

use crate::{events, inputs, on_each};

onnx_model! { struct Steered = "../../models/steered.onnx"; }

#[test]
fn the_environment_turns_fusion_off() {
    let is_off = std::env::var("ONNX_EMBED_UNFUSED").is_ok_and(|word| word == "1");
    on_each(|device| {
        let model = Steered::new(device);
        let x = TensorData::from([1f32, 2.0, 30.0, 4.0]);
        let (result, events) = events(|| model.run(inputs([("x", x)])));
        result.unwrap();
        let is_fused = |event: &Event| matches!(event, Event::Launch(name) if name.contains("fusion"));
        let expected = cfg!(feature = "fusion") && !is_off && *device != Device::flex();
        assert_eq!(events.iter().any(is_fused), expected, "{events:#?}");
    });
}
