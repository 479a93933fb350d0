//! JSON description of one model.

use onnx_embed_ir::diagnostics::{Diagnostics, Problem};
use onnx_embed_ir::dim::Dim;
use onnx_embed_ir::inspect::{Inspection, Port};
use onnx_embed_ir::options::Step;
use onnx_embed_ir::types::Type;
use serde_json::{Value as Json, json};

use super::table::{by_type, parameters};

pub fn describe(model: &str, inspection: &Inspection) -> Json {
    let facts = &inspection.facts;
    let operators = facts.operators.iter().map(|((domain, name), count)| {
        json!({
            "domain": domain,
            "name": name,
            "nodes": count.nodes,
            "supported": count.supported,
        })
    });
    let weights = by_type(&inspection.constants).into_iter();
    let weights = weights.map(|(dtype, (tensors, elements, bytes))| {
        json!({ "dtype": dtype, "tensors": tensors, "elements": elements, "bytes": bytes })
    });
    let ports = |ports: &[Port]| -> Vec<Json> {
        let port = |port: &Port| json!({ "name": port.name, "type": port.ty.as_ref().map(ty) });
        ports.iter().map(port).collect()
    };
    let about = &inspection.about;
    let metadata = about.metadata.iter();
    let metadata: Vec<Json> = metadata.map(|(key, value)| json!({ "key": key, "value": value })).collect();
    let (elements, bytes) = parameters(&inspection.constants);
    let call = inspection.compiled.as_ref().map(|compiled| {
        let cost = &compiled.cost;
        json!({
            "nodes": compiled.nodes,
            "multiply_adds": cost.multiply_adds,
            "uncounted_nodes": cost.uncounted,
            "activation_bytes": cost.activations,
            "sizes_taken_as_1": cost.ones,
            "has_loops": cost.loops,
        })
    });
    let states = inspection.states.iter();
    let states = states.map(|kept| {
        let first = kept.step == Step::First;
        json!({ "input": kept.input, "output": kept.output, "of_first_step": first })
    });
    json!({
        "model": model,
        "compiles": inspection.problems.is_empty(),
        "problems": listed(&inspection.problems),
        "ir_version": facts.ir_version,
        "opsets": facts.opsets,
        "producer": facts.producer,
        "graph": about.graph,
        "domain": about.domain,
        "model_version": about.version,
        "doc": about.doc,
        "metadata": metadata,
        "parameters": { "elements": elements, "bytes": bytes },
        "call": call,
        "inputs": ports(&inspection.inputs),
        "outputs": ports(&inspection.outputs),
        "states": states.collect::<Vec<_>>(),
        "operators": operators.collect::<Vec<_>>(),
        "weights": weights.collect::<Vec<_>>(),
    })
}

/// Returns each problem with its node, and the number of other nodes with the same problem.
pub fn listed(problems: &Diagnostics) -> Vec<Json> {
    let problem = |(problem, others): (&Problem, usize)| {
        let site = problem.site();
        json!({
            "message": problem.message(),
            "node": site.map(|site| &site.node),
            "operator": site.map(|site| &site.operator),
            "help": problem.advice(),
            "further_nodes": others,
        })
    };
    problems.listed().map(problem).collect()
}

pub fn ty(ty: &Type) -> Json {
    match ty {
        Type::Tensor(tensor) => {
            let size = |dim: &Dim| match dim.number() {
                Some(number) => json!(number),
                None => json!(dim.to_string()),
            };
            let shape: Vec<Json> = tensor.shape.iter().map(size).collect();
            json!({ "dtype": tensor.dtype.name(), "shape": shape })
        }
        Type::Unranked(dtype) | Type::Nothing(dtype) => json!({ "dtype": dtype.name() }),
        Type::Sequence(item) => json!({ "sequence": self::ty(item) }),
        Type::Optional(item) => json!({ "optional": self::ty(item) }),
        Type::Map(key, item) => json!({ "map": self::ty(item), "key": key.name() }),
    }
}
