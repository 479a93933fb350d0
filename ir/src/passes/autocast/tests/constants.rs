//! Weights, tables and numbers.

use expect_test::expect;

use super::{check, with};
use crate::options::Precision;

#[test]
fn a_norm_in_steps_keeps_its_epsilon() {
    with(
        r#"(float[n, 4] x) => (float[n, 4] y)
        <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
         int64[1] axes = {-1}, float e = {1e-12}, float low = {-3e38}> {
            p = MatMul (x, w)
            s = Mul (p, p)
            v = ReduceMean (s, axes)
            a = Add (v, e)
            r = Sqrt (a)
            d = Div (p, r)
            y = Max (p, low, d)
        }"#,
        |options| options.simplify = false,
        expect![[r#"
            g (float32[n, 4] x) => (float32[n, 4] y)
            <
                float32[4, 4] w = {.. 64 bytes},
                int64[1] axes = {-1},
                float32[] e = {0.000000000001},
                float32[] low = {-300000000000000000000000000000000000000},
                float16[4, 4] %13 = Cast (w)
            >
            {
                float16[n, 4] %12 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[n, 4] p = MatMul (%12, %13)
                float32[n, 4] %14 = Cast <to: F32, saturate: true, toward: "Up"> (p)
                float32[n, 4] s = Mul (%14, %14)
                float32[n, 1] v = ReduceMean <keep: true> (s, axes)
                float32[n, 1] a = Add (v, e)
                float32[n, 1] r = Sqrt (a)
                float32[n, 4] d = Div (%14, r)
                float32[n, 4] y = Max (%14, low, d)
            }
        "#]],
    );
}

#[test]
fn a_constant_is_converted_once_and_read_in_both_types() {
    check(
        r#"(float[n, 2] x) => (float[n, 2] y, float[n, 2] z, float[n, 2] u) <float[2, 2] w = {1, 2, 3, 4}> {
            y = MatMul (x, w)
            u = MatMul (y, w)
            z = CumSum (w, one)
            one = Constant <value_int = 1> ()
        }"#,
        expect![[r#"
            g (float32[n, 2] x) => (float32[n, 2] y, float32[2, 2] z, float32[n, 2] u)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                int64[] one = {1},
                float16[2, 2] %7 = Cast (w)
            >
            {
                float16[n, 2] %6 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[n, 2] %2 = MatMul (%6, %7)
                float16[n, 2] %3 = MatMul (%2, %7)
                float32[2, 2] z = CumSum <function: "cumsum"> (w, one)
                float32[n, 2] y = Cast <to: F32, saturate: true, toward: "Up"> (%2)
                float32[n, 2] u = Cast <to: F32, saturate: true, toward: "Up"> (%3)
            }
        "#]],
    );
}

#[test]
fn rows_of_a_table_are_of_16_bits_and_small_numbers_are_not() {
    check(
        r#"(int64[n] i, float[n, 2] x) => (float[n, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float low = {-3e38}, float bound = {0.99999}> {
            g = Gather (w, i)
            s = Sigmoid (g)
            m = Min (s, bound)
            h = Mul (s, x)
            k = Max (h, low)
            y = Sub (k, m)
        }"#,
        expect![[r#"
            g (int64[n] i, float32[n, 2] x) => (float32[n, 2] y)
            <
                float32[3, 2] w = {1, 2, 3, 4, 5, 6},
                float32[] low = {-300000000000000000000000000000000000000},
                float32[] bound = {0.99999},
                float16[3, 2] %11 = Cast (w)
            >
            {
                float16[n, 2] g = Gather <axis: 0> (%11, i)
                float16[n, 2] s = Sigmoid (g)
                float32[n, 2] %12 = Cast <to: F32, saturate: true, toward: "Up"> (s)
                float32[n, 2] m = Min (%12, bound)
                float16[n, 2] %13 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[n, 2] h = Mul (s, %13)
                float32[n, 2] %14 = Cast <to: F32, saturate: true, toward: "Up"> (h)
                float32[n, 2] k = Max (%14, low)
                float32[n, 2] y = Sub (k, m)
            }
        "#]],
    );
}

#[test]
fn parameters_that_learn_are_converted_at_each_call() {
    with(
        "(float[n, 2] x) => (float[n, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { p = MatMul (x, w) y = Relu (p) }",
        |options| {
            options.training = true;
            options.precision = Precision::Bf16;
        },
        expect![[r#"
            g (float32[n, 2] x) => (float32[n, 2] y)
            <
                float32[2, 2] w = {.. 16 bytes}
            >
            {
                bfloat16[n, 2] %5 = Cast <to: Bf16, saturate: true, toward: "Up"> (x)
                bfloat16[2, 2] %6 = Cast <to: Bf16, saturate: true, toward: "Up"> (w)
                bfloat16[n, 2] %3 = FusedLinear <activation: {name: "Relu"}> (%5, %6)
                float32[n, 2] y = Cast <to: F32, saturate: true, toward: "Up"> (%3)
            }
        "#]],
    );
}

#[test]
fn numbers_that_stay_themselves_are_of_16_bits() {
    with(
        r#"(float[n, 2] x) => (float[n, 2] y)
        <float[2, 2] w = {1, 2, 3, 4}, float[2] small = {1e-12, 1}, float[1] epsilon = {1e-12}, float one = {1}> {
            third = Constant <value_float = 0.3> ()
            p = MatMul (x, w)
            a = Mul (p, third)
            b = Sub (one, a)
            c = Mul (b, small)
            y = Add (c, epsilon)
        }"#,
        |options| options.simplify = false,
        expect![[r#"
            g (float32[n, 2] x) => (float32[n, 2] y)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                float32[2] small = {0.000000000001, 1},
                float32[1] epsilon = {0.000000000001},
                float16[2, 2] %12 = Cast (w),
                float16[] %13 = {0.30004883},
                float16[] %14 = {1},
                float16[2] %15 = Cast (small)
            >
            {
                float16[n, 2] %11 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[n, 2] p = MatMul (%11, %12)
                float16[n, 2] a = Mul (p, %13)
                float16[n, 2] b = Sub (%14, a)
                float16[n, 2] c = Mul (b, %15)
                float32[n, 2] %16 = Cast <to: F32, saturate: true, toward: "Up"> (c)
                float32[n, 2] y = Add (%16, epsilon)
            }
        "#]],
    );
}

#[test]
fn elementwise_results_of_parameters_that_learn_are_of_single_precision() {
    with(
        r#"(float[n, 2] x) => (float[n, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2] b = {1, 2}> {
            s = Sub (w, b)
            y = Gemm (x, s)
        }"#,
        |options| options.training = true,
        expect![[r#"
            g (float32[n, 2] x) => (float32[n, 2] y)
            <
                float32[2, 2] w = {.. 16 bytes},
                float32[2] b = {.. 8 bytes}
            >
            {
                float32[2, 2] s = Sub (w, b)
                float16[n, 2] %5 = Cast <to: F16, saturate: true, toward: "Up"> (x)
                float16[2, 2] %6 = Cast <to: F16, saturate: true, toward: "Up"> (s)
                float16[n, 2] %4 = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (%5, %6)
                float32[n, 2] y = Cast <to: F32, saturate: true, toward: "Up"> (%4)
            }
        "#]],
    );
}
