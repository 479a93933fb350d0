//! Forms of a node that compute the same.

use super::side::Side;
use crate::attributes::Attribute;
use crate::graph::Node;
use crate::ops::product::matmul::{Gemm, MatMul};
use crate::types::Type;

/// A node as it is compared: operators that compute the same have the same form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub kind: String,
    pub attributes: Attribute,
    /// Whether input 1, a weight, is used transposed.
    pub is_transposed: bool,
}

/// Kind of fully connected layers, which exporters write as Gemm or as MatMul and Add.
const LAYER: &str = "fully connected layer";

/// Returns the form of a node.
pub(super) fn form(side: &Side<'_>, node: &Node) -> Form {
    layer(side, node).unwrap_or_else(|| Form {
        kind: node.kind.to_string(),
        attributes: node.operator.attributes(),
        is_transposed: false,
    })
}

/// Returns the form of a product with a constant matrix and, if it has one, a constant bias of rank 1.
fn layer(side: &Side<'_>, node: &Node) -> Option<Form> {
    let rank = |at: usize| Some(side.values[node.input(at)?].ty.as_ref().and_then(Type::as_tensor)?.rank());
    let is_constant = |at: usize| node.input(at).is_some_and(|id| !side.is_defined(id));
    let has_bias = node.input(2).is_some();
    if !is_constant(1)
        || rank(1) != Some(2)
        || rank(0)? < 2
        || has_bias && (!is_constant(2) || rank(2) != Some(1))
    {
        return None;
    }
    let gemm = node.operator_as::<Gemm>().map(Gemm::transposes_weight);
    let product = || node.operator_as::<MatMul>().map(MatMul::transposes_weight);
    let is_transposed = gemm.or_else(product)??;
    let Attribute::Fields(_, fields) = node.operator.attributes() else {
        return None;
    };
    let activation = fields.into_iter().find(|(name, _)| *name == "activation")?;
    Some(Form { kind: LAYER.to_owned(), attributes: Attribute::Fields("", vec![activation]), is_transposed })
}
