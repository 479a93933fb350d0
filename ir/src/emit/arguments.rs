//! Inputs and outputs of `forward`, for programs that generate calls.

use super::Context;
use super::signature::{self, Port};
use crate::model::Model;
use crate::types::{Placement, Type};

/// An input or output of `forward`.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Name in the file.
    pub name: String,
    /// Name in Rust.
    pub field: String,
    /// Type in Rust, as in the generated module.
    pub rust: String,
    pub ty: Type,
    pub placement: Placement,
    /// Whether it is a plain number, Boolean or string.
    pub is_scalar: bool,
}

/// Returns the inputs and outputs of a model.
pub fn arguments(model: &Model) -> (Vec<Argument>, Vec<Argument>) {
    let cx = Context::new(model, false);
    let body = &model.graph.body;
    let inputs = signature::inputs(&body.inputs, &cx);
    let outputs = signature::outputs(&body.outputs, &model.facts.outputs, &cx);
    let argument = |port: Port| Argument {
        field: port.ident.to_string(),
        rust: port.rust.into_tokens().to_string().replace(' ', ""),
        placement: port.placement,
        is_scalar: port.scalar,
        name: port.onnx,
        ty: port.ty,
    };
    (inputs.into_iter().map(argument).collect(), outputs.into_iter().map(argument).collect())
}
