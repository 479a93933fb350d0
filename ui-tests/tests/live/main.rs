//! Models at work, on the CPU, and with the feature `wgpu` on an adapter where there is one.

mod waiting;

use std::cell::RefCell;

use onnx_embed::__private::ops::observe::{Event, observe};
use onnx_embed::{Device, TensorData, Value, Values};

thread_local! {
    /// What operators did on this thread since [`events`] began.
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// What a function gives, and what its operators did on this thread.
fn events<T>(run: impl FnOnce() -> T) -> (T, Vec<Event>) {
    observe(|event| EVENTS.with_borrow_mut(|events| events.push(event)));
    EVENTS.take();
    let result = run();
    (result, EVENTS.take())
}

#[cfg(not(feature = "wgpu"))]
fn devices() -> Vec<Device> {
    vec![Device::flex()]
}

#[cfg(feature = "wgpu")]
fn devices() -> Vec<Device> {
    use onnx_embed::burn::tensor::DeviceType;

    let mut devices = vec![Device::flex()];
    if Device::enumerate(DeviceType::Wgpu).into_vec().is_empty() {
        eprintln!("wgpu is left out: there is no adapter");
    } else {
        devices.push(Device::wgpu(Default::default()));
    }
    devices
}

/// Inputs of a model by their names.
fn inputs<const N: usize>(values: [(&str, TensorData); N]) -> Values {
    Values::from(values.map(|(name, data)| (name, Value::from(data))))
}
