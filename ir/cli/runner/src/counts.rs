//! What a run asks of a device.

use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_embed::__private::ops::observe::{Event, observe};
use onnx_embed::Device;

static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
static READS: AtomicUsize = AtomicUsize::new(0);

/// Kernels that a run launched, and values that it waited for before it could go on.
#[derive(Clone, Copy)]
pub struct Counts {
    pub launches: usize,
    pub reads: usize,
}

/// Begins to count, if the device is none of this process.
pub fn begin(device: &Device) {
    if *device != Device::flex() {
        observe(|event| {
            match event {
                Event::Launch(_) => LAUNCHES.fetch_add(1, Ordering::Relaxed),
                Event::Read => READS.fetch_add(1, Ordering::Relaxed),
                Event::Wait | Event::Kernel(_) => 0,
            };
        });
    }
}

/// What was counted since this was called before.
pub fn take() -> Counts {
    Counts {
        launches: LAUNCHES.swap(0, Ordering::Relaxed),
        reads: READS.swap(0, Ordering::Relaxed),
    }
}
