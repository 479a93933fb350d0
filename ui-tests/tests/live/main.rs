//! Models at work, on the CPU, and with the feature `wgpu` on an adapter where there is one.

mod fusion;
mod places;
mod waiting;
mod warm_up;

use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use onnx_embed::__private::ops::observe::{Event, observe};
use onnx_embed::{Device, TensorData, Value, Values};

/// Of threads that run models.
const STACK: usize = 16 << 20;

/// Held by the test that runs, as events are those of the process: the threads of devices have some too.
static TURN: Mutex<()> = Mutex::new(());

/// What operators did since [`events`] began.
static EVENTS: Mutex<Vec<Event>> = Mutex::new(Vec::new());

/// What a function gives, and what operators did.
fn events<T>(run: impl FnOnce() -> T) -> (T, Vec<Event>) {
    observe(|event| EVENTS.lock().unwrap().push(event));
    EVENTS.lock().unwrap().clear();
    let result = run();
    (result, std::mem::take(&mut EVENTS.lock().unwrap()))
}

/// Waits until no other test runs.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test on each device, and no other one meanwhile. Kernels of an unoptimized build need room on the stack.
fn on_each(test: impl Fn(&Device) + Send) {
    let _turn = turn();
    thread::scope(|scope| {
        let run = || devices().iter().for_each(test);
        let thread = thread::Builder::new().stack_size(STACK);
        if let Err(panic) = thread.spawn_scoped(scope, run).unwrap().join() {
            resume_unwind(panic);
        }
    });
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
