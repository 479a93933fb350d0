//! Elements of constants that are computed when a model is loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::layout::{Root, root, sizes};
use super::moves::{moved, repeated};
use super::numbers;
use super::side::Side;
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::types::Type;

/// Maximum number of nodes of an expression.
const MAX_NODES: usize = 128;

/// An elementwise operator on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
}

/// An elementwise operator on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Negation,
    Root,
    Reciprocal,
    /// A conversion between types of floats.
    Cast,
}

/// First version in which both operands of an operator broadcast.
const BROADCASTS: i64 = 7;

impl Binary {
    pub fn of(node: &Node) -> Option<Self> {
        let operator = match &*node.kind {
            "Add" => Binary::Add,
            "Sub" => Binary::Sub,
            "Mul" => Binary::Mul,
            "Div" => Binary::Div,
            _ => return None,
        };
        (node.version >= BROADCASTS).then_some(operator)
    }

    pub fn of_numbers(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
        }
    }
}

impl Unary {
    pub fn of(side: &Side<'_>, node: &Node) -> Option<Self> {
        let is_float = |id: Option<ValueId>| dtype(side, id?).map(DType::is_float);
        match &*node.kind {
            "Neg" => Some(Unary::Negation),
            "Sqrt" => Some(Unary::Root),
            "Reciprocal" => Some(Unary::Reciprocal),
            "Cast" if is_float(node.input(0))? && is_float(node.output(0))? => Some(Unary::Cast),
            _ => None,
        }
    }

    fn of_number(self, x: f64) -> f64 {
        match self {
            Unary::Negation => -x,
            Unary::Root => x.sqrt(),
            Unary::Reciprocal => x.recip(),
            Unary::Cast => x,
        }
    }
}

/// Returns the element type of a tensor.
pub(super) fn dtype(side: &Side<'_>, id: ValueId) -> Option<DType> {
    Some(side.values[id].ty.as_ref()?.as_tensor()?.dtype)
}

/// Returns the values from which a value is computed when the model is loaded, each after its operands.
pub(super) fn expression(side: &Side<'_>, id: ValueId) -> Vec<ValueId> {
    let (mut open, mut seen, mut order) = (vec![(id, false)], BTreeSet::new(), Vec::new());
    while let Some((id, is_done)) = open.pop() {
        if is_done {
            order.push(id);
        } else if seen.insert(id) {
            open.push((id, true));
            if let Root::Computed(node) = root(&side.values[id]) {
                open.extend(node.inputs.iter().flatten().map(|&id| (id, false)));
            }
        }
    }
    order
}

/// Returns the number of these values, `None` if they are too many to compute their elements.
pub(super) fn nodes(side: &Side<'_>, id: ValueId) -> Option<usize> {
    Some(expression(side, id).len()).filter(|&count| count <= MAX_NODES)
}

/// Returns the elements of a value, where `stored` returns those of constants of the file. `None` if one of these or an operator
/// is unknown.
pub(super) fn evaluated<'g>(
    side: &Side<'g>,
    id: ValueId,
    stored: &dyn Fn(ValueId, Root<'g>) -> Option<Vec<f64>>,
) -> Option<Vec<f64>> {
    let mut found: BTreeMap<ValueId, Rc<Vec<f64>>> = BTreeMap::new();
    nodes(side, id)?;
    for id in expression(side, id) {
        let elements = match root(&side.values[id]) {
            Root::Computed(node) => Rc::new(computed(side, node, &found)?),
            Root::Missing => return None,
            // Lists of indices are operands of nodes that move elements.
            constant => match stored(id, constant) {
                Some(elements) => Rc::new(elements),
                None if side.values[id].ty.as_ref().is_some_and(is_list) => continue,
                None => return None,
            },
        };
        found.insert(id, elements);
    }
    found.remove(&id).map(Rc::unwrap_or_clone)
}

fn is_list(ty: &Type) -> bool {
    ty.as_tensor().is_some_and(|ty| ty.dtype == DType::I64)
}

fn computed(side: &Side<'_>, node: &Node, found: &BTreeMap<ValueId, Rc<Vec<f64>>>) -> Option<Vec<f64>> {
    let operand = |at: usize| found.get(&node.input(at)?).cloned();
    let rounded = |all: Vec<f64>| {
        let to = dtype(side, node.output(0)?)?;
        match to {
            DType::F64 => Some(all),
            _ if to.is_float() => numbers::bytes(&all, to).and_then(|bytes| numbers::read(&bytes, to)),
            _ => None,
        }
    };
    if let Some(operator) = Unary::of(side, node) {
        return rounded(operand(0)?.iter().map(|&x| operator.of_number(x)).collect());
    }
    if let Some(operator) = Binary::of(node) {
        let (a, b) = (operand(0)?, operand(1)?);
        let (left, right) = aligned(side, node)?;
        let pairs = left.iter().zip(&right);
        let all = pairs.map(|(&i, &j)| Some(operator.of_numbers(*a.get(i)?, *b.get(j)?)));
        return rounded(all.collect::<Option<_>>()?);
    }
    let (operands, positions) = moved(side, node)?;
    let mut all = Vec::new();
    for id in operands {
        all.extend(found.get(&id)?.iter().copied());
    }
    positions.iter().map(|&at| all.get(at).copied()).collect()
}

/// Returns for each element of the result of an elementwise operator the positions of its operands' elements.
pub(super) fn aligned(side: &Side<'_>, node: &Node) -> Option<(Vec<usize>, Vec<usize>)> {
    let shape = |id: ValueId| sizes(side.values[id].ty.as_ref());
    let to = shape(node.output(0)?)?;
    let positions = |at: usize| repeated(&shape(node.input(at)?)?, &to);
    Some((positions(0)?, positions(1)?))
}
