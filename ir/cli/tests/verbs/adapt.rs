//! `adapt`: can a deployed program get the weights of another exporter's file?

use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::Value as Json;

use super::{folder, model, run_in};

const NET: &str = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[n, 3] x) => (float[n, 2] y)
    <float[2, 3] weight = {1, 2, 3, 4, 5, 6}, float[2] bias = {1, 2}, float low = {-1}> {
        ["/fc/Gemm"] m = Gemm <transB = 1> (x, weight, bias)
        ["/clip/Clip"] y = Clip (m, low)
    }"#;

/// The same net with other names, another layout and other weights.
const OTHER: &str = r#"<ir_version: 8, opset_import: ["": 17], producer_name: "other">
    main (float[batch, 3] input) => (float[batch, 2] output)
    <float bound = {-1}, float[2] v1 = {3, 4}, float[3, 2] v2 = {10, 20, 30, 40, 50, 60}> {
        ["node_1"] product = MatMul (input, v2)
        ["node_2"] sum = Add (v1, product)
        ["node_3"] output = Clip (sum, bound)
    }"#;

/// Checks what the verb says about a copy of the other net in which a text is replaced.
#[track_caller]
fn check(test: &str, from: &str, to: &str, expected: Expect) {
    let folder = folder(test);
    assert!(OTHER.contains(from));
    model(&folder, "a.onnx", NET);
    model(&folder, "b.onnx", &OTHER.replace(from, to));
    let answer = run_in(&folder, &["adapt", "a.onnx", "b.onnx", "c.onnx"]);
    expected.assert_eq(&(answer.out + &answer.err));
    assert_eq!(folder.join("c.onnx").exists(), answer.code == 0);
    let json = run_in(&folder, &["adapt", "--json", "a.onnx", "b.onnx", "d.onnx"]);
    let json: Json = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["can_be_loaded"], answer.code == 0);
}

#[test]
fn the_copy_can_be_loaded() {
    check(
        "adapt",
        "output",
        "output",
        expect![[r#"
            c.onnx can be loaded by a program compiled from a.onnx, with 2 weights of b.onnx
              `x` has the name `input` in b.onnx
              `y` has the name `output` in b.onnx
              weight: v2
              bias: v1
        "#]],
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verbs/adapt");
    let diff = run_in(&folder, &["diff", "a.onnx", "c.onnx"]);
    expect![[r#"
        same graph, 2 of 3 weights differ
          weight
          bias
        c.onnx can be loaded by a program compiled from a.onnx
    "#]]
    .assert_eq(&diff.out);
    let again = run_in(&folder, &["adapt", "a.onnx", "b.onnx", "c.onnx"]);
    expect![[r#"
        error: `c.onnx` exists; write the copy to another folder or under another name
    "#]]
    .assert_eq(&again.err);
    assert_eq!(again.code, 2);
}

#[test]
fn the_first_difference_is_named() {
    check(
        "adapt_node",
        "Add (v1, product)",
        "Mul (v1, product)",
        expect![[r#"
        the simplified graphs differ in the bias of node `/fc/Gemm`
          a.onnx: present
          b.onnx: absent
        b.onnx cannot be loaded by a program compiled from a.onnx
          compile the program again from b.onnx
    "#]],
    );
    check(
        "adapt_bound",
        "bound = {-1}",
        "bound = {-2}",
        expect![[r#"
        the simplified graphs differ in node `/clip/Clip`
          a.onnx: constant `low`: {-1}
          b.onnx: constant `bound`: {-2}
        b.onnx cannot be loaded by a program compiled from a.onnx
          compile the program again from b.onnx
    "#]],
    );
}

/// `ui-tests/tests/expansions/long_form.rs` runs the program with this copy.
#[test]
fn the_copy_is_the_compiled_file_with_other_weights() {
    let folder = folder("adapt_equal");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui-tests/models");
    let path = |name: &str| models.join(name).to_str().unwrap().to_owned();
    let (compiled, other) = (path("perceptron.onnx"), path("perceptron_elsewhere.onnx"));
    let answer = run_in(&folder, &["adapt", &compiled, &other, "copy.onnx"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let expected = std::fs::read(path("perceptron_other_weights.onnx")).unwrap();
    assert_eq!(std::fs::read(folder.join("copy.onnx")).unwrap(), expected);
    let refused = run_in(&folder, &["adapt", &compiled, &path("perceptron_other_graph.onnx"), "no.onnx"]);
    assert_eq!(refused.code, 1);
}

#[test]
fn external_data_are_written_next_to_the_copy() {
    let folder = folder("adapt_external");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui-tests/models");
    let external = models.join("other_weights_external.onnx");
    let external = external.to_str().unwrap();
    let embedded = models.join("other_weights.onnx");
    let embedded = embedded.to_str().unwrap();
    let copy = folder.join("new/copy.onnx");
    let copy = copy.to_str().unwrap();
    let answer = run_in(&folder, &["adapt", external, embedded, copy]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let name = "weights/other_weights.bin";
    assert_eq!(
        std::fs::read(models.join(name)).unwrap(),
        std::fs::read(folder.join("new").join(name)).unwrap()
    );
    assert_eq!(std::fs::read(external).unwrap(), std::fs::read(copy).unwrap());
}
