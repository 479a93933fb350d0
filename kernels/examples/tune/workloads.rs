//! Operations whose time depends on a threshold.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use burn::tensor::{DType, Device, Distribution, Int, Tensor, TensorData};
use onnx_embed_kernels::{
    attention::{AttentionOptions, attention},
    batch,
    conv::conv2d_then,
    dft::{Dft, dft},
    elementary::gelu,
    epilogue::{Activation, Epilogue},
    matmul::{linear_then, product},
    normalize::scale_channels,
    quantize::{BitData, BitMatrix, Blocks, Weight, conv_integer2d, matmul_bits, matmul_integer},
    recurrent::{Direction, Lstm, Packed, State, Weights, lstm},
    scores::Transform,
    softmax::softmax,
    stack::concat,
    trees::{Aggregate, Indexed, Mode, Regress},
    tuning::Workload,
    window::Window,
};

/// Duration for which each operation is repeated.
const DURATION: Duration = Duration::from_millis(60);

/// An operation and its operands.
type Operation = Box<dyn Fn()>;

/// Returns the least time of each operation of a workload, in seconds.
pub fn times(workload: Workload) -> Vec<f64> {
    operations(workload).into_iter().map(|operation| least_time(&operation)).collect()
}

fn least_time(operation: &Operation) -> f64 {
    operation();
    let (start, mut least) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < DURATION {
        let begin = Instant::now();
        operation();
        least = least.min(begin.elapsed().as_secs_f64());
    }
    least
}

fn operations(workload: Workload) -> Vec<Operation> {
    match workload {
        Workload::Attention => vec![
            // Batch, heads, queries, keys, features of a head.
            self_attention([1, 12, 128, 128, 32]),
            self_attention([1, 12, 197, 197, 64]),
            self_attention([1, 6, 1500, 1500, 64]),
            self_attention([1, 8, 1, 512, 64]),
            self_attention([1, 8, 4, 512, 64]),
        ],
        // Rows, channels, size.
        Workload::Batches => vec![batch_of([64, 32, 56]), batch_of([64, 64, 28]), batch_of([16, 16, 112])],
        Workload::Bytes => vec![
            byte_product([1, 384, 1536]),
            byte_product([16, 64, 128]),
            byte_product([64, 384, 384]),
            byte_product([128, 768, 768]),
            byte_convolution([64, 64, 28, 3]),
            byte_convolution([96, 24, 56, 1]),
        ],
        Workload::Codes => [1, 4, 6, 12, 24].map(|rows| packed_product([rows, 1024, 1024])).into(),
        // Channels, output channels, rows and columns, kernel, stride, groups.
        Workload::Convolutions => vec![
            convolution([3, 64, 224, 7, 2, 1]),
            convolution([64, 64, 56, 3, 1, 1]),
            convolution([256, 64, 56, 1, 1, 1]),
            convolution([512, 512, 7, 3, 1, 1]),
            convolution([1024, 512, 14, 1, 2, 1]),
            convolution([16, 96, 112, 1, 1, 1]),
            convolution([128, 128, 56, 3, 1, 32]),
            convolution([32, 32, 160, 3, 1, 1]),
            convolution([8, 16, 24, 3, 1, 1]),
        ],
        Workload::Depthwise => vec![
            convolution([96, 96, 112, 3, 2, 96]),
            convolution([384, 384, 14, 3, 1, 384]),
            convolution([960, 960, 7, 3, 1, 960]),
            convolution([240, 240, 28, 5, 1, 240]),
            convolution([96, 96, 28, 7, 1, 96]),
            convolution([32, 64, 56, 3, 1, 32]),
            convolution([32, 128, 56, 3, 1, 32]),
        ],
        Workload::Copies => vec![
            concatenation([1, 32, 16, 16]),
            concatenation([1, 64, 56, 56]),
            concatenation([8, 16, 28, 28]),
            transposition([1, 197, 12, 64]),
            transposition([1, 1500, 6, 64]),
            transposition([1, 16, 12, 32]),
        ],
        Workload::Elements => {
            let rows = [16, 64, 256, 1024];
            let elements = rows.map(|rows| elementwise([rows, 512]));
            let scaled = [[32, 4], [64, 8], [64, 56], [16, 112]].map(scaled_channels);
            elements.into_iter().chain(scaled).collect()
        }
        Workload::Products => vec![
            linear([1, 384, 1536]),
            linear([8, 128, 128]),
            linear([16, 128, 256]),
            linear([64, 384, 384]),
            matrix_product([1, 1024, 4096]),
            matrix_product([8, 512, 512]),
            matrix_product([16, 512, 512]),
            matrix_product([64, 512, 512]),
        ],
        Workload::Recurrences => [[64, 1], [64, 4], [64, 8], [64, 16]].map(recurrence).into(),
        Workload::Spectra => [[16, 400], [64, 512], [256, 1000], [1000, 512]].map(spectra).into(),
        Workload::Trees => [1, 30, 100, 1000].map(forest).into(),
    }
}

/// Uniformly distributed floats.
fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Uniform(-1.0, 1.0), &Device::flex())
}

fn bytes<const D: usize>(shape: [usize; D]) -> Tensor<D, Int> {
    let values: Vec<u8> = (0..shape.iter().product()).map(|at: usize| (at * 37 % 251) as u8).collect();
    Tensor::from_data(TensorData::new(values, shape), (&Device::flex(), DType::U8))
}

fn self_attention([batch, heads, queries, keys, features]: [usize; 5]) -> Operation {
    let query = random([batch, heads, queries, features]);
    let (key, value) = (random([batch, heads, keys, features]), random([batch, heads, keys, features]));
    let options = AttentionOptions::default();
    Box::new(move || {
        black_box(attention(query.clone(), key.clone(), value.clone(), None, None, &options));
    })
}

/// Three layers of a batch, in parts.
fn batch_of([rows, channels, size]: [usize; 3]) -> Operation {
    let x = random([rows, channels, size, size]);
    let weights = [(); 3].map(|()| random([channels, channels, 1, 1]));
    let layer = move |x, weight: &Tensor<4>| {
        let epilogue = Epilogue { activation: Activation::Relu, ..Epilogue::of_layer() };
        conv2d_then(x, weight.clone(), None, None, Window::new([1; 2]), 1, epilogue)
    };
    let model = move |x: Tensor<4>| weights.iter().fold(x, layer).mean_dims(&[2, 3]);
    // An operand and a result.
    let bytes_per_element = 2 * size_of::<f32>();
    Box::new(move || {
        let parts = batch::in_parts(&x, 0, bytes_per_element, |rows| model(rows.of(&x, 0)));
        black_box(parts.map_or_else(|| model(x.clone()), |parts| batch::joined(parts, 0)));
    })
}

fn byte_product([rows, inputs, outputs]: [usize; 3]) -> Operation {
    let (x, weight) = (bytes([rows, inputs]), Weight::packed(bytes([inputs, outputs]), Packed::default()));
    weight.pack_matrix();
    Box::new(move || {
        black_box(matmul_integer::<2, 2, 2>(x.clone(), weight.clone(), (None, None)));
    })
}

fn byte_convolution([channels, outputs, size, kernel]: [usize; 4]) -> Operation {
    let x = bytes([1, channels, size, size]);
    let weight = Weight::packed(bytes([outputs, channels, kernel, kernel]), Packed::default());
    let window = Window::new([kernel; 2]).pads([(kernel / 2, kernel / 2); 2]);
    Box::new(move || {
        black_box(conv_integer2d(x.clone(), weight.clone(), (None, None), window, 1));
    })
}

fn packed_product([rows, inputs, outputs]: [usize; 3]) -> Operation {
    let blocks = Blocks { inputs, outputs, bits: 4, size: 32 };
    let (bytes, groups) = (inputs * outputs / 2, inputs * outputs / blocks.size);
    let codes = (0..bytes).map(|at| (at * 37 % 251) as u8).collect();
    let codes = TensorData::new::<u8, _>(codes, [bytes]);
    let scales = TensorData::new(vec![0.01f32; groups], [groups]);
    let matrix = BitMatrix::new(blocks, BitData { codes, scales, zeros: None, groups: None });
    let x = random([rows, inputs]);
    Box::new(move || {
        black_box(matmul_bits(x.clone(), &matrix, None));
    })
}

fn convolution([channels, outputs, size, kernel, stride, groups]: [usize; 6]) -> Operation {
    let x = random([1, channels, size, size]);
    let weight = random([outputs, channels / groups, kernel, kernel]);
    let window = Window::new([kernel; 2]).strides([stride; 2]).pads([(kernel / 2, kernel / 2); 2]);
    let epilogue = Epilogue { activation: Activation::Relu, ..Epilogue::of_layer() };
    Box::new(move || {
        black_box(conv2d_then(x.clone(), weight.clone(), None, None, window, groups, epilogue.clone()));
    })
}

/// Four tensors along the channels.
fn concatenation(shape: [usize; 4]) -> Operation {
    let tensors = [(); 4].map(|()| random(shape));
    Box::new(move || {
        black_box(concat(tensors.to_vec(), 1));
    })
}

/// A copy of heads, as attention makes it of a product.
fn transposition(shape: [usize; 4]) -> Operation {
    let (x, none) = (random(shape).swap_dims(1, 2), random([shape[0], shape[2], 1, shape[3]]));
    Box::new(move || {
        black_box(concat(vec![x.clone(), none.clone()], 2));
    })
}

fn elementwise(shape: [usize; 2]) -> Operation {
    let x = random(shape);
    Box::new(move || {
        black_box(softmax(gelu(x.clone()), 1));
    })
}

fn scaled_channels([channels, size]: [usize; 2]) -> Operation {
    let x = random([1, channels, size, size]);
    let (factor, offset) = (random([channels]), random([channels]));
    Box::new(move || {
        black_box(scale_channels(x.clone(), factor.clone(), offset.clone(), Activation::Relu));
    })
}

/// A product with a packed weight.
fn linear([rows, inputs, outputs]: [usize; 3]) -> Operation {
    let (x, weight, epilogue) = (random([rows, inputs]), random([inputs, outputs]), Epilogue::of_layer());
    Box::new(move || {
        black_box(linear_then(x.clone(), weight.clone(), None, None, epilogue.clone()));
    })
}

fn matrix_product([rows, inner, columns]: [usize; 3]) -> Operation {
    let (a, b) = (random([rows, inner]), random([inner, columns]));
    Box::new(move || {
        black_box(product(a.clone(), b.clone()));
    })
}

fn recurrence([hidden, batch]: [usize; 2]) -> Operation {
    let x = random([20, batch, hidden]);
    let weights = Weights {
        input: random([1, 4 * hidden, hidden]),
        recurrent: random([1, 4 * hidden, hidden]),
        bias: None,
        peepholes: None,
        packed: Some(Default::default()),
    };
    let options = Lstm::new(Direction::Forward);
    Box::new(move || {
        black_box(lstm(x.clone(), weights.clone(), State::default(), &options));
    })
}

fn spectra([rows, length]: [usize; 2]) -> Operation {
    let x = random([rows, length, 1]);
    let options = Dft { onesided: true, ..Dft::new(length) };
    Box::new(move || {
        black_box(dft(x.clone(), 1, &options));
    })
}

/// A hundred complete trees of depth 6 over rows of 16 features.
fn forest(rows: usize) -> Operation {
    const TREES: usize = 100;
    const NODES: usize = 63;
    let mut trees = Indexed::<f32>::default();
    for tree in 0..TREES {
        trees.roots.push((tree * NODES) as i64);
        for node in 0..NODES {
            // Children of the last level are leaves, one after the other.
            let child = 2 * node + 1;
            let is_last = child >= NODES;
            let first = if is_last { tree * (NODES + 1) + child - NODES } else { tree * NODES + child };
            trees.modes.push(Mode::LessOrEqual);
            trees.features.push(((tree + node) % 16) as i64);
            trees.values.push(((tree * 7 + node * 11) % 100) as f32 / 100.0);
            trees.yes.push(first as i64);
            trees.no.push(first as i64 + 1);
            trees.yes_leaves.push(is_last.into());
            trees.no_leaves.push(is_last.into());
        }
    }
    trees.weight_targets = vec![0; TREES * (NODES + 1)];
    trees.weights = (0..TREES * (NODES + 1)).map(|leaf| (leaf % 13) as f32).collect();
    let regress = Regress {
        forest: trees.build(1).expect("the trees are complete"),
        targets: 1,
        aggregate: Aggregate::Sum,
        transform: Transform::None,
        base: Vec::new(),
    };
    let values: Vec<f32> = (0..rows * 16).map(|at| (at * 53 % 101) as f32 / 100.0).collect();
    Box::new(move || {
        black_box(regress.run(&values, 16, rows));
    })
}
