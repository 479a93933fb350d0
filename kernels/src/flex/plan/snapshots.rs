//! Plans of layers of known networks.

use super::{
    conv::{BandPlan, ConvSizes},
    machine::{Machine, TileSize},
};
use crate::spec::geometry::Geometry;

/// Tiles of AVX-512, of AVX2 and of NEON.
const TILES: [(&str, TileSize); 3] = [
    (
        "avx512",
        TileSize {
            lanes: 16,
            mr: 14,
            nr: 32,
        },
    ),
    (
        "avx2",
        TileSize {
            lanes: 8,
            mr: 6,
            nr: 16,
        },
    ),
    (
        "neon",
        TileSize {
            lanes: 4,
            mr: 12,
            nr: 8,
        },
    ),
];

/// A convolution of a network, with a batch of one.
#[derive(Clone, Copy)]
struct Layer {
    name: &'static str,
    groups: usize,
    /// Number of input and output channels.
    channels: [usize; 2],
    size: [usize; 2],
    kernel: [usize; 2],
    strides: [usize; 2],
    padding: [usize; 2],
}

/// A square convolution of one group with a padding that keeps the size.
const fn layer(name: &'static str, channels: [usize; 2], size: usize, kernel: usize) -> Layer {
    Layer {
        name,
        groups: 1,
        channels,
        size: [size; 2],
        kernel: [kernel; 2],
        strides: [1; 2],
        padding: [kernel / 2; 2],
    }
}

/// A convolution over sequences.
const fn sequence(name: &'static str, channels: [usize; 2], length: usize, kernel: usize) -> Layer {
    Layer {
        size: [1, length],
        kernel: [1, kernel],
        padding: [0, kernel / 2],
        ..layer(name, channels, length, kernel)
    }
}

const LAYERS: [Layer; 14] = [
    Layer {
        strides: [2; 2],
        ..layer("resnet-50 stem", [3, 64], 224, 7)
    },
    layer("resnet-50 3x3", [64, 64], 56, 3),
    layer("resnet-50 1x1", [256, 64], 56, 1),
    layer("resnet-50 last 3x3", [512, 512], 7, 3),
    layer("resnet-50 last 1x1", [512, 2048], 7, 1),
    Layer {
        groups: 32,
        ..layer("resnext-50 3x3", [128, 128], 56, 3)
    },
    layer("mobilenet v2 expansion", [16, 96], 112, 1),
    layer("squeezenet squeeze", [512, 64], 13, 1),
    layer("yolov8n 3x3", [32, 32], 80, 3),
    Layer {
        strides: [2; 2],
        ..layer("yolov8n stride 2", [16, 32], 320, 3)
    },
    layer("u-net 3x3", [64, 64], 512, 3),
    Layer {
        size: [16, 80],
        ..layer("crnn 3x3", [64, 128], 80, 3)
    },
    sequence("whisper", [80, 384], 3000, 3),
    Layer {
        strides: [1, 2],
        padding: [0; 2],
        ..sequence("wav2vec 2.0", [512, 512], 6399, 3)
    },
];

/// The plan of a layer, in words.
fn described(layer: Layer, tile: TileSize, threads: usize) -> String {
    let [inputs, outputs] = layer.channels.map(|channels| channels / layer.groups);
    let pixels = |axis: usize| {
        let padded = layer.size[axis] + 2 * layer.padding[axis];
        (padded - layer.kernel[axis]) / layer.strides[axis] + 1
    };
    let with_depth = |[rows, columns]: [usize; 2], depth: usize| [depth, rows, columns];
    let geometry = Geometry {
        sizes: with_depth(layer.size, 1),
        kernel: with_depth(layer.kernel, 1),
        strides: with_depth(layer.strides, 1),
        dilations: [1; 3],
        before: with_depth(layer.padding, 0),
        positions: [1, pixels(0), pixels(1)],
    };
    let is_pointwise = geometry.is_pointwise();
    let sizes = ConvSizes {
        geometry: if is_pointwise {
            geometry.flat()
        } else {
            geometry
        },
        batches: 1,
        groups: layer.groups,
        inputs,
        outputs,
        panel: outputs.div_ceil(outputs.div_ceil(tile.mr)),
    };
    let stride = layer.size[0] * layer.size[1];
    let machine = Machine { tile, threads };
    let plan = BandPlan::of_floats(sizes, is_pointwise.then_some(stride), &machine);
    let [rows, columns] = plan.layout.band;
    let (reads, bands) = (plan.reads, plan.bands.len());
    let (together, across, threads) = (plan.together, plan.across, plan.threads);
    format!(
        "{threads} threads, {bands} bands of {rows} x {columns} pixels, {together} groups, {across} parts of channels, {reads:?}"
    )
}

#[test]
fn plans_of_layers_are_as_recorded() {
    let mut lines = String::new();
    for layer in LAYERS {
        lines += &format!("{}\n", layer.name);
        for (name, tile) in TILES {
            for threads in [1, 2, 8] {
                lines += &format!(
                    "    {name} {threads}: {}\n",
                    described(layer, tile, threads)
                );
            }
        }
    }
    expect_test::expect_file!["snapshots.txt"].assert_eq(&lines);
}
