//! Ways in which exporters write the same computation.

use expect_test::expect;

use super::{adapted, check};

/// A graph with an opset version.
fn graph(opset: i64, text: &str) -> String {
    format!("<ir_version: 8, opset_import: [\"\": {opset}]> g {text}")
}

/// Checks that two graphs load the weights of each other.
#[track_caller]
fn same(first: &str, second: &str) {
    for (a, b) in [(first, second), (second, first)] {
        if let Err(obstacle) = adapted(a, b) {
            panic!("{obstacle}");
        }
    }
}

#[test]
fn axes_are_attributes_or_inputs() {
    let fold = |kind: &str| {
        let text = |x: &str| format!("(float[n, 2, 3, 4] {x}) => (float[n, 1, 3, 1] y)");
        let before = format!("{} {{ y = {kind} <axes = [1, -1]> (x) }}", text("x"));
        let after = format!("{} <int64[2] a = {{3, 1}}> {{ y = {kind} (x, a) }}", text("x"));
        same(&graph(17, &before), &graph(18, &after));
    };
    fold("ReduceMean");
    fold("ReduceMax");
    let pool = "(float[n, 2, 3, 4] x) => (float[n, 2, 1, 1] y)";
    let mean = format!("{pool} <int64[2] a = {{2, 3}}> {{ y = ReduceMean (x, a) }}");
    same(&graph(18, &format!("{pool} {{ y = GlobalAveragePool (x) }}")), &graph(18, &mean));
}

#[test]
fn squares_and_filled_tensors_are_written_in_several_ways() {
    let square = "(float[n] x) => (float[n] y)";
    same(
        &graph(18, &format!("{square} {{ e = Exp (x) y = Mul (e, e) }}")),
        &graph(18, &format!("{square} <float two = {{2}}> {{ e = Exp (x) y = Pow (e, two) }}")),
    );
    let zeros = |fill: &str, constants: &str| {
        let text = format!(
            "(float[n, 2] x) => (float[n, 2] y) <float[3] t = {{1, 2, 3}}, {constants}> {{
                s = Shape (x) z = {fill} y = Gather (t, z)
            }}"
        );
        graph(18, &text)
    };
    let shape = "ConstantOfShape <value = int64[1] {0}> (s)";
    same(&zeros(shape, "float unused = {0}"), &zeros("Expand (zero, s)", "int64 zero = {0}"));
    check(
        &zeros(shape, "float unused = {0}"),
        &zeros("Expand (zero, s)", "int64 zero = {1}"),
        expect![[r#"
            the graphs differ in node `z`: value: {[0]}; in the other file value: {[1]}
        "#]],
    );
}

#[test]
fn a_constant_has_the_value_of_a_node_of_the_other_file() {
    let net = |fill: &str, zero: &str| {
        let text = format!(
            "(int64[n, 2] x) => (float[n, 2] y, int64[n, 2] v) <float[3] t = {{1, 2, 3}}, int64[1] zero = {{{zero}}}> {{
                s = Shape (x) z = {fill} y = Gather (t, z) v = Add (x, zero)
            }}"
        );
        graph(18, &text)
    };
    let filled = "ConstantOfShape <value = int64[1] {2}> (s)";
    same(&net("Expand (zero, s)", "2"), &net(filled, "2"));
    check(
        &net("Expand (zero, s)", "2"),
        &net(filled, "1"),
        expect![[r#"
        the graphs differ in node `v`: constant `zero`: {2}; in the other file constant `zero`: {1}
    "#]],
    );
}

#[test]
fn axes_of_size_1_are_inserted_in_several_ways() {
    let net = |text: &str| graph(18, &format!("(float[a, b] x) => (float[a, 1, 1, b] y) {text}"));
    same(
        &net("<int64[2] at = {1, 2}> { y = Unsqueeze (x, at) }"),
        &net("<int64[1] at = {1}> { u = Unsqueeze (x, at) y = Unsqueeze (u, at) }"),
    );
    same(
        &net("<int64[2] at = {1, 2}> { y = Unsqueeze (x, at) }"),
        &net("<int64[1] one = {1}> { s = Shape (x) a = Shape <end = 1> (x) b = Shape <start = 1> (x)
            t = Concat <axis = 0> (a, one, one, b) y = Reshape (x, t) }"),
    );
}

#[test]
fn a_bias_of_zeros_is_no_bias() {
    let net = |opset: i64, text: &str| {
        let text = format!(
            "(float[n, 1, 5] x) => (float[n, 2, 4] y) <float[2, 1, 2] w = {{1, 2, 3, 4}}, int64[1] two = {{2}}> {{ {text} }}"
        );
        graph(opset, &text)
    };
    let with = net(18, "z = ConstantOfShape (two) y = Conv (x, w, z)");
    same(&net(18, "y = Conv (x, w)"), &with);
    check(
        &with,
        &net(18, "z = ConstantOfShape <value = float[1] {1}> (two) y = Conv (x, w, z)"),
        expect![[r#"
            the graphs differ in the bias of node `y`: absent; in the other file present
        "#]],
    );
}

#[test]
fn functions_are_nodes_or_written_out() {
    let layer = |opset: i64, text: &str| {
        let text = format!(
            "(float[n, 4] x) => (float[n, 4] y) <float[4] g = {{1, 2, 3, 4}}, float[4] b = {{5, 6, 7, 8}},
                float eps = {{0.00001}}, float two = {{2}}, float root = {{1.41421354}}, float one = {{1}}, float half = {{0.5}}> {{ {text} }}"
        );
        graph(opset, &text)
    };
    same(
        &layer(17, "y = LayerNormalization <epsilon = 0.00001> (x, g, b)"),
        &layer(
            14,
            "m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) s = Pow (d, two) v = ReduceMean <axes = [-1]> (s)
             e = Add (v, eps) r = Sqrt (e) q = Div (d, r) w = Mul (q, g) y = Add (w, b)",
        ),
    );
    same(
        &layer(20, "a = Mul (x, g) y = Gelu (a)"),
        &layer(
            14,
            "a = Mul (x, g) d = Div (a, root) e = Erf (d) f = Add (e, one) h = Mul (a, f) y = Mul (h, half)",
        ),
    );
}

#[test]
fn initializers_may_be_nodes() {
    same(
        &graph(18, "(float[n, 2] x) => (float[n, 2] y) <float[2] c = {1, 2}> { y = Mul (x, c) }"),
        &graph(
            18,
            "(float[n, 2] x) => (float[n, 2] y) { c = Constant <value = float[2] {1, 2}> () y = Mul (x, c) }",
        ),
    );
}

#[test]
fn sizes_that_a_node_computes_are_compared() {
    let net = |first: &str, second: &str| {
        let text = format!(
            "(float[n] x, float[k] z) => (float[a, b] y) {{
                i = NonZero (z) s = Shape (i) f = Shape (x) c = Concat <axis = 0> ({first}, {second})
                m = ConstantOfShape (c) y = Exp (m)
            }}"
        );
        graph(18, &text)
    };
    check(
        &net("s", "f"),
        &net("f", "s"),
        expect![[r#"
        the graphs differ in the result of ConstantOfShape `m`: float32[1, nonzero, n]; in the other file float32[n, 1, nonzero]
    "#]],
    );
}
