//! `diff`: can the program in the field load the new file?

use expect_test::{Expect, expect};
use serde_json::Value as Json;

use super::{folder, model, run, run_in};

/// A layer, bounds of its results, and a factor of each channel.
const NET: &str = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[n, 2] x) => (float[n, 2] y)
    <float[2, 2] weight = {1, 2, 3, 4}, float[2] scale = {1, 1}, float low = {-1}> {
        ["/fc/MatMul"] m = MatMul (x, weight)
        ["/clip/Clip"] c = Clip (m, low)
        ["/scale/Mul"] y = Mul (c, scale)
    }"#;

/// What is said of a net in which a text is replaced.
#[track_caller]
fn check(test: &str, from: &str, to: &str, arguments: &[&str], expected: Expect) {
    let folder = folder(test);
    assert!(NET.contains(from));
    model(&folder, "a.onnx", NET);
    model(&folder, "b.onnx", &NET.replace(from, to));
    let answer = run_in(
        &folder,
        &[&["diff", "a.onnx", "b.onnx"], arguments].concat(),
    );
    expected.assert_eq(&(answer.out + &answer.err));
    let json = run_in(
        &folder,
        &[&["diff", "--json", "a.onnx", "b.onnx"], arguments].concat(),
    );
    let json: Json = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["can_be_loaded"], answer.code == 0);
}

#[test]
fn a_retrained_model_can_be_loaded() {
    check(
        "diff_weights",
        "{1, 2, 3, 4}",
        "{5, 6, 7, 8}",
        &[],
        expect![[r#"
        same graph, 1 of 3 weights differ
          weight
        b.onnx can be loaded by a program compiled from a.onnx
    "#]],
    );
}

#[test]
fn what_the_code_depends_on_must_be_compiled() {
    check(
        "diff_literal",
        "{-1}",
        "{-2}",
        &[],
        expect![[r#"
        same graph, 1 of 3 weights differ
          low
        b.onnx cannot be loaded by a program compiled from a.onnx: the code depends on the value of weight `low`, which differs
          compile the program again from b.onnx
    "#]],
    );
}

#[test]
fn a_factor_of_one_is_free_in_a_file_and_fixed_in_the_binary() {
    check(
        "diff_free",
        "{1, 1}",
        "{1, 2}",
        &[],
        expect![[r#"
        same graph, 1 of 3 weights differ
          scale
        b.onnx can be loaded by a program compiled from a.onnx
    "#]],
    );
    check(
        "diff_fixed",
        "{1, 1}",
        "{1, 2}",
        &["--weights", "embed"],
        expect![[r#"
        same graph, 1 of 3 weights differ
          scale
        b.onnx cannot be loaded by a program compiled from a.onnx: the code depends on the value of weight `scale`, which differs
          compile the program again from b.onnx
    "#]],
    );
}

#[test]
fn another_node_is_named() {
    check(
        "diff_node",
        "c = Clip (m, low)",
        "c = Max (m, low)",
        &[],
        expect![[r#"
            the graphs differ at node `/clip/Clip`
              a.onnx: Clip version 13
              b.onnx: Max version 13
            b.onnx cannot be loaded by a program compiled from a.onnx: it has 226 bytes, a.onnx has 227
              compile the program again from b.onnx
        "#]],
    );
    check(
        "diff_more",
        "y = Mul (c, scale)",
        "s = Mul (c, scale) y = Relu (s)",
        &[],
        expect![[r#"
            the graphs differ at node `y`
              a.onnx: no such node
              b.onnx: Relu
            b.onnx cannot be loaded by a program compiled from a.onnx: it has 241 bytes, a.onnx has 227
              compile the program again from b.onnx
        "#]],
    );
}

#[test]
fn another_size_and_another_attribute_are_named() {
    check(
        "diff_size",
        "float[2] scale = {1, 1}",
        "float[1] scale = {1}",
        &[],
        expect![[r#"
            the graphs differ at `scale`
              a.onnx: float32[2]
              b.onnx: float32[1]
            b.onnx cannot be loaded by a program compiled from a.onnx: it has 223 bytes, a.onnx has 227
              compile the program again from b.onnx
        "#]],
    );
    let folder = folder("diff_attribute");
    let net = |axis: i64| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[2, 2] x) => (float[2, 2] y) {{ y = Softmax <axis: int = {axis}> (x) }}"
        )
    };
    model(&folder, "a.onnx", &net(0));
    model(&folder, "b.onnx", &net(1));
    let answer = run_in(&folder, &["diff", "a.onnx", "b.onnx"]);
    expect![[r#"
        the graphs differ at node `y`
          a.onnx: axis: 0
          b.onnx: axis: 1
        b.onnx cannot be loaded by a program compiled from a.onnx: it differs after its last weight
          compile the program again from b.onnx
    "#]]
    .assert_eq(&answer.out);
}

#[test]
fn the_same_graph_of_another_exporter_is_said_to_be_the_same() {
    check(
        "diff_producer",
        "opset_import: [\"\": 21]>",
        "opset_import: [\"\": 21], producer_name: \"other\">",
        &[],
        expect![[r#"
            same graph, same 3 weights
            b.onnx cannot be loaded by a program compiled from a.onnx: it has 234 bytes, a.onnx has 227
              the files differ outside of weights (producer, names, documentation): write both with the same version of the exporter, or compile the program again from b.onnx
        "#]],
    );
}

/// What programs say of these files is tested in `ui-tests/tests/expansions/long_form.rs`.
#[test]
fn it_says_what_programs_say_when_they_load() {
    let models = "ui-tests/models";
    let compiled = format!("{models}/perceptron.onnx");
    let reason = |other: &str| {
        let json = run(&["diff", "--json", &compiled, &format!("{models}/{other}")]).out;
        let json: Json = serde_json::from_str(&json).unwrap();
        json["reason"].as_str().map(str::to_owned)
    };
    assert_eq!(reason("perceptron_other_weights.onnx"), None);
    assert_eq!(
        reason("perceptron_other_graph.onnx").unwrap(),
        "`perceptron.onnx` differs from the compiled model just before weight `hidden.weight`"
    );
    assert!(
        reason("pair.onnx")
            .unwrap()
            .ends_with("bytes, the model was compiled from 396")
    );
    assert!(
        reason("no.onnx")
            .unwrap()
            .starts_with("cannot read `ui-tests/models/no.onnx`")
    );
}
