//! Attention that exporters write as several nodes.

pub mod batches;
mod equations;
pub mod heads;
mod operands;
mod scores;
mod shapes;

use crate::dim::Dim;
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::ops::attention::joined::{JoinedAttention, KIND};
use crate::ops::normalize::softmax::Softmax;
use crate::ops::product::matmul::MatMul;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;
use equations::of_sums;
use scores::{Mask, Operand, Scores, scores};

pub const RULES: &[Rule] = &[building(
    "attention",
    "MatMul|Einsum:sums(either(Softmax:softmax(scores), Cast(Softmax:softmax(scores)), \
         Where:guard(IsNaN(Softmax:softmax(scores)), 0, Softmax(scores)), \
         Reshape(Softmax:softmax(scores), ..)), v)",
    joined,
)
.law("softmax(mask(c·qkᵀ))·v; masks are added or select scores, in order; half precision is rounded once")
.example(
    "(float[B, 2, Q, 4] q, float[B, 2, 4, K] k, float[B, 2, K, 3] v, bool[B, 1, Q, K] seen)
        => (float[B, 2, Q, 3] y) <float two = {2}, float none = {-1000000000}> {
            p = MatMul (q, k) s = Div (p, two) m = Where (seen, s, none)
            c = Softmax <axis = -1> (m) y = MatMul (c, v)
        }",
)];

fn joined(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let (sums, softmax, last) = (m.node("sums")?, m.node("softmax")?, m.value("scores")?);
    let rank = m.tensor_of(last)?.rank();
    if !m.operator::<Softmax>("softmax")?.is_along_last(rank) {
        return Err("the softmax is not along the keys");
    }
    let result = m.result()?.clone();
    let inside = softmax.output(0).ok_or("the node has no output")?;
    let inside = m.tensor_of(inside)?.dtype;
    let wide = result.dtype.is_float() && result.dtype.bits() == 16 && inside == DType::F32;
    if inside != result.dtype && !wide {
        return Err("the probabilities are converted to another type");
    }
    let found = scores(m, last)?;
    let mut target = found.base.clone();
    if let (3, Some(view)) = (target.len(), &found.view) {
        target.clone_from(view);
    }
    let [outer @ .., _, _] = target.as_slice() else {
        return Err("the scores have neither rank 3 nor rank 4");
    };
    if !matches!(outer.len(), 1 | 2) {
        return Err("the scores have neither rank 3 nor rank 4");
    }
    let value = m.value("v")?;
    let sources = [found.query.value, found.key.value, value];
    let plain = |rank: usize| (0..rank).collect::<Vec<_>>();
    let (axes, order) = match (sums.operator_as::<MatMul>(), of_sums(sums)) {
        (Some(product), _) if product.is_plain() => (plain(m.tensor_of(value)?.rank()), plain(result.rank())),
        (_, Some(orders)) => (orders.columns, orders.result),
        _ => return Err("the product with the values is not a plain matrix product"),
    };
    let mut operands = Vec::new();
    for operand in [&found.query, &found.key, &Operand { value, axes }] {
        operands.push(brought(m, operand, outer, &sources)?);
    }
    if let Some(query) = operands.first_mut() {
        for (kind, factor) in &found.factors {
            let scaled = m.call(kind, &[], &[Some(*query), Some(*factor)])?;
            if m.tensor_of(scaled)? != m.tensor_of(*query)? {
                return Err("a factor would broadcast the queries");
            }
            *query = scaled;
        }
    }
    let single = outer.len() == 1;
    let count = single.then_some(1);
    let fills = found.masks.iter().map(|mask| mask.fill).collect();
    for mask in &found.masks {
        operands.push(laid(m, mask, &target)?);
    }
    let Scores { scale, base, direct, .. } = found;
    // Sizes of the result before its axes are permuted.
    let mut whole = result.shape.clone();
    for (&at, size) in order.iter().zip(&result.shape) {
        whole.get_mut(at).into_iter().for_each(|slot| slot.clone_from(size));
    }
    let result_sizes = whole.split_last().map(|(_, sizes)| sizes.to_vec());
    let result_sizes = result_sizes.filter(|sizes| direct && !base.starts_with(sizes));
    let operator = JoinedAttention {
        query_heads: count,
        key_heads: count,
        packed: single,
        result_sizes,
        scale,
        fills,
        undefined_as_zero: m.node("guard").is_ok(),
    };
    let operands: Vec<_> = operands.into_iter().map(Some).collect();
    let y = made(m, operator, &operands)?;
    if !order.is_sorted() {
        let y = if m.tensor_of(y)?.shape == whole {
            y
        } else {
            return Err("the result would have another shape");
        };
        return reordered(m, y, &order);
    }
    if m.tensor_of(y)?.shape == result.shape { Ok(y) } else { m.reshape(y, &sources) }
}

/// Adds a node with this operator and these inputs.
fn made(
    m: &mut Match<'_, '_>,
    operator: JoinedAttention,
    inputs: &[Option<ValueId>],
) -> Result<ValueId, Miss> {
    let node = Node { kind: KIND.into(), version: 1, operator: operator.shared(), ..m.root().clone() };
    m.made(node, inputs)
}

/// Permutes the axes of a value.
fn reordered(m: &mut Match<'_, '_>, x: ValueId, axes: &[usize]) -> Result<ValueId, Miss> {
    if axes.is_sorted() {
        return Ok(x);
    }
    let axes = axes.iter().map(|&axis| i64::try_from(axis).unwrap_or(0));
    m.call("Transpose", &[("perm", Setting::Ints(axes.collect()))], &[Some(x)])
}

/// Reshapes an operand to rows of features, in batches of these sizes.
fn brought(
    m: &mut Match<'_, '_>,
    operand: &Operand,
    outer: &[Dim],
    sources: &[ValueId],
) -> Result<ValueId, Miss> {
    let x = reordered(m, operand.value, &operand.axes)?;
    let shape = &m.tensor_of(x)?.shape;
    let [batches @ .., rows, features] = shape.as_slice() else {
        return Err("an operand has fewer than two axes");
    };
    let fits = |(at, (size, wanted)): (usize, (&Dim, &Dim))| size == wanted || at == 1 && size.is(1);
    if batches.len() == outer.len() && batches.iter().zip(outer).enumerate().all(fits) {
        return Ok(x);
    }
    let merged = match (batches, outer) {
        ([merged], [batch, heads]) => batch.mul(heads).as_ref() == Some(merged),
        _ => false,
    };
    if !merged {
        return Err("the batch axes of the operands do not match");
    }
    let shape: Vec<Dim> = outer.iter().chain([rows, features]).cloned().collect();
    let sizes = m.sizes(&shape, sources)?;
    m.call("Reshape", &[], &[Some(x), Some(sizes)])
}

/// Returns a mask in the shape that broadcasts to scores of these sizes, including an axis of heads.
fn laid(m: &mut Match<'_, '_>, mask: &Mask, target: &[Dim]) -> Result<ValueId, Miss> {
    let mut x = mask.value;
    if mask.negative {
        x = m.call("Neg", &[], &[Some(x)])?;
    }
    if mask.hiding {
        x = m.call("Not", &[], &[Some(x)])?;
    }
    let from = m.tensor_of(x)?.shape.clone();
    let mut shape = from.clone();
    if let Some(at) = mask.at.as_ref().filter(|at| *at != target) {
        let missing = at.len().checked_sub(from.len());
        let missing = missing.ok_or("a mask has more axes than the scores")?;
        let ones = std::iter::repeat_n(Dim::from(1), missing);
        let padded: Vec<Dim> = ones.chain(from.iter().cloned()).collect();
        shape = shapes::regrouped(&padded, at, target)
            .ok_or("the batch axes of a mask do not match those of the scores")?;
    }
    if let ([batch, rows, keys], 3) = (shape.as_slice(), target.len())
        && !batch.is(1)
    {
        shape = vec![batch.clone(), 1.into(), rows.clone(), keys.clone()];
    }
    if shape == from {
        return Ok(x);
    }
    let sizes = m.sizes(&shape, &[x])?;
    m.call("Reshape", &[], &[Some(x), Some(sizes)])
}

#[cfg(test)]
mod tests;
