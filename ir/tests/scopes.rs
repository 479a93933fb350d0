//! Checks that expansions bind variables before use.

#[path = "scopes/cases.rs"]
mod cases;
#[path = "scopes/models.rs"]
mod models;
#[path = "scopes/open.rs"]
mod open;
#[path = "scopes/walk.rs"]
mod walk;

use bytes::Bytes;
use onnx_embed_ir::diagnostics::Topic;
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::model::Model;
use onnx_embed_ir::options::Options;

/// Limit of nested expressions. The stack of rustc suffices for about a thousand levels.
const DEEPEST: usize = 200;

/// Returns the faults of a model's expansions with and without simplification, `None` if the compiler rejects the
/// model.
fn faults(model: &dyn Fn(&Options) -> Option<Model>) -> Option<Vec<String>> {
    let mut faults = Vec::new();
    let mut before = None;
    for simplify in [true, false] {
        let options = Options { simplify, ..Options::default() };
        let item = Item::model("model.onnx");
        let model = model(&options)?;
        let tokens = match onnx_embed_ir::code(&model, &item, &options) {
            Ok(tokens) => tokens,
            Err(problems) => {
                // Sizes that no earlier value determines are a fault of the compiler.
                let is_defect = problems.listed().any(|(problem, _)| *problem.topic() == Topic::Defect);
                faults.extend(is_defect.then(|| problems.report("model")));
                continue;
            }
        };
        let text = tokens.to_string();
        if before.as_ref() == Some(&text) {
            continue;
        }
        match syn::parse2(tokens) {
            Ok(file) => {
                faults.extend(walk::problems(&file));
                let depth = walk::depth(&file);
                let deep = format!("expressions are {depth} levels deep");
                faults.extend((depth > DEEPEST).then_some(deep));
            }
            Err(error) => faults.push(format!("the expansion is not Rust: {error}")),
        }
        before = Some(text);
    }
    Some(faults)
}

/// Loads a model from memory.
fn loaded(bytes: &Bytes, options: &Options) -> Option<Model> {
    onnx_embed_ir::load_bytes(bytes.clone(), options).ok()
}
