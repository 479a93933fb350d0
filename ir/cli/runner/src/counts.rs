//! What a run asks of a device.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onnx_embed::__private::ops::observe::{Event, observe};
use onnx_embed::Device;

static LAUNCHES: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());
static READS: AtomicUsize = AtomicUsize::new(0);

/// Kernels that a run launched, and values that it waited for before it could go on.
pub struct Counts {
    /// By the names of the kernels.
    pub launches: BTreeMap<&'static str, usize>,
    pub reads: usize,
}

/// Begins to count, if the device is none of this process.
pub fn begin(device: &Device) {
    if *device != Device::flex() {
        observe(|event| match event {
            Event::Launch(kernel) => *launches().entry(kernel).or_default() += 1,
            Event::Read => {
                READS.fetch_add(1, Ordering::Relaxed);
            }
            Event::Wait | Event::Kernel(_) => {}
        });
    }
}

/// What was counted since this was called before.
pub fn take() -> Counts {
    Counts { launches: std::mem::take(&mut *launches()), reads: READS.swap(0, Ordering::Relaxed) }
}

fn launches() -> MutexGuard<'static, BTreeMap<&'static str, usize>> {
    LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
}
