//! Files that violate the standard but have one meaning.
//!
//! ONNX Runtime rejects them, the compiler accepts them.

use onnx_embed_ir::options::Options;
use onnx_embed_ir::{load_bytes, text};
use prost::Message;

/// Violations and models.
const TAKEN: &[(&str, &str)] = &[
    (
        "an element type that a later version of the operator has",
        r#"<ir_version: 10, opset_import: ["": 13]> g (int8[2] x) => (int8[2] y) { y = Add (x, x) }"#,
    ),
    (
        "branches with more outputs than the node names",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x, bool c) => (float[2] y) {
            y = If (c) <
                then_branch = t () => (float[2] p, float[2] q) { p = Neg (x) q = Abs (x) },
                else_branch = e () => (float[2] r, float[2] s) { r = Exp (x) s = Abs (x) }
            >
        }"#,
    ),
    (
        "a node of a branch that gives its value a name from around it",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x, bool c) => (float[2] y) {
            a = Relu (x)
            y = If (c) <
                then_branch = t () => (float[2] a) { a = Neg (x) },
                else_branch = e () => (float[2] b) { b = Abs (a) }
            >
        }"#,
    ),
    (
        "nodes before those that they need",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Neg (a) a = Relu (x) }"#,
    ),
    (
        "a rank that an output has not",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2, 1] x) => (float[2] y) { y = Relu (x) }"#,
    ),
    (
        "an output without a name before one that has one",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[4] x, int64[1] k) => (int64[n] i) { , i = TopK (x, k) }"#,
    ),
    (
        "two nodes of one name",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { [n] a = Relu (x) [n] y = Neg (a) }"#,
    ),
];

#[test]
fn what_means_one_thing_is_taken() {
    for (what, model) in TAKEN {
        let bytes = text::model(model).unwrap().encode_to_vec();
        if let Err(problems) = load_bytes(bytes.into(), &Options::default()) {
            panic!("{what}: {}", problems.report("model"));
        }
    }
}
