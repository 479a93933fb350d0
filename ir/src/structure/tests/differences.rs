//! Files whose structure is almost the same.

use expect_test::{Expect, expect};

use super::{NET, check};

/// Checks the first difference of the net from a copy in which a text is replaced.
#[track_caller]
fn refused(from: &str, to: &str, expected: Expect) {
    assert!(NET.contains(from));
    check(NET, &NET.replace(from, to), expected);
}

#[test]
fn another_attribute_is_a_difference() {
    refused(
        "alpha = 0.25",
        "alpha = 0.5",
        expect![[r#"
            the graphs differ in node `/fc1/Gemm`: activation: {name: "LeakyRelu", parameters: [0.25]}; in the other file activation: {name: "LeakyRelu", parameters: [0.5]}
        "#]],
    );
}

#[test]
fn another_size_is_a_difference() {
    check(
        NET,
        &NET.replace("float[batch, 2] y", "float[batch, 1] y")
            .replace("float[4, 2] w2 = {1, 2, 3, 4, 5, 6, 7, 8}", "float[4, 1] w2 = {1, 2, 3, 4}"),
        expect![[r#"
            the graphs differ in node `/fc2/MatMul`: constant computed from `w2`: float32[4, 2]; in the other file constant computed from `w2`: float32[4, 1]
        "#]],
    );
}

#[test]
fn one_more_node_is_a_difference() {
    refused(
        "p = MatMul (a, w2)",
        "q = Exp (a) p = MatMul (q, w2)",
        expect![[r#"
            the graphs differ in node `/fc1/Gemm`: com.microsoft.FusedGemm; in the other file Exp, node `/fc2/MatMul`
        "#]],
    );
    refused(
        "y = Mul (p, half)",
        "q = Mul (p, half) y = Exp (q)",
        expect![[r#"
            the graphs differ in node `/fc2/MatMul`: MatMul; in the other file Exp, node `y`
        "#]],
    );
}

#[test]
fn another_constant_that_is_no_weight_is_a_difference() {
    let bounded = |bound: &str| {
        let net =
            NET.replace("float half = {0.5}", &format!("float half = {{0.5}}, float low = {{{bound}}}"));
        net.replace("LeakyRelu <alpha = 0.25> (h)", "Clip (h, low)")
    };
    check(
        &bounded("-1"),
        &bounded("-2"),
        expect![[r#"
            the graphs differ in node `/act/LeakyRelu`: constant `low`: {-1}; in the other file constant `low`: {-2}
        "#]],
    );
}

#[test]
fn a_factor_of_a_weight_is_a_weight() {
    refused(
        "half = {0.5}",
        "half = {0.75}",
        expect![[r#"
        w1 = w1 {1, 2, 3, 4, 5, 6, 7, 8, .. 12 in all}
        b1 = b1 {1, 2, 3, 4}
        half = half {0.75}
        w2 = w2 {1, 2, 3, 4, 5, 6, 7, 8}
    "#]],
    );
}

#[test]
fn a_random_node_has_one_counterpart() {
    let net = |second: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[2] x) => (float[2] y) {{
                a = RandomNormal <shape = [2]> () b = RandomNormal <shape = [2]> ()
                p = Sub (x, a) q = Div (p, {second}) y = Add (q, b)
            }}"
        )
    };
    check(
        &net("a"),
        &net("b"),
        expect![[r#"
            the graphs differ in input 1 of node `q`: the result of RandomNormal `a`; in the other file the result of RandomNormal `b`
        "#]],
    );
    check(
        &net("b"),
        &net("a"),
        expect![[r#"
            the graphs differ in input 1 of node `q`: the result of RandomNormal `b`; in the other file the result of RandomNormal `a`
        "#]],
    );
    check(&net("b"), &net("b"), expect![[""]]);
}

#[test]
fn branches_and_loops_are_compared() {
    let net = |name: &str, limit: &str, function: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[{name}] x, bool c) => (float[{name}] y)
            <int64 {name}m = {{{limit}}}, bool {name}t = {{1}}, float[1] {name}w = {{3}}> {{
                {name}y = Loop ({name}m, {name}t, x) <body = b (int64 i, bool k, float[{name}] s) => (bool k2, float[{name}] r) {{
                    k2 = Identity (k)
                    {name}z = {function} (s)
                    r = Mul ({name}z, {name}w)
                }}>
                y = If (c) <then_branch = t () => (float[{name}] {name}u) {{ {name}u = Neg ({name}y) }},
                    else_branch = e () => (float[{name}] {name}v) {{ {name}v = Identity ({name}y) }}>
            }}"
        )
    };
    check(
        &net("a", "3", "Sin"),
        &net("b", "3", "Sin"),
        expect![[r#"
        aw = bw {3}
    "#]],
    );
    check(
        &net("a", "3", "Sin"),
        &net("b", "4", "Sin"),
        expect![[r#"
            the graphs differ in node `ay`: constant `am`: {3}; in the other file constant `bm`: {4}
        "#]],
    );
    check(
        &net("a", "3", "Sin"),
        &net("b", "3", "Cos"),
        expect![[r#"
            the graphs differ in node `az`: Sin; in the other file Cos, node `bz`
        "#]],
    );
}

#[test]
fn sizes_have_other_names() {
    let net = |rows: &str, columns: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[{rows}, {columns}] x, float[{rows}] z) => (float[k] y) <int64[1] flat = {{-1}}> {{
                n = NonZero (z)
                i = Reshape (n, flat)
                g = Gather (x, i)
                e = ReduceSum (z)
                f = Reshape (g, flat)
                y = Mul (f, e)
            }}"
        )
    };
    check(&net("a", "b"), &net("c", "d"), expect![[""]]);
    check(&net("a", "b"), &net("b", "a"), expect![[""]]);
    check(
        &net("a", "b"),
        &net("c", "4"),
        expect![[r#"
            the graphs differ in input `x`: float32[a, b]; in the other file float32[c, 4]
        "#]],
    );
}

#[test]
fn sizes_in_attributes_are_compared() {
    let net = |rows: &str, columns: &str, axis: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[{rows}, {columns}] x) => (float[n] y) <int64 at = {{{axis}}}, int64[1] one = {{1}}, float[1] v = {{2}}> {{
                s = Shape (x)
                r = Gather (s, at)
                c = Reshape (r, one)
                y = Expand (v, c)
            }}"
        )
    };
    check(
        &net("a", "b", "0"),
        &net("b", "a", "0"),
        expect![[r#"
        v = v {2}
    "#]],
    );
    check(
        &net("a", "b", "0"),
        &net("b", "a", "1"),
        expect![[r#"
            the graphs differ in node `y`: constant `c`: {a}; in the other file constant `c`: {b}
        "#]],
    );
}

#[test]
fn inputs_with_equal_names_correspond_to_each_other() {
    let net = |inputs: &str, outputs: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g ({inputs}) => ({outputs}) {{ d = Sub (p, q) e = Exp (d) }}"
        )
    };
    let first = net("float[n] p, float[n] q", "float[n] d, float[n] e");
    check(&first, &net("float[n] q, float[n] p", "float[n] e, float[n] d"), expect![[""]]);
    check(
        &first,
        &net("float[n] q, float[n] p, float[n] r", "float[n] e, float[n] d"),
        expect![[r#"
            the graphs differ in the inputs of the model: p, q; in the other file q, p, r
        "#]],
    );
}

#[test]
fn another_element_type_is_a_difference() {
    check(
        NET,
        &NET.replace("float", "double"),
        expect![[r#"
            the graphs differ in input `x`: float32[batch, 3]; in the other file float64[batch, 3]
        "#]],
    );
}

#[test]
fn another_operator_is_a_difference() {
    refused(
        "Mul (p, half)",
        "Sub (p, half)",
        expect![[r#"
            the graphs differ in node `/fc2/MatMul`: MatMul; in the other file Sub, node `/scale/Mul`
        "#]],
    );
}

#[test]
fn operands_that_do_not_commute_keep_their_order() {
    let net = |second: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[n] x) => (float[n] y) {{ e = Exp (x) s = Sin (x) y = {second} }}"
        )
    };
    check(
        &net("Sub (e, s)"),
        &net("Sub (s, e)"),
        expect![[r#"
            the graphs differ in node `s`: Sin; in the other file Exp, node `e`
        "#]],
    );
    check(&net("Add (e, s)"), &net("Add (s, e)"), expect![[""]]);
}

#[test]
fn operands_of_old_versions_keep_their_order() {
    let net = |sum: &str| {
        format!(
            "<ir_version: 3, opset_import: [\"\": 6]>
            g (float[2, 2] x) => (float[2, 2] y) {{ a = Exp (x) b = Neg (x) y = {sum} }}"
        )
    };
    check(
        &net("Add (a, b)"),
        &net("Add (b, a)"),
        expect![[r#"
        the graphs differ in node `b`: Neg; in the other file Exp, node `a`
    "#]],
    );
}

#[test]
fn constants_without_a_weight_are_compared() {
    let net = |value: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[n, 2] x) => (float[n, 2] y) {{
                c = Constant <value = float[2] {{{value}}}> ()
                i = Constant <value_ints = [1, 0]> ()
                s = Mul (x, c)
                y = Gather <axis = 1> (s, i)
            }}"
        )
    };
    check(
        &net("1, 2"),
        &net("1, 3"),
        expect![[r#"
        c = c {1, 3}
    "#]],
    );
    check(
        &net("1, 2"),
        &net("1, 2").replace("[1, 0]", "[0, 1]"),
        expect![[r#"
        the graphs differ in node `y`: constant `i`: {1, 0}; in the other file constant `i`: {0, 1}
    "#]],
    );
}
