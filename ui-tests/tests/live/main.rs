//! Models at run time, on CPUs and GPUs.
//!
//! The feature `wgpu` adds an adapter, if the machine has one.

mod fusion;
mod places;
mod waiting;
mod warm_up;

use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use onnx_embed::__private::ops::observe::{Event, observe};
use onnx_embed::{Device, TensorData, Value, Values};

/// Stack size of threads that run models, in bytes.
const STACK: usize = 16 << 20;

/// Lock of the running test. Events belong to the process, since threads of devices report some too.
static TURN: Mutex<()> = Mutex::new(());

/// Events of operators since the last call of [`events`].
static EVENTS: Mutex<Vec<Event>> = Mutex::new(Vec::new());

/// Runs a function and returns its result and the events of operators.
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

/// Runs a test on each device while no other test runs. Kernels of an unoptimized build need a large stack.
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

/// Returns the inputs of a model by name.
fn inputs<const N: usize>(values: [(&str, TensorData); N]) -> Values {
    Values::from(values.map(|(name, data)| (name, Value::from(data))))
}
