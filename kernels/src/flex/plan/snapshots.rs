//! Plans of layers of known networks.

use super::{
    attention::{AttentionPlan, AttentionSizes},
    conv::{BandPlan, ConvMethod, ConvSizes},
    machine::{Machine, TileSize},
    product::{ProductPlan, ProductSizes, RightLayout},
    tuning,
    winograd::WinogradPlan,
};
use crate::spec::geometry::Geometry;

/// Tiles of AVX-512, of AVX2 and of NEON.
const TILES: [(&str, TileSize); 3] = [
    ("avx512", TileSize { lanes: 16, mr: 14, nr: 32 }),
    ("avx2", TileSize { lanes: 8, mr: 6, nr: 16 }),
    ("neon", TileSize { lanes: 4, mr: 12, nr: 8 }),
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

const LAYERS: [Layer; 17] = [
    Layer { strides: [2; 2], ..layer("resnet-50 stem", [3, 64], 224, 7) },
    layer("resnet-50 3x3", [64, 64], 56, 3),
    layer("resnet-50 1x1", [256, 64], 56, 1),
    layer("resnet-50 last 3x3", [512, 512], 7, 3),
    layer("resnet-50 last 1x1", [512, 2048], 7, 1),
    Layer { groups: 32, ..layer("resnext-50 3x3", [128, 128], 56, 3) },
    Layer { groups: 96, ..layer("mobilenet v2 depthwise", [96, 96], 112, 3) },
    Layer { groups: 960, ..layer("mobilenet v2 last depthwise", [960, 960], 7, 3) },
    Layer {
        groups: 64,
        padding: [0; 2],
        strides: [4; 2],
        ..layer("patches of 64 channels", [64, 256], 56, 4)
    },
    layer("mobilenet v2 expansion", [16, 96], 112, 1),
    layer("squeezenet squeeze", [512, 64], 13, 1),
    layer("yolov8n 3x3", [32, 32], 80, 3),
    Layer { strides: [2; 2], ..layer("yolov8n stride 2", [16, 32], 320, 3) },
    layer("u-net 3x3", [64, 64], 512, 3),
    Layer { size: [16, 80], ..layer("crnn 3x3", [64, 128], 80, 3) },
    sequence("whisper", [80, 384], 3000, 3),
    Layer { strides: [1, 2], padding: [0; 2], ..sequence("wav2vec 2.0", [512, 512], 6399, 3) },
];

/// The plan of a layer, in words.
fn described(layer: Layer, machine: &Machine) -> String {
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
        geometry: if is_pointwise { geometry.flat() } else { geometry },
        batches: 1,
        groups: layer.groups,
        inputs,
        outputs,
        panel_rows: machine.tile.panel_rows(outputs),
    };
    let stride = layer.size[0] * layer.size[1];
    let plane = geometry.sizes[1] * geometry.sizes[2];
    let strides = [inputs * layer.groups * plane, plane, plane, geometry.sizes[2], 1];
    let method = ConvMethod::of(&sizes, strides, false, machine.tile);
    if method != ConvMethod::Bands {
        return format!("{method:?}");
    }
    if let Some(plan) = WinogradPlan::of(sizes, machine) {
        let (threads, bands, across) = (plan.threads, plan.bands.len(), plan.channel_parts);
        let side = plan.square.side();
        return format!(
            "{threads} threads, {bands} bands of squares of {side} x {side} pixels, {across} parts of channels"
        );
    }
    let plan = BandPlan::of_floats(sizes, is_pointwise.then_some(stride), machine);
    let [rows, columns] = plan.layout.band;
    let (reads, bands) = (plan.reads, plan.bands.len());
    let (together, across, threads) = (plan.groups_per_part, plan.channel_parts, plan.threads);
    format!(
        "{threads} threads, {bands} bands of {rows} x {columns} pixels, {together} groups, {across} parts of channels, {reads:?}"
    )
}

/// Matrix products by name: rows, depth, columns, and the layout of B.
const PRODUCTS: [(&str, [usize; 3], RightLayout); 6] = [
    ("bert projection", [128, 768, 768], RightLayout::Panels),
    ("bert feed-forward", [128, 768, 3072], RightLayout::Panels),
    ("bert, one token", [1, 768, 3072], RightLayout::Panels),
    ("resnet-50 classifier", [1, 2048, 1000], RightLayout::Panels),
    ("two matrices that are no weights", [256, 256, 256], RightLayout::Rows),
    ("few rows", [5, 256, 256], RightLayout::Rows),
];

fn described_product([rows, depth, columns]: [usize; 3], right: RightLayout, machine: &Machine) -> String {
    let sizes = ProductSizes { rows, depth, columns };
    let plan = ProductPlan::of_floats(sizes, right, machine);
    let [down, across] = plan.parts;
    let (panel, packed, reads) = (plan.panel_rows, plan.packed_rows, plan.reads);
    format!("{down} x {across} parts, panels of {panel} rows, {packed} rows packed at once, {reads:?}")
}

/// Attention by name: batch, heads, queries, heads of keys, keys, features.
const ATTENTION: [(&str, [usize; 6]); 5] = [
    ("bert", [1, 12, 128, 12, 128, 64]),
    ("whisper encoder", [1, 6, 1500, 6, 1500, 64]),
    ("whisper decoder, one token", [1, 6, 1, 6, 1500, 64]),
    ("llama, one token of grouped queries", [1, 32, 1, 8, 2048, 128]),
    ("vit", [8, 12, 197, 12, 197, 64]),
];

fn described_attention(sizes: [usize; 6], machine: &Machine) -> String {
    let [batch, heads, queries, key_heads, keys, features] = sizes;
    let size = features;
    let sizes = AttentionSizes { batch, heads, queries, key_heads, keys, features, size };
    let plan = AttentionPlan::new(sizes, true, machine);
    let (threads, queries, heads) = (plan.threads, plan.queries, plan.key_heads);
    let (keys, values, shared) = (plan.packs_keys, plan.packs_values, plan.shared_heads());
    format!(
        "{threads} threads, parts of {queries} queries and {heads} heads of keys, packs keys: {keys}, values: {values}, \
         before the parts: {shared} heads"
    )
}

/// The plans for all instruction sets and numbers of threads.
fn on_machines(name: &str, described: impl Fn(&Machine) -> String) -> String {
    let mut lines = format!("{name}\n");
    for (set, tile) in TILES {
        for threads in [|| 1, || 2, || 8] as [fn() -> usize; 3] {
            let plan = described(&Machine { tile, chosen_for: tile, threads });
            lines += &format!("    {set} {}: {plan}\n", threads());
        }
    }
    lines
}

#[test]
fn plans_of_layers_are_as_recorded() {
    if !tuning::are_defaults() {
        println!("skipped: plans are recorded for the default thresholds");
        return;
    }
    let convolutions = LAYERS.map(|layer| on_machines(layer.name, |machine| described(layer, machine)));
    let products = PRODUCTS
        .map(|(name, sizes, right)| on_machines(name, |machine| described_product(sizes, right, machine)));
    let attention =
        ATTENTION.map(|(name, sizes)| on_machines(name, |machine| described_attention(sizes, machine)));
    let all = [convolutions.concat(), products.concat(), attention.concat()];
    let (found, recorded) = (all.concat(), include_str!("snapshots.txt"));
    if std::env::var_os("BLESS").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/flex/plan/snapshots.txt");
        std::fs::write(file, found).unwrap();
        return;
    }
    assert!(found == recorded, "plans differ from snapshots.txt, which BLESS=1 writes again:\n{found}");
}
