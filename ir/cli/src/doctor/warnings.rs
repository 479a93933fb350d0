//! Warnings about models that compile.

use std::collections::BTreeMap;
use std::path::Path;

use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::graph::{Block, Graph, Node, Values};
use onnx_embed_ir::inspect::{Constant, Inspection};
use onnx_embed_ir::options::Options;
use onnx_embed_ir::proto::ModelProto;
use onnx_embed_ir::types::{Placement, Type};
use prost::Message;

use onnx_embed_harness::style;

/// Size of the largest weight that kernels of some GPUs can bind, in bytes.
const BINDING: usize = 128 << 20;
/// Bytes of weights above which a binary takes long to link and to deliver.
const HUGE: usize = 512 << 20;
/// Bytes of weights above which rustc needs gigabytes if the target's assembler cannot include files.
const ASSEMBLED: usize = 50 << 20;
/// Bytes that rustc needs in addition to three times the weights.
const RUSTC: usize = 500_000_000;
/// Maximum number of names that are listed.
const MAX_LISTED_NAMES: usize = 5;
/// Operators whose result size depends on the data: the host reads it from the device.
const COUNTING: [&str; 4] = ["NonZero", "Compress", "Unique", "NonMaxSuppression"];
/// Operators that the host computes after it has read their inputs.
const BY_HOST: [&str; 10] = [
    "Det",
    "Multinomial",
    "ai.onnx.ml.SVMClassifier",
    "ai.onnx.ml.SVMRegressor",
    "ai.onnx.ml.TreeEnsemble",
    "ai.onnx.ml.TreeEnsembleClassifier",
    "ai.onnx.ml.TreeEnsembleRegressor",
    "com.microsoft.Inverse",
    "com.microsoft.MoE",
    "com.microsoft.QMoE",
];

/// A fact about a model, with advice.
pub struct Warning {
    pub fact: String,
    pub advice: String,
}

pub fn warnings(path: &Path, options: &Options, found: &Inspection) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut warn = |fact: String, advice: &str| {
        let advice = advice.to_owned();
        warnings.push(Warning { fact, advice });
    };
    large(&found.constants, &mut warn);
    let bytes: usize = found.constants.iter().map(|constant| constant.bytes).sum();
    if bytes > HUGE {
        warn(
            format!("the binary contains {} of weights", style::bytes(bytes as u64)),
            "keep them in the file with #[onnx(weights = \"file\")]; on GPUs, halve their memory with \
             precision = \"f16\"",
        );
    }
    if bytes > ASSEMBLED {
        warn(
            format!(
                "rustc needs about {} of memory to embed {} of weights",
                style::bytes(3 * bytes as u64 + RUSTC as u64),
                style::bytes(bytes as u64)
            ),
            "for WebAssembly, where rustc needs at least 20 times the size of the weights, set codegen-units = 1 or \
             weights = \"file\"",
        );
    }
    if let Ok(model) = onnx_embed_ir::load(path, options) {
        of_graph(&model.graph, &mut warn);
        let listed = listed_constants(model.files.model());
        if !listed.is_empty() {
            warn(
                match listed.len() {
                    1 => format!("an initializer is also an input: {}", names(listed)),
                    count => format!("{count} initializers are also inputs: {}", names(listed)),
                },
                "to set one at run time, use inputs(NAME: [..]), as initializers are compiled as constants; to remove \
                 this warning, export with keep_initializers_as_inputs=False",
            );
        }
    }
    warnings
}

fn large(constants: &[Constant], warn: &mut impl FnMut(String, &str)) {
    let large = constants.iter().filter(|constant| constant.bytes > BINDING);
    let large: Vec<String> = large
        .map(|constant| format!("`{}` ({})", shown(&constant.name), style::bytes(constant.bytes as u64)))
        .collect();
    if !large.is_empty() {
        warn(
            match large.len() {
                1 => format!("a weight exceeds 128 MiB, the limit of some GPUs: {}", names(large)),
                count => format!("{count} weights exceed 128 MiB, the limit of some GPUs: {}", names(large)),
            },
            "use precision = \"f16\", which halves weights, or the CPU, which has no limit",
        );
    }
}

/// Adds warnings about the simplified graph.
fn of_graph(graph: &Graph, warn: &mut impl FnMut(String, &str)) {
    let values = &graph.values;
    let mut open: Vec<String> = Vec::new();
    for &id in &graph.body.inputs {
        let tensor = values[id].ty.as_ref().and_then(Type::as_tensor);
        for dim in tensor.iter().flat_map(|tensor| &tensor.shape) {
            for name in dim.symbols() {
                let name = format!("`{}`", shown(&name));
                if !open.contains(&name) {
                    open.push(name);
                }
            }
        }
    }
    if !open.is_empty() {
        warn(
            match open.len() {
                1 => {
                    format!("a size is dynamic, and GPUs compile kernels for each new size: {}", names(open))
                }
                count => {
                    format!(
                        "{count} sizes are dynamic, and GPUs compile kernels for each new size: {}",
                        names(open)
                    )
                }
            },
            "call warm_up(&[(\"NAME\", SIZE)]) before the first request, or fix a size with dims(NAME = SIZE)",
        );
    }
    let mut doubles = 0;
    let mut waits: BTreeMap<String, usize> = BTreeMap::new();
    visit(&graph.body, &mut |node| {
        let computed = node.outputs.iter().flatten().filter(|&&id| !values[id].is_constant());
        let types = computed.filter_map(|&id| values[id].ty.as_ref()?.as_tensor());
        doubles += usize::from(types.into_iter().any(|tensor| tensor.dtype == DType::F64));
        if waits_for_the_device(node, values) {
            *waits.entry(shown(&node.kind)).or_default() += 1;
        }
    });
    if doubles > 0 {
        warn(
            format!(
                "{} in float64, which is slow on GPUs or computed in float32",
                style::count(doubles, "node") + if doubles == 1 { " computes" } else { " compute" }
            ),
            "export the model in float32: model.float() in PyTorch, X.astype(numpy.float32) for skl2onnx",
        );
    }
    if !waits.is_empty() {
        let kinds = waits.iter().map(|(kind, count)| format!("{count} {kind}"));
        warn(
            format!(
                "on a GPU, a call reads values back from the device, at least 0.1 ms each: {}",
                names(kinds.collect())
            ),
            "count the reads of a call with `cargo onnx-embed verify --device wgpu`; in a browser, use forward_async",
        );
    }
}

/// Returns `true` if the host must read a value from the device before it can continue.
fn waits_for_the_device(node: &Node, values: &Values) -> bool {
    let mut inputs = node.inputs.iter().flatten().map(|&id| &values[id]);
    let on_device = |value: &onnx_embed_ir::graph::Value| {
        value.placement == Placement::Device && value.known.is_none() && !value.is_stored()
    };
    match node.placement {
        Placement::Host => inputs.any(on_device),
        Placement::Device => COUNTING.contains(&&*node.kind) || BY_HOST.contains(&&*node.kind),
    }
}

fn visit(block: &Block, see: &mut impl FnMut(&Node)) {
    for node in &block.nodes {
        see(node);
        for (_, inner) in &node.blocks {
            visit(inner, see);
        }
    }
}

/// Returns the initializers that the file also lists among its inputs.
fn listed_constants(bytes: bytes::Bytes) -> Vec<String> {
    let graph = ModelProto::decode(bytes).unwrap_or_default().graph.unwrap_or_default();
    let inputs: std::collections::BTreeSet<&str> =
        graph.input.iter().map(|input| input.name.as_str()).collect();
    let listed = graph.initializer.iter().filter(|tensor| inputs.contains(tensor.name.as_str()));
    listed.map(|tensor| format!("`{}`", shown(&tensor.name))).collect()
}

fn names(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(MAX_LISTED_NAMES);
    all.truncate(MAX_LISTED_NAMES);
    match more {
        0 => all.join(", "),
        more => format!("{} and {more} more", all.join(", ")),
    }
}
