//! Throughput of layers of well-known models compared with Burn.
//!
//! The layers are convolutions, pools and linear ones:
//!
//! `RAYON_NUM_THREADS=1 cargo run --release -p onnx-embed-kernels --example layers`

use std::time::{Duration, Instant};

use burn::tensor::{
    Device, Distribution, Tensor, module,
    ops::{ConvOptions, ConvTransposeOptions, MaxPoolOptions},
};
use onnx_embed_kernels::{
    conv::conv2d_then, conv_transpose::conv_transpose2d_packed, epilogue::Activation, epilogue::Epilogue,
    epilogue::Packed, matmul::linear_then, pool::max_pool, window::Window,
};

/// Duration of the measurement of each side.
const TIME: Duration = Duration::from_millis(300);

/// Channels, outputs, size of the image, kernel, stride, groups.
const CONVOLUTIONS: &[(&str, [usize; 6])] = &[
    ("ResNet", [3, 64, 224, 7, 2, 1]),
    ("ResNet", [64, 64, 56, 1, 1, 1]),
    ("ResNet", [64, 64, 56, 3, 1, 1]),
    ("ResNet", [64, 256, 56, 1, 1, 1]),
    ("ResNet", [256, 64, 56, 1, 1, 1]),
    ("ResNet", [128, 128, 56, 3, 2, 1]),
    ("ResNet", [128, 128, 28, 3, 1, 1]),
    ("ResNet", [512, 128, 28, 1, 1, 1]),
    ("ResNet", [256, 256, 14, 3, 1, 1]),
    ("ResNet", [1024, 256, 14, 1, 1, 1]),
    ("ResNet", [512, 512, 7, 3, 1, 1]),
    ("ResNet", [512, 2048, 7, 1, 1, 1]),
    ("ResNet", [1024, 2048, 14, 1, 2, 1]),
    ("MobileNet", [3, 32, 224, 3, 2, 1]),
    ("MobileNet", [16, 96, 112, 1, 1, 1]),
    ("MobileNet", [96, 96, 112, 3, 2, 96]),
    ("MobileNet", [144, 144, 56, 3, 1, 144]),
    ("MobileNet", [192, 192, 28, 3, 1, 192]),
    ("MobileNet", [192, 192, 28, 3, 2, 192]),
    ("MobileNet", [144, 24, 56, 1, 1, 1]),
    ("MobileNet", [384, 384, 14, 3, 1, 384]),
    ("MobileNet", [384, 64, 14, 1, 1, 1]),
    ("MobileNet", [960, 960, 7, 3, 1, 960]),
    ("MobileNet", [960, 160, 7, 1, 1, 1]),
    ("MobileNet", [320, 1280, 7, 1, 1, 1]),
    ("EfficientNet", [240, 240, 28, 5, 1, 240]),
    ("ConvNeXt", [96, 96, 56, 7, 1, 96]),
    ("ConvNeXt", [768, 768, 7, 7, 1, 768]),
    ("ResNeXt", [128, 128, 56, 3, 1, 32]),
    ("YOLO", [3, 16, 640, 3, 2, 1]),
    ("YOLO", [32, 32, 160, 3, 1, 1]),
    ("YOLO", [64, 64, 80, 3, 1, 1]),
    ("YOLO", [128, 128, 40, 3, 1, 1]),
];

/// Channels, size of the image, kernel, stride.
const POOLS: &[(&str, [usize; 4])] = &[
    ("ResNet", [64, 112, 3, 2]),
    ("SqueezeNet", [64, 111, 3, 2]),
    ("Inception", [480, 14, 3, 1]),
    ("AlexNet", [256, 13, 3, 2]),
    ("VGG", [64, 224, 2, 2]),
    ("YOLO", [256, 20, 5, 1]),
];

/// Channels, outputs, size of the image, kernel, stride, padding.
const TRANSPOSED: &[(&str, [usize; 6])] = &[
    ("U-Net", [64, 32, 64, 2, 2, 0]),
    ("DCGAN", [64, 32, 64, 4, 2, 1]),
    ("DCGAN", [256, 128, 7, 4, 2, 1]),
    ("MediaPipe", [64, 32, 64, 3, 2, 1]),
];

/// Rows, inputs, outputs.
const LINEAR: &[(&str, [usize; 3])] = &[
    ("MiniLM", [128, 384, 384]),
    ("MiniLM", [128, 384, 1536]),
    ("MiniLM", [128, 1536, 384]),
    ("one row", [1, 384, 1536]),
    ("one row", [1, 2048, 1000]),
    ("few rows", [4, 768, 768]),
    ("square", [512, 512, 512]),
];

fn main() {
    let only = std::env::args().nth(1);
    let chosen = |name: &str| only.as_ref().is_none_or(|only| name.contains(only));
    let device = Device::flex();
    let uniform = Distribution::Uniform(-1.0, 1.0);
    for (model, sizes) in CONVOLUTIONS {
        let [channels, outputs, size, kernel, stride, groups] = *sizes;
        let name =
            format!("{model} {channels} to {outputs} of {size}, {kernel}x{kernel} / {stride} by {groups}");
        if !chosen(&name) {
            continue;
        }
        let x = Tensor::<4>::random([1, channels, size, size], uniform, &device);
        let shape = [outputs, channels / groups, kernel, kernel];
        let weight = Tensor::<4>::random(shape, uniform, &device);
        let bias = Tensor::<1>::random([outputs], uniform, &device);
        let pad = kernel / 2;
        let window = Window::new([kernel; 2]).strides([stride; 2]).pads([(pad, pad); 2]);
        let options = ConvOptions::new([stride; 2], [pad; 2], [1; 2], groups);
        let epilogue = Epilogue { activation: Activation::Relu, ..Epilogue::of_layer() };
        let positions = ((size + 2 * pad - kernel) / stride + 1).pow(2);
        let work = 2 * positions * outputs * channels / groups * kernel * kernel;
        compare(
            &name,
            work,
            || module::conv2d(x.clone(), weight.clone(), Some(bias.clone()), options.clone()),
            || {
                let (weight, bias) = (weight.clone(), Some(bias.clone()));
                conv2d_then(x.clone(), weight, bias, None, window, groups, epilogue.clone())
            },
        );
    }
    for (model, [channels, size, kernel, stride]) in POOLS {
        let name = format!("{model} {channels} of {size}, pool {kernel}x{kernel} / {stride}");
        if !chosen(&name) {
            continue;
        }
        let x = Tensor::<4>::random([1, *channels, *size, *size], uniform, &device);
        let pad = kernel / 2;
        let window = Window::new([*kernel; 2]).strides([*stride; 2]).pads([(pad, pad); 2]);
        let options =
            MaxPoolOptions::new([*kernel; 2]).with_stride([*stride; 2]).with_padding_pairs([(pad, pad); 2]);
        compare(
            &name,
            ((size + 2 * pad - kernel) / stride + 1).pow(2) * channels * kernel * kernel,
            || module::max_pool2d(x.clone(), options.clone()),
            || max_pool(x.clone(), window, false),
        );
    }
    for (model, sizes) in TRANSPOSED {
        let [channels, outputs, size, kernel, stride, pad] = *sizes;
        let name =
            format!("{model} {channels} to {outputs} of {size}, transposed {kernel}x{kernel} / {stride}");
        if !chosen(&name) {
            continue;
        }
        let x = Tensor::<4>::random([1, channels, size, size], uniform, &device);
        let shape = [channels, outputs, kernel, kernel];
        let weight = Tensor::<4>::random(shape, uniform, &device);
        let bias = Tensor::<1>::random([outputs], uniform, &device);
        let window = Window::new([kernel; 2]).strides([stride; 2]).pads([(pad, pad); 2]);
        let options = ConvTransposeOptions::new([stride; 2], [pad; 2], [0; 2], [1; 2], 1);
        let packed = Packed::default();
        compare(
            &name,
            2 * size * size * outputs * channels * kernel * kernel,
            || {
                let (weight, bias) = (weight.clone(), Some(bias.clone()));
                module::conv_transpose2d(x.clone(), weight, bias, options.clone())
            },
            || {
                let (weight, bias) = (weight.clone(), Some(bias.clone()));
                let packed = Some(packed.clone());
                conv_transpose2d_packed(x.clone(), weight, bias, window, [0; 2], 1, packed)
            },
        );
    }
    for (model, [rows, inputs, outputs]) in LINEAR {
        let name = format!("{model} {rows}x{inputs}x{outputs}");
        if !chosen(&name) {
            continue;
        }
        let x = Tensor::<2>::random([*rows, *inputs], uniform, &device);
        let weight = Tensor::<2>::random([*inputs, *outputs], uniform, &device);
        let bias = Tensor::<1>::random([*outputs], uniform, &device);
        let epilogue = Epilogue::of_layer();
        compare(
            &name,
            2 * rows * inputs * outputs,
            || module::linear(x.clone(), weight.clone(), Some(bias.clone())),
            || linear_then(x.clone(), weight.clone(), Some(bias.clone()), None, epilogue.clone()),
        );
    }
}

/// Prints the least times and the throughput of both in alternating runs.
fn compare<const D: usize>(
    name: &str,
    work: usize,
    burn: impl Fn() -> Tensor<D>,
    ours: impl Fn() -> Tensor<D>,
) {
    let mut least = [f64::INFINITY; 2];
    let start = Instant::now();
    while start.elapsed() < 2 * TIME {
        least[0] = least[0].min(timed(&burn));
        least[1] = least[1].min(timed(&ours));
    }
    let rates = least.map(|time| work as f64 / time / 1e6);
    println!(
        "{name:<48} Burn {:8.3} ms {:6.1} GFLOP/s, ours {:8.3} ms {:6.1} GFLOP/s, {:5.2}",
        least[0],
        rates[0],
        least[1],
        rates[1],
        least[1] / least[0],
    );
}

fn timed<const D: usize>(run: impl Fn() -> Tensor<D>) -> f64 {
    let start = Instant::now();
    let y = run();
    let time = start.elapsed().as_secs_f64() * 1e3;
    drop(y);
    time
}
