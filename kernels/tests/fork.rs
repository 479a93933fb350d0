//! Kernels in a child of `fork`.
#![cfg(target_os = "linux")]

use std::{
    ffi::c_int,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use burn::tensor::{Device, Distribution, Tensor, TensorData};
use onnx_embed_kernels::{matmul::matmul, softmax::softmax, threads};

unsafe extern "C" {
    fn fork() -> c_int;
    fn alarm(seconds: u32) -> u32;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// Runs kernels on several threads with large results, and a loop of Burn that rayon divides.
fn run(x: &Tensor<2>) -> Vec<TensorData> {
    threads::enter();
    threads::with(4, || {
        let y = matmul::<2, 2, 2>(x.clone(), x.clone());
        let y = softmax(y, 1);
        let sum = Tensor::<1>::ones([1 << 22], &x.device()).sum();
        vec![y.into_data(), sum.into_data()]
    })
}

fn threads_now() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Returns the exit status of a child that runs a function, within a minute.
fn in_child(run: impl FnOnce() -> bool) -> c_int {
    // SAFETY: the child only runs the function on this thread, and never returns from this call.
    match unsafe { fork() } {
        0 => {
            // SAFETY: `alarm` has no preconditions; its signal ends a child that hangs.
            unsafe { alarm(60) };
            let is_right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or(false);
            // SAFETY: `_exit` ends the child without running handlers or flushing buffers of the parent.
            unsafe { _exit(c_int::from(!is_right)) }
        }
        child => {
            assert!(child > 0, "the system gives no process");
            let mut status = -1;
            // SAFETY: the pointer is to a local variable, which is valid for writes.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            status
        }
    }
}

#[test]
fn a_child_computes() {
    let x = Tensor::<2>::random([160, 160], Distribution::Default, &Device::flex());
    let expected = run(&x);
    assert_eq!(in_child(|| run(&x) == expected && threads_now() >= 4), 0);
    // Other threads hold locks and run tasks while this one forks.
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Relaxed) {
                    assert!(run(&x) == expected);
                }
            });
        }
        let statuses: Vec<c_int> =
            (0..5).map(|_| in_child(|| run(&x) == expected && run(&x) == expected)).collect();
        is_done.store(true, Relaxed);
        assert!(statuses.iter().all(|status| *status == 0), "{statuses:?}");
    });
    assert!(run(&x) == expected);
}
