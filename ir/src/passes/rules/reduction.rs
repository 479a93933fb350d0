//! Reductions and pooling, with surrounding reshapes and paddings.

use std::rc::Rc;

use crate::graph::{Node, ValueId};
use crate::ops::pool::pooling::Pool;
use crate::ops::reduce::reduction::Reduction;
use crate::ops::shape::pad::Pad;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;

pub const RULES: &[Rule] = &[
    building(
        "reshape after a reduction",
        "Squeeze|Unsqueeze|Reshape|Flatten:outer(ReduceMean|ReduceSum|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2\
         |ReduceSumSquare|ReduceLogSum|ReduceLogSumExp|GlobalAveragePool|GlobalMaxPool:fold(x, ..), ..)",
        |m| {
            let (node, x) = (m.node("fold")?, m.value("x")?);
            let (kind, axes, kept) = reduced(m, node)?;
            let keep = ("keepdims", Setting::Int((!kept).into()));
            let axes = axes.into_iter().filter_map(|axis| i64::try_from(axis).ok());
            let axes = m.integers(axes.map(Into::into).collect());
            m.call(&kind, &[keep], &[Some(x), Some(axes)])
        },
    )
    .law("a reduction can keep the reduced axes with size 1 or remove them; the elements are equal")
    .example(
        "(float[N, 2, 3, 4] x) => (float[N, 2] y) { p = GlobalAveragePool (x) y = Flatten (p) }",
    ),
    building("pad of a pool", "MaxPool|AveragePool:pool(Pad:pad(x, ..))", |m| {
        let (node, x) = (m.node("pool")?, m.value("x")?);
        let pool = m.operator::<Pool>("pool")?;
        let value = padded(m)?;
        let neutral = if pool.is_maximum() {
            value == f64::NEG_INFINITY
        } else {
            value == 0.0
        };
        if !neutral {
            return Err("the padding value changes the results");
        }
        let pads = pads(m, x)?;
        let [(0, 0), (0, 0), spatial @ ..] = pads.as_slice() else {
            return Err("the batch or the channels are padded");
        };
        let pool = pool.padded(spatial).ok_or("the pool cannot include the padding")?;
        let like = Node { operator: Rc::new(pool), ..node.clone() };
        m.made(like, &[Some(x)])
    })
    .law("a pool can pad by itself: a maximum with -∞, an average with counted zeros")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 3] y) <int64[6] pads = {0, 0, 1, 0, 0, 0}> {
            p = Pad (x, pads) y = AveragePool <kernel_shape = [2], count_include_pad = 1> (p)
        }",
    ),
];

/// Returns the operator that an equal reduction has, its axes, and whether they are kept.
fn reduced(m: &Match<'_, '_>, node: &Node) -> Result<(String, Vec<usize>, bool), Miss> {
    let x = node.input(0).ok_or("the node has no input")?;
    let rank = m.tensor_of(x)?.rank();
    let global = match &*node.kind {
        "GlobalAveragePool" => Some("ReduceMean"),
        "GlobalMaxPool" => Some("ReduceMax"),
        _ => None,
    };
    if let Some(kind) = global {
        return Ok((kind.to_owned(), (2..rank).collect(), true));
    }
    let reduction = node.operator_as::<Reduction>().ok_or("the node is not a reduction")?;
    let second = node.input(1).and_then(|id| m.tensor_of(id).ok());
    let axes = reduction.axes(m.ints(node, 1), second, rank).ok().flatten();
    let axes = axes
        .filter(|axes| !axes.is_empty())
        .ok_or("no axes are reduced, or they are known only at run time")?;
    Ok((node.kind.to_string(), axes, reduction.keeps()))
}

/// Returns the value that a pad adds.
fn padded(m: &Match<'_, '_>) -> Result<f64, Miss> {
    match m.node("pad")?.input(2) {
        Some(id) => m.uniform(id).ok_or("the padding value is known only at run time"),
        None => Ok(0.0),
    }
}

/// Returns the number of elements that a pad adds before and after each axis.
fn pads(m: &Match<'_, '_>, x: ValueId) -> Result<Vec<(i64, i64)>, Miss> {
    let (pad, rank) = (m.node("pad")?, m.tensor_of(x)?.rank());
    let (pads, axes) = (m.ints(pad, 1), m.ints(pad, 3));
    let pads = m.operator::<Pad>("pad")?.zeros(pads, (pad.input(3).is_some(), axes), rank);
    pads.ok_or("the padding is not constant, or its sizes are known only at run time")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, shown};

    #[test]
    fn reshapes_and_pads_are_fused() {
        expect![[r#"
            reshape after a reduction
              float32[N, 2, 1, 1] p = GlobalAveragePool <"global_average_pool"> (x)
              float32[N, 2] y = Flatten <1> (p)
              =>
              <
              int64[2] %3 = {2, 3}
              >
              float32[N, 2] y = ReduceMean (x, %3)
            pad of a pool
              <
              int64[6] pads = {0, 0, 1, 0, 0, 0}
              >
              float32[N, 1, 4] p = Pad <mode: Constant> (x, pads)
              float32[N, 1, 3] y = AveragePool <window: {kernel: [2], padding: Explicit}, kind: {true}> (p)
              =>
              float32[N, 1, 3] y = AveragePool <window: {kernel: [2], pads: [1, 0], padding: Explicit}, kind: {true}> (x)
        "#]].assert_eq(&shown(super::RULES));
    }

    #[test]
    fn reduced_axes_are_not_kept() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N, 2, 3, 4] x) => (float[N, 2] y) <int64[2] axes = {2, -1}> {
                p = ReduceMax (x, axes) y = Flatten (p)
            }"#;
        expect![[r#"
            g (float32[N, 2, 3, 4] x) => (float32[N, 2] y)
            <
                int64[2] %4 = {2, 3}
            >
            {
                float32[N, 2] y = ReduceMax (x, %4)
            }
        "#]]
        .assert_eq(&graph(text, super::RULES).0);
    }
}
