//! Minimal models of earlier faults, and faults to find.

use prost::Message;

use super::walk::problems;
use super::{faults, loaded};

/// Checks that a graph in ONNX's text syntax compiles, and that its expansion binds the variables that it uses.
#[track_caller]
fn check(graph: &str) {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {graph}");
    let model = onnx_embed_ir::text::model(&text).unwrap();
    let model = model.encode_to_vec().into();
    let found = faults(&|options| loaded(&model, options));
    assert_eq!(found.expect("it compiles"), Vec::<String>::new());
}

#[track_caller]
fn finds(code: &str, problem: &str) {
    let file = syn::parse_str(code).unwrap();
    assert_eq!(problems(&file), [problem]);
}

#[test]
fn a_value_is_expanded_to_the_shape_of_another() {
    check(
        "g (float[n, 16] x, float[m, 16] z) => (float[a, b] y, float[c] f) {
            s = Shape (z)
            y = Expand (x, s)
            t = Shape (y)
            f = ConstantOfShape (t)
        }",
    );
}

#[test]
fn sizes_are_expanded_to_the_shape_of_another() {
    check(
        "g (int64[n] x, float[m] z) => (int64[a] y)
        <int64 zero = {0}, int64 one = {1}> {
            s = Shape (z)
            e = Expand (x, s)
            f = Gather (e, zero)
            y = Range (zero, f, one)
        }",
    );
}

#[test]
fn what_only_the_run_counts_is_expanded() {
    check(
        "g (float[5] x, float[n, 1] z) => (float[a, b] y) {
            i = NonZero (x)
            s = Shape (i)
            y = Expand (z, s)
        }",
    );
}

#[test]
fn sizes_too_large_to_be_computed() {
    let sizes = |count: usize| (0..count).map(|at| format!("s{at}")).collect::<Vec<_>>().join(", ");
    check(&format!(
        "g (float[{}] x, float[n, m] z) => (float[a, b] y, float[c, d] w, float[e, f] u)
        <int64[2] rows = {{-1, 7}}> {{
            y = Flatten <axis = 14> (x)
            w = Reshape (x, rows)
            s = Shape (z)
            t = Mul (s, s)
            v = ReduceProd <keepdims = 0> (t)
            u = Reshape <allowzero = 1> (z, rows)
        }}",
        sizes(28)
    ));
}

/// Checks the expansion of `count` nodes that `node` writes, each with the result of the previous one as input. The
/// first input is `t0`, a weight of two elements.
#[track_caller]
fn check_chain(count: usize, node: impl Fn(usize) -> String) {
    let nodes: Vec<String> = (0..count).map(node).collect();
    check(&format!(
        "g (float[n, 1] x) => (y) <float[2] t0 = {{1, 2}}> {{
            {}
            y = Add (x, t{count})
        }}",
        nodes.join("\n")
    ));
}

#[test]
fn chains_of_computed_constants_are_cut() {
    check_chain(3000, |at| format!("t{} = Exp (t{at})", at + 1));
}

#[test]
fn constants_that_are_read_twice_are_computed_once() {
    check_chain(60, |at| format!("t{} = Add (t{at}, t{at})", at + 1));
}

#[test]
fn towers_of_joins_end() {
    check_chain(40, |at| format!("t{} = Concat <axis = 0> (t{at}, t{at})", at + 1));
}

#[test]
fn wide_sums_are_cut() {
    let operands = vec!["x"; 3000].join(", ");
    for operator in ["Sum", "Max", "Min", "Mean"] {
        check(&format!("g (float[n] x) => (float[n] y) {{ y = {operator} ({operands}) }}"));
    }
}

#[test]
fn planted_faults_are_found() {
    finds("fn f(x: A) { let y = z; g(x); } fn g() {}", "`z` is not bound where it is used");
    finds("fn f(x: A) { let y = y; }", "`y` is not bound where it is used");
    finds("fn f(x: A) { { let y = x; } y; }", "`y` is not bound where it is used");
    finds("fn f(x: A) { |y| y; y; }", "`y` is not bound where it is used");
    finds("fn f(x: A) { for y in x {} y; }", "`y` is not bound where it is used");
    finds("fn f(x: A) { match x { Some(y) => y, _ => y } }", "`y` is not bound where it is used");
    finds("fn f(x: A) { if let Some(y) = x { y } else { y } }", "`y` is not bound where it is used");
    finds("fn f(x: A) { vec![x, y]; }", "`y` is not bound where it is used");
    finds("fn f(x: A) { burn::tensor::s![0..y, ..; 2]; }", "`y` is not bound where it is used");
    finds("fn f() { let x = 1; fn g() { x; } }", "`x` is not bound where it is used");
    finds("fn f(x: A, x: B) {}", "`x` is two parameters");
    finds("struct A { b: B } impl A { fn f(&self) { self.c; } }", "`A` has no field `c`");
    finds(
        "struct A { b: B, c: C } impl A { fn f(b: B) { Self { b } } }",
        "`A` is made of {\"b\"}, not of {\"b\", \"c\"}",
    );
}

#[test]
fn what_is_bound_is_no_fault() {
    let code = "
        use a::{b, c::d};
        struct A { f: B }
        impl A {
            fn g(&self, (x, [y, _]): C, E { z, w: v }: E) -> A {
                let mut s = x;
                while let Some(t) = d(s) { s = t; }
                let u = match y { Some(p) if p > z => p, None => { let q = v; q } _ => b };
                let r = move |k, l| k + l + self.f;
                for i in 0..u { r(i, s![..; 2, 0..i]); }
                A { f: u }
            }
        }
    ";
    assert_eq!(problems(&syn::parse_str(code).unwrap()), Vec::<String>::new());
}
