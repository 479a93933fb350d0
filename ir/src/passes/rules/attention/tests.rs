use expect_test::expect;

use crate::passes::rewrite::testing::{after, graph, missed, shown};
use crate::passes::rules::all;

/// Returns the graph of these nodes after all rules, and why the rule `attention` did not apply.
fn rewritten(steps: &str) -> (String, Vec<&'static str>) {
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 18]>
        g (float[b, 2, q, 4] q, float[b, 2, 4, k] k, float[b, 2, k, 4] v, float[b, 1, q, k] m,
        bool[x, 1, 1, z] n, float d) => (float[b, 2, q, 4] y)
        <float half = {{0.5}}, float zero = {{0}}, float none = {{-1e9}},
        float[2, 1, 1] h = {{1, 2}}> {{ {steps} }}"
    );
    let (graph, report) = graph(&text, all());
    let missed = missed(&report, "attention").collect();
    (graph, missed)
}

#[test]
fn spellings_of_attention_become_one_operator() {
    for steps in [
        "p = MatMul (q, k) c = Softmax (p) y = MatMul (c, v)",
        "a = Mul (half, q) i = Div (k, half) p = MatMul (a, i) c = Softmax (p) y \
             = MatMul (c, v)",
        "p = MatMul (q, k) s = Mul (d, p) c = Softmax (s) y = MatMul (c, v)",
        "p = MatMul (q, k) s = Div (p, h) t = Add (m, s) c = Softmax (t) y = MatMul (c, v)",
        "p = MatMul (q, k) s = Where (n, p, none) t = Add (s, m) c = Softmax (t) \
             y = MatMul (c, v)",
        "p = MatMul (q, k) s = Add (p, m) t = Where (n, none, s) c = Softmax (t) \
             y = MatMul (c, v)",
        "p = Einsum <equation = \"abij,abjk->abik\"> (q, k) c = Softmax (p) y = \
             Einsum <equation = \"zyij,zyjk->zyik\"> (c, v)",
        "p = MatMul (q, k) c = Softmax (p) i = IsNaN (c) s = Where (i, zero, c) y \
             = MatMul (s, v)",
    ] {
        let (graph, missed) = rewritten(steps);
        let count = |name: &str| graph.matches(name).count();
        assert_eq!((count("JoinedAttention"), count("Softmax")), (1, 0), "{graph}{missed:?}");
    }
}

#[test]
fn other_graphs_remain() {
    for (steps, reason) in [
        (
            "p = MatMul (q, k) c = Softmax <axis = 2> (p) y = MatMul (c, v)",
            "the softmax is not along the keys",
        ),
        (
            "p = MatMul (q, k) c = Softmax (p) o = Exp (p) a = MatMul (c, v) s = \
                 ReduceSum (o) y = Add (a, s)",
            "the scores have other consumers",
        ),
        (
            "p = MatMul (q, k) c = Softmax (p) a = MatMul (c, v) s = ReduceSum \
                 (c) y = Add (a, s)",
            "an intermediate value has other consumers",
        ),
        (
            "p = MatMul (q, k) s = Mul (m, p) c = Softmax (s) y = MatMul (c, v)",
            "the factor is not uniform along the keys",
        ),
        (
            "p = MatMul (q, k) t = Add (m, p) s = Mul (t, half) c = Softmax (s) y \
                 = MatMul (c, v)",
            "masked scores are scaled",
        ),
        ("p = Exp (m) c = Softmax (p) y = MatMul (c, v)", "the scores are not a product of two tensors"),
    ] {
        let (graph, missed) = rewritten(steps);
        assert_eq!(missed, [reason], "{graph}");
    }
}

#[test]
fn attention_is_one_operator() {
    expect![[r#"
        attention
          <
          float32[] two = {2},
          float32[] none = {-1000000000}
          >
          float32[B, 2, Q, K] p = MatMul (q, k)
          float32[B, 2, Q, K] s = Div (p, two)
          float32[B, 2, Q, K] m = Where (seen, s, none)
          float32[B, 2, Q, K] c = Softmax <function: "softmax", axis: -1> (m)
          float32[B, 2, Q, 3] y = MatMul (c, v)
          =>
          float32[B, 2, K, 4] %11 = Transpose <axes: [0, 1, 3, 2]> (k)
          float32[B, 2, Q, 3] y = JoinedAttention <scale: 0.5, fills: [-1000000000.0]> (q, %11, v, seen)
    "#]]
    .assert_eq(&shown(super::RULES));
}

#[test]
fn probabilities_are_converted_only_from_single_to_half_precision() {
    expect![[r#"
        float16[B, 2, K, 4] %8 = Transpose <axes: [0, 1, 3, 2]> (k)
        float16[B, 2, Q, 4] y = JoinedAttention <scale: 1.0> (q, %8, v)

        float32[B, 2, Q, K] p = MatMul (q, k)
        float32[B, 2, Q, K] s = Softmax <function: "softmax", axis: -1> (p)
        float64[B, 2, Q, K] c = Cast <to: F64, saturate: true, toward: "Up"> (s)
        float64[B, 2, Q, 4] y = MatMul (c, v)
        the probabilities are converted to another type

        float64[B, 2, Q, K] p = MatMul (q, k)
        float64[B, 2, Q, K] s = Softmax <function: "softmax", axis: -1> (p)
        float16[B, 2, Q, K] c = Cast <to: F16, saturate: true, toward: "Up"> (s)
        float16[B, 2, Q, 4] y = MatMul (c, v)
        the probabilities are converted to another type

    "#]]
    .assert_eq(&after("attention", &[
        "(float16[B, 2, Q, 4] q, float16[B, 2, 4, K] k, float16[B, 2, K, 4] v) => (float16[B, 2, Q, 4] y) {
            p = MatMul (q, k) f = Cast <to = 1> (p) s = Softmax (f) c = Cast <to = 10> (s) y = MatMul (c, v)
        }",
        "(float[B, 2, Q, 4] q, float[B, 2, 4, K] k, double[B, 2, K, 4] v) => (double[B, 2, Q, 4] y) {
            p = MatMul (q, k) s = Softmax (p) c = Cast <to = 11> (s) y = MatMul (c, v)
        }",
        "(double[B, 2, Q, 4] q, double[B, 2, 4, K] k, float16[B, 2, K, 4] v) => (float16[B, 2, Q, 4] y) {
            p = MatMul (q, k) s = Softmax (p) c = Cast <to = 10> (s) y = MatMul (c, v)
        }",
    ]));
}

#[test]
fn products_may_be_equations_or_transposed() {
    expect![[r#"
        float32[B, 2, Q, 4] y = JoinedAttention <scale: 1.0> (q, k, v)

        float32[B, 2, K, 4] %6 = Transpose <axes: [0, 1, 3, 2]> (k)
        float32[B, 2, Q, 4] %7 = JoinedAttention <scale: 1.0> (q, %6, v)
        float32[B, Q, 2, 4] y = Transpose <axes: [0, 2, 1, 3]> (%7)

        float32[B, 2, Q, 4] y = JoinedAttention <scale: 1.0> (q, k, v)

        float32[2, 2, 3, 5] p = MatMul (q, k)
        float32[2, 2, 3, 5] s = Transpose <axes: [1, 0, 2, 3]> (p)
        float32[2, 2, 3, 5] c = Softmax <function: "softmax", axis: -1> (s)
        float32[2, 2, 3, 4] y = MatMul (c, v)
        a transpose moves the batch axes of the scores

    "#]]
    .assert_eq(&after(
        "attention",
        &[
            r#"(float[B, 2, Q, 4] q, float[B, 2, K, 4] k, float[B, 2, K, 4] v) => (float[B, 2, Q, 4] y) {
                p = Einsum <equation = "bhkd,bhqd->bhqk"> (k, q) c = Softmax (p) y = MatMul (c, v)
            }"#,
            r#"(float[B, 2, Q, 4] q, float[B, 2, 4, K] k, float[B, 2, K, 4] v) => (float[B, Q, 2, 4] y) {
                p = MatMul (q, k) c = Softmax (p) y = Einsum <equation = "bhqk,bhkd->bqhd"> (c, v)
            }"#,
            "(float[B, 2, Q, 4] q, float[B, 2, K, 4] k, float[B, 2, K, 4] v) => (float[B, 2, Q, 4] y) {
                t = Transpose <perm = [0, 1, 3, 2]> (q) p = MatMul (k, t) s = Transpose <perm = [0, 1, 3, 2]> (p)
                c = Softmax (s) y = MatMul (c, v)
            }",
            "(float[2, 2, 3, 4] q, float[2, 2, 4, 5] k, float[2, 2, 5, 4] v) => (float[2, 2, 3, 4] y) {
                p = MatMul (q, k) s = Transpose <perm = [1, 0, 2, 3]> (p) c = Softmax (s) y = MatMul (c, v)
            }",
        ],
    ));
}

#[test]
fn operands_have_the_batches_of_the_scores() {
    expect![[r#"
        float32[B, 1, K, 4] %6 = Transpose <axes: [0, 1, 3, 2]> (k)
        float32[B, 2, Q, 4] y = JoinedAttention <scale: 1.0> (q, %6, v)

        float32[B, 2, Q, K] p = MatMul (q, k)
        float32[B, 2, Q, K] c = Softmax <function: "softmax", axis: -1> (p)
        float32[B, 2, Q, 4] y = MatMul (c, v)
        the batch axes of the operands do not match

        float32[2, 3, 3, 4] %9 = Reshape (q, %8)
        float32[6, 5, 4] %10 = Transpose <axes: [0, 2, 1]> (k)
        float32[2, 3, 5, 4] %12 = Reshape (%10, %11)
        float32[2, 3, 3, 4] y = JoinedAttention <scale: 1.0> (%9, %12, v)

    "#]]
    .assert_eq(&after(
        "attention",
        &[
            "(float[B, 2, Q, 4] q, float[B, 1, 4, K] k, float[B, 1, K, 4] v) => (float[B, 2, Q, 4] y) {
                p = MatMul (q, k) c = Softmax (p) y = MatMul (c, v)
            }",
            "(float[B, 2, Q, 4] q, float[1, 2, 4, K] k, float[B, 2, K, 4] v) => (float[B, 2, Q, 4] y) {
                p = MatMul (q, k) c = Softmax (p) y = MatMul (c, v)
            }",
            "(float[6, 3, 4] q, float[6, 4, 5] k, float[2, 3, 5, 4] v) => (float[2, 3, 3, 4] y)
            <int64[4] s4 = {2, 3, 3, 5}> {
                p = MatMul (q, k) r = Reshape (p, s4) c = Softmax (r) y = MatMul (c, v)
            }",
        ],
    ));
}

#[test]
fn masks_have_the_batches_of_the_scores() {
    expect![[r#"
        float32[B, 5, 4] %8 = Transpose <axes: [0, 2, 1]> (k)
        float32[B, 1, 1, 5] %10 = Reshape (n, %9)
        float32[B, 3, 4] y = JoinedAttention <query_heads: 1, key_heads: 1, packed: true, scale: 1.0, fills: [none]> (q, %8, v, %10)

        float32[B, 5, 4] %8 = Transpose <axes: [0, 2, 1]> (k)
        float32[B, 3, 4] y = JoinedAttention <query_heads: 1, key_heads: 1, packed: true, scale: 1.0, fills: [none]> (q, %8, v, n)

        float32[2, 3, 3, 4] %13 = Reshape (q, %12)
        float32[6, 5, 4] %14 = Transpose <axes: [0, 2, 1]> (k)
        float32[2, 3, 5, 4] %16 = Reshape (%14, %15)
        float32[2, 3, 5, 4] %18 = Reshape (v, %17)
        float32[2, 3, 3, 4] %19 = JoinedAttention <scale: 1.0, fills: [none]> (%13, %16, %18, n)
        float32[6, 3, 4] y = Reshape (%19, %20)

        float32[2, 3, 5, 4] %10 = Transpose <axes: [0, 1, 3, 2]> (k)
        float32[2, 3, 5, 4] %12 = Reshape (v, %11)
        float32[2, 3, 1, 5] %14 = Reshape (n, %13)
        float32[2, 3, 3, 4] %15 = JoinedAttention <scale: 1.0, fills: [none]> (q, %10, %12, %14)
        float32[6, 3, 4] y = Reshape (%15, %16)

        float32[8, 5, 4] %12 = Transpose <axes: [0, 2, 1]> (k)
        float32[8, 1, 1, 5] %14 = Reshape (n, %13)
        float32[8, 3, 4] y = JoinedAttention <query_heads: 1, key_heads: 1, packed: true, scale: 1.0, fills: [none]> (q, %12, v, %14)

    "#]]
    .assert_eq(&after("attention", &[
        "(float[B, 3, 4] q, float[B, 4, 5] k, float[B, 5, 4] v, float[B, 1, 5] n) => (float[B, 3, 4] y) {
            p = MatMul (q, k) a = Add (p, n) c = Softmax (a) y = MatMul (c, v)
        }",
        "(float[B, 3, 4] q, float[B, 4, 5] k, float[B, 5, 4] v, float[1, 1, 5] n) => (float[B, 3, 4] y) {
            p = MatMul (q, k) a = Add (p, n) c = Softmax (a) y = MatMul (c, v)
        }",
        "(float[6, 3, 4] q, float[6, 4, 5] k, float[6, 5, 4] v, float[2, 1, 1, 5] n) => (float[6, 3, 4] y)
        <int64[4] s4 = {2, 3, 3, 5}, int64[3] s3 = {6, 3, 5}> {
            p = MatMul (q, k) r = Reshape (p, s4) a = Add (r, n) t = Reshape (a, s3) c = Softmax (t)
            y = MatMul (c, v)
        }",
        "(float[2, 3, 3, 4] q, float[2, 3, 4, 5] k, float[6, 5, 4] v, float[6, 1, 5] n) => (float[6, 3, 4] y)
        <int64[3] s3 = {6, 3, 5}> {
            p = MatMul (q, k) r = Reshape (p, s3) a = Add (r, n) c = Softmax (a) y = MatMul (c, v)
        }",
        "(float[8, 3, 4] q, float[8, 4, 5] k, float[8, 5, 4] v, float[2, 2, 2, 1, 5] n) => (float[8, 3, 4] y)
        <int64[5] s = {2, 2, 2, 3, 5}, int64[3] t = {8, 3, 5}> {
            p = MatMul (q, k) r = Reshape (p, s) a = Add (r, n) b = Reshape (a, t) c = Softmax (b)
            y = MatMul (c, v)
        }",
    ]));
}

#[test]
fn operators_of_opset_7_broadcast_as_new_ones() {
    expect![[r#"
        float32[B, 2, K, 4] %10 = Transpose <axes: [0, 1, 3, 2]> (k)
        float32[B, 2, Q, 4] y = JoinedAttention <scale: 0.5, fills: [none]> (q, %10, v, m)

    "#]]
    .assert_eq(&after("attention", &[
        r#"<ir_version: 10, opset_import: ["": 7]> g (float[B, 2, Q, 4] q, float[B, 2, 4, K] k, float[B, 2, K, 4] v, float[B, 1, Q, K] m) => (float[B, 2, Q, 4] y)
        <float f = {0.5}> {
            h = Mul (q, f) p = MatMul (h, k) a = Add (p, m) c = Softmax <axis = 3> (a) y = MatMul (c, v)
        }"#,
    ]));
}
