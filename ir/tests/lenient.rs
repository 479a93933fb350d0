//! Files that break the standard and mean but one thing: ONNX Runtime refuses them, we do not.

use onnx_embed_ir::options::Options;
use onnx_embed_ir::{load_bytes, text};
use prost::Message;

/// What is wrong, and the model.
const TAKEN: &[(&str, &str)] = &[
    (
        "an operator that the opset has no more is what it was last",
        r#"<ir_version: 10, opset_import: ["": 11]> g (float[2] x) => (float[4] y)
            <float[1] s = {2.0}> { y = Upsample (x, s) }"#,
    ),
    (
        "the same",
        r#"<ir_version: 10, opset_import: ["": 13]> g (float[4] x, int64[2] i, float[2] u) => (float[4] y)
            { y = Scatter (x, i, u) }"#,
    ),
    (
        "the same in another domain",
        r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 5]> g (float[n, 2] x) => (float[n, 1] y) {
            y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
                nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0],
                nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0],
                nodes_falsenodeids = [2, 0, 0], target_treeids = [0], target_nodeids = [2],
                target_ids = [0], target_weights = [1.0]> (x)
        }"#,
    ),
    (
        "an element type that a later version of the operator has",
        r#"<ir_version: 10, opset_import: ["": 13]> g (int8[2] x) => (int8[2] y) { y = Add (x, x) }"#,
    ),
    (
        "names left out beyond the last input and output",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y, = Relu (x, , ) }"#,
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
        "a size that an output has not",
        r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[3] y) { y = Relu (x) }"#,
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
