//! Biases between dequantization and quantization, added to integers.

use super::quantized_steps::{operand, result};
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::ops::quantize::qlinear::biased_between_scales;
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[
    building(
        "quantized activation of a biased value",
        "QuantizeLinear|com.microsoft.QuantizeLinear:q([activation]:step(x + $bias), s, ..)",
        |m| biased(m, Some("step")),
    )
    .law("one quantized operator, which rounds like the four operators")
    .example(
        "(uint8[N, 2] a) => (uint8[N, 2] y) <float s = {0.5}, float t = {0.25}, uint8 z = {3}, float[2] b = {1, 2}> {
            c = DequantizeLinear (a, s, z) d = Add (c, b) e = Tanh (d) y = QuantizeLinear (e, t, z)
        }",
    ),
    building(
        "quantized bias",
        "QuantizeLinear|com.microsoft.QuantizeLinear:q(x + $bias, s, ..)",
        |m| biased(m, None),
    )
    .law("one quantized operator, which rounds like the three operators")
    .example(
        "(uint8[N, 2] a) => (uint8[N, 2] y) <float s = {0.5}, float t = {0.25}, uint8 z = {3}, float[2] b = {1, 2}> {
            c = DequantizeLinear (a, s, z) d = Add (c, b) y = QuantizeLinear (d, t, z)
        }",
    ),
];

/// Replaces a function of the sum of a value and a bias, or the sum itself, by an operator on integers.
fn biased(m: &mut Match<'_, '_>, step: Option<&str>) -> Result<ValueId, Miss> {
    let step = step.map(|label| m.node(label)).transpose()?;
    let operator = biased_between_scales(step).ok_or("the operator has no quantized version")?;
    let (x, bias) = (m.value("x")?, m.value("bias")?);
    let channels = m.tensor_of(x)?.shape.last().cloned();
    let added = m.tensor_of(bias)?;
    if added.dtype != DType::F32 || added.shape.as_slice() != channels.as_slice() {
        return Err("the bias is not one number for each channel");
    }
    let name = step.map_or("Add", |step| step.kind.trim_start_matches("com.microsoft."));
    let kind = format!("com.microsoft.QLinear{name}").into();
    let operand = operand(m, x)?;
    let inputs = [&operand[..], &result(m)?, &[Some(bias)]].concat();
    let like = Node { kind, version: 1, operator, ..m.root().clone() };
    m.made(like, &inputs)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn biases_are_added_to_integers() {
        expect![[r#"
            quantized activation of a biased value
              <
              float32[] s = {0.5},
              float32[] t = {0.25},
              uint8[] z = {3},
              float32[2] b = {1, 2}
              >
              float32[N, 2] c = DequantizeLinear <back: true, axis: 1, block: 0> (a, s, z)
              float32[N, 2] d = Add (c, b)
              float32[N, 2] e = Tanh (d)
              uint8[N, 2] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (e, t, z)
              =>
              <
              float32[] s = {0.5},
              float32[] t = {0.25},
              uint8[] z = {3},
              float32[2] b = {1, 2}
              >
              uint8[N, 2] y = com.microsoft.QLinearTanh <function: "activate_biased", activation: {name: "Tanh"}, in_steps: true> (a, s, z, t, z, b)
            quantized bias
              <
              float32[] s = {0.5},
              float32[] t = {0.25},
              uint8[] z = {3},
              float32[2] b = {1, 2}
              >
              float32[N, 2] c = DequantizeLinear <back: true, axis: 1, block: 0> (a, s, z)
              float32[N, 2] d = Add (c, b)
              uint8[N, 2] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (d, t, z)
              =>
              <
              float32[] s = {0.5},
              float32[] t = {0.25},
              uint8[] z = {3},
              float32[2] b = {1, 2}
              >
              uint8[N, 2] y = com.microsoft.QLinearAdd <function: "activate_biased", in_steps: true> (a, s, z, t, z, b)
        "#]].assert_eq(&shown(super::RULES));
    }

    #[test]
    fn values_that_are_dequantized_to_half_precision_remain() {
        let text = |dtype: i32| {
            format!(
                "(uint16[N] a) => (uint16[N] y) <float s = {{256}}, uint16 z = {{0}}> {{
                    c = DequantizeLinear <output_dtype = {dtype}> (a, s, z) y = QuantizeLinear (c, s, z)
                }}"
            )
        };
        let reason = "the scale is not constant, or may not restore the integers exactly";
        // 300 * 256 is infinite in half precision.
        assert_eq!(reasons("requantization", &text(10)), [reason]);
        assert!(reasons("requantization", &text(1)).is_empty());
    }

    #[test]
    fn biases_that_are_not_of_channels_remain() {
        let found = |bias: &str| {
            let constants = format!("<float s = {{0.5}}, float t = {{0.25}}, uint8 z = {{3}}, {bias}>");
            let nodes = "{ c = DequantizeLinear (a, s, z) d = Add (c, b) y = QuantizeLinear (d, t, z) }";
            reasons("quantized bias", &format!("(uint8[2, 2] a) => (uint8[2, 2] y) {constants} {nodes}"))
        };
        let reason = ["the bias is not one number for each channel"];
        assert_eq!(found("float[1] b = {1}"), reason);
        assert_eq!(found("float[2, 1] b = {1, 2}"), reason);
        assert!(found("float[2] b = {1, 2}").is_empty());
    }
}
