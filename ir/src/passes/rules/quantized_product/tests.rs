use expect_test::expect;

use crate::passes::rewrite::testing::{graph, newest, reasons, shown};
use crate::passes::rules;

#[test]
fn quantized_products_compute_on_integers() {
    expect![[r#"
        quantized convolution
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3},
          int8[1, 1, 2] w = {1, 2},
          int32[1] b = {1},
          float32[] u = {0.125},
          float32[1, 1, 2] v = DequantizeLinear (w, t),
          float32[1] a = DequantizeLinear (b, u)
          >
          float32[N, 1, 3] d = DequantizeLinear <back: true, axis: 1, block: 0> (x, s, z)
          float32[N, 1, 2] c = Conv <window: {padding: Explicit}, groups: 1> (d, v, a)
          uint8[N, 1, 2] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (c, s, z)
          =>
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3},
          int8[1, 1, 2] w = {1, 2},
          int32[1] b = {1},
          int8[] %12 = {0}
          >
          uint8[N, 1, 2] y = QLinearConv <layout: {operands: [0, 3], zeros: [2, 5], bias: 8, end: {scales: [1, 4, 6], zero: 7}}, window: {padding: Explicit}, groups: 1> (x, s, z, w, t, %12, s, z, b)
        quantized matrix product
          <
          float32[] s = {0.5},
          float32[2] t = {0.25, 1},
          uint8[] z = {3},
          int8[2, 2] w = {1, 2, 3, 4},
          float32[2, 2] v = DequantizeLinear (w, t)
          >
          float32[N, 2] d = DequantizeLinear <back: true, axis: 1, block: 0> (x, s, z)
          float32[N, 2] c = MatMul (d, v)
          uint8[N, 2] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (c, s, z)
          =>
          <
          float32[] s = {0.5},
          float32[2] t = {0.25, 1},
          uint8[] z = {3},
          int8[2, 2] w = {1, 2, 3, 4},
          int8[] %9 = {0}
          >
          uint8[N, 2] y = QLinearMatMul <layout: {operands: [0, 3], zeros: [2, 5], end: {scales: [1, 4, 6], zero: 7}}, transposed: [false, false], alpha: 1.0> (x, s, z, w, t, %9, s, z)
        quantized Gemm
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3},
          int8[2, 2] w = {1, 2, 3, 4},
          float32[2, 2] v = DequantizeLinear (w, t)
          >
          float32[N, 2] d = DequantizeLinear <back: true, axis: 1, block: 0> (x, s, z)
          float32[N, 2] c = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, true]> (d, v)
          uint8[N, 2] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (c, s, z)
          =>
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3},
          int8[2, 2] w = {1, 2, 3, 4},
          int8[] %9 = {0}
          >
          uint8[N, 2] y = com.microsoft.QGemm <layout: {operands: [0, 3], zeros: [2, 5], bias: 6, end: {scales: [1, 4, 7], zero: 8}}, transposed: [false, true], alpha: 1.0> (x, s, z, w, t, %9, , s, z)
        dequantized integer product
          <
          int8[2, 2] w = {1, 2, 3, 4},
          float32[] t = {0.5},
          uint8[] z = {3}
          >
          int32[N, 2] p = MatMulInteger <layout: {operands: [0, 1], zeros: [2, 3], end: Sums}, transposed: [false, false], alpha: 1.0> (x, w, z)
          float32[N, 2] c = Cast <to: F32, saturate: true, toward: "Up"> (p)
          float32[] f = Mul (s, t)
          float32[N, 2] y = Mul (c, f)
          =>
          <
          int8[2, 2] w = {1, 2, 3, 4},
          float32[] t = {0.5},
          uint8[] z = {3}
          >
          float32[N, 2] y = com.microsoft.MatMulIntegerToFloat <layout: {operands: [0, 1], zeros: [4, 5], end: {scales: [2, 3], bias: 6}}, transposed: [false, false], alpha: 1.0> (x, w, s, t, z)
        bias of an integer product
          <
          int8[2, 2] w = {1, 2, 3, 4},
          float32[] t = {0.5},
          uint8[] z = {3},
          float32[2] b = {1, 2}
          >
          int32[N, 2] p = MatMulInteger <layout: {operands: [0, 1], zeros: [2, 3], end: Sums}, transposed: [false, false], alpha: 1.0> (x, w, z)
          float32[N, 2] c = Cast <to: F32, saturate: true, toward: "Up"> (p)
          float32[] f = Mul (s, t)
          float32[N, 2] m = Mul (c, f)
          float32[N, 2] y = Add (m, b)
          =>
          <
          int8[2, 2] w = {1, 2, 3, 4},
          float32[] t = {0.5},
          uint8[] z = {3},
          float32[2] b = {1, 2}
          >
          float32[N, 2] y = com.microsoft.MatMulIntegerToFloat <layout: {operands: [0, 1], zeros: [4, 5], end: {scales: [2, 3], bias: 6}}, transposed: [false, false], alpha: 1.0> (x, w, s, t, z, , b)
        dynamically quantized product
          <
          int8[2, 2] w = {1, 2, 3, 4},
          float32[] t = {0.5}
          >
          uint8[N, 2] q, float32[] s, uint8[] z = DynamicQuantizeLinear (x)
          int32[N, 2] p = MatMulInteger <layout: {operands: [0, 1], zeros: [2, 3], end: Sums}, transposed: [false, false], alpha: 1.0> (q, w, z)
          float32[N, 2] c = Cast <to: F32, saturate: true, toward: "Up"> (p)
          float32[] f = Mul (s, t)
          float32[N, 2] y = Mul (c, f)
          =>
          <
          int8[2, 2] w = {1, 2, 3, 4},
          float32[] t = {0.5}
          >
          float32[N, 2] y = com.microsoft.DynamicQuantizeMatMul (x, w, t)
    "#]].assert_eq(&shown(super::RULES));
}

#[test]
fn scales_are_per_channel() {
    let conv = |axis: i64, own: &str, weights: &str| {
        let constants = format!(
            "<float s = {{0.5}}, uint8 z = {{3}}, int8[2, 2, 2] w = {{1, 2, 3, 4, 5, 6, 7, 8}}, \
             int32[2] b = {{1, 2}}, {weights}, {own}>"
        );
        let nodes = format!(
            "d = DequantizeLinear (x, s, z) v = DequantizeLinear <axis = {axis}> (w, t)
            a = DequantizeLinear <axis = 0> (b, u) c = Conv (d, v, a) y = QuantizeLinear (c, s, z)"
        );
        reasons(
            "quantized convolution",
            &format!("(uint8[N, 2, 3] x) => (uint8[N, 2, 2] y) {constants} {{ {nodes} }}"),
        )
    };
    let several = "float[2] t = {0.25, 1}";
    assert!(conv(0, "float[2] u = {0.125, 0.5}", several).is_empty());
    assert!(conv(-3, "float[2] u = {0.125, 0.5}", several).is_empty());
    assert!(conv(0, "float[2] u = {0.125, 0.125}", "float t = {0.25}").is_empty());
    let reason = ["the scales vary along an axis other than the channels"];
    assert_eq!(conv(1, "float[2] u = {0.125, 0.5}", several), reason);
    let reason = ["the bias is not `int32` with the scale of the sums"];
    assert_eq!(conv(0, "float[2] u = {0.125, 0.75}", several), reason);
    assert_eq!(conv(0, "float u = {0.125}", several), reason);
}

#[test]
fn a_bias_has_the_scales_of_the_sums_and_no_zero_point() {
    let outcomes = |constants: &str, inputs: &str| {
        let example = format!(
            "(uint8[N, 1, 3] x) => (uint8[N, 2, 2] y)
            <float s = {{0.5}}, float[2] t = {{0.25, 0}}, uint8 z = {{3}}, int8[2, 1, 2] w = {{1, 2, 0, 0}},
            float[2] u = {{0.125, 0}}, {constants}> {{
                d = DequantizeLinear (x, s, z) v = DequantizeLinear <axis = 0> (w, t)
                a = DequantizeLinear <axis = 0> ({inputs}) c = Conv (d, v, a) y = QuantizeLinear (c, s, z)
            }}"
        );
        outcomes("quantized convolution", &example)
    };
    let other = "the bias is not `int32` with the scale of the sums";
    assert_eq!(outcomes("int32[2] b = {1, 2}", "b, u"), [""]);
    assert_eq!(outcomes("int32[2] b = {1, 2}, int32[2] k = {0, 0}", "b, u, k"), [""]);
    assert_eq!(outcomes("int32[2] b = {1, 2}, float[2] o = {0.125, 1}", "b, o"), [other]);
    assert_eq!(outcomes("int8[2] b = {1, 2}", "b, u"), [other]);
}

#[test]
fn blocks_of_weights_remain() {
    let example = "(uint8[N, 4] x) => (uint8[N] y)
        <float s = {0.5}, float[2] t = {0.25, 1}, uint8 z = {3}, int8[4] w = {1, 2, 3, 4}> {
            d = DequantizeLinear (x, s, z) v = DequantizeLinear <axis = 0, block_size = 2> (w, t)
            c = MatMul (d, v) y = QuantizeLinear (c, s, z)
        }";
    assert_eq!(outcomes("quantized matrix product", example), [""; 0]);
}

/// Returns the reasons why a rule does not apply, an empty one where it applies.
fn outcomes(rule: &str, example: &str) -> Vec<&'static str> {
    let (_, report) = graph(&newest(example), rules::all());
    let events = report.applied.iter().chain(&report.missed);
    events.filter(|event| event.rule == rule).map(|event| event.reason).collect()
}
