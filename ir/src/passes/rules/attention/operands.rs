//! Operands of attention before their split into heads.

use std::num::NonZeroUsize;

use crate::graph::{Node, ValueId};
use crate::ops::shape::transpose::Transpose;
use crate::passes::rewrite::Match;
use crate::passes::rules::slices::axis_slice::AxisSlice;

/// Returns an operand with its heads in the last axis, and their number, if its split has no other consumer.
pub fn together(m: &mut Match<'_, '_>, id: ValueId) -> Option<(ValueId, usize)> {
    let node = m.maker(id).filter(|_| m.uses(id) == 1)?;
    if let Some(found) = projected(m, id) {
        return Some(found);
    }
    if permutation(m, node, 4)? != [0, 2, 1, 3] {
        return None;
    }
    let split = node.input(0)?;
    let before = m.maker(split).filter(|_| m.uses(split) == 1)?;
    if !["Reshape", "Add"].contains(&&*before.kind) {
        return None;
    }
    let [batch, length, heads, size] = m.tensor_of(split).ok()?.shape.as_slice() else {
        return None;
    };
    let count = heads.fixed().and_then(NonZeroUsize::new)?.get();
    let shape = [batch.clone(), length.clone(), heads.mul(size)?];
    let sizes = m.sizes(&shape, &[split]).ok()?;
    let x = m.call("Reshape", &[], &[Some(split), Some(sizes)]).ok()?;
    Some((x, count))
}

/// Handles one of several operands of a common projection, `[batch, length, operands, heads, size]` in any order of
/// axes.
fn projected(m: &mut Match<'_, '_>, id: ValueId) -> Option<(ValueId, usize)> {
    // For each axis, its index in the split projection.
    let mut axes: Vec<usize> = (0..5).collect();
    let (mut inner, mut outer) = (id, Vec::new());
    if let Some(node) = m.maker(inner).filter(|node| &*node.kind == "Transpose") {
        (inner, outer) = (node.input(0)?, permutation(m, node, 4)?);
    }
    let part = AxisSlice::of(m, inner).filter(|part| part.squeezed)?;
    let mut split = part.whole;
    if let Some(node) = m.maker(split).filter(|node| &*node.kind == "Transpose") {
        (split, axes) = (node.input(0)?, permutation(m, node, 5)?);
    }
    if axes.get(part.axis) != Some(&2) {
        return None;
    }
    axes.remove(part.axis);
    if !outer.is_empty() {
        axes = outer.iter().map(|&at| axes.get(at).copied()).collect::<Option<_>>()?;
    }
    let reshape = m.maker(split).filter(|node| &*node.kind == "Reshape")?;
    let x = reshape.input(0)?;
    let [batch, length, operands, heads, size] = m.tensor_of(split).ok()?.shape.as_slice() else {
        return None;
    };
    let hidden = heads.mul(size)?.number()?;
    let whole = [batch.clone(), length.clone(), operands.mul(&hidden.into())?];
    if axes != [0, 3, 1, 4] || m.tensor_of(x).ok()?.shape != whole {
        return None;
    }
    let count = heads.fixed().and_then(NonZeroUsize::new)?.get();
    let start = part.start.checked_mul(hidden)?;
    let [start, end, axis] = [start, start.checked_add(hidden)?, -1].map(|at| m.integers(vec![at.into()]));
    let inputs = [x, start, end, axis].map(Some);
    Some((m.call("Slice", &[], &inputs).ok()?, count))
}

/// Returns the axes of a transpose whose input has this rank.
pub fn permutation(m: &Match<'_, '_>, node: &Node, rank: usize) -> Option<Vec<usize>> {
    let tensor = m.tensor_of(node.input(0)?).ok()?;
    (tensor.rank() == rank).then_some(())?;
    node.operator_as::<Transpose>()?.axes(rank).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::after;

    #[test]
    fn operands_with_other_orders_of_axes_remain() {
        expect![[r#"
            float32[B, 2, 4, Q] r = Reshape (q, h)
            float32[B, 2, Q, 4] s = Transpose <axes: [0, 1, 3, 2]> (r)
            float32[B, 2, Q, 4] y = JoinedAttention <scale: 1.0> (s, k, v)

            float32[B, T, 3, 2, 4] r = Reshape (x, heads)
            float32[3, B, T, 2, 4] p = Transpose <axes: [2, 0, 1, 3, 4]> (r)
            float32[B, T, 2, 4] q = Gather <axis: 0> (p, zero)
            float32[B, T, 2, 4] k = Gather <axis: 0> (p, one)
            float32[B, T, 2, 4] v = Gather <axis: 0> (p, two)
            float32[B, T, 2, 4] y = JoinedAttention <scale: 1.0> (q, k, v)

        "#]]
        .assert_eq(&after("heads of operands", &[
            "(float[B, 8, Q] q, float[B, 2, K, 4] k, float[B, 2, K, 4] v) => (float[B, 2, Q, 4] y)
            <int64[4] h = {0, 2, 4, -1}> {
                r = Reshape (q, h) s = Transpose <perm = [0, 1, 3, 2]> (r) t = Transpose <perm = [0, 1, 3, 2]> (k)
                p = MatMul (s, t) c = Softmax (p) y = MatMul (c, v)
            }",
            "(float[B, T, 24] x) => (float[B, T, 2, 4] y)
            <int64[5] heads = {0, 0, 3, 2, 4}, int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[3] side = {0, 0, 8}> {
                r = Reshape (x, heads) p = Transpose <perm = [2, 0, 1, 3, 4]> (r) q = Gather (p, zero)
                k = Gather (p, one) v = Gather (p, two) kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (q, kt)
                c = Softmax (s) y = MatMul (c, v)
            }",
        ]));
    }

    #[test]
    fn parts_of_a_projection_may_be_cut_with_steps() {
        expect![[r#"
            float32[B, T, 8] %24 = Slice (x, %21, %22, %23)
            float32[B, T, 8] %28 = Slice (x, %25, %26, %27)
            float32[B, T, 8] %32 = Slice (x, %29, %30, %31)
            float32[B, T, 8] y = Attention <query_heads: 2, key_heads: 2, causal: true, softcap: 0.0, shown: "Products", windows: [none, none], short_masks: true> (%24, %28, %32)

        "#]]
        .assert_eq(&after(
            "heads of an Attention node",
            &["(float[B, T, 24] x) => (float[B, T, 8] y)
                <int64[5] heads = {0, 0, 3, 2, 4}, int64[1] zero = {0}, int64[1] two = {2}, int64[1] three = {3},
                int64 one = {1}, int64[3] side = {0, 0, 8}> {
                    r = Reshape (x, heads) p = Transpose <perm = [2, 0, 3, 1, 4]> (r)
                    a = Slice (p, zero, two, zero, two) q = Squeeze (a, zero) k = Gather (p, one)
                    b = Slice (p, two, three, zero, two) v = Squeeze (b, zero)
                    c = Attention <is_causal = 1> (q, k, v) t = Transpose <perm = [0, 2, 1, 3]> (c)
                    y = Reshape (t, side)
                }"],
        ));
    }
}
