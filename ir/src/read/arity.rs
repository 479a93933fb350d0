//! How many inputs and outputs a node has.

use crate::diagnostics::Problem;
use crate::proto::NodeProto;

/// Whether a node names no more than these inputs and outputs.
pub fn no_more(node: &NodeProto, most: (usize, usize)) -> Result<(), Problem> {
    let lists = [
        (&node.input, "inputs", most.0),
        (&node.output, "outputs", most.1),
    ];
    for (names, what, most) in lists {
        let surplus = names.iter().skip(most);
        if surplus.into_iter().any(|name| !name.is_empty()) {
            let found = names.len();
            let message = format!("the node names {found} {what}, the operator has {most} at most");
            return Err(
                Problem::new(message).help("the file is inconsistent; export the model again")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_node_has_no_more_than_its_operator() {
        check(
            "g (float[2] x) => (float[2] y, float[2] q) { y, z = Relu (x) q = Neg (x, x, x) }",
            expect![[r#"
                cannot compile `model`: 2 problems

                  the node names 2 outputs, the operator has 1 at most
                    at node `y` (Relu opset 21)
                    help: the file is inconsistent; export the model again

                  the node names 3 inputs, the operator has 1 at most
                    at node `q` (Neg opset 21)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn versions_differ() {
        check(
            r#"<ir_version: 10, opset_import: ["": 6]> g (float[2] x, float low) => (float[2] y) { y = Clip (x, low) }"#,
            expect![[r#"
                cannot compile `model`

                  the node names 2 inputs, the operator has 1 at most
                    at node `y` (Clip opset 6)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 6"#]],
        );
    }

    #[test]
    fn names_that_are_left_out_do_not_count() {
        check(
            "g (float[2] x) => (float[2] y) { y, = Relu (x, , ) }",
            expect![[r#"
                g (float32[2] x) => (float32[2] y)
                {
                    float32[2] y = Relu (x, )
                }
            "#]],
        );
    }
}
