//! Forms of a node that compute the same.

use super::layout::sizes;
use super::side::Side;
use crate::attributes::{Attribute, Described};
use crate::graph::{Node, ValueId};
use crate::ops;
use crate::ops::attention::joined::JoinedAttention;
use crate::ops::create::fill::ConstantOfShape;
use crate::ops::product::matmul::{Gemm, MatMul};
use crate::ops::reduce::reduction::Reduction;
use crate::types::{Known, Type};

/// A node as it is compared: operators that compute the same have the same form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    pub kind: String,
    pub attributes: Attribute,
    /// Inputs that are compared, without absent ones at the end.
    pub inputs: Vec<Option<ValueId>>,
    /// Inputs whose elements the form contains, so that no file may change them.
    pub kept: Vec<ValueId>,
    /// Whether input 1, a weight, is used transposed.
    pub is_transposed: bool,
    /// Whether input 2 is a bias.
    pub has_bias: bool,
    /// A factor that files state in single or double precision.
    pub scale: Option<f64>,
    /// Whether the order of the two inputs does not matter.
    pub commutes: bool,
}

/// Kind of fully connected layers, which exporters write as Gemm or as MatMul and Add.
const LAYER: &str = "fully connected layer";
/// Kind of operators that keep the order of elements. The type of the result determines the rest.
const RESHAPE: &str = "Reshape";
/// Kind of tensors filled with one element.
const FILLED: &str = "ConstantOfShape";
/// Kind of squares, which exporters write as Mul or as Pow.
const SQUARE: &str = "square";

/// First version in which both operands of an operator broadcast. Before it, an attribute aligns the second one.
const BROADCASTS: i64 = 7;

/// Returns the form of a node.
pub(super) fn form(side: &Side<'_>, node: &Node) -> Form {
    let forms = [layer, reshape, reduction, filled, square, without_bias, attention];
    forms.iter().find_map(|form| form(side, node)).unwrap_or_else(|| Form::new(node))
}

impl Form {
    fn new(node: &Node) -> Self {
        let end = node.inputs.iter().rposition(Option::is_some);
        let symmetric = ops::facts(&node.kind).commutative && node.version >= BROADCASTS;
        Form {
            kind: node.kind.to_string(),
            attributes: node.operator.attributes(),
            inputs: node.inputs.iter().take(end.map_or(0, |at| at.saturating_add(1))).copied().collect(),
            kept: Vec::new(),
            is_transposed: false,
            has_bias: is_convolution(node),
            scale: None,
            commutes: symmetric && matches!(node.inputs.as_slice(), [Some(_), Some(_)]),
        }
    }

    /// Returns the form of an operator on one operand. The elements of the other inputs are part of the form.
    fn of_first(node: &Node, kind: &str, attributes: Attribute) -> Option<Self> {
        let (first, others) = node.inputs.split_first()?;
        Some(Form {
            kind: kind.to_owned(),
            attributes,
            inputs: vec![Some((*first)?)],
            kept: others.iter().flatten().copied().collect(),
            commutes: false,
            ..Form::new(node)
        })
    }
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
    let attributes = Attribute::Fields("", vec![activation]);
    Some(Form { kind: LAYER.to_owned(), attributes, is_transposed, has_bias: true, ..Form::new(node) })
}

/// Returns the form of a node that keeps the order of the elements, and whose sizes are known, perhaps as names of sizes.
fn reshape(side: &Side<'_>, node: &Node) -> Option<Form> {
    let kinds = ["Reshape", "Flatten", "Squeeze", "Unsqueeze"];
    let mut sizes = node.inputs.iter().skip(1).flatten();
    if !kinds.contains(&&*node.kind) || !sizes.all(|&id| is_known(side, id)) {
        return None;
    }
    Form::of_first(node, RESHAPE, Attribute::Nothing)
}

/// Returns the form of a reduction along known axes.
fn reduction(side: &Side<'_>, node: &Node) -> Option<Form> {
    let rank = side.values[node.input(0)?].ty.as_ref()?.as_tensor()?.rank();
    let of = |kind: &str, axes: Vec<usize>, keeps: bool| {
        let fields = vec![("axes", axes.attributes()), ("keep", keeps.attributes())];
        Form::of_first(node, kind, Attribute::Fields("", fields))
    };
    match &*node.kind {
        "GlobalAveragePool" => return of("ReduceMean", (2..rank).collect(), true),
        "GlobalMaxPool" => return of("ReduceMax", (2..rank).collect(), true),
        _ => {}
    }
    let reduction = node.operator_as::<Reduction>()?;
    let second = node.input(1).map(|id| &side.values[id]);
    let known = second.and_then(|value| value.known.peek()).and_then(Known::numbers);
    let axes = reduction.axes(known, second.and_then(|value| value.ty.as_ref()?.as_tensor()), rank);
    of(&node.kind, axes.ok()??, reduction.keeps())
}

/// Returns the form of a tensor that is filled with one known element.
fn filled(side: &Side<'_>, node: &Node) -> Option<Form> {
    let (shape, value) = match node.operator_as::<ConstantOfShape>() {
        Some(fill) => (node.input(0)?, fill.value.clone()),
        None if &*node.kind == "Expand" => {
            let (id, shape) = (node.input(0)?, node.input(1)?);
            let ty = side.values[id].ty.as_ref()?.as_tensor()?;
            let known = side.values[id].known.peek()?;
            let result = side.values[node.output(0)?].ty.as_ref()?.as_tensor()?.rank();
            let sizes = side.values[shape].ty.as_ref()?.as_tensor()?.count();
            let is_within = |rank: usize| rank <= result && sizes == Some(result);
            (ty.count() == Some(1) && is_within(ty.rank()) && known.is_concrete())
                .then_some((shape, known.clone()))?
        }
        None => return None,
    };
    let ty = side.values[node.output(0)?].ty.as_ref()?.as_tensor()?;
    let attributes =
        Attribute::Fields("", vec![("dtype", ty.dtype.attributes()), ("value", value.attributes())]);
    let mut form = Form { kind: FILLED.to_owned(), attributes, commutes: false, ..Form::new(node) };
    form.kept = node.inputs.iter().flatten().copied().filter(|&id| id != shape).collect();
    // The type of the result contains known sizes.
    form.inputs = if is_known(side, shape) { Vec::new() } else { vec![Some(shape)] };
    Some(form)
}

fn square(side: &Side<'_>, node: &Node) -> Option<Form> {
    let [Some(x), Some(y)] = *node.inputs.as_slice() else {
        return None;
    };
    let is_square = match &*node.kind {
        "Mul" => x == y,
        "Pow" => uniform(side, y) == Some(2.0) && sizes(side.values[y].ty.as_ref())?.is_empty(),
        _ => false,
    };
    if is_square && side.is_defined(x) && node.version >= BROADCASTS {
        let mut form = Form::of_first(node, SQUARE, Attribute::Nothing)?;
        form.kept.retain(|&id| id != x);
        return Some(form);
    }
    None
}

/// Returns the form of a convolution whose bias is known to be zero.
fn without_bias(side: &Side<'_>, node: &Node) -> Option<Form> {
    let [_, _, Some(bias)] = *node.inputs.as_slice() else {
        return None;
    };
    if !is_convolution(node) || uniform(side, bias) != Some(0.0) {
        return None;
    }
    let form = Form::new(node);
    Some(Form { inputs: form.inputs.iter().take(2).copied().collect(), kept: vec![bias], ..form })
}

fn is_convolution(node: &Node) -> bool {
    matches!(&*node.kind, "Conv" | "ConvTranspose" | "com.microsoft.FusedConv")
}

fn attention(_: &Side<'_>, node: &Node) -> Option<Form> {
    let scale = node.operator_as::<JoinedAttention>()?.scale;
    let Attribute::Fields(name, mut fields) = node.operator.attributes() else {
        return None;
    };
    fields.retain(|(field, _)| *field != "scale");
    Some(Form { attributes: Attribute::Fields(name, fields), scale: Some(scale), ..Form::new(node) })
}

/// Returns `true` if the elements of a value that no node computes are known.
fn is_known(side: &Side<'_>, id: ValueId) -> bool {
    !side.is_defined(id) && side.values[id].known.peek().is_some()
}

/// Returns the number that all elements of a constant are.
fn uniform(side: &Side<'_>, id: ValueId) -> Option<f64> {
    let Known::Floats(elements) = side.values[id].known.peek()? else {
        return None;
    };
    let first = *elements.first()?;
    elements.iter().all(|&element| element == first).then_some(first)
}
