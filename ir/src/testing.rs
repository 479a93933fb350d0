//! Checks of small models in tests.

use expect_test::Expect;
use prost::Message;

use crate::emit::Item;
use crate::options::Options;
use crate::print;

/// Returns the file of a model in ONNX's text syntax.
#[track_caller]
pub fn file(text: &str) -> Vec<u8> {
    match crate::text::model(text) {
        Ok(model) => model.encode_to_vec(),
        Err(error) => panic!("{text}: {error}"),
    }
}

/// Compares the graph or the problems of a model in ONNX's text syntax with the expected text. A text without a header
/// has opset 21.
#[track_caller]
pub fn check(text: &str, expected: Expect) {
    let text = if text.trim_start().starts_with('<') {
        text.to_owned()
    } else {
        format!("<ir_version: 10, opset_import: [\"\": 21]> {text}")
    };
    let model = file(&text);
    // Rules are tested on their own.
    let options = Options { simplify: false, ..Options::default() };
    let shown = match crate::load_bytes(model.into(), &options) {
        Ok(model) => print::graph(&model.graph),
        Err(problems) => problems.report("model"),
    };
    expected.assert_eq(&shown);
}

/// Checks the nodes of each graph that the code names because they may fail at run time.
#[track_caller]
pub fn named(graphs: &[&str], expected: Expect) {
    let opsets = r#"["" : 25, "ai.onnx.ml" : 3, "com.microsoft" : 1]"#;
    let options = Options { simplify: false, ..Options::default() };
    let item = Item { visibility: Default::default(), ..Item::model("model") };
    let mut shown = String::new();
    for graph in graphs {
        let text = format!("<ir_version: 10, opset_import: {opsets}> g {graph}");
        let model = crate::load_bytes(file(&text).into(), &options);
        let code = match model.and_then(|model| crate::code(&model, &item, &options)) {
            Ok(code) => code.to_string(),
            Err(problems) => panic!("{graph}: {}", problems.report("model")),
        };
        let calls = code.split("Node :: new (").skip(1);
        let names = calls.map(|call| call.split(')').next().unwrap_or_default().trim());
        let names = names.collect::<Vec<_>>().join("; ");
        shown.push_str(if names.is_empty() { "none" } else { &names });
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

/// Checks the problems of each graph, one line each. The graphs may use operators of all domains.
#[track_caller]
pub fn problems(graphs: &[&str], expected: Expect) {
    let opsets = r#"["" : 22, "ai.onnx.ml" : 1, "com.microsoft" : 1, "ai.onnx.preview.training" : 1]"#;
    let mut shown = String::new();
    for graph in graphs {
        let text = if graph.starts_with('<') {
            (*graph).to_owned()
        } else {
            format!("<ir_version: 10, opset_import: {opsets}> g {graph}")
        };
        let found = match crate::load_bytes(file(&text).into(), &Options::default()) {
            Ok(_) => "fine".to_owned(),
            Err(problems) => problems.messages().join("; "),
        };
        shown.push_str(&found);
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

/// Runs [`check`] with operators of `ai.onnx.ml`.
pub fn ml(graph: &str, expected: Expect) {
    let opsets = r#"["" : 21, "ai.onnx.ml" : 1]"#;
    check(&format!("<ir_version: 10, opset_import: {opsets}> {graph}"), expected);
}
