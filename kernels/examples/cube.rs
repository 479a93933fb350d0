//! Times of the CubeCL kernels compared with Burn.
//!
//! Of all kernels, or of those whose names contain a word:
//!
//! `cargo run -p onnx-embed-kernels --features wgpu,fusion --example cube -- order`

#![allow(clippy::disallowed_methods, reason = "no size is 0")]

use std::time::Instant;

use burn::tensor::{
    DType, Device, Distribution, FloatDType, Int, Tensor, TensorData, module, ops::ConvOptions,
};
use onnx_embed_kernels::{
    conv::conv2d_then,
    cumulative,
    epilogue::{Activation, Epilogue},
    matmul::linear_then,
    non_max_suppression::{BoxForm, Limits, non_max_suppression},
    quantize::{Affine, Requantize, Weight, add, qlinear_conv2d, quantize_by, sigmoid},
    reader::{Blocking, now},
    recurrent::{Direction, Gru, Lstm, State, Weights, gru, lstm},
    roi::{Mode, RoiAlign, align, pool},
    select::nonzero,
    small::{Small, to_small},
    top_k::top_k,
    unique::unique_flat,
    window::Window,
};

const RUNS: usize = 7;
/// Time limit of a measurement, in seconds.
const PATIENCE: f64 = 20.0;

fn main() {
    let device = Device::wgpu(Default::default());
    images(&device);
    recurrences(&device);
    convolutions(&device);
    products(&device);
    quantized(&device);
    for size in [4 << 10, 64 << 10, 1 << 20] {
        let x = Tensor::<1>::random([size], Distribution::Uniform(-1.0, 1.0), &device);
        // The number of reads of Burn's kernel is the square of the size.
        let short = size <= 64 << 10;
        compare(&format!("cumulative sum of {size}"), short.then_some(|| x.clone().cumsum(0)), || {
            cumulative::cumsum(x.clone(), 0, false, false)
        });
        let rows = x.clone().reshape([size / 1024, 1024]);
        compare(&format!("cumulative sum of {}x1024", size / 1024), Some(|| rows.clone().cumsum(1)), || {
            cumulative::cumsum(rows.clone(), 1, false, false)
        });
        let single = |y: Tensor<1, Int>| y.cast(FloatDType::F32);
        compare(
            &format!("20 greatest of {size}"),
            Some(|| single(x.clone().topk_with_indices(20, 0).1)),
            || single(top_k(x.clone(), 20, 0, true).1),
        );
        compare(
            &format!("order of {size}"),
            // Burn's version runs on the host.
            Some(|| single(x.clone().argsort(0))),
            || single(top_k(x.clone(), size, 0, false).1),
        );
        let condition = || x.clone().greater_scalar(0.5);
        let column = |y: Tensor<2, Int>| y.cast(FloatDType::F32).reshape([-1]);
        compare(
            &format!("places of a quarter of {size}"),
            // Burn's version runs on the host.
            Some(|| column(condition().argwhere())),
            || column(nonzero(condition())),
        );
        compare(
            &format!("E4M3 of {size}"),
            Some(|| {
                // The host's version, which runs if the device has no kernel.
                let data = x.clone().into_data();
                let y = to_small(Tensor::<1>::from_data(data, &Device::flex()), Small::E4M3Fn, true);
                Tensor::<1>::from_data(y.into_data(), &x.device())
            }),
            || to_small(x.clone(), Small::E4M3Fn, true),
        );
        let few = || x.clone().mul_scalar(1e3).round();
        compare(
            &format!("elements that differ of {size}"),
            Some(|| single(on_host(few(), |x| unique_flat(x, true).2))),
            || single(unique_flat(few(), true).2),
        );
    }
}

fn convolutions(device: &Device) {
    for (channels, outputs, groups, size, kernel, stride) in [
        (3, 64, 1, 224, 7, 2),
        (64, 64, 1, 56, 3, 1),
        (256, 256, 1, 14, 3, 1),
        (96, 24, 1, 56, 1, 1),
        (960, 320, 1, 7, 1, 1),
        (144, 144, 144, 56, 3, 1),
        (64, 64, 16, 28, 3, 1),
    ] {
        let noise = |dims| Tensor::<4>::random(dims, Distribution::Default, device);
        let x = noise([1, channels, size, size]);
        let weight = noise([outputs, channels / groups, kernel, kernel]);
        let pad = kernel / 2;
        let options = ConvOptions::new([stride; 2], [pad; 2], [1; 2], groups);
        let window = Window::new([kernel; 2]).strides([stride; 2]).pads([(pad, pad); 2]);
        let filters = Epilogue::default().pack_filters(weight.clone(), groups);
        let work = outputs * (channels / groups) * (kernel * size / stride).pow(2);
        compare(
            &format!(
                "convolution {channels}-{outputs}/{groups} {kernel}x{kernel} {size} ({}M)",
                work / 1_000_000
            ),
            Some(|| module::conv2d(x.clone(), weight.clone(), None, options.clone()).clamp_min(0.0)),
            || conv2d_then(x.clone(), filters.clone(), None, None, window, groups, Activation::Relu.into()),
        );
    }
}

fn products(device: &Device) {
    for (rows, terms, columns) in
        [(128, 384, 1536), (128, 1536, 384), (64, 60, 180), (4, 256, 1024), (1, 2048, 1000)]
    {
        let noise = |dims| Tensor::<2>::random(dims, Distribution::Default, device);
        let (x, weight) = (noise([rows, terms]), noise([terms, columns]));
        let bias = Tensor::<1>::random([columns], Distribution::Default, device);
        compare(
            &format!("product {rows}x{terms}x{columns}"),
            Some(|| {
                let y = module::linear(x.clone(), weight.clone(), Some(bias.clone()));
                y.clamp_min(0.0)
            }),
            || {
                let bias = Some(bias.clone());
                linear_then(x.clone(), weight.clone(), bias, None, Activation::Relu.into())
            },
        );
    }
}

/// 8-bit convolutions and elementwise operators, compared with floats; `ONNX_EMBED_PLAIN=1` runs them by primitives.
fn quantized(device: &Device) {
    let random = |low, high| Distribution::Uniform(low, high);
    let u8s = Affine::u8(0.02, 120);
    let single = |y: Tensor<4, Int>| y.cast(FloatDType::F32);
    for (channels, outputs, groups, size, kernel) in
        [(64, 64, 1, 56, 3), (96, 24, 1, 56, 1), (960, 320, 1, 7, 1), (144, 144, 144, 56, 3)]
    {
        let noise = |dims| Tensor::<4>::random(dims, random(-100.0, 100.0), device);
        let x = noise([1, channels, size, size]);
        let weight = noise([outputs, channels / groups, kernel, kernel]);
        let filters = Epilogue::default().pack_filters(weight.clone(), groups);
        let pad = kernel / 2;
        let window = Window::new([kernel; 2]).pads([(pad, pad); 2]);
        let own = quantize_by(x.clone(), 1.0, 120, DType::U8, 8);
        let bytes = Weight::filters(quantize_by(weight, 1.0, 0, DType::I8, 8));
        let number = |value: f32| Tensor::<1>::from_data([value], device);
        let zero = quantize_by(number(120.0), 1.0, 0, DType::U8, 8);
        let bias = Tensor::<1, Int>::from_data(TensorData::from([3i32]), (device, DType::I32));
        let bias = bias.expand([outputs]);
        compare(
            &format!("quantized convolution {channels}-{outputs}/{groups} {kernel}x{kernel} {size}"),
            Some(|| {
                let (x, filters) = (x.clone(), filters.clone());
                conv2d_then(x, filters, None, None, window, groups, Epilogue::default())
            }),
            || {
                let to = Requantize {
                    scales: [number(0.02), number(0.01), number(0.1)],
                    zero: zero.clone(),
                    dtype: DType::U8,
                    bits: 8,
                };
                let zeros = (Some(zero.clone()), None);
                let (x, bias) = (own.clone(), Some(bias.clone()));
                qlinear_conv2d(x, bytes.clone(), zeros, bias, window, groups, to).float()
            },
        );
    }
    let x = Tensor::<4>::random([1, 64, 112, 112], random(-2.0, 2.0), device);
    let own = quantize_by(x.clone(), 0.02, 120, DType::U8, 8);
    compare("quantized values", Some(|| x.clone().mul_scalar(2.0)), || {
        single(quantize_by(x.clone(), 0.02, 120, DType::U8, 8))
    });
    compare("quantized sum", Some(|| x.clone().add(x.clone())), || {
        single(add((own.clone(), u8s), (own.clone(), u8s), u8s))
    });
    compare("quantized sigmoid", Some(|| burn::tensor::activation::sigmoid(x.clone())), || {
        single(sigmoid((own.clone(), u8s), u8s))
    });
}

/// Sequences in which every step depends on the one before.
fn recurrences(device: &Device) {
    let nothing: Option<fn() -> Tensor<4>> = None;
    for (batch, times, hidden) in
        [(1, 1, 128), (1, 32, 64), (1, 32, 128), (1, 32, 512), (64, 8, 64), (64, 8, 256), (64, 8, 512)]
    {
        let random = |shape| Tensor::random(shape, Distribution::Uniform(-0.1, 0.1), device);
        let weights = |gates| Weights {
            input: random([1, gates * hidden, 64]),
            recurrent: random([1, gates * hidden, hidden]),
            bias: Some(random([1, 2 * gates * hidden, 1]).squeeze_dim(2)),
            peepholes: None,
            packed: None,
        };
        let x: Tensor<3> = random([times, batch, 64]);
        let state = State::default;
        let (of_lstm, of_gru) = (weights(4), weights(3));
        compare(&format!("LSTM of {batch}x{times}, hidden {hidden}"), nothing, || {
            let options = Lstm::new(Direction::Forward);
            lstm(x.clone(), of_lstm.clone(), state(), &options).0
        });
        compare(&format!("GRU of {batch}x{times}, hidden {hidden}"), nothing, || {
            let options = Gru::new(Direction::Forward);
            gru(x.clone(), of_gru.clone(), state(), &options).0
        });
    }
}

/// Boxes and regions of images.
fn images(device: &Device) {
    let random = |low: f64, high: f64| Distribution::Uniform(low, high);
    for [boxes, classes] in [[1000, 20], [8400, 1], [8400, 80]] {
        let centers = Tensor::<3>::random([1, boxes, 2], random(0.0, 640.0), device);
        let sizes = Tensor::<3>::random([1, boxes, 2], random(8.0, 90.0), device);
        let corners = Tensor::cat(vec![centers, sizes], 2);
        let scores = Tensor::<3>::random([1, classes, boxes], random(0.0, 1.0), device);
        let limits = Limits { most: 100, overlap: 0.5, score: Some(0.25) };
        let single = |y: Tensor<2, Int>| y.cast(FloatDType::F32);
        let kept = |boxes, scores| non_max_suppression(boxes, scores, BoxForm::Center, limits);
        compare(
            &format!("boxes kept of {boxes}x{classes}"),
            Some(|| {
                let scores = Tensor::from_data(scores.clone().into_data(), &Device::flex());
                single(on_host(corners.clone(), |boxes| kept(boxes, scores)))
            }),
            || single(kept(corners.clone(), scores.clone())),
        );
    }
    let x = Tensor::<4>::random([1, 64, 50, 50], random(-1.0, 1.0), device);
    let rois = Tensor::<2>::random([200, 2], random(0.0, 400.0), device);
    let ends = rois.clone() + Tensor::<2>::random([200, 2], random(16.0, 400.0), device);
    let rois = Tensor::cat(vec![rois, ends], 1);
    let batches = Tensor::<1, Int>::zeros([200], device);
    for sampling in [0, 2] {
        let options =
            RoiAlign { output: [7, 7], sampling, scale: 0.0625, half_pixel: true, mode: Mode::Average };
        let (x, rois, batches) = (&x, &rois, &batches);
        compare(
            &format!("200 regions of {sampling} points"),
            Some(|| {
                let (x, rois, batches) = (x.clone(), rois.clone(), batches.clone());
                now(align::by_primitives(x, rois, batches, &options, Blocking))
            }),
            || align::roi_align(x.clone(), rois.clone(), batches.clone(), &options),
        );
    }
    let pooled = Tensor::cat(vec![batches.float().unsqueeze_dim(1), rois], 1);
    compare(
        "200 regions that are pooled",
        Some(|| now(pool::on_host(x.clone(), pooled.clone(), [7, 7], 0.0625, Blocking))),
        || pool::max_roi_pool(x.clone(), pooled.clone(), [7, 7], 0.0625),
    );
}

/// Runs the host's version, as for devices without a kernel.
fn on_host<const A: usize, const D: usize>(
    x: Tensor<A>,
    run: impl FnOnce(Tensor<A>) -> Tensor<D, Int>,
) -> Tensor<D, Int> {
    let device = x.device();
    let y = run(Tensor::from_data(x.into_data(), &Device::flex()));
    Tensor::from_data(y.into_data(), (&device, burn::tensor::DType::I32))
}

/// Prints the median times of both in alternating runs, in ms.
fn compare<const D: usize>(what: &str, burn: Option<impl Fn() -> Tensor<D>>, ours: impl Fn() -> Tensor<D>) {
    if !std::env::args().skip(1).all(|word| what.contains(&word)) {
        return;
    }
    let mut times = [Vec::new(), Vec::new()];
    if let Some(burn) = &burn {
        timed(burn);
    }
    timed(&ours);
    for _ in 0..RUNS {
        if times[0].iter().sum::<f64>() > PATIENCE * 1e3 {
            break;
        }
        times[0].push(burn.as_ref().map_or(f64::NAN, timed));
        times[1].push(timed(&ours));
    }
    let [burn, ours] = times.map(|mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!("{what:30} {burn:9.2} {ours:9.2} {:6.2}", burn / ours);
}

fn timed<const D: usize>(run: &impl Fn() -> Tensor<D>) -> f64 {
    let start = Instant::now();
    let y = run();
    y.device().sync().expect("the device finishes");
    drop(y);
    start.elapsed().as_secs_f64() * 1e3
}
