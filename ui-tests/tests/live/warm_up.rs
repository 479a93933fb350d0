//! Models that are warmed up before the first request.

use std::collections::BTreeSet;

use onnx_embed::__private::ops::observe::Event;
use onnx_embed::{Device, OnnxModel, TensorData, onnx_model};

use crate::{events, inputs, on_each};

onnx_model! { struct Perceptron = "../../models/perceptron.onnx"; }
onnx_model! { struct Found = "../../models/found.onnx"; }
onnx_model! { struct Contradictions = "../../models/contradictions.onnx"; }

/// Returns the CubeCL kernels that were launched.
fn kernels(run: impl FnOnce()) -> BTreeSet<Event> {
    let (_, events) = events(run);
    events.into_iter().filter(|event| matches!(event, Event::Launch(_))).collect()
}

#[test]
fn the_first_request_finds_its_kernels() {
    on_each(|device| {
        let model = Perceptron::new(device);
        let warm = kernels(|| model.warm_up(&[("batch", 2)]).unwrap());
        let x = TensorData::from([[1f32, 2.0, 3.0], [-1.0, 0.0, 1.0]]);
        let first = kernels(|| drop(model.run(inputs([("x", x)])).unwrap()));
        assert!(first.is_subset(&warm), "{first:?} after {warm:?}");
        assert_eq!(first.is_empty(), *device == Device::flex());
    });
}

#[test]
fn what_zeros_cannot_be_run_on_is_an_error() {
    on_each(|device| {
        // The axis has one element, and two are requested.
        let error = Found::new(device).warm_up(&[]).unwrap_err();
        let expected = "cannot run `/top/TopK` (TopK): expected `k` of at most 1, found 2";
        assert_eq!(error.to_string(), expected);
        Found::new(device).warm_up(&[("m", 2)]).unwrap();
        let error = Found::new(device).warm_up(&[("batch", 2)]).unwrap_err();
        assert_eq!(error.to_string(), "the model has no size `batch`");
        // Strings that are not numbers.
        assert!(Contradictions::new(device).warm_up(&[]).is_err());
    });
}
