//! Every block of Rust in README and guide compiles and runs.

use std::panic::resume_unwind;
use std::pin::pin;
use std::process::{ExitCode, Termination};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

include!(concat!(env!("OUT_DIR"), "/blocks.rs"));

/// Of the threads of blocks: kernels of an unoptimized build need room.
const STACK: usize = 16 << 20;

/// Runs a program, and fails where it would end with another code than 0.
fn runs<T: Termination + 'static>(program: fn() -> T) {
    let run = move || assert_eq!(program().report(), ExitCode::SUCCESS);
    let thread = thread::Builder::new().stack_size(STACK).spawn(run);
    if let Err(panic) = thread.expect("a thread starts").join() {
        resume_unwind(panic);
    }
}

/// A program that only a browser can run.
#[allow(dead_code, reason = "the feature of such a block may be off")]
fn compiles<T>(_: fn() -> T) {}

/// Whether there is an adapter.
#[cfg(feature = "wgpu")]
fn has_gpu() -> bool {
    use onnx_embed::{Device, burn::tensor::DeviceType};

    let found = !Device::enumerate(DeviceType::Wgpu).into_vec().is_empty();
    if !found {
        eprintln!("the block is not run: there is no adapter");
    }
    found
}

/// Waits for a future on this thread.
#[allow(dead_code, reason = "blocks that await may need a device")]
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
