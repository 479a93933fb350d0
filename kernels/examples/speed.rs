//! Times of our kernels compared with Burn.
//!
//! `cargo run --release -p onnx-embed-kernels --example speed`

#![allow(clippy::disallowed_methods, reason = "Burn's methods are measured")]

use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor, activation, module, ops::ConvOptions};
use onnx_embed_kernels::{conv::conv1d, elementary, matmul, softmax::softmax, window::Window};

const RUNS: usize = 15;

fn main() {
    let device = Device::default();
    let random =
        |rows, columns| Tensor::<2>::random([rows, columns], Distribution::Uniform(-1.0, 1.0), &device);
    for [rows, inner, columns] in
        [[1, 1024, 4096], [16, 1024, 1024], [64, 3136, 576], [512, 512, 512], [3000, 400, 402]]
    {
        let (a, b, transposed) = (random(rows, inner), random(inner, columns), random(columns, inner));
        compare(
            &format!("product {rows}x{inner}x{columns}"),
            || a.clone().matmul(b.clone()),
            || matmul::product(a.clone(), b.clone()),
        );
        compare(
            &format!("product {rows}x{inner}x{columns}, transposed"),
            || a.clone().matmul(transposed.clone().transpose()),
            || matmul::product(a.clone(), transposed.clone().transpose()),
        );
        compare(
            &format!("layer {rows}x{inner}x{columns}"),
            || module::linear(a.clone(), b.clone(), None),
            || matmul::linear(a.clone(), b.clone(), None),
        );
    }
    for [inputs, outputs, taps, length, groups] in
        [[512, 512, 3, 1000, 1], [1, 512, 10, 16_000, 1], [256, 256, 7, 114, 256]]
    {
        let random = |shape| Tensor::<3>::random(shape, Distribution::Uniform(-1.0, 1.0), &device);
        let (x, weight) = (random([1, inputs, length]), random([outputs, inputs / groups, taps]));
        let pad = taps / 2;
        let options = ConvOptions::new([1], [pad], [1], groups);
        let window = Window::new([taps]).pads([(pad, pad)]);
        compare(
            &format!("convolution {inputs} to {outputs} by {taps} over {length}"),
            || module::conv1d(x.clone(), weight.clone(), None, options.clone()),
            || conv1d(x.clone(), weight.clone(), None, window, groups),
        );
    }
    let x = random(512, 512);
    compare("softmax", || activation::softmax(x.clone(), 1), || softmax(x.clone(), 1));
    compare("gelu", || activation::gelu(x.clone()), || elementary::gelu(x.clone()));
    compare("exp", || x.clone().exp(), || elementary::exp(x.clone()));
}

/// Prints the median times of both in alternating runs.
fn compare<const D: usize>(what: &str, burn: impl Fn() -> Tensor<D>, ours: impl Fn() -> Tensor<D>) {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        times[0].push(timed(&burn));
        times[1].push(timed(&ours));
    }
    let [burn, ours] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    });
    println!("{what:<48} Burn {burn:8.3} ms, ours {ours:8.3} ms");
}

fn timed<const D: usize>(run: impl Fn() -> Tensor<D>) -> f64 {
    let start = Instant::now();
    let y = run();
    let time = start.elapsed().as_secs_f64() * 1e3;
    drop(y);
    time
}
