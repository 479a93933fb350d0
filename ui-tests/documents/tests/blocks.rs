//! Compiles and runs every Rust block in README and guide.

use std::panic::resume_unwind;
use std::pin::pin;
use std::process::{ExitCode, Termination};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

include!(concat!(env!("OUT_DIR"), "/blocks.rs"));

/// Stack size of the threads of blocks, in bytes. Kernels of an unoptimized build need large stacks.
const STACK: usize = 16 << 20;

/// Runs a program and fails unless it exits with code 0.
fn runs<T: Termination + 'static>(program: fn() -> T) {
    let run = move || assert_eq!(program().report(), ExitCode::SUCCESS);
    let thread = thread::Builder::new().stack_size(STACK).spawn(run);
    if let Err(panic) = thread.expect("a thread starts").join() {
        resume_unwind(panic);
    }
}

/// Accepts a program that only a browser can run.
#[allow(dead_code, reason = "the feature of such a block may be off")]
fn compiles<T>(_: fn() -> T) {}

/// Returns `true` if the machine has a GPU adapter.
#[cfg(feature = "wgpu")]
fn has_gpu() -> bool {
    use onnx_embed::{Device, burn::tensor::DeviceType};

    let found = !Device::enumerate(DeviceType::Wgpu).into_vec().is_empty();
    if !found {
        eprintln!("the block is not run: there is no adapter");
    }
    found
}

/// Blocks this thread until a future is ready.
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
