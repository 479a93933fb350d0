//! Nodes between query-key products and their softmax.

use super::equations::of_scores;
use crate::dim::Dim;
use crate::dtype::ElementClass;
use crate::graph::{Node, ValueId};
use crate::ops::product::matmul::MatMul;
use crate::ops::shape::transpose::Transpose;
use crate::passes::rewrite::{Match, Miss};

/// Maximum number of nodes that are traced back from the softmax.
const MAX_TRACED_NODES: usize = 16;

/// Products of queries with keys, and the operations on them in order.
#[derive(Debug)]
pub struct Scores {
    pub query: Operand,
    pub key: Operand,
    pub scale: f64,
    /// Other factors and divisors of the queries.
    pub factors: Vec<(&'static str, ValueId)>,
    pub masks: Vec<Mask>,
    /// Sizes of the products.
    pub base: Vec<Dim>,
    /// Sizes after all nodes.
    pub end: Vec<Dim>,
    /// Whether the scores have the same shape after all nodes.
    pub direct: bool,
    /// The first shape of rank 4 to which they are reshaped.
    pub view: Option<Vec<Dim>>,
}

/// An operand of the product.
#[derive(Clone, Debug)]
pub struct Operand {
    pub value: ValueId,
    /// The order in which its axes are batches, rows and features.
    pub axes: Vec<usize>,
}

/// A masking of scores.
#[derive(Debug)]
pub struct Mask {
    pub value: ValueId,
    /// The score of elements whose mask is `false`, or `true` if it is `hiding`. A mask without it is added.
    pub fill: Option<f64>,
    pub hiding: bool,
    /// Whether the mask is subtracted instead.
    pub negative: bool,
    /// Sizes of the masked scores, if their shape differs from that of the products.
    pub at: Option<Vec<Dim>>,
}

/// Returns the nodes that compute these scores, which must have no other consumers.
pub fn scores(m: &Match<'_, '_>, id: ValueId) -> Result<Scores, Miss> {
    followed(m, id, MAX_TRACED_NODES)
}

fn followed(m: &Match<'_, '_>, id: ValueId, left: usize) -> Result<Scores, Miss> {
    const OTHER: Miss = "the scores are not a product of two tensors";
    let (Some(node), Some(left)) = (m.maker(id), left.checked_sub(1)) else {
        return Err(OTHER);
    };
    if m.uses(id) > 1 {
        return Err("the scores have other consumers");
    }
    let at = m.tensor_of(id)?.shape.clone();
    // Both operands may be computed from products: the first that fits the result is used.
    let side = |side: usize| -> Result<(Scores, ValueId), Miss> {
        let (this, other) = (node.input(side), node.input(1 - side));
        let (this, other) = this.zip(other).ok_or(OTHER)?;
        if m.value_of(this).is_constant() {
            return Err(OTHER);
        }
        Ok((followed(m, this, left)?.fitting(&at)?, other))
    };
    let first = || node.input(0).ok_or(OTHER);
    match &*node.kind {
        "MatMul" | "com.microsoft.FusedMatMul" | "com.microsoft.TransposeMatMul" => product(m, node, at),
        "Einsum" => {
            let orders = of_scores(node).ok_or("the equation is not a product of queries and keys")?;
            let [rows, columns] = if orders.swapped { [1, 0] } else { [0, 1] };
            let operand = |side: usize, axes| {
                let value = node.input(side).ok_or(OTHER)?;
                Ok(Operand { value, axes })
            };
            let (query, key) = (operand(rows, orders.rows)?, operand(columns, orders.columns)?);
            Ok(Scores::new(query, key, 1.0, at))
        }
        "Add" | "Sub" | "Mul" | "Div" if node.version < 7 => {
            Err("operators before opset 7 broadcast differently")
        }
        "Add" => {
            let (found, mask) = side(0).or_else(|miss| side(1).map_err(|_| miss))?;
            Ok(found.masked(Mask::of(mask, None)))
        }
        "Sub" => {
            let (found, mask) = side(0)?;
            Ok(found.masked(Mask { negative: true, ..Mask::of(mask, None) }))
        }
        "Mul" => {
            let (found, factor) = side(0).or_else(|miss| side(1).map_err(|_| miss))?;
            found.scaled(m, ("Mul", factor))
        }
        "Div" => {
            let (found, divisor) = side(0)?;
            found.scaled(m, ("Div", divisor))
        }
        "Where" => chosen(m, node, at, left),
        "Cast" => {
            let (from, to) = (m.tensor_of(first()?)?.dtype, m.tensor_of(id)?.dtype);
            match (from.bits(), to.bits(), from.kind() == ElementClass::Float) {
                (16, 32, true) if to.kind() == ElementClass::Float => followed(m, first()?, left),
                _ => Err("the scores are converted to another type"),
            }
        }
        "Reshape" | "Squeeze" | "Unsqueeze" => {
            let inner = first()?;
            let (from, to) = (&m.tensor_of(inner)?.shape, &at);
            if from.iter().rev().take(2).ne(to.iter().rev().take(2)) {
                return Err("a reshape changes the last two axes of the scores");
            }
            let mut found = followed(m, inner, left)?;
            if at.len() == 4 && found.view.is_none() {
                found.view = Some(at.clone());
            }
            (found.end, found.direct) = (at, false);
            Ok(found)
        }
        "Transpose" => {
            let inner = first()?;
            let axes = node.operator_as::<Transpose>().map(|transpose| transpose.axes(at.len()));
            let mut swapped: Vec<usize> = (0..at.len()).collect();
            if let [.., a, b] = swapped.as_mut_slice() {
                std::mem::swap(a, b);
            }
            if axes.is_none_or(|axes| axes.is_ok_and(|axes| axes != swapped)) {
                return Err("a transpose moves the batch axes of the scores");
            }
            followed(m, inner, left)?.transposed()
        }
        _ => Err(OTHER),
    }
}

fn product(m: &Match<'_, '_>, node: &Node, base: Vec<Dim>) -> Result<Scores, Miss> {
    let scaled = node.operator_as::<MatMul>().and_then(MatMul::scaled);
    let (scale, [left, right]) = scaled.ok_or("the product has an activation or transposed batches")?;
    let operand = |at: usize, transposed| {
        let value = node.input(at).ok_or("an operand is missing")?;
        let mut axes: Vec<usize> = (0..m.tensor_of(value)?.rank()).collect();
        if let ([.., a, b], true) = (axes.as_mut_slice(), transposed) {
            std::mem::swap(a, b);
        }
        Ok(Operand { value, axes })
    };
    Ok(Scores::new(operand(0, left)?, operand(1, !right)?, scale, base))
}

/// Returns the scores that a mask selects. One number replaces the others.
fn chosen(m: &Match<'_, '_>, node: &Node, at: Vec<Dim>, left: usize) -> Result<Scores, Miss> {
    let [Some(mask), Some(a), Some(b)] = node.inputs.as_slice() else {
        return Err("an operand is missing");
    };
    let (inner, fill, hiding) = match (m.uniform(*a), m.uniform(*b)) {
        (None, Some(fill)) => (*a, fill, false),
        (Some(fill), None) => (*b, fill, true),
        _ => return Err("masked scores are not replaced by one number"),
    };
    let found = followed(m, inner, left)?.fitting(&at)?;
    Ok(found.masked(Mask { hiding, ..Mask::of(*mask, Some(fill)) }))
}

impl Mask {
    fn of(value: ValueId, fill: Option<f64>) -> Self {
        Mask { value, fill, hiding: false, negative: false, at: None }
    }
}

impl Scores {
    fn new(query: Operand, key: Operand, scale: f64, base: Vec<Dim>) -> Self {
        Scores {
            query,
            key,
            scale,
            factors: Vec::new(),
            masks: Vec::new(),
            end: base.clone(),
            base,
            direct: true,
            view: None,
        }
    }

    /// Returns the scores if a node with them as operand has a result of these sizes.
    fn fitting(mut self, at: &[Dim]) -> Result<Self, Miss> {
        // A size that may be 1 may be broadcast at run time.
        let fits = |(own, all): (&Dim, &Dim)| own == all || own.number().is_none();
        if self.end.len() != at.len() || !self.end.iter().zip(at).all(fits) {
            return Err("a mask would broadcast the scores");
        }
        if self.direct {
            self.end = at.to_vec();
        }
        if self.end == at { Ok(self) } else { Err("a mask may broadcast the reshaped scores") }
    }

    fn masked(mut self, mask: Mask) -> Self {
        let at = (!self.direct).then(|| self.end.clone());
        self.masks.push(Mask { at, ..mask });
        self
    }

    /// Multiplies the scores, or divides them, by one number or by one for each query.
    fn scaled(mut self, m: &Match<'_, '_>, (kind, factor): (&'static str, ValueId)) -> Result<Self, Miss> {
        if !self.masks.is_empty() {
            return Err("masked scores are scaled");
        }
        if let Some(number) = m.uniform(factor) {
            match kind {
                "Div" => self.scale /= number,
                _ => self.scale *= number,
            }
            return Ok(self);
        }
        let shape = &m.tensor_of(factor)?.shape;
        if !self.direct || !shape.last().is_none_or(|size| size.is(1)) {
            return Err("the factor is not uniform along the keys");
        }
        self.factors.push((kind, factor));
        Ok(self)
    }

    fn transposed(mut self) -> Result<Self, Miss> {
        if !self.masks.is_empty() || !self.factors.is_empty() {
            return Err("the scores are transposed after a mask or a factor");
        }
        std::mem::swap(&mut self.query, &mut self.key);
        let shapes = [Some(&mut self.base), Some(&mut self.end), self.view.as_mut()];
        for shape in shapes.into_iter().flatten() {
            if let [.., a, b] = shape.as_mut_slice() {
                std::mem::swap(a, b);
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::rewrite::testing::reasons;

    #[test]
    fn only_plain_products_are_transposed() {
        let found = |step: &str| {
            let nodes = format!(
                "t = Transpose <perm = [0, 1, 3, 2]> (q) p = MatMul (k, t) r = {step}
                s = Transpose <perm = [0, 1, 3, 2]> (r) c = Softmax (s) y = MatMul (c, v)"
            );
            let inputs = "float[B, 2, Q, 4] q, float[B, 2, K, 4] k, float[B, 2, K, 4] v, float[B, 1, K, Q] m";
            let constants = "float[2, 1, 1] h = {1, 2}, float half = {0.5}";
            reasons("attention", &format!("({inputs}) => (float[B, 2, Q, 4] y) <{constants}> {{ {nodes} }}"))
        };
        let reason = ["the scores are transposed after a mask or a factor"];
        assert_eq!([found("Add (p, m)"), found("Mul (p, h)")], [reason, reason]);
        assert!(found("Mul (p, half)").is_empty());
    }

    #[test]
    fn masks_of_higher_rank_broadcast_the_scores() {
        let example = "(float[B, Q, 4] q, float[B, 4, K] k, float[B, K, 4] v, float[X, 1, Q, K] m) => (float[X, B, Q, 4] y) {
            p = MatMul (q, k) s = Add (p, m) c = Softmax (s) y = MatMul (c, v)
        }";
        assert_eq!(reasons("attention", example), ["a mask would broadcast the scores"]);
    }
}
