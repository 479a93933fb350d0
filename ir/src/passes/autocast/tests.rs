//! Tests of whole graphs.

mod constants;

use expect_test::{Expect, expect};
use prost::Message;

use crate::options::{Options, Precision};
use crate::print;

/// Checks the simplified graph with f16.
pub fn check(graph: &str, expected: Expect) {
    with(graph, |_| (), expected);
}

pub fn with(graph: &str, change: fn(&mut Options), expected: Expect) {
    let opsets = r#"["": 21, "com.microsoft": 1]"#;
    let text = format!("<ir_version: 10, opset_import: {opsets}> g {graph}");
    let model = crate::text::model(&text).unwrap().encode_to_vec();
    let mut options = Options { precision: Precision::F16, ..Options::default() };
    change(&mut options);
    let model = crate::load_bytes(model.into(), &options);
    let model = model.unwrap_or_else(|problems| panic!("{}", problems.report("model")));
    expected.assert_eq(&print::graph(&model.graph));
}

#[test]
fn products_and_what_follows_take_16_bits() {
    check(
        r#"(float[n, 3, 8, 8] x) => (float[n, 4] y)
        <float[4, 3, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[4] b = {1, 2, 3, 4},
         float[4] one = {1, 1, 1, 1}, float[4] zero = {0, 0, 0, 0}> {
            c = Conv (x, w, b)
            n = BatchNormalization (c, b, zero, zero, one)
            r = Relu (n)
            m = GlobalAveragePool (r)
            y = Flatten (m)
        }"#,
        expect![[r#"
            g (float32[n, 3, 8, 8] x) => (float32[n, 4] y)
            <
                float32[4, 3, 1, 1] w = {.. 48 bytes},
                float32[4] b = {1, 2, 3, 4},
                float32[4] one = {1, 1, 1, 1},
                float32[4] zero = {0, 0, 0, 0},
                int64[2] %21 = {2, 3},
                float16[4, 3, 1, 1] %25 = Cast (Mul (w, Reshape (Div (b, Sqrt (Add (one, {0.00001}))), {4, 1, 1, 1}))),
                float16[4] %26 = Cast (Add (Mul (Sub (b, zero), Div (b, Sqrt (Add (one, {0.00001})))), zero))
            >
            {
                float16[n, 3, 8, 8] %24 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[n, 4, 8, 8] r = com.microsoft.FusedConv <window: {padding: Explicit}, groups: 1, activation: {name: "Relu"}> (%24, %25, %26)
                float32[n, 4, 8, 8] %27 = Cast <to: F32, saturate: true, toward: "Up"> (r)
                float32[n, 4] y = ReduceMean (%27, %21)
            }
        "#]],
    );
}

#[test]
fn norms_sum_in_single_precision_whatever_they_take() {
    let graph = r#"(float[n, 4] x) => (float[n, 4] y)
        <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float[4] s = {1, 2, 3, 4}> {
            p = MatMul (x, w)
            n = LayerNormalization (p, s)
            q = Softmax (n)
            l = LogSoftmax (q)
            e = Exp (q)
            y = Add (l, e)
        }"#;
    check(
        graph,
        expect![[r#"
        g (float32[n, 4] x) => (float32[n, 4] y)
        <
            float32[4, 4] w = {.. 64 bytes},
            float32[4] s = {1, 2, 3, 4},
            float16[4, 4] %10 = Cast (w),
            float16[4] %11 = Cast (s)
        >
        {
            float16[n, 4] %9 = Cast <to: F16, saturate: true, toward: "Up"> (x)
            float16[n, 4] p = MatMul (%9, %10)
            float16[n, 4] n = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (p, %11)
            float16[n, 4] q = Softmax <function: "softmax", axis: -1> (n)
            float32[n, 4] %12 = Cast <to: F32, saturate: true, toward: "Up"> (q)
            float32[n, 4] l = LogSoftmax <function: "log_softmax", axis: -1> (%12)
            float32[n, 4] e = Exp (%12)
            float32[n, 4] y = Add (l, e)
        }
    "#]],
    );
}

#[test]
fn a_norm_between_products_is_one_of_16_bits() {
    check(
        r#"(float[n, 2] x) => (float[n, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2] s = {2, 3}, float two = {2}, float e = {1e-12}, int64[1] axes = {-1}> {
            p = MatMul (x, w)
            mean = ReduceMean (p, axes)
            d = Sub (p, mean)
            q = Pow (d, two)
            v = ReduceMean (q, axes)
            a = Add (v, e)
            r = Sqrt (a)
            n = Div (d, r)
            m = Mul (n, s)
            y = MatMul (m, w)
        }"#,
        expect![[r#"
            g (float32[n, 2] x) => (float32[n, 2] y)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                float32[2] s = {2, 3},
                float16[2, 2] %20 = Cast (w),
                float16[2] %21 = Cast (s)
            >
            {
                float16[n, 2] %19 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[n, 2] p = MatMul (%19, %20)
                float16[n, 2] m = LayerNormalization <axis: -1, epsilon: 1e-12, statistics: F32> (p, %21)
                float16[n, 2] %15 = MatMul (m, %20)
                float32[n, 2] y = Cast <to: F32, saturate: true, toward: "Up"> (%15)
            }
        "#]],
    );
}

#[test]
fn angles_and_squares_of_distances_are_exact() {
    check(
        r#"(int64[1, n] i, float[n, 2] x, float[2, m] y) => (float[2, n] c, float[n, m] d) <float[2, 1] w = {1, 0.01}, float zero = {0}> {
            f = Cast <to = 1> (i)
            a = MatMul (w, f)
            c = Cos (a)
            p = MatMul (x, y)
            r = Max (p, zero)
            d = Sqrt (r)
        }"#,
        expect![[r#"
            g (int64[1, n] i, float32[n_2, 2] x, float32[2, m] y) => (float32[2, n] c, float32[n_2, m] d)
            <
                float32[2, 1] w = {1, 0.01},
                float32[] zero = {0}
            >
            {
                float32[1, n] f = Cast <to: F32, saturate: true, toward: "Up"> (i)
                float32[2, n] a = MatMul (w, f)
                float32[2, n] c = Cos (a)
                float32[n_2, m] p = MatMul (x, y)
                float32[n_2, m] r = Max (p, zero)
                float32[n_2, m] d = Sqrt (r)
            }
        "#]],
    );
}

#[test]
fn nested_graphs_take_and_give_single_precision() {
    check(
        r#"(bool b, int64 count, bool go, float[2, 2] x) => (float[2, 2] y, float[2, 2] z) <float[2, 2] w = {1, 2, 3, 4}> {
            p = MatMul (x, w)
            y = If (b) <
                then_branch = yes () => (float[2, 2] t) { t = Relu (p) },
                else_branch = no () => (float[2, 2] p) { }
            >
            z = Loop (count, go, x) <
                body = step (int64 at, bool before, float[2, 2] state) => (bool after, float[2, 2] next) {
                    after = Identity (before)
                    m = MatMul (state, w)
                    next = Add (m, p)
                }
            >
        }"#,
        expect![[r#"
            g (host bool[] b, host int64[] count, host bool[] go, float32[2, 2] x) => (float32[2, 2] y, float32[2, 2] z)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                float16[2, 2] %17 = Cast (w)
            >
            {
                float16[2, 2] %16 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[2, 2] %5 = MatMul (%16, %17)
                float32[2, 2] y = If (b)
                    then_branch () => (float32[2, 2] t)
                    {
                        float16[2, 2] %6 = Relu (%5)
                        float32[2, 2] t = Cast <to: F32, saturate: true, toward: "Up"> (%6)
                    }
                    else_branch () => (float32[2, 2] p)
                    {
                        float32[2, 2] p = Cast <to: F32, saturate: true, toward: "Up"> (%5)
                    }
                float32[2, 2] z = Loop (count, go, x)
                    body (int64[] at, bool[] before, float32[2, 2] state) => (bool[] before, float32[2, 2] next)
                    {
                        float16[2, 2] %20 = Cast <to: F16, saturate: true, toward: "Up"> (state)
                        float16[2, 2] %13 = FusedLinear (%20, %17, , %5)
                        float32[2, 2] next = Cast <to: F32, saturate: true, toward: "Up"> (%13)
                    }
            }
        "#]],
    );
}

#[test]
fn items_of_a_sequence_are_of_single_precision() {
    check(
        r#"(float[2, 2] x, int64 at) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
            p = MatMul (x, w)
            r = Relu (p)
            s = SequenceConstruct (p, r)
            y = SequenceAt (s, at)
        }"#,
        expect![[r#"
            g (float32[2, 2] x, host int64[] at) => (float32[2, 2] y)
            <
                float32[2, 2] w = {1, 2, 3, 4}
            >
            {
                float32[2, 2] p = MatMul (x, w)
                float32[2, 2] r = Relu (p)
                seq(float32[2, 2]) s = SequenceConstruct (p, r)
                float32[2, 2] y = SequenceAt (s, at)
            }
        "#]],
    );
}

#[test]
fn scales_of_integers_are_of_single_precision() {
    check(
        r#"(uint8[n, 2] x) => (uint8[n, 2] y) <float s = {0.1}, uint8 z = {128}, int8[2, 2] w = {1, 2, 3, 4}, float[2, 2] v = {1, 2, 3, 4}> {
            a = DequantizeLinear (x, s, z)
            b = DequantizeLinear (w, s)
            p = MatMul (a, b)
            c = QuantizeLinear (p, s, z)
            d = DequantizeLinear (c, s, z)
            q = MatMul (d, v)
            e = Exp (q)
            y = QuantizeLinear (e, s, z)
        }"#,
        expect![[r#"
            g (uint8[n, 2] x) => (uint8[n, 2] y)
            <
                float32[] s = {0.1},
                uint8[] z = {128},
                int8[2, 2] w = {1, 2, 3, 4},
                float32[2, 2] v = {1, 2, 3, 4},
                int8[] %13 = {0},
                float16[2, 2] %16 = Cast (v)
            >
            {
                uint8[n, 2] c = QLinearMatMul <layout: {operands: [0, 3], zeros: [2, 5], end: {scales: [1, 4, 6], zero: 7}}, transposed: [false, false], alpha: 1.0> (x, s, z, w, s, %13, s, z)
                float32[n, 2] d = DequantizeLinear <back: true, axis: 1, block: 0> (c, s, z)
                float16[n, 2] %15 = Cast <to: F16, saturate: true, toward: "Up"> (d)
                float16[n, 2] q = MatMul (%15, %16)
                float32[n, 2] %17 = Cast <to: F32, saturate: true, toward: "Up"> (q)
                float32[n, 2] e = Exp (%17)
                uint8[n, 2] y = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (e, s, z)
            }
        "#]],
    );
}

#[test]
fn integers_doubles_and_what_is_of_16_bits_stay() {
    check(
        r#"(int32[n, 2] a, double[n, 2] b, float16[n, 2] c) => (int32[n, 2] x, double[n, 2] y, float16[n, 2] z)
        <int32[2, 2] u = {1, 2, 3, 4}, double[2, 2] v = {1, 2, 3, 4}, float16[2, 2] w = {15360, 16384, 16896, 17408}> {
            x = MatMul (a, u)
            y = MatMul (b, v)
            p = MatMul (c, w)
            f = Cast <to = 1> (p)
            s = Softmax (f)
            z = Cast <to = 10> (s)
        }"#,
        expect![[r#"
            g (int32[n, 2] a, float64[n_2, 2] b, float16[n_3, 2] c) => (int32[n, 2] x, float64[n_2, 2] y, float16[n_3, 2] z)
            <
                int32[2, 2] u = {1, 2, 3, 4},
                float64[2, 2] v = {1, 2, 3, 4},
                float16[2, 2] w = {1, 2, 3, 4}
            >
            {
                int32[n, 2] x = MatMul (a, u)
                float64[n_2, 2] y = MatMul (b, v)
                float16[n_3, 2] p = MatMul (c, w)
                float32[n_3, 2] f = Cast <to: F32, saturate: true, toward: "Up"> (p)
                float32[n_3, 2] s = Softmax <function: "softmax", axis: -1> (f)
                float16[n_3, 2] z = Cast <to: F16, saturate: true, toward: "Up"> (s)
            }
        "#]],
    );
}

#[test]
fn operators_in_16_bits_keep_their_parameters() {
    check(
        r#"(float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[1, 1, 1, 1] w = {2}, float[4] scales = {1, 1, 2, 2}> {
            c = Conv (x, w)
            y = Resize (c, , scales)
        }"#,
        expect![[r#"
            g (float32[1, 1, 2, 2] x) => (float32[1, 1, 4, 4] y)
            <
                float32[1, 1, 1, 1] w = {2},
                float32[4] scales = {1, 1, 2, 2},
                float16[1, 1, 1, 1] %6 = Cast (w)
            >
            {
                float16[1, 1, 2, 2] %5 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[1, 1, 2, 2] c = Conv <window: {padding: Explicit}, groups: 1> (%5, %6)
                float16[1, 1, 4, 4] %4 = Resize <mode: {"HalfDown"}, coordinates: "HalfPixel", extrapolation: 0.0, policy: Stretch, inputs: [1, 2, 3]> (c, , scales)
                float32[1, 1, 4, 4] y = Cast <to: F32, saturate: true, toward: "Up"> (%4)
            }
        "#]],
    );
}

#[test]
fn what_is_moved_from_inputs_has_no_precision_of_its_own() {
    check(
        r#"(float[2, 2] x, float[2, 2] z) => (float[2, 2] a, float[2, 2] b) <int64[4] pads = {0, 1, 0, -1}> {
            p = MatMul (x, z)
            moved = Pad (x, pads)
            a = Add (p, moved)
            e = Exp (x)
            b = Sub (p, e)
        }"#,
        expect![[r#"
            g (float32[2, 2] x, float32[2, 2] z) => (float32[2, 2] a, float32[2, 2] b)
            <
                int64[4] pads = {0, 1, 0, -1}
            >
            {
                float16[2, 2] %8 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[2, 2] %9 = Cast <to: F16, saturate: true, toward: "Up"> (z)
                float16[2, 2] p = MatMul (%8, %9)
                float32[2, 2] moved = Pad <mode: Constant> (x, pads)
                float16[2, 2] %10 = Cast <to: F16, saturate: true, toward: "Up"> (moved)
                float16[2, 2] %5 = Add (p, %10)
                float32[2, 2] e = Exp (x)
                float32[2, 2] %11 = Cast <to: F32, saturate: true, toward: "Up"> (p)
                float32[2, 2] b = Sub (%11, e)
                float32[2, 2] a = Cast <to: F32, saturate: true, toward: "Up"> (%5)
            }
        "#]],
    );
}

#[test]
fn a_mean_beside_a_result_of_16_bits_is_of_single_precision() {
    check(
        r#"(float[n, 2] x) => (float[n, 2] y, float[n, 1] mean, float[n, 1] other)
        <float[2, 2] w = {1, 2, 3, 4}, float[2] s = {2, 3}, float[2] t = {3, 4}> {
            p = MatMul (x, w)
            y, mean = LayerNormalization (p, s)
            unused, other = LayerNormalization (p, t)
        }"#,
        expect![[r#"
            g (float32[n, 2] x) => (float32[n, 2] y, float32[n, 1] mean, float32[n, 1] other)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                float32[2] s = {2, 3},
                float32[2] t = {3, 4},
                float16[2, 2] %10 = Cast (w),
                float16[2] %11 = Cast (s)
            >
            {
                float16[n, 2] %9 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[n, 2] p = MatMul (%9, %10)
                float16[n, 2] %5, float32[n, 1] mean = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (p, %11)
                float32[n, 2] %13 = Cast <to: F32, saturate: true, toward: "Up"> (p)
                _, float32[n, 1] other = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (%13, t)
                float32[n, 2] y = Cast <to: F32, saturate: true, toward: "Up"> (%5)
            }
        "#]],
    );
}
