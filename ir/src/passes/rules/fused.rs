//! What follows a product in the same step.

use std::rc::Rc;

use crate::graph::{Node, ValueId};
use crate::ops::convolution::Conv;
use crate::ops::elementwise::Shaped;
use crate::ops::fused::Fused;
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[
    building(
        "activation of a convolution",
        "Relu|Sigmoid|Tanh|LeakyRelu|HardSigmoid|Swish:act(Conv:conv(x, w, ..))",
        |m| {
            let (name, parameters) = activation(m)?;
            let node = m.node("conv")?;
            fused(m, node.inputs.clone(), name, &parameters)
        },
    )
    .law("an activation of each element, right behind a convolution")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 2] y) <float[1, 1, 2] w = {1, 2}> {
            c = Conv (x, w) y = LeakyRelu <alpha = 0.2> (c)
        }",
    ),
    building(
        "bounds of a convolution",
        "Clip(Conv:conv(x, w, ..), #low, #high)",
        |m| {
            let bounds = [m.number("low")? as f32, m.number("high")? as f32];
            let node = m.node("conv")?;
            if bounds[0] > bounds[1] {
                return Err("the bounds are the wrong way round");
            }
            fused(m, node.inputs.clone(), "Clip", &bounds)
        },
    )
    .law("bounds of each element, right behind a convolution")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 2] y)
        <float[1, 1, 2] w = {1, 2}, float zero = {0}, float six = {6}> {
            c = Conv (x, w) y = Clip (c, zero, six)
        }",
    ),
    building(
        "sum and activation of a convolution",
        "Relu:act(Conv:conv(x, w, ..) + z)",
        |m| {
            let (name, parameters) = activation(m)?;
            let (node, z) = (m.node("conv")?, m.value("z")?);
            let mut inputs = node.inputs.clone();
            if inputs.len() > 3 {
                return Err("something is added already");
            }
            if m.tensor_of(z)? != m.result()? {
                return Err("what is added is stretched");
            }
            inputs.resize(3, None);
            inputs.push(Some(z));
            fused(m, inputs, name, &parameters)
        },
    )
    .law("a sum with a value of the same sizes and an activation, right behind a convolution")
    .example(
        "(float[N, 1, 3] x, float[N, 1, 2] z) => (float[N, 1, 2] y) <float[1, 1, 2] w = {1, 2}> {
            c = Conv (x, w) s = Add (z, c) y = Relu (s)
        }",
    ),
];

/// The activation as fused operators know it.
fn activation(m: &Match<'_, '_>) -> Result<(&'static str, Vec<f32>), Miss> {
    let parameters = |m: &Match<'_, '_>| Ok(m.operator::<Shaped>("act")?.parameters().to_vec());
    let half = m.result()?.dtype.bits() < 32;
    Ok(match &*m.root().kind {
        "Relu" => ("Relu", Vec::new()),
        "LeakyRelu" => ("LeakyRelu", parameters(m)?),
        "HardSigmoid" => ("HardSigmoid", parameters(m)?),
        _ if half => return Err("halves would be rounded after each step"),
        "Sigmoid" => ("Sigmoid", Vec::new()),
        "Tanh" => ("Tanh", Vec::new()),
        "Swish" if parameters(m)? == [1.0] => ("Silu", Vec::new()),
        _ => return Err("no fused operator has this activation"),
    })
}

fn fused(
    m: &mut Match<'_, '_>,
    inputs: Vec<Option<ValueId>>,
    name: &str,
    parameters: &[f32],
) -> Result<ValueId, Miss> {
    let node = m.node("conv")?;
    let activation =
        Fused::named(name, parameters).ok_or("no fused operator has this activation")?;
    let conv = m.operator::<Conv>("conv")?.followed_by(activation);
    let conv = conv.ok_or("an activation is there already")?;
    let node = Node {
        kind: "com.microsoft.FusedConv".into(),
        version: 1,
        operator: Rc::new(conv),
        ..node.clone()
    };
    m.made(node, &inputs)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::shown;

    #[test]
    fn what_follows_a_convolution_is_part_of_it() {
        expect![[r#"
            activation of a convolution
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] c = Conv <window: {padding: Explicit}, groups: 1> (x, w)
              float32[N, 1, 2] y = LeakyRelu <function: "leaky_relu", parameters: [0.2]> (c)
              =>
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] y = com.microsoft.FusedConv <window: {padding: Explicit}, groups: 1, activation: {name: "LeakyRelu", parameters: [0.2]}> (x, w)
            bounds of a convolution
              <
              float32[1, 1, 2] w = {1, 2},
              float32[] zero = {0},
              float32[] six = {6}
              >
              float32[N, 1, 2] c = Conv <window: {padding: Explicit}, groups: 1> (x, w)
              float32[N, 1, 2] y = Clip (c, zero, six)
              =>
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] y = com.microsoft.FusedConv <window: {padding: Explicit}, groups: 1, activation: {name: "Clip", parameters: [0.0, 6.0]}> (x, w)
            sum and activation of a convolution
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] c = Conv <window: {padding: Explicit}, groups: 1> (x, w)
              float32[N, 1, 2] s = Add (z, c)
              float32[N, 1, 2] y = Relu (s)
              =>
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] y = com.microsoft.FusedConv <window: {padding: Explicit}, groups: 1, activation: {name: "Relu"}> (x, w, , z)
        "#]].assert_eq(&shown(super::RULES));
    }
}
