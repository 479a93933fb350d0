//! Large results reuse memory: a repeated call does not allocate large blocks.

#![allow(clippy::disallowed_methods)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use burn::tensor::{Device, Distribution, Tensor};
use onnx_embed_kernels::{
    activation::silu,
    arithmetic::max,
    conv::conv2d_then,
    epilogue::{Activation, Epilogue},
    matmul::{linear_then, matmul},
    pool::max_pool,
    softmax::softmax,
    window::Window,
};

/// Minimum size of an allocation that is counted, in bytes.
const LARGE: usize = 64 << 10;

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(size: usize) {
    if size >= LARGE {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: all methods forward to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, first: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(first, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, first: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::realloc`.
        unsafe { System.realloc(first, layout, size) }
    }
}

struct Network {
    image: Tensor<4>,
    filters: Tensor<4>,
    matrix: Tensor<2>,
    bound: Tensor<4>,
    epilogues: [Epilogue; 2],
}

impl Network {
    fn new() -> Self {
        let device = Device::flex();
        let noise = |shape: [usize; 4]| Tensor::random(shape, Distribution::Default, &device);
        let leaky = Epilogue { activation: Activation::LeakyRelu(0.1), ..Epilogue::of_layer() };
        Self {
            image: noise([1, 3, 64, 64]),
            filters: noise([24, 3, 3, 3]),
            matrix: noise([1, 1, 32, 40]).reshape([32, 40]),
            bound: noise([1, 1, 1, 1]),
            epilogues: [leaky, Epilogue::of_layer()],
        }
    }

    fn run(&self) -> Tensor<4> {
        let [first, last] = self.epilogues.clone();
        let padded = Window::new([3, 3]).pads([(1, 1); 2]);
        let x = conv2d_then(self.image.clone(), self.filters.clone(), None, None, padded, 1, first);
        let shape = x.dims();
        let x = max(x, self.bound.clone().expand(shape));
        let x = max_pool(x, Window::new([2, 2]).strides([2, 2]), false);
        let shortcut = x.clone();
        let x = silu(x) + shortcut;
        let x = linear_then(x, self.matrix.clone(), None, None, last);
        let y = matmul::<4, 4, 4>(x.clone(), x.swap_dims(2, 3));
        softmax(y, 3)
    }
}

#[test]
fn later_calls_take_no_large_memory_of_the_allocator() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("a thread").install(|| {
        let network = Network::new();
        let calls = || {
            let before = COUNT.load(Ordering::Relaxed);
            for _ in 0..2 {
                assert_eq!(network.run().dims(), [1, 24, 32, 32]);
            }
            COUNT.load(Ordering::Relaxed) - before
        };
        assert!(calls() > 0);
        // Unused memory is released after a while, which may be between two calls on a slow machine.
        let counts = [(); 4].map(|()| calls());
        assert!(counts.contains(&0), "{counts:?}");
    });
}
