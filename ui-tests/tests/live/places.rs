//! Models on several threads and several devices at once.

use std::sync::Barrier;
use std::thread;

use onnx_embed::{Device, OnnxModel, TensorData, Values, onnx_model};

use crate::{STACK, devices, inputs, on_each, turn};

onnx_model! { struct Steered = "../../models/steered.onnx"; }
onnx_model! { struct Modules = "../../models/modules.onnx"; }

/// Number of calls of each thread, so that calls of different threads overlap.
const CALLS: usize = 12;

fn x(seed: usize) -> Values {
    let value = |at: usize| ((at * 7 + seed * 5) % 11) as f32 - 4.0;
    let values: Vec<f32> = (0..6 + seed % 3).map(value).collect();
    inputs([("x", TensorData::from(&values[..]))])
}

/// Returns the results of a model for one call after the other.
fn answers(model: &impl OnnxModel) -> Vec<Result<Values, String>> {
    let calls = (0..CALLS).map(|seed| model.run(x(seed)).map_err(|error| error.to_string()));
    calls.collect()
}

/// Checks that models that run at once, each on its own thread, return the same results as alone.
fn agree_at_once<M: OnnxModel + Sync>(models: &[&M]) {
    let alone: Vec<_> = models.iter().map(|model| answers(*model)).collect();
    let start = Barrier::new(models.len());
    let at_once: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = models
            .iter()
            .map(|model| {
                let calls = || {
                    start.wait();
                    answers(*model)
                };
                let thread = thread::Builder::new().stack_size(STACK);
                thread.spawn_scoped(scope, calls).unwrap()
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(at_once, alone);
}

#[test]
fn threads_share_a_model() {
    on_each(|device| {
        let model = Modules::new(device);
        agree_at_once(&[&model, &model, &model]);
        let model = Steered::new(device);
        agree_at_once(&[&model, &model]);
    });
}

#[test]
fn devices_work_beside_each_other() {
    let _turn = turn();
    let mut all = devices();
    all.extend(others());
    let models: Vec<Modules> = all.iter().map(Modules::new).collect();
    agree_at_once(&models.iter().collect::<Vec<_>>());
}

#[test]
fn a_model_is_made_where_another_one_runs() {
    on_each(|device| {
        let model = Modules::new(&Device::flex());
        let expected = answers(&model);
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK);
            let made = thread.spawn_scoped(scope, || answers(&Modules::new(device)));
            assert_eq!(answers(&model), expected);
            made.unwrap().join().unwrap();
        });
    });
}

/// Returns the second adapter, if any.
#[cfg(feature = "wgpu")]
fn others() -> Vec<Device> {
    use onnx_embed::burn::tensor::DeviceType;

    let all = Device::enumerate(DeviceType::Wgpu).into_vec();
    all.into_iter().skip(1).take(1).collect()
}

#[cfg(not(feature = "wgpu"))]
fn others() -> Vec<Device> {
    Vec::new()
}
