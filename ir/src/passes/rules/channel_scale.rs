//! Factors and offsets of channels, fused with the following activation.

use std::rc::Rc;

use super::product_weights::{in_single, norm_factor};
use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::elementwise::activation::Fused;
use crate::ops::normalize::channels::{KIND, ScaleChannels};
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[
    building("factor and offset of channels", "x * $factor + $offset", |m| {
        in_single(m)?;
        let x = m.value("x")?;
        let [factor, offset] = [of_channels(m, "factor")?, of_channels(m, "offset")?];
        scaled(m, None, [x, factor, offset])
    })
    .last()
    .law("xf + o, with f and o per channel")
    .example(
        "(float[N, 3, 4] x) => (float[N, 3, 4] y)
        <float[3, 1] f = {1, 2, 3}, float[3, 1] o = {4, 5, 6}> { p = Mul (x, f) y = Add (o, p) }",
    ),
    building(
        "batch norm of scaled channels",
        "ScaleChannels:scale(BatchNormalization:norm(x, $scale, $shift, $mean, $variance), $factor, $offset)",
        |m| {
            let [factor, offset] = [m.value("factor")?, m.value("offset")?];
            for name in ["scale", "shift", "mean", "variance", "factor", "offset"] {
                if !m.finite(m.value(name)?) {
                    return Err("not all constants are finite");
                }
            }
            let [x, inner, moved] = of_norm(m)?;
            let moved = m.call("Mul", &[], &[Some(moved), Some(factor)])?;
            let factor = m.call("Mul", &[], &[Some(inner), Some(factor)])?;
            let offset = m.call("Add", &[], &[Some(moved), Some(offset)])?;
            let activation = m.operator::<ScaleChannels>("scale")?.activation.clone();
            scaled(m, activation, [x, factor, offset])
        },
    )
    .last()
    .law("(xa + b)f + o = x(af) + (bf + o), if all products are finite")
    .example(
        "(float[N, 3, 4] x) => (float[N, 3, 4] y)
        <float[3] s = {1, 2, 3}, float[3] b = {1, 1, 2}, float[3] m = {0, 1, 0}, float[3] v = {1, 2, 1},
        float[3, 1] f = {1, 2, 3}, float[3, 1] o = {4, 5, 6}> {
            n = BatchNormalization (x, s, b, m, v) p = Mul (n, f) y = Add (p, o)
        }",
    ),
    building(
        "activation of a batch norm",
        "[activation]:act(BatchNormalization:norm(x, $scale, $shift, $mean, $variance))",
        |m| {
            let activation = Fused::of(m.root()).ok_or("the activation cannot be fused")?;
            let operands = of_norm(m)?;
            scaled(m, Some(activation), operands)
        },
    )
    .last()
    .law("a scaling of channels can apply an elementwise activation to its result")
    .example(
        "(float[N, 3, 4] x) => (float[N, 3, 4] y)
        <float[3] s = {1, 2, 3}, float[3] b = {1, 1, 2}, float[3] m = {0, 1, 0}, float[3] v = {1, 2, 1}> {
            n = BatchNormalization (x, s, b, m, v) y = Relu (n)
        }",
    ),
    building(
        "activation of scaled channels",
        "[activation]:act(ScaleChannels:scale(x, factor, offset))",
        |m| {
            if m.operator::<ScaleChannels>("scale")?.activation.is_some() {
                return Err("the scaling already has an activation");
            }
            let activation = Fused::of(m.root()).ok_or("the activation cannot be fused")?;
            let operands = [m.value("x")?, m.value("factor")?, m.value("offset")?];
            scaled(m, Some(activation), operands)
        },
    )
    .last()
    .law("a scaling of channels can apply an elementwise activation to its result")
    .example(
        "(float[N, 3, 4] x) => (float[N, 3, 4] y)
        <float[3, 1] f = {1, 2, 3}, float[3, 1] o = {4, 5, 6}> {
            p = Mul (x, f) s = Add (o, p) y = Tanh (s)
        }",
    ),
];

/// Returns a constant of the match as a vector. It must have an element for each channel of the result, or one for all.
fn of_channels(m: &mut Match<'_, '_>, name: &str) -> Result<ValueId, Miss> {
    let (id, result) = (m.value(name)?, m.result()?);
    let (rank, channels) = (result.rank(), result.shape.get(1).and_then(Dim::number));
    let channels = channels.ok_or("the number of channels is known only at run time")?;
    let shape = &m.tensor_of(id)?.shape;
    let first = rank.checked_sub(shape.len()).ok_or("the constant has more axes than the result")?;
    if rank < 3 {
        return Err("the result has no spatial axes");
    }
    if shape.iter().all(|size| size.is(1)) {
        let one = m.shaped(id, &[1])?;
        let sizes = m.integers(vec![Dim::from(channels)]);
        return m.call("Expand", &[], &[Some(one), Some(sizes)]);
    }
    let mut sizes = shape.iter().enumerate();
    let fits = |(at, size): (usize, &Dim)| size.is(if first + at == 1 { channels } else { 1 });
    if !sizes.all(fits) {
        return Err("the constant is not one number for each channel");
    }
    m.shaped(id, &[channels])
}

/// Returns the input of a batch normalization of images, its factors and its offsets.
fn of_norm(m: &mut Match<'_, '_>) -> Result<[ValueId; 3], Miss> {
    in_single(m)?;
    if m.result()?.rank() < 3 {
        return Err("the result has no spatial axes");
    }
    let factor = norm_factor(m)?;
    let scaled = m.call("Mul", &[], &[Some(m.value("mean")?), Some(factor)])?;
    let offset = m.call("Sub", &[], &[Some(m.value("shift")?), Some(scaled)])?;
    Ok([m.value("x")?, factor, offset])
}

fn scaled(m: &mut Match<'_, '_>, activation: Option<Fused>, operands: [ValueId; 3]) -> Result<ValueId, Miss> {
    let node = Node {
        kind: KIND.into(),
        version: 1,
        operator: Rc::new(ScaleChannels { activation }),
        ..m.root().clone()
    };
    m.made(node, &operands.map(Some))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn scales_and_offsets_are_one_operator() {
        expect![[r#"
            factor and offset of channels
              <
              float32[3, 1] f = {1, 2, 3},
              float32[3, 1] o = {4, 5, 6}
              >
              float32[N, 3, 4] p = Mul (x, f)
              float32[N, 3, 4] y = Add (o, p)
              =>
              <
              float32[3, 1] f = {1, 2, 3},
              float32[3, 1] o = {4, 5, 6},
              float32[3] %6 = Reshape (f, {3}),
              float32[3] %8 = Reshape (o, {3})
              >
              float32[N, 3, 4] y = ScaleChannels (x, %6, %8)
            batch norm of scaled channels
              <
              float32[3] s = {1, 2, 3},
              float32[3] b = {1, 1, 2},
              float32[3] m = {0, 1, 0},
              float32[3] v = {1, 2, 1},
              float32[3, 1] f = {1, 2, 3},
              float32[3, 1] o = {4, 5, 6}
              >
              float32[N, 3, 4] n = BatchNormalization <epsilon: 1e-5> (x, s, b, m, v)
              float32[N, 3, 4] p = Mul (n, f)
              float32[N, 3, 4] y = Add (p, o)
              =>
              <
              float32[3] s = {1, 2, 3},
              float32[3] b = {1, 1, 2},
              float32[3] m = {0, 1, 0},
              float32[3] v = {1, 2, 1},
              float32[3, 1] f = {1, 2, 3},
              float32[3, 1] o = {4, 5, 6},
              float32[3] %22 = Mul (Div (s, Sqrt (Add (v, {0.00001}))), Reshape (f, {3})),
              float32[3] %23 = Add (Mul (Sub (b, Mul (m, Div (s, Sqrt (Add (v, {0.00001}))))), Reshape (f, {3})), Reshape (o, {3}))
              >
              float32[N, 3, 4] y = ScaleChannels (x, %22, %23)
            activation of a batch norm
              <
              float32[3] s = {1, 2, 3},
              float32[3] b = {1, 1, 2},
              float32[3] m = {0, 1, 0},
              float32[3] v = {1, 2, 1}
              >
              float32[N, 3, 4] n = BatchNormalization <epsilon: 1e-5> (x, s, b, m, v)
              float32[N, 3, 4] y = Relu (n)
              =>
              <
              float32[3] s = {1, 2, 3},
              float32[3] b = {1, 1, 2},
              float32[3] m = {0, 1, 0},
              float32[3] v = {1, 2, 1},
              float32[3] %10 = Div (s, Sqrt (Add (v, {0.00001}))),
              float32[3] %12 = Sub (b, Mul (m, Div (s, Sqrt (Add (v, {0.00001})))))
              >
              float32[N, 3, 4] y = ScaleChannels <activation: {name: "Relu"}> (x, %10, %12)
            activation of scaled channels
              <
              float32[3, 1] f = {1, 2, 3},
              float32[3, 1] o = {4, 5, 6}
              >
              float32[N, 3, 4] p = Mul (x, f)
              float32[N, 3, 4] s = Add (o, p)
              float32[N, 3, 4] y = Tanh (s)
              =>
              <
              float32[3, 1] f = {1, 2, 3},
              float32[3, 1] o = {4, 5, 6},
              float32[3] %7 = Reshape (f, {3}),
              float32[3] %9 = Reshape (o, {3})
              >
              float32[N, 3, 4] y = ScaleChannels <activation: {name: "Tanh"}> (x, %7, %9)
        "#]].assert_eq(&shown(super::RULES));
    }

    #[test]
    fn factors_of_another_axis_remain() {
        let found = |shape: &str| {
            let constants = format!("<float{shape} f = {{1, 2, 3}}, float[3, 1] o = {{4, 5, 6}}>");
            let nodes = "{ p = Mul (x, f) y = Add (o, p) }";
            reasons(
                "factor and offset of channels",
                &format!("(float[N, 3, 3] x) => (float[N, 3, 3] y) {constants} {nodes}"),
            )
        };
        let reason = ["the constant is not one number for each channel"];
        assert_eq!([found("[3]"), found("[1, 3]")], [reason, reason]);
        assert!(found("[3, 1]").is_empty());
    }
}
