//! Additions, activations and bounds after a layer, fused into it.

use std::rc::Rc;

use crate::graph::{Node, ValueId};
use crate::ops::Operator;
use crate::ops::convolution::conv::Conv;
use crate::ops::elementwise::activation::Fused;
use crate::ops::product::matmul::{Gemm, MatMul};
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[
    building(
        "addend of a product",
        "Conv|Linear|MatMul|com.microsoft.FusedMatMul:product(x, w, ..) + z",
        |m| {
            let (node, z) = (layer(m)?, m.value("z")?);
            if m.tensor_of(z)? != m.result()? {
                return Err("the addend does not have the type and shape of the result");
            }
            let mut inputs = node.inputs.clone();
            if inputs.len() > 3 {
                return Err("the product already has an addend");
            }
            inputs.resize(3, None);
            inputs.push(Some(z));
            let kind = match &*node.kind {
                "Conv" => "com.microsoft.FusedConv",
                _ => "FusedLinear",
            };
            let node = Node { kind: kind.into(), ..node.clone() };
            m.made(node, &inputs)
        },
    )
    .last()
    .law("a layer can add a value of the same type and shape to its result")
    .example(
        "(float[N, 1, 3] x, float[N, 1, 2] z) => (float[N, 1, 2] y) <float[1, 1, 2] w = {1, 2}> {
            c = Conv (x, w) y = Add (z, c)
        }",
    ),
    building(
        "activation of a product",
        "[activation]:act(Conv|com.microsoft.FusedConv|Gemm|Linear|FusedLinear|MatMul\
             |com.microsoft.FusedMatMul:product(x, w, ..))",
        |m| {
            let activation = Fused::of(m.root());
            followed(m, activation.ok_or("the activation cannot be fused")?)
        },
    )
    .last()
    .law("a layer can apply an elementwise activation to its result")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 2] y) <float[1, 1, 2] w = {1, 2}> {
            c = Conv (x, w) y = LeakyRelu <alpha = 0.2> (c)
        }",
    ),
    building(
        "bounds of a product",
        "Clip(Conv|com.microsoft.FusedConv|Gemm|Linear|FusedLinear|MatMul\
             |com.microsoft.FusedMatMul:product(x, w, ..), #low, #high)",
        |m| {
            let bounds = [m.single(m.number("low")?)?, m.single(m.number("high")?)?];
            if bounds[0] > bounds[1] {
                return Err("the lower bound exceeds the upper bound");
            }
            followed(m, Fused::clip(bounds[0], bounds[1]))
        },
    )
    .last()
    .law("a layer can clamp its result")
    .example(
        "(float[N, 1, 3] x) => (float[N, 1, 2] y)
        <float[1, 1, 2] w = {1, 2}, float zero = {0}, float six = {6}> {
            c = Conv (x, w) y = Clip (c, zero, six)
        }",
    ),
];

/// Returns the product if it supports an epilogue: a convolution, or a product with a matrix of weights.
fn layer<'g>(m: &Match<'_, 'g>) -> Result<&'g Node, Miss> {
    if !m.result()?.dtype.is_float() {
        return Err("the result is not floating-point");
    }
    let node = m.node("product")?;
    if let Some(conv) = node.operator_as::<Conv>() {
        let plain = conv.is_plain().then_some(node);
        return plain.ok_or("the product already has an activation");
    }
    let is_layer = match node.operator_as::<Gemm>() {
        Some(gemm) => gemm.is_layer(),
        None => node.operator_as::<MatMul>().is_some_and(MatMul::is_layer),
    };
    let (x, weight) = (m.tensor_of(m.value("x")?)?, m.value("w")?);
    let weighted = m.value_of(weight).is_constant() && m.tensor_of(weight)?.rank() == 2;
    let layer = (is_layer && weighted && x.rank() > 1).then_some(node);
    layer.ok_or("the product is not a fully connected layer")
}

/// Returns the product with an activation.
fn followed(m: &mut Match<'_, '_>, activation: Fused) -> Result<ValueId, Miss> {
    let node = layer(m)?;
    let (kind, operator) = with(node, activation).ok_or("the product already has an activation")?;
    let inputs = node.inputs.clone();
    let node = Node { kind: kind.into(), operator, ..node.clone() };
    m.made(node, &inputs)
}

fn with(node: &Node, activation: Fused) -> Option<(&'static str, Rc<dyn Operator>)> {
    if let Some(conv) = node.operator_as::<Conv>() {
        let conv = conv.followed_by(activation)?;
        Some(("com.microsoft.FusedConv", Rc::new(conv)))
    } else if let Some(gemm) = node.operator_as::<Gemm>() {
        let gemm = gemm.followed_by(activation)?;
        Some(("com.microsoft.FusedGemm", Rc::new(gemm)))
    } else {
        let product = node.operator_as::<MatMul>()?.followed_by(activation)?;
        Some(("FusedLinear", Rc::new(product)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn layers_have_epilogues() {
        expect![[r#"
            addend of a product
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] c = Conv <window: {padding: Explicit}, groups: 1> (x, w)
              float32[N, 1, 2] y = Add (z, c)
              =>
              <
              float32[1, 1, 2] w = {1, 2}
              >
              float32[N, 1, 2] y = com.microsoft.FusedConv <window: {padding: Explicit}, groups: 1> (x, w, , z)
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
        "#]].assert_eq(&shown(super::RULES));
    }

    #[test]
    fn only_layers_have_activations() {
        let found = |inputs: &str, result: &str, product: &str| {
            let text = format!(
                "({inputs}) => (float{result} y) <float[2, 3] w = {{1, 2, 3, 4, 5, 6}}> {{ p = {product} y = Tanh (p) }}"
            );
            reasons("activation of a product", &text)
        };
        let reason = ["the product is not a fully connected layer"];
        assert_eq!(found("float[N, 2] x, float[2, 3] v", "[N, 3]", "MatMul (x, v)"), reason);
        assert_eq!(found("float[N, 2] x, float[2, 3] v", "[N, 3]", "Gemm (x, v)"), reason);
        assert_eq!(found("float[N, 2] x", "[N, 3]", "Gemm <alpha = 0.5> (x, w)"), reason);
        assert_eq!(found("float[2] x", "[3]", "MatMul (x, w)"), reason);
        assert!(found("float[N, 2] x", "[N, 3]", "Gemm (x, w)").is_empty());
    }
}
