//! What the typed `forward` takes and returns, for programs that write calls of it.

use super::Context;
use super::budget::Budget;
use super::signature::{self, Port};
use crate::model::Model;
use crate::types::{Place, Type};

/// A value at the border of `forward`.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name in the file.
    pub name: String,
    /// Its name in Rust.
    pub field: String,
    /// Its type in Rust, as the generated module writes it.
    pub rust: String,
    pub ty: Type,
    pub place: Place,
    /// Whether it is a plain number, truth or text.
    pub is_scalar: bool,
}

/// The inputs and outputs of a model.
pub fn arguments(model: &Model) -> (Vec<Argument>, Vec<Argument>) {
    let cx = Context::new(&model.graph, false, Budget::new(model));
    let body = &model.graph.body;
    let inputs = signature::inputs(&body.inputs, &cx);
    let outputs = signature::outputs(&body.outputs, &model.facts.outputs, &cx);
    let argument = |port: Port| Argument {
        field: port.ident.to_string(),
        rust: port.rust.into_tokens().to_string().replace(' ', ""),
        place: port.place,
        is_scalar: port.scalar,
        name: port.onnx,
        ty: port.ty,
    };
    (inputs.into_iter().map(argument).collect(), outputs.into_iter().map(argument).collect())
}
