//! Activations, bounds and sums after a product, computed by the product itself.

use std::rc::Rc;

use crate::graph::{Node, ValueId};
use crate::ops::Operator;
use crate::ops::convolution::conv::Conv;
use crate::ops::elementwise::activation::Fused;
use crate::ops::elementwise::unary::Shaped;
use crate::ops::product::matmul::{Gemm, MatMul};
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[
    building(
        "activation of a product",
        "Relu|Sigmoid|Tanh|LeakyRelu|HardSigmoid|Swish:act(Conv|Gemm|Linear|MatMul:product(x, \
             w, ..))",
        |m| {
            let (name, parameters) = activation(m)?;
            let node = m.node("product")?;
            fused(m, node.inputs.clone(), name, &parameters)
        },
    )
    .last()
    .law("an activation of each element, right behind a product")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 2] y) <float[1, 1, 2] w = {1, 2}> {
            c = Conv (x, w) y = LeakyRelu <alpha = 0.2> (c)
        }",
    ),
    building(
        "bounds of a product",
        "Clip(Conv|Gemm|Linear|MatMul:product(x, w, ..), #low, #high)",
        |m| {
            let bounds = [m.single(m.number("low")?)?, m.single(m.number("high")?)?];
            let node = m.node("product")?;
            if !m.result()?.dtype.is_float() {
                return Err("integers have activations of their own");
            }
            if bounds[0] > bounds[1] {
                return Err("the bounds are the wrong way round");
            }
            fused(m, node.inputs.clone(), "Clip", &bounds)
        },
    )
    .last()
    .law("bounds of each element, right behind a product")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 2] y)
        <float[1, 1, 2] w = {1, 2}, float zero = {0}, float six = {6}> {
            c = Conv (x, w) y = Clip (c, zero, six)
        }",
    ),
    building(
        "sum and activation of a convolution",
        "Relu:act(Conv:product(x, w, ..) + z)",
        |m| {
            let (name, parameters) = activation(m)?;
            let (node, z) = (m.node("product")?, m.value("z")?);
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
    .last()
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
    let dtype = m.result()?.dtype;
    if !dtype.is_float() {
        return Err("integers have activations of their own");
    }
    let half = dtype.bits() < 32;
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
    let node = m.node("product")?;
    let activation =
        Fused::named(name, parameters).ok_or("no fused operator has this activation")?;
    let (kind, operator) = followed(node, activation).ok_or("an activation is there already")?;
    let node = Node {
        kind: kind.into(),
        operator,
        ..node.clone()
    };
    m.made(node, &inputs)
}

/// The product with an activation, and how people call it.
fn followed(node: &Node, activation: Fused) -> Option<(&'static str, Rc<dyn Operator>)> {
    if let Some(conv) = node.operator_as::<Conv>() {
        return Some((
            "com.microsoft.FusedConv",
            Rc::new(conv.followed_by(activation)?),
        ));
    }
    if let Some(gemm) = node.operator_as::<Gemm>() {
        return Some((
            "com.microsoft.FusedGemm",
            Rc::new(gemm.followed_by(activation)?),
        ));
    }
    let product = node.operator_as::<MatMul>()?.followed_by(activation)?;
    Some(("FusedLinear", Rc::new(product)))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::shown;

    #[test]
    fn what_follows_a_convolution_is_part_of_it() {
        expect![[r#"
            activation of a product
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
            bounds of a product
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
