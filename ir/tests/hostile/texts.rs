//! Models that require too many resources.

use prost::Message;

use super::compile;
use super::limits::check;

fn report(text: &str) -> String {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]> {text}");
    let model = onnx_embed_ir::text::model(&text).unwrap();
    compile(model.encode_to_vec().into()).unwrap_err()
}

#[test]
fn sizes_whose_product_overflows_are_no_harm() {
    let huge = "4611686018427387904";
    check(&format!(
        "g (float[{huge}, {huge}, {huge}] x) => (float[n] y) {{ r = Relu (x) s = Size (r) f = Flatten (r) y = Shape (f) }}"
    ));
    check(&format!(
        "g (float[{huge}, 4] x, float[4, {huge}] w) => (float[n] y) {{ m = MatMul (x, w) c = Concat <axis = 0> (m, m, m) y = Transpose (c) }}"
    ));
    check(&format!(
        "g (float[{huge}, n] x) => (float[m] y) <int64[1] s = {{-1}}> {{ r = Reshape (x, s) d = Concat <axis = 0> (r, r) y = Add (d, d) }}"
    ));
    for node in ["ConstantOfShape (s)", "Expand (x, s)", "Reshape (x, s)"] {
        check(&format!("g (float[n] x, int64[2147483648] s) => (float[m] y) {{ y = {node} }}"));
    }
    check(
        "g () => (float[n] y) <float[1, 1, 0, 9223372036854775807] w = {}> {
            y = MaxPool <kernel_shape = [1, 3], pads = [0, 2, 0, 0], ceil_mode = 1> (w)
        }",
    );
    check(
        "g (float[9223372036854775807] x) => (float[n] y) <int64[2] p = {1, 1}> { y = Pad (x, p) c = Concat <axis = 0> (x, x) }",
    );
}

#[test]
fn sizes_do_not_grow_without_end() {
    let mut nodes = String::from("s0 = Shape (x)");
    for at in 0..60 {
        nodes += &format!(" a{at} = Add (s{at}, t) b{at} = Mul (a{at}, s{at}) s{} = Div (b{at}, t)", at + 1);
    }
    check(&format!("g (float[n, m] x) => (int64[2] s60) <int64[2] t = {{3, 7}}> {{ {nodes} }}"));
    let mut nodes = String::from("s0 = Shape (x)");
    for at in 0..60 {
        nodes += &format!(
            " a{at} = Max (s{at}, t) b{at} = Min (a{at}, u) c{at} = Sub (b{at}, s{at}) s{} = Mod (c{at}, t)",
            at + 1
        );
    }
    check(&format!(
        "g (float[n, m] x) => (int64[2] s60) <int64[2] t = {{3, 7}}, int64[2] u = {{9, 8}}> {{ {nodes} }}"
    ));
    let mut nodes = String::from("c0 = Concat <axis = 1> (x, x)");
    for at in 0..200 {
        nodes += &format!(" c{} = Concat <axis = 1> (c{at}, c{at})", at + 1);
    }
    check(&format!("g (float[n, m] x) => (float[n, k] c200) {{ {nodes} }}"));
}

#[test]
fn sizes_do_not_nest_without_end() {
    for node in ["Div (s, t)", "Max (s, t)", "Min (t, s)", "Mod (s, t)"] {
        let nodes: String = (0..3_000)
            .map(|at| {
                let node = node.replace("s", &format!("s{at}"));
                let node = node.replace("t", ["t", "u"][at % 2]);
                format!("s{} = {node}\n", at + 1)
            })
            .collect();
        check(&format!(
            "g (float[n, m] x, float[k, l] y, float[i, j] z) => (int64[2] s3000) {{
                s0 = Shape (x) t = Shape (y) u = Shape (z) {nodes}
            }}"
        ));
    }
}

#[test]
fn known_values_do_not_grow_without_end() {
    let mut nodes = String::from("c0 = Identity (x)");
    for at in 0..100 {
        nodes += &format!(" c{} = Concat <axis = 0> (c{at}, c{at})", at + 1);
    }
    check(&format!("g () => (int64[k] c100) <int64[2] x = {{1, 2}}> {{ {nodes} }}"));
}

#[test]
fn functions_that_call_themselves_end() {
    let text = "g (float[n] x) => (float[n] y) { y = f.A (x) }
        <domain: \"f\", opset_import: [\"\": 21, \"f\": 1]> A (x) => (y) { z = f.A (x) y = f.A (z) }";
    assert!(report(text).contains("function calls are nested more than 24 levels deep"), "{}", report(text));
}

#[test]
fn functions_that_double_end() {
    let mut functions = String::new();
    for at in 0..40 {
        let next = at + 1;
        functions += &format!(
            "<domain: \"f\", opset_import: [\"\": 21, \"f\": 1]> F{at} (x) => (y) {{ z = f.F{next} (x) y = f.F{next} (z) }}"
        );
    }
    functions += "<domain: \"f\", opset_import: [\"\": 21]> F40 (x) => (y) { y = Relu (x) }";
    check(&format!("g (float[n] x) => (float[n] y) {{ y = f.F0 (x) }} {functions}"));
    let short = functions.replace("F22 ", "F99 ");
    check(&format!("g (float[n] x) => (float[n] y) {{ y = f.F23 (x) }} {short}"));
}

#[test]
fn graphs_in_graphs_end() {
    let mut body = String::from("b () => (float[n] r) { r = Relu (x) }");
    for at in 0..28 {
        body = format!(
            "b () => (float[n] r) {{ r = If (c) <then_branch = {body}, else_branch = e () => (float[n] q{at}) {{ q{at} = Neg (x) }}> }}"
        );
    }
    check(&format!(
        "g (float[n] x, bool c) => (float[n] y) {{ y = If (c) <then_branch = {body}, else_branch = {body}> }}"
    ));
}

#[test]
fn many_nodes_names_and_outputs_take_linear_time() {
    let nodes: String = (0..20_000).map(|at| format!("x{} = Relu (x{at})\n", at + 1)).collect();
    check(&format!("g (float[n] x0) => (float[n] x20000) {{ {nodes} }}"));
    let nodes: String = (0..20_000).map(|at| format!("x{} = Unheard{at} (x{at})\n", at + 1)).collect();
    check(&format!("g (float[n] x0) => (float[n] x20000) {{ {nodes} }}"));
    let nodes: String = (0..5_000).map(|at| format!("y{at} = NonZero (x)\n")).collect();
    check(&format!("g (float[n] x) => (float[n] y0) {{ {nodes} }}"));
    let inputs: Vec<String> = (0..1_000).map(|at| format!("float[n] x{at}")).collect();
    check(&format!("g ({}) => (float[n] y) {{ y = Relu (x0) }}", inputs.join(", ")));
    let sizes: Vec<&str> = vec!["?"; 5_000];
    check(&format!("g (float[{}] x) => (float[n] y) {{ y = Relu (x) }}", sizes.join(", ")));
    let ring: String = (0..20_000).map(|at| format!("x{} = Relu (x{at})\n", (at + 1) % 20_000)).collect();
    check(&format!("g (float[n] x) => (float[n] x0) {{ {ring} }}"));
}
