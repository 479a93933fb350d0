//! Kernel launches and device reads of a run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onnx_embed::__private::ops::observe::{Event, observe};
use onnx_embed::Device;

static LAUNCHES: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());
static READS: AtomicUsize = AtomicUsize::new(0);

/// Counts of kernel launches, and of values that the host read back from the device.
pub struct Counts {
    /// Number of launches of each kernel, by name.
    pub launches: BTreeMap<&'static str, usize>,
    pub reads: usize,
}

/// Starts counting, unless the device is the CPU.
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

/// Returns the counts since the previous call.
pub fn take() -> Counts {
    Counts { launches: std::mem::take(&mut *launches()), reads: READS.swap(0, Ordering::Relaxed) }
}

fn launches() -> MutexGuard<'static, BTreeMap<&'static str, usize>> {
    LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
}
