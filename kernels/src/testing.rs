//! Test devices, tensors from literals, and comparisons.
//!
//! Tests run on Flex, or on the devices in the variable `DEVICE`: `DEVICE=wgpu cargo test -p onnx-embed-kernels
//! --features wgpu,fusion`. A test that cannot pass there prints the reason. Comparisons of kernels run on all [`devices`].

use std::cell::RefCell;

#[cfg(feature = "wgpu")]
use burn::tensor::DeviceType;
use burn::tensor::{Bool, DType, Device, Float, Int, Tensor, TensorData, kind::Basic};

use crate::{
    backend::{Runtime, switches},
    dtype::stored,
    observe::{Event, observe},
};

thread_local! {
    /// The device of [`on_each`].
    static CURRENT: RefCell<Option<Device>> = const { RefCell::new(None) };
    /// Events of this thread since [`events`] began.
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Returns Flex, and wgpu if the feature is enabled and there is an adapter; or the comma-separated devices of `DEVICE`.
pub fn devices() -> Vec<Device> {
    switches::settle();
    match std::env::var("DEVICE") {
        Ok(names) => names.split(',').map(named).collect(),
        Err(_) => present(),
    }
}

fn named(name: &str) -> Device {
    match name {
        "flex" => Device::flex(),
        #[cfg(feature = "wgpu")]
        "wgpu" => Device::wgpu(Default::default()),
        _ => panic!("the tests are built without the device `{name}`"),
    }
}

#[cfg(not(feature = "wgpu"))]
fn present() -> Vec<Device> {
    vec![Device::flex()]
}

#[cfg(feature = "wgpu")]
fn present() -> Vec<Device> {
    let mut devices = vec![Device::flex()];
    if Device::enumerate(DeviceType::Wgpu).into_vec().is_empty() {
        eprintln!("wgpu is left out: there is no adapter");
    } else {
        devices.push(Device::wgpu(Default::default()));
    }
    devices
}

/// Returns the device of tensors from literals.
pub fn device() -> Device {
    let current = CURRENT.with_borrow(Clone::clone);
    current.unwrap_or_else(|| devices().swap_remove(0))
}

/// Runs a test on each device.
pub fn on_each(test: impl Fn()) {
    for device in devices() {
        eprintln!("on {device:?}");
        CURRENT.set(Some(device));
        test();
    }
    CURRENT.set(None);
}

/// Returns `true` if the device has values of a dtype. Otherwise prints that the test leaves them out.
pub fn has(dtype: DType) -> bool {
    let there = stored(&device(), dtype) == dtype;
    if !there {
        eprintln!("{dtype:?} is left out: {:?} has none", device());
    }
    there
}

/// [`has`] for several dtypes.
pub fn has_all(dtypes: &[DType]) -> bool {
    dtypes.iter().all(|&dtype| has(dtype))
}

/// Returns `true` if tests run on the CPU. Otherwise prints why the test is skipped.
pub fn on_cpu(reason: &str) -> bool {
    let here = device() == Device::flex();
    if !here {
        eprintln!("left out on {:?}: {reason}", device());
    }
    here
}

/// Returns `true` if the CPU kernels run. Otherwise prints why the test is skipped.
pub fn by_flex(reason: &str) -> bool {
    if switches::is_plain() {
        eprintln!("left out without kernels: {reason}");
    }
    !switches::is_plain() && on_cpu(reason)
}

/// Returns the result of a function, and the events of its operators.
pub fn events<T>(run: impl FnOnce() -> T) -> (T, Vec<Event>) {
    observe(|event| EVENTS.with_borrow_mut(|events| events.push(event)));
    EVENTS.take();
    let result = run();
    (result, EVENTS.take())
}

/// Returns the result of a function that launches at most `most` kernels on CubeCL devices, fused kernels not included.
#[track_caller]
pub fn with_launches<T>(most: usize, run: impl FnOnce() -> T) -> T {
    let (result, events) = events(run);
    let launches: Vec<Event> = events.into_iter().filter(|event| matches!(event, Event::Launch(_))).collect();
    let is_cube = Runtime::of(&device()) == Runtime::Wgpu && !switches::is_plain();
    assert!(!is_cube || launches.len() <= most, "more than {most}: {launches:?}");
    result
}

/// Returns the result of a function that reads values back at most `most` times if CubeCL kernels run.
#[track_caller]
pub fn with_reads<T>(most: usize, run: impl FnOnce() -> T) -> T {
    let (result, events) = events(run);
    let reads = events.iter().filter(|&&event| event == Event::Read).count();
    let is_cube = Runtime::of(&device()) == Runtime::Wgpu && !switches::is_plain();
    assert!(!is_cube || reads <= most, "{reads} reads instead of {most}");
    result
}

/// Returns a tensor of any kind, with the dtype of the literal or the one that replaces it on the device.
pub fn tensor<const D: usize, K: Basic>(data: impl Into<TensorData>) -> Tensor<D, K> {
    let (device, data) = (device(), data.into());
    let dtype = stored(&device, data.dtype());
    Tensor::from_data(data, (&device, dtype))
}

/// Returns a float tensor.
pub fn float<const D: usize>(data: impl Into<TensorData>) -> Tensor<D, Float> {
    tensor(data)
}

/// Returns an integer tensor.
pub fn int<const D: usize>(data: impl Into<TensorData>) -> Tensor<D, Int> {
    tensor(data)
}

/// Returns a boolean tensor.
pub fn bool<const D: usize>(data: impl Into<TensorData>) -> Tensor<D, Bool> {
    tensor(data)
}

/// Asserts equal dtype, shape and elements; NaN equals NaN.
#[track_caller]
pub fn same<const D: usize, K: Basic>(actual: Tensor<D, K>, expected: impl Into<TensorData>) {
    compare(actual, expected.into(), 0.0);
}

/// Asserts equal dtype and shape, and elements within `tolerance` relative to the greater of 1 and the expected value.
#[track_caller]
pub fn near<const D: usize, K: Basic>(actual: Tensor<D, K>, expected: impl Into<TensorData>, tolerance: f64) {
    compare(actual, expected.into(), tolerance);
}

#[track_caller]
fn compare<const D: usize, K: Basic>(actual: Tensor<D, K>, expected: TensorData, tolerance: f64) {
    let device = actual.device();
    let expected = match stored(&device, expected.dtype()) {
        dtype if dtype == expected.dtype() => expected,
        dtype => expected.convert_dtype(dtype),
    };
    let actual = actual.into_data();
    assert_eq!(actual.dtype(), expected.dtype(), "dtype");
    assert_eq!(actual.shape(), expected.shape(), "shape");
    if !actual.dtype().is_float() {
        assert_eq!(actual, expected);
        return;
    }
    let pairs = actual.iter::<f64>().zip(expected.iter::<f64>());
    for (index, (a, e)) in pairs.enumerate() {
        let close = a == e || (a.is_nan() && e.is_nan());
        assert!(
            close || (a - e).abs() <= tolerance * e.abs().max(1.0),
            "element {index} is {a} where {e} was expected\n  actual {actual}\nexpected {expected}"
        );
    }
}

/// Returns float values in [-1, 1) that look random and are the same in every run.
pub fn noise<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<D> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| next()).collect();
    float(TensorData::new(values, shape))
}

/// Returns every index of `shape` in row-major order.
pub fn indices<const D: usize>(shape: [usize; D]) -> impl Iterator<Item = [usize; D]> {
    (0..shape.iter().product()).map(move |flat: usize| {
        let mut rest = flat;
        let mut index = [0; D];
        for axis in (0..D).rev() {
            index[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        index
    })
}
