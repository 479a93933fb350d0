//! Compares expansions with recorded ones.
//!
//! `BLESS=1 cargo test -p onnx-embed-ir --test golden` records them again.

use std::fs;
use std::path::{Path, PathBuf};

use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::{Kept, Options, Step};
use prost::Message;

#[test]
fn a_classifier_of_digits() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/mnist");
    check("mnist", &models.join("mnist.onnx"));
}

#[test]
fn a_classifier_with_labels_and_metadata() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models");
    check("iris", &models.join("iris.onnx"));
}

#[test]
fn a_residual_block() {
    check_text("residual", &read("residual.onnxtxt"));
}

#[test]
fn two_inputs_and_two_outputs() {
    check_text("two_inputs", &read("two_inputs.onnxtxt"));
}

#[test]
fn outputs_of_rank_zero() {
    check_text("scalars", &read("scalars.onnxtxt"));
}

#[test]
fn floats_of_16_bits() {
    check_text("half", &read("half.onnxtxt"));
}

#[test]
fn arithmetic_on_shapes() {
    check_text("shapes", &read("shapes.onnxtxt"));
}

#[test]
fn branches_and_loops() {
    check_text("branches", &read("branches.onnxtxt"));
}

#[test]
fn a_layer_of_bert() {
    check_block("bert_layer");
}

#[test]
fn a_block_of_mobilenet() {
    check_block("mobilenet_block");
}

#[test]
fn a_head_of_yolo() {
    check_block("yolo_head");
}

#[test]
fn a_layer_of_llama() {
    check_block("llama_layer");
}

#[test]
fn a_long_graph_in_blocks() {
    let nodes = (0..180).map(|at| match at % 3 {
        0 => format!("x{} = Add (x{at}, bias)", at + 1),
        1 => format!("x{} = MatMul (x{at}, weight)", at + 1),
        _ => format!("x{} = Relu (x{at})", at + 1),
    });
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        long (float[n, 2] x0) => (float[n, 2] x180)
        <float[2] bias = {{1, 2}}, float[2, 2] weight = {{1, 2, 3, 4}}> {{ {} }}",
        nodes.collect::<Vec<_>>().join("\n")
    );
    check_text("long", &text);
}

#[test]
fn an_embedding_with_the_weight_of_the_last_product() {
    let codes = vec!["7"; 1024 * 32].join(", ");
    let scales = vec!["1"; 1024].join(", ");
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"com.microsoft\": 1]>
        tied (int64[n] ids) => (float[n, 1024] scores)
        <uint8[1024, 1, 32] \"head.codes\" = {{{codes}}}, float[1024, 1] \"head.scales\" = {{{scales}}},
            int64[2] shape = {{1024, 32}}>
        {{
            [\"/embedding/Reshape\"] rows = Reshape (\"head.codes\", shape)
            [\"/embedding/Gather\"] x = com.microsoft.GatherBlockQuantized <bits = 8, block_size = 32>
                (rows, ids, \"head.scales\")
            [\"/Relu\"] y = Relu (x)
            [\"/head/MatMul\"] scores = com.microsoft.MatMulNBits <K = 32, N = 1024, bits = 8, block_size = 32>
                (y, \"head.codes\", \"head.scales\")
        }}"
    );
    check_text("tied", &text);
}

#[test]
fn weights_that_several_products_share() {
    let elements = vec!["1"; 130 * 130].join(", ");
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>
        shared (float[n, 130] x, uint8[n, 130] a, uint8[n, 130] b)
            => (float[n, 130] y, int32[n, 130] s, int32[n, 130] t, int32[n, 130] u, int32[n, 130] v)
        <float[130, 130] \"first.weight\" = {{{elements}}}, float[130, 130] \"second.weight\" = {{{elements}}},
            int8[130, 130] \"third.weight\" = {{{elements}}}, int8[130, 130] \"fourth.weight\" = {{{elements}}}>
        {{
            h1 = MatMul (x, \"first.weight\")
            h2 = MatMul (h1, \"first.weight\")
            h3 = MatMul (h2, \"second.weight\")
            y = MatMul (h3, \"second.weight\")
            s = MatMulInteger (a, \"third.weight\")
            t = MatMulInteger (b, \"third.weight\")
            u = MatMulInteger (a, \"fourth.weight\")
            v = MatMulInteger (b, \"fourth.weight\")
        }}"
    );
    check_text("shared_weights", &text);
}

#[test]
fn weights_that_modules_share() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models/training");
    let options = Options { training: true, ..Options::default() };
    let model = models.join("shared_blocks.onnx");
    compare("shared_blocks", &model, &options);
}

#[test]
fn a_state_that_steps_keep() {
    let kept = |input: &str, output: &str| Kept {
        input: input.to_owned(),
        output: output.to_owned(),
        step: Step::Last,
    };
    let states = vec![kept("cache", "next_cache"), kept("h", "hn")];
    let options = Options { states, ..Options::default() };
    compare("state", &written("state", &read("state.onnxtxt")), &options);
}

#[test]
fn equal_layers_of_a_list() {
    let layers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models/layers");
    check("four_layers", &layers.join("four_layers/four_layers.onnx"));
}

/// Compares the expansion of a model that `ui-tests/models/blocks.py` writes.
fn check_block(name: &str) {
    let blocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models/blocks");
    check(name, &blocks.join(name).join(format!("{name}.onnx")));
}

/// Compares the expansion of a model in ONNX's text syntax with the recorded one.
fn check_text(name: &str, text: &str) {
    check(name, &written(name, text));
}

/// Writes a model in ONNX's text syntax as a file.
fn written(name: &str, text: &str) -> PathBuf {
    let model = onnx_embed_ir::text::model(text).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.onnx"));
    fs::write(&path, model.encode_to_vec()).unwrap();
    path
}

fn check(name: &str, model: &Path) {
    compare(name, model, &Options::default());
}

/// Compares an expansion. The table of weights is compared only for `mnist`.
fn compare(name: &str, model: &Path, options: &Options) {
    let item = Item::model(onnx_embed_ir::model::display_name(model));
    let tokens = onnx_embed_ir::compile(model, &item, options);
    let tokens = tokens.unwrap_or_else(|problems| panic!("{}", problems.report(name)));
    // Before lines are broken, because that depends on the length of the path.
    let folder = model.parent().unwrap().display().to_string();
    let tokens = tokens.to_string().replace(&folder, "$FOLDER");
    let mut file: syn::File = syn::parse_str(&tokens).unwrap();
    if name != "mnist" {
        leave_table_out(&mut file);
    }
    let code = prettyplease::unparse(&file);
    let path = golden(&format!("{name}.rs"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &code).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let (expected, code) = (expected.lines(), code.lines());
    let line = expected.clone().zip(code.clone()).position(|(expected, made)| expected != made);
    let line = line.or_else(|| (expected.clone().count() != code.clone().count()).then_some(0));
    if let Some(line) = line {
        let around = |lines: std::str::Lines<'_>| {
            let lines: Vec<&str> = lines.skip(line.saturating_sub(3)).take(12).collect();
            lines.join("\n")
        };
        panic!(
            "{} is stale from line {} on; if the new code is right, write it with `BLESS=1`\n\n\
             expected:\n{}\n\nfound:\n{}",
            path.display(),
            line + 1,
            around(expected),
            around(code)
        );
    }
}

fn leave_table_out(file: &mut syn::File) {
    let modules = file.items.iter_mut().filter_map(|item| match item {
        syn::Item::Mod(module) => module.content.as_mut(),
        _ => None,
    });
    for (_, items) in modules {
        items.retain(|item| !matches!(item, syn::Item::Static(_)));
    }
}

fn read(name: &str) -> String {
    fs::read_to_string(golden(name)).unwrap()
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}
