use super::number;
use crate::passes::rewrite::rule;
use crate::passes::rewrite::testing::graph;
use crate::types::Known;

/// Returns the graph of these nodes after a rule that takes the absolute value of the `x` of a pattern, and how often the
/// pattern matches.
fn rewritten(opset: i64, pattern: &'static str, nodes: &str) -> (String, usize) {
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": {opset}]>
        g (float[2, 2] x, float[2, 2] z, float n, int64[2, 2] i) => (float[2, 2] y)
        <float zero = {{0}}, float half = {{0.5}}, float quarter = {{0.25}}, float root = {{-0.5}}, float less = {{-0.25}},
        float one = {{1}}, float two = {{2}}, float three = {{3}}, float six = {{6}}, int64 single = {{1}}, int64 pair = {{2}},
        float[2] row = {{1, 2}}, float[2, 2] w = {{1, 2, 3, 4}}> {{ {nodes} }}"
    );
    let (graph, report) = graph(&text, [&rule("absolute", pattern, "Abs(x)")]);
    (graph, report.applied.len())
}

fn check(opset: i64, cases: &[(&'static str, &str, bool)]) {
    for &(pattern, nodes, is_found) in cases {
        let (graph, found) = rewritten(opset, pattern, nodes);
        assert_eq!(found, usize::from(is_found), "{pattern}: {graph}");
    }
}

#[test]
fn operands_match_in_any_order_if_the_operator_has_none() {
    check(
        21,
        &[
            ("MatMul(x, $w)", "y = MatMul (x, w)", true),
            ("MatMul(x, $w)", "y = MatMul (w, x)", false),
            ("Max(x, $w)", "y = Max (w, x)", true),
        ],
    );
}

#[test]
fn operands_are_tried_in_the_order_of_the_file() {
    for pattern in ["x + b", "x * b", "Max(x, b)"] {
        let kind = match pattern {
            "x + b" => "Add",
            "x * b" => "Mul",
            _ => "Max",
        };
        let (graph, _) = rewritten(21, pattern, &format!("y = {kind} (z, x)"));
        assert!(graph.contains("Abs (z)"), "{pattern}: {graph}");
    }
}

#[test]
fn omitted_inputs_match_only_what_is_omitted() {
    check(
        21,
        &[
            ("Dropout(x)", "y = Dropout (x)", true),
            ("Dropout(x)", "y = Dropout (x, half)", false),
            ("Dropout(x, _)", "y = Dropout (x)", true),
            ("Dropout(x, _)", "y = Dropout (x, half)", false),
            ("Dropout(x, ratio)", "y = Dropout (x)", false),
            ("Dropout(x, ..)", "y = Dropout (x, half)", true),
            ("Clip(x, _, 6)", "y = Clip (x, , six)", true),
            ("Clip(x, _, 6)", "y = Clip (x, n, six)", false),
            ("Clip(x, _, 6)", "y = Clip (x, zero, six)", false),
        ],
    );
}

#[test]
fn operators_with_several_results_do_not_match() {
    check(
        21,
        &[
            ("Dropout(x, ..)", "d, kept = Dropout (x) k = Cast <to = 1> (kept) y = Add (d, k)", false),
            (
                "Neg(Split(x))",
                "a, b = Split <num_outputs = 2> (x) m = Neg (b) y = Concat <axis = 0> (m, m)",
                false,
            ),
        ],
    );
}

#[test]
fn roots_and_inverses_may_be_powers() {
    check(
        21,
        &[
            ("Sqrt(x)", "y = Pow (x, half)", true),
            ("Sqrt(x)", "y = Pow (x, quarter)", false),
            ("1 / Sqrt(x)", "y = Pow (x, root)", true),
            ("1 / Sqrt(x)", "y = Pow (x, less)", false),
            ("1 / x", "y = Div (one, x)", true),
            ("1 / x", "y = Div (two, x)", false),
            ("x^3", "y = Pow (x, three)", true),
            ("x^3", "y = Pow (x, two)", false),
            ("x^3", "s = Mul (x, x) y = Mul (x, s)", true),
            ("x^3", "s = Mul (x, x) y = Mul (s, x)", true),
            ("x^3", "s = Mul (x, x) y = Mul (s, z)", false),
        ],
    );
}

#[test]
fn quotients_of_integers_are_no_products() {
    check(
        21,
        &[
            ("x * 0.5", "y = Div (x, two)", true),
            ("x * 0.5", "q = Div (i, pair) y = Cast <to = 1> (q)", false),
            ("x * 1", "q = Div (i, single) y = Cast <to = 1> (q)", true),
            ("1 / x", "q = Div (single, i) y = Cast <to = 1> (q)", false),
            ("Neg(a) / x", "m = Neg (i) q = Div (single, i) p = Mul (m, q) y = Cast <to = 1> (p)", false),
        ],
    );
}

#[test]
fn old_operators_match_if_they_broadcast_as_new_ones() {
    let row = "y = Add <broadcast = 1> (x, row)";
    check(6, &[("x + b", "y = Add (x, z)", true), ("x + b", row, false)]);
    check(6, &[("x + b", "y = Add <broadcast = 1> (x, n)", true)]);
    check(7, &[("x + b", "y = Add (x, row)", true)]);
}

#[test]
fn large_integers_are_no_numbers() {
    let found = |integer: i64| number(&Known::Ints(vec![integer.into()]));
    assert_eq!(found((1 << 52) - 1), Some(4_503_599_627_370_495.0));
    assert_eq!(found(1 << 52), None);
    assert_eq!(found(i64::MIN), None);
}
