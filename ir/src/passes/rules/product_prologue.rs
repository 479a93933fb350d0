//! Scales, offsets and padding before a product, fused into it.

use std::rc::Rc;

use super::product_weights::NOT_SINGLE;
use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::convolution::conv::Conv;
use crate::ops::shape::pad::Pad;
use crate::passes::rewrite::{Rule, building};

pub const RULES: &[Rule] = &[
    building("factor before a product", "Conv|Linear|MatMul:product(x * #factor, $weight, ..)", |m| {
        let (node, x, weight) = (m.node("product")?, m.value("x")?, m.value("weight")?);
        let dtype = m.result()?.dtype;
        if !dtype.is_float() || dtype.bits() < 32 {
            return Err(NOT_SINGLE);
        }
        m.copied(weight)?;
        let factor = m.scalar(m.number("factor")?)?;
        let weight = m.call("Mul", &[], &[Some(weight), Some(factor)])?;
        m.made(node.clone(), &with(node, &[x, weight]))
    })
    .law("w(fx) = (wf)x for a number f")
    .example(
        "(float[N, 2] x) => (float[N, 3] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float half = {0.5}> {
            h = Mul (x, half) y = MatMul (h, w)
        }",
    ),
    building("offset before a convolution", "Conv:product(x + #more, $weight, ..)", |m| {
        let (node, x, weight) = (m.node("product")?, m.value("x")?, m.value("weight")?);
        let operand = m.tensor("weight")?.clone();
        let dtype = operand.dtype;
        if !dtype.is_float() || dtype.bits() < 32 {
            return Err(NOT_SINGLE);
        }
        if !m.operator::<Conv>("product")?.is_unpadded() {
            return Err("the convolution is padded");
        }
        if !m.finite(weight) || !m.number("more")?.is_finite() {
            return Err("the weight or the offset is not finite");
        }
        let bias = node.input(2);
        if bias.is_some_and(|id| !m.value_of(id).is_constant()) || node.inputs.len() > 3 {
            return Err("the bias is not constant, or the product already has an addend");
        }
        let channels = operand.shape.first().cloned().ok_or("the weight has no axes")?;
        let inner = (1..operand.rank()).filter_map(|at| i64::try_from(at).ok()).map(Dim::from);
        let (more, axes) = (m.scalar(m.number("more")?)?, m.integers(inner.collect()));
        let sums = m.call("ReduceSum", &[], &[Some(weight), Some(axes)])?;
        let sizes = m.integers(vec![channels]);
        let sums = m.call("Reshape", &[], &[Some(sums), Some(sizes)])?;
        let mut added = m.call("Mul", &[], &[Some(sums), Some(more)])?;
        if let Some(bias) = bias {
            added = m.call("Add", &[], &[Some(bias), Some(added)])?;
        }
        m.made(node.clone(), &with(node, &[x, weight, added]))
    })
    .law("Σ w(x + c) = Σ wx + c Σ w, without padding and for finite w and c")
    .example(
        "(float[N, 2, 5] x) => (float[N, 3, 4] y)
        <float[3, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float two = {2}> {
            h = Add (x, two) y = Conv (h, w)
        }",
    ),
    building("pad of a convolution", "Conv:product(Pad:pad(x, ..), w, ..)", |m| {
        let (node, pad, x) = (m.node("product")?, m.node("pad")?, m.value("x")?);
        let rank = m.tensor("x")?.rank();
        let value = match pad.input(2) {
            Some(id) => m.uniform(id),
            None => Some(0.0),
        };
        if value != Some(0.0) {
            return Err("the padding value is not 0");
        }
        let (pads, axes) = (m.ints(pad, 1), m.ints(pad, 3));
        let pads = m.operator::<Pad>("pad")?.zeros(pads, (pad.input(3).is_some(), axes), rank);
        let pads = pads.ok_or("the padding is not constant, or its sizes are known only at run time")?;
        let [(0, 0), (0, 0), spatial @ ..] = pads.as_slice() else {
            return Err("the batch or the channels are padded");
        };
        let conv = m.operator::<Conv>("product")?.padded(spatial);
        let conv = conv.ok_or("the padding is negative, or the convolution has `SAME` padding")?;
        let like = Node { operator: Rc::new(conv), ..node.clone() };
        m.made(like, &with(node, &[x]))
    })
    .law("a convolution can pad with zeros by itself")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 3] y)
        <float[1, 1, 2] w = {1, 2}, int64[6] pads = {0, 0, 1, 0, 0, 0}> {
            p = Pad (x, pads) y = Conv (p, w)
        }",
    ),
];

/// Returns the inputs of a node with these as the first ones.
fn with(node: &Node, first: &[ValueId]) -> Vec<Option<ValueId>> {
    let first = first.iter().copied().map(Some);
    let rest = node.inputs.iter().skip(first.len()).copied();
    first.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn operators_before_a_product_are_folded_into_it() {
        expect![[r#"
            factor before a product
              <
              float32[2, 3] w = {1, 2, 3, 4, 5, 6},
              float32[] half = {0.5}
              >
              float32[N, 2] h = Mul (x, half)
              float32[N, 3] y = MatMul (h, w)
              =>
              <
              float32[2, 3] w = {1, 2, 3, 4, 5, 6},
              float32[2, 3] %6 = Mul (w, {0.5})
              >
              float32[N, 3] y = MatMul (x, %6)
            offset before a convolution
              <
              float32[3, 2, 2] w = {.. 48 bytes},
              float32[] two = {2}
              >
              float32[N, 2, 5] h = Add (x, two)
              float32[N, 3, 4] y = Conv <window: {padding: Explicit}, groups: 1> (h, w)
              =>
              <
              float32[3, 2, 2] w = {.. 48 bytes},
              float32[3] %10 = Mul (Reshape (ReduceSum (w, {1, 2}), {3}), {2})
              >
              float32[N, 3, 4] y = Conv <window: {padding: Explicit}, groups: 1> (x, w, %10)
            pad of a convolution
              <
              float32[1, 1, 2] w = {1, 2},
              int64[6] pads = {0, 0, 1, 0, 0, 0}
              >
              float32[N, 1, 4] p = Pad <mode: Constant> (x, pads)
              float32[N, 1, 3] y = Conv <window: {padding: Explicit}, groups: 1> (p, w)
              =>
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 3] y = Conv <window: {pads: [1, 0], padding: Explicit}, groups: 1> (x, w)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn infinite_offsets_remain() {
        let found = |more: &str| {
            let constants = format!("<float[1, 1, 2] w = {{1, -1}}, float more = {{{more}}}>");
            let nodes = "{ h = Add (x, more) y = Conv (h, w) }";
            reasons(
                "offset before a convolution",
                &format!("(float[N, 1, 5] x) => (float[N, 1, 4] y) {constants} {nodes}"),
            )
        };
        assert_eq!(found("inf"), ["the weight or the offset is not finite"]);
        assert!(found("2").is_empty());
    }

    #[test]
    fn large_weights_with_other_consumers_are_not_copied() {
        let found = |columns: usize, outputs: &str, nodes: &str| {
            let constants = format!(
                "<float[2, 1] c = {{1, 2}}, int64[2] sizes = {{2, {columns}}}, float half = {{0.5}}>"
            );
            let nodes = format!("{{ w = Expand (c, sizes) h = Mul (x, half) y = MatMul (h, w) {nodes} }}");
            reasons("factor before a product", &format!("(float[N, 2] x) => ({outputs}) {constants} {nodes}"))
        };
        let (large, single, both) = (131_073, "float[N, M] y", "float[N, M] y, float[N, M] z");
        let missed = ["the weight is large and has other consumers"];
        assert_eq!(found(large, both, "z = MatMul (x, w)"), missed);
        assert!(found(large - 1, both, "z = MatMul (x, w)").is_empty());
        assert!(found(large, single, "").is_empty());
    }
}
