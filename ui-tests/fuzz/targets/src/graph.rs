//! Graphs of any operators, with and without simplification.

mod attribute;
mod build;
mod schema;
mod tensor;

use arbitrary::Unstructured;
use onnx_embed_ir::model::Model;
use onnx_embed_ir::types::Type;
use prost::Message;

use crate::compile::{compile, limit};
use crate::memory::within;

/// Compiles the graph that the bytes choose. Simplification must neither refuse it nor change a type.
pub fn run(bytes: &[u8]) {
    let Ok(model) = build::model(&mut Unstructured::new(bytes)) else {
        return;
    };
    let file = model.encode_to_vec();
    let compiled = |simplify| within(limit(file.len()), || compile(&file, simplify));
    match (compiled(false), compiled(true)) {
        (Ok((plain, _)), Ok((simplified, _))) => check_types(&plain, &simplified),
        (Ok(_), Err(problem)) => panic!("only simplification refuses the graph: {problem}"),
        // Simplification may remove what cannot be compiled.
        (Err(_), _) => {}
    }
}

/// Returns the model that the bytes choose.
pub fn file(bytes: &[u8]) -> Option<Vec<u8>> {
    let model = build::model(&mut Unstructured::new(bytes)).ok()?;
    Some(model.encode_to_vec())
}

/// # Panics
/// If an output has another element type, rank or size with simplification.
fn check_types(plain: &Model, simplified: &Model) {
    let outputs = |model: &Model| -> Vec<Option<Type>> {
        let outputs = model.graph.body.outputs.iter();
        outputs.map(|&id| model.graph.values[id].ty.clone()).collect()
    };
    let (plain, simplified) = (outputs(plain), outputs(simplified));
    assert_eq!(plain.len(), simplified.len(), "number of outputs");
    for (at, types) in plain.iter().zip(&simplified).enumerate() {
        if let (Some(Type::Tensor(before)), Some(Type::Tensor(after))) = types {
            assert_eq!(before.dtype, after.dtype, "element type of output {at}");
            assert_eq!(before.rank(), after.rank(), "rank of output {at}");
            for (axis, (before, after)) in before.shape.iter().zip(&after.shape).enumerate() {
                if let (Some(before), Some(after)) = (before.number(), after.number()) {
                    assert_eq!(before, after, "size {axis} of output {at}");
                }
            }
        }
    }
}
