use expect_test::expect;

use crate::passes::rewrite::testing::{graph, reasons, shown};
use crate::passes::rules;

#[test]
fn quantized_graphs_compute_on_integers() {
    expect![[r#"
        requantization
          <
          float32[] s = {0.5},
          uint8[] z = {3},
          uint8[] one = {1}
          >
          float32[N] d = DequantizeLinear <back: true, axis: 1, block: 0> (x, s, z)
          uint8[N] q = QuantizeLinear <axis: 1, block: 0, saturate: true> (d, s, z)
          uint8[N] y = BitwiseXor (q, one)
          =>
          <
          uint8[] one = {1}
          >
          uint8[N] y = BitwiseXor (x, one)
        quantized data movement
          <
          float32[] s = {0.5},
          uint8[] z = {3}
          >
          float32[N, 2] d = DequantizeLinear <back: true, axis: 1, block: 0> (x, s, z)
          float32[2, N] t = Transpose (d)
          uint8[2, N] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (t, s, z)
          =>
          uint8[2, N] y = Transpose (x)
        bounds before quantization
          <
          float32[] s = {0.5},
          uint8[] z = {0}
          >
          float32[N] r = Relu (x)
          uint8[N] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (r, s, z)
          =>
          <
          float32[] s = {0.5},
          uint8[] z = {0}
          >
          uint8[N] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (x, s, z)
        quantized operator
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3}
          >
          float32[N] c = DequantizeLinear <back: true, axis: 1, block: 0> (a, s, z)
          float32[N] d = DequantizeLinear <back: true, axis: 1, block: 0> (b, t, z)
          float32[N] e = Add (c, d)
          uint8[N] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (e, t, z)
          =>
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3}
          >
          uint8[N] y = com.microsoft.QLinearAdd <function: "add", in_steps: true> (a, s, z, b, t, z, t, z)
        quantized concatenation
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3}
          >
          float32[N] c = DequantizeLinear <back: true, axis: 1, block: 0> (a, s, z)
          float32[N] d = DequantizeLinear <back: true, axis: 1, block: 0> (b, t, z)
          float32[2*N] e = Concat <axis: 0> (c, d)
          uint8[2*N] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (e, t, z)
          =>
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3}
          >
          uint8[2*N] y = com.microsoft.QLinearConcat <axis: 0> (t, z, a, s, z, b, t, z)
        quantized selection
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3}
          >
          float32[N] d = DequantizeLinear <back: true, axis: 1, block: 0> (a, s, z)
          float32[N] e = DequantizeLinear <back: true, axis: 1, block: 0> (b, t, z)
          float32[N] f = Where (c, d, e)
          uint8[N] y = QuantizeLinear <axis: 1, block: 0, saturate: true> (f, t, z)
          =>
          <
          float32[] s = {0.5},
          float32[] t = {0.25},
          uint8[] z = {3}
          >
          uint8[N] y = com.microsoft.QLinearWhere <function: "choose"> (c, a, s, z, b, t, z, t, z)
    "#]]
    .assert_eq(&shown(super::RULES));
}

#[test]
fn scales_in_half_precision_remain() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (int8[N] x, int8[N] y) => (int8[N] z) <float16 s = {14336}, int8 k = {0}> {
            a = DequantizeLinear (x, s, k) b = DequantizeLinear (y, s, k)
            c = Add (a, b) z = QuantizeLinear (c, s, k)
        }"#;
    expect![[r#"
        g (int8[N] x, int8[N] y) => (int8[N] z)
        <
            float16[] s = {0.5},
            int8[] k = {0}
        >
        {
            float16[N] a = DequantizeLinear <back: true, axis: 1, block: 0> (x, s, k)
            float16[N] b = DequantizeLinear <back: true, axis: 1, block: 0> (y, s, k)
            float16[N] c = Add (a, b)
            int8[N] z = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (c, s, k)
        }
    "#]]
    .assert_eq(&graph(text, rules::all()).0);
}

#[test]
fn scales_along_different_axes_remain() {
    let example = "(uint8[2, 2] x) => (uint8[2, 2] y) <float[2] s = {0.5, 0.25}> {
        d = DequantizeLinear <axis = 0> (x, s) y = QuantizeLinear <axis = 1> (d, s)
    }";
    assert_eq!(reasons("requantization", example), ["the zero points, axes or block sizes differ"]);
}

#[test]
fn bounds_of_each_type_are_implied() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[N] x) => (int16[N] a, int8[N] b, uint8[N] c, float8e5m2[N] d)
        <float s = {1}, int16 k = {-32768}, int8 l = {0}, uint8 m = {0},
        float e = {-128}, float f = {127}, float g = {0}, float h = {255}, float i = {-1000}, float j = {1000}> {
            o = Relu (x) a = QuantizeLinear (o, s, k)
            p = Clip (x, e, f) b = QuantizeLinear (p, s, l)
            q = Clip (x, g, h) c = QuantizeLinear (q, s, m)
            r = Clip (x, i, j) d = QuantizeLinear <output_dtype = 19> (r, s)
        }"#;
    expect![[r#"
        g (float32[N] x) => (int16[N] a, int8[N] b, uint8[N] c, float8e5m2[N] d)
        <
            float32[] s = {1},
            int16[] k = {-32768},
            int8[] l = {0},
            uint8[] m = {0},
            float32[] i = {-1000},
            float32[] j = {1000}
        >
        {
            int16[N] a = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (x, s, k)
            int8[N] b = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (x, s, l)
            uint8[N] c = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (x, s, m)
            float32[N] r = Clip (x, i, j)
            float8e5m2[N] d = QuantizeLinear <axis: 1, block: 0, to: F8E5M2, saturate: true, precision: Single> (r, s)
        }
    "#]].assert_eq(&graph(text, rules::all()).0);
}

#[test]
fn bounds_are_quantized_with_the_zero_point() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (uint8[N] x) => (uint8[N] y)
        <float s = {0.5}, float t = {0.25}, uint8 k = {3}, float low = {-1}, float high = {10}> {
            d = DequantizeLinear (x, s, k) r = Clip (d, low, high) y = QuantizeLinear (r, t, k)
        }"#;
    expect![[r#"
        g (uint8[N] x) => (uint8[N] y)
        <
            float32[] s = {0.5},
            float32[] t = {0.25},
            uint8[] k = {3},
            uint8[] %10 = {43}
        >
        {
            float32[N] d = DequantizeLinear <back: true, axis: 1, block: 0> (x, s, k)
            uint8[N] %9 = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (d, t, k)
            uint8[N] y = Clip (%9, , %10)
        }
    "#]]
    .assert_eq(&graph(text, rules::all()).0);
}

#[test]
fn bounds_remain_before_quantization_with_scale_zero() {
    let example = "(uint8[N] x) => (uint8[N] y) <float s = {0}, float t = {0.5}, uint8 k = {3}> {
        d = DequantizeLinear (x, t, k) r = Relu (d) y = QuantizeLinear (r, s, k)
    }";
    assert_eq!(reasons("bounds before quantization", example), ["the scale is not a positive constant"]);
}
