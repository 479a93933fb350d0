//! Matrix products that are written as `Einsum`.

use crate::graph::Node;
use crate::ops::product::einsum::Einsum;

/// Orders of axes in which an equation is a matrix product.
#[derive(Debug, PartialEq)]
pub struct Orders {
    /// Axes of the operand with the rows, `[batch.., rows, features]`.
    pub rows: Vec<usize>,
    /// Axes of the operand with the columns, `[batch.., columns, features]`.
    pub columns: Vec<usize>,
    /// Whether the operand with the rows is the second.
    pub swapped: bool,
    /// Axes `[batch.., rows, columns]` of the result.
    pub result: Vec<usize>,
}

/// Reads an equation whose result is `[batch.., rows, columns]`.
pub fn of_scores(node: &Node) -> Option<Orders> {
    let [a, b, result] = node.operator_as::<Einsum>()?.pair()?;
    let [batch @ .., rows, columns] = result else {
        return None;
    };
    let [inner] = a.iter().filter(|label| !result.contains(label)).collect::<Vec<_>>()[..] else {
        return None;
    };
    let swapped = !a.contains(rows);
    let (left, right) = if swapped { (b, a) } else { (a, b) };
    Some(Orders {
        rows: order(left, batch, [*rows, *inner])?,
        columns: order(right, batch, [*columns, *inner])?,
        swapped,
        result: (0..result.len()).collect(),
    })
}

/// Reads an equation whose first operand is `[batch.., rows, features]`.
pub fn of_sums(node: &Node) -> Option<Orders> {
    let [a, b, result] = node.operator_as::<Einsum>()?.pair()?;
    let [batch @ .., rows, inner] = a else {
        return None;
    };
    let [columns] = result.iter().filter(|label| !a.contains(label)).collect::<Vec<_>>()[..] else {
        return None;
    };
    let made = [batch, &[*rows, *columns]].concat();
    let axis = |label: &char| made.iter().position(|letter| letter == label);
    let axes = result.iter().map(axis).collect::<Option<Vec<_>>>()?;
    (axes.len() == made.len()).then_some(Orders {
        rows: (0..a.len()).collect(),
        columns: order(b, batch, [*inner, *columns])?,
        swapped: false,
        result: axes,
    })
}

/// Returns the indices of the labels of a batch and of a matrix, if there are no other labels.
fn order(labels: &[char], batch: &[char], matrix: [char; 2]) -> Option<Vec<usize>> {
    let all = batch.iter().chain(&matrix);
    let axis = |label: &char| labels.iter().position(|letter| letter == label);
    let axes = all.map(axis).collect::<Option<Vec<_>>>()?;
    (axes.len() == labels.len()).then_some(axes)
}
