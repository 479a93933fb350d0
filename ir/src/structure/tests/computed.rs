//! Weights that one of the files computes.

use expect_test::expect;

use super::check;

/// A convolution with a normalization.
const NORMALIZED: &str = "<ir_version: 8, opset_import: [\"\": 18]>
    g (float[n, 1, 2] x) => (float[n, 2, 2] y)
    <float[2, 1, 1] w = {1, 2}, float[2] s = {2, 3}, float[2] b = {1, 1}, float[2] m = {1, 0}, float[2] v = {3.5, 0.5}> {
        c = Conv (x, w) y = BatchNormalization <epsilon = 0.5> (c, s, b, m, v)
    }";

/// The same, folded: the weights are 1 · 2 / 2 and 2 · 3 / 1.
const FOLDED: &str = "<ir_version: 8, opset_import: [\"\": 18]>
    g (float[n, 1, 2] x) => (float[n, 2, 2] y) <float[2, 1, 1] w = {1, 6}, float[2] b = {0, 1}> { y = Conv (x, w, b) }";

#[test]
fn a_folded_normalization_gets_the_values_of_its_nodes() {
    check(
        FOLDED,
        NORMALIZED,
        expect![[r#"
        w = w {1, 6}
        b = b {0, 1}
    "#]],
    );
}

#[test]
fn a_normalization_changes_nothing_if_it_is_folded_in_the_other_file() {
    check(
        NORMALIZED,
        FOLDED,
        expect![[r#"
        w = w {1, 6}
        s = w {1, 1}
        b = b {0, 1}
        m = b {0, 0}
        v = w {0.5, 0.5}
    "#]],
    );
}

#[test]
fn another_epsilon_of_a_folded_normalization_changes_the_weights() {
    check(
        FOLDED,
        &NORMALIZED.replace("epsilon = 0.5", "epsilon = 5.5"),
        expect![[r#"
        w = w {0.6666667, 2.4494896}
        b = b {0.3333333, 1}
    "#]],
    );
    check(
        NORMALIZED,
        &NORMALIZED.replace("epsilon = 0.5", "epsilon = 5.5"),
        expect![[r#"
        w = w {0.6666667, 2.4494896}
        s = w {1, 1}
        b = b {0.3333333, 1}
        m = b {0, 0}
        v = w {0.5, 0.5}
    "#]],
    );
}

/// A layer whose weight is computed.
fn layer(weights: &str, nodes: &str) -> String {
    format!(
        "<ir_version: 8, opset_import: [\"\": 18]>
        g (float[n, 2] x) => (float[n, 3] y) <{weights}> {{ {nodes} y = MatMul (x, k) }}"
    )
}

#[test]
fn weights_are_transposed_and_scaled() {
    let first = layer(
        "float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[1, 3] f = {1, 2, 4}",
        "t = Transpose (w) k = Mul (t, f)",
    );
    let plain = layer("float[2, 3] k = {1, 2, 3, 4, 5, 6}", "");
    check(
        &plain,
        &first,
        expect![[r#"
        k = w {1, 6, 20, 2, 8, 24}
    "#]],
    );
    check(
        &first,
        &plain,
        expect![[r#"
        w = k {1, 4, 2, 5, 3, 6}
        f = k {1, 1, 1}
    "#]],
    );
    let second = layer(
        "float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[3, 1] f = {1, 2, 4}",
        "s = Div (w, f) k = Transpose (s)",
    );
    check(
        &first,
        &second,
        expect![[r#"
        w = w {1, 2, 1.5, 2, 1.25, 1.5}
        f = w {1, 1, 1}
    "#]],
    );
    check(
        &second,
        &first,
        expect![[r#"
        w = w {1, 2, 6, 8, 20, 24}
        f = w {1, 1, 1}
    "#]],
    );
}

#[test]
fn parts_of_a_weight_are_stored_in_another_order() {
    let moved = layer(
        "float[2, 3] w = {1, 2, 3, 4, 5, 6}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] three = {3}",
        "a = Slice (w, zero, one, one) b = Slice (w, one, three, one) k = Concat <axis = 1> (b, a)",
    );
    let plain = layer("float[2, 3] k = {1, 2, 3, 4, 5, 6}", "");
    check(
        &moved,
        &plain,
        expect![[r#"
        w = k {3, 1, 2, 6, 4, 5}
    "#]],
    );
    check(
        &plain,
        &moved,
        expect![[r#"
        k = w {2, 3, 1, 5, 6, 4}
    "#]],
    );
}

#[test]
fn a_sum_of_weights_gets_the_elements_in_one_of_them() {
    let sum =
        layer("float[2, 3] v = {1, 2, 3, 4, 5, 6}, float[2, 3] w = {1, 2, 3, 4, 5, 6}", "k = Add (v, w)");
    check(
        &sum,
        &layer("float[2, 3] k = {1, 2, 3, 4, 5, 6}", ""),
        expect![[r#"
        v = k {1, 2, 3, 4, 5, 6}
        w = k {0, 0, 0, 0, 0, 0}
    "#]],
    );
}

#[test]
fn elements_that_no_weight_computes_are_refused() {
    let repeated = layer("float[1, 3] w = {1, 2, 3}, int64[2] s = {2, 3}", "k = Expand (w, s)");
    check(
        &repeated,
        &layer("float[2, 3] k = {1, 2, 3, 1, 2, 3}", ""),
        expect![[r#"
        w = k {1, 2, 3}
    "#]],
    );
    check(
        &repeated,
        &layer("float[2, 3] k = {1, 2, 3, 4, 5, 6}", ""),
        expect![[r#"
        the graphs differ in node `y`: constant `k`: computed from constants by Expand; in the other file constant `k`: stored in the file
    "#]],
    );
    let root = layer("float[2, 3] w = {1, 2, 3, 4, 5, 6}", "k = Sqrt (w)");
    check(
        &root,
        &layer("float[2, 3] k = {1, 2, 3, 4, 5, 6}", ""),
        expect![[r#"
        w = k {1, 4, 9, 16, 25, 36}
    "#]],
    );
    check(
        &root,
        &layer("float[2, 3] k = {1, 2, 3, 4, 5, -6}", ""),
        expect![[r#"
        the graphs differ in node `y`: constant `k`: computed from constants by Sqrt; in the other file constant `k`: stored in the file
    "#]],
    );
}

#[test]
fn a_weight_that_is_used_twice_keeps_its_elements() {
    let net = |weights: &str, nodes: &str| {
        format!(
            "<ir_version: 8, opset_import: [\"\": 18]>
            g (float[n, 2] x) => (float[n, 2] y) <float[2, 2] w = {{1, 2, 3, 4}}, {weights}> {{
                {nodes} p = MatMul (x, k) e = Exp (p) y = MatMul (e, w)
            }}"
        )
    };
    let first = net("float[2] f = {2, 4}", "k = Mul (w, f)");
    check(
        &first,
        &net("float[2, 2] k = {3, 8, 9, 16}", ""),
        expect![[r#"
        w = w {1, 2, 3, 4}
        f = k {3, 4}
    "#]],
    );
    check(
        &first,
        &net("float[2, 2] k = {3, 8, 9, 17}", ""),
        expect![[r#"
        the graphs differ in node `p`: constant `k`: computed from constants by Mul; in the other file constant `k`: stored in the file
    "#]],
    );
}
