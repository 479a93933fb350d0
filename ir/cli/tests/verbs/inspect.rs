//! `inspect`: contents of a file before it is compiled.

use expect_test::expect;
use serde_json::Value as Json;

use super::{RELU, TWIST, folder, model, on, run, run_in};

#[test]
fn a_model_of_the_repository() {
    let answer = run(&["inspect", "examples/mnist/mnist.onnx"]);
    expect![[r#"
        model  examples/mnist/mnist.onnx
          IR version 9, ai.onnx 18, produced by onnx-embed/examples/mnist
          graph `mnist`
        inputs
          image  float32[batch, 1, 28, 28]
        outputs
          probabilities  float32[batch, 10]
        operators  7 in 11 nodes
               2  BatchNormalization
               2  Conv
               2  MaxPool
               2  Relu
               1  Flatten
               1  Gemm
               1  Softmax
        weights  37 kB in 12 tensors
          float32      37 kB  9170 elements in 12 tensors
                       31 kB  linear.weight [10, 784]
                      4.6 kB  conv2.weight [16, 8, 3, 3]
                       288 B  conv1.weight [8, 1, 3, 3]
                        64 B  norm2.weight [16]
                        64 B  norm2.bias [16]
        parameters  9.17 thousand in 37 kB
        call  7 nodes, 290 thousand multiply-adds, at most 31 kB of activations
          in the simplified graph; multiply-adds of convolutions, matrix products, attention and recurrent operators
          for size 1 of batch; set another size with --dim batch=N
        compiles
    "#]]
    .assert_eq(&answer.out);
    assert_eq!(answer.code, 0);
}

#[test]
fn unsupported_operators_come_first_and_end_with_1() {
    let answer = on("inspect_unsupported", TWIST, &["inspect"]);
    expect![[r#"
        model  m.onnx
          IR version 8, ai.onnx 17, acme 1, produced by hand
          graph `main`
        inputs
          x  float32[N, 2]
        outputs
          y  float32[N, 2]
        operators  2 in 2 nodes
               1  acme.Twist  unsupported
               1  Add
        weights  8 B in 1 tensor
          float32        8 B  2 elements in 1 tensor
                         8 B  b [2]
        parameters  2 in 8 B
        cannot compile `m.onnx`

          operator `acme.Twist` is not supported
            at node `y` (acme.Twist opset 1)
            help: rewrite the node with standard operators, or define the operator in the model, as a function of the domain `acme`
                  or bind it to a function: #[onnx(ops("acme.Twist" = crate::twist))], fn twist(x: Tensor<2>) -> Tensor<2>

          model: IR version 8, ai.onnx 17, acme 1, produced by hand
        help: `cargo onnx-embed doctor m.onnx` explains how to export the model again
    "#]].assert_eq(&answer.out);
    assert_eq!(answer.code, 1);
}

#[test]
fn a_program_reads_problems_with_node_operator_and_help() {
    let answer = on("inspect_json", TWIST, &["inspect", "--json"]);
    let json: Json = serde_json::from_str(&answer.out).unwrap();
    let problem = &json["problems"][0];
    assert_eq!(problem["node"], "y");
    assert_eq!(problem["operator"], "acme.Twist opset 1");
    assert!(problem["help"].is_string());
    assert_eq!((&json["compiles"], answer.code), (&Json::Bool(false), 1));
}

#[test]
fn counts_end_as_the_model_does() {
    let codes = [TWIST, RELU].map(|text| on("inspect_counts", text, &["inspect", "--counts"]).code);
    assert_eq!(codes, [1, 0]);
}

#[test]
fn sizes_that_are_given_change_the_cost() {
    let multiply_adds = |arguments: &[&str]| {
        let answer = run(&[&["inspect", "--json", "examples/mnist/mnist.onnx"], arguments].concat());
        let json: Json = serde_json::from_str(&answer.out).unwrap();
        json["call"]["multiply_adds"].as_u64().unwrap()
    };
    let one = multiply_adds(&[]);
    assert_eq!(one, 28 * 28 * 8 * 9 + 14 * 14 * 16 * 8 * 9 + 784 * 10);
    assert_eq!(multiply_adds(&["--dim", "batch=8"]), 8 * one);
}

#[test]
fn every_value_with_the_node_that_makes_it() {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (bool c, float[n, 2] x) => (float[n, 2] y) <float[2] b = {1, 2}> {
            ["/fc/Add"] sum = Add (x, b)
            y = If (c) <
                then_branch = yes () => (p) { p = Neg (sum) },
                else_branch = no () => (q) { q = Abs (sum) }
            >
        }"#;
    let answer = on("inspect_values", source, &["inspect", "--values"]);
    expect![[r#"
        c    bool           input
        x    float32[n, 2]  input
        b    float32[2]     constant
        sum  float32[n, 2]  Add /fc/Add
        y    float32[n, 2]  If, output
          p  float32[n, 2]  Neg
          q  float32[n, 2]  Abs
    "#]]
    .assert_eq(&answer.out);
}

#[test]
fn several_models_are_a_line_each() {
    let folder = folder("inspect_several");
    std::fs::create_dir(folder.join("more")).unwrap();
    model(&folder, "relu.onnx", RELU);
    model(&folder, "more/twist.onnx", TWIST);
    std::fs::write(folder.join("page.onnx"), "<!doctype html>").unwrap();
    let answer = run_in(&folder, &["inspect", "relu.onnx", "more", "page.onnx"]);
    expect![[r#"
        model               nodes     parameters  multiply-adds
        relu.onnx               1              0              0  compiles
        more/twist.onnx         2              2                 operator `acme.Twist` is not supported
        page.onnx                                                the file is a web page, not the model
        1 of 3 models compile
    "#]]
    .assert_eq(&answer.out);
    assert_eq!(answer.code, 1);
    let json = run_in(&folder, &["inspect", "--json", "."]).out;
    let json: Json = serde_json::from_str(&json).unwrap();
    let compiles: Vec<&Json> = json.as_array().unwrap().iter().map(|model| &model["compiles"]).collect();
    assert_eq!(compiles, [false, false, true]);
}
