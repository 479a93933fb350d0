//! Checks the numbers of a node's inputs and outputs.

use super::scope::Scope;
use crate::diagnostics::{Problem, counted};
use crate::ops::arity::{Arity, Signs, is_required, least, most};
use crate::proto::NodeProto;

/// Checks the numbers of inputs and outputs, and that no required input is omitted. An output may have no name.
pub fn check(node: &NodeProto, arity: Arity, scope: &Scope<'_>) -> Result<(), Problem> {
    count(node.input.len(), arity.inputs, "inputs")?;
    count(node.output.len(), arity.outputs, "outputs")?;
    for (at, name) in node.input.iter().enumerate() {
        // Inside a function a named input may still be omitted, by the caller of the function.
        if is_required(arity.inputs, at) && scope.input(name)?.is_none() {
            return Err(Problem::missing(format_args!("input {at}")).inconsistent());
        }
    }
    Ok(())
}

fn count(found: usize, signs: Signs, what: &str) -> Result<(), Problem> {
    let (least, most) = (least(signs), most(signs));
    if found >= least && most.is_none_or(|most| found <= most) {
        return Ok(());
    }
    let expected = match most {
        Some(most) if most == least => counted(least, what),
        Some(most) => format!("{least} to {}", counted(most, what)),
        None => format!("{} or more", counted(least, what)),
    };
    let message = format!("expected {expected}, found {found}");
    Err(Problem::new(message).inconsistent())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn a_node_has_the_inputs_and_outputs_of_its_operator() {
        problems(
            &[
                "(float[2] x) => (float[2] y) { y = Add (x) }",
                "(float[2] x) => (float[2] y) { y = Sub (x) }",
                "(float[2] x) => (float[2] y) { y = Mul (x) }",
                "(float[2] x) => (float[2] y) { y = Div (x) }",
                "(float[2] x) => (float[2] y) { y = PRelu (x) }",
                "(float[2] x) => (float[2] y) { y = Add (x, x, x) }",
                r#"(float[2] x) => (float[2] y) { y = Mul ("", x) }"#,
                "(float[2] x) => (float[2] y) { y = Relu () }",
                "(float[2] x) => (float[2] y) { y, z = Relu (x) }",
                r#"(float[2] x) => (float[2] y) { y = Relu (x, "") }"#,
                "(float[2] x) => (float[2] y) { y = Clip (x, x, x, x) }",
                "(float[2] x, int64[1] k) => (float[1] y) { y = TopK (x, k) }",
                "(float[2] x, int64[1] k) => (int64[1] y) { , y = TopK (x, k) }",
                "() => (float[2] y) { y = Concat <axis = 0> () }",
                "(float[2] x) => (float[2] y) { y = Loop (x) <body = b () => (bool c) { c = Neg (x) }> }",
                r#"(uint8[2] x, float s) => (uint8[2] y) { y = com.microsoft.QLinearAdd (x, s, "", x, "", "", s) }"#,
            ],
            expect![[r#"
                expected 2 inputs, found 1
                expected 2 inputs, found 1
                expected 2 inputs, found 1
                expected 2 inputs, found 1
                expected 2 inputs, found 1
                expected 2 inputs, found 3
                input 0 is missing
                expected 1 input, found 0
                expected 1 output, found 2
                expected 1 input, found 2
                expected 1 to 3 inputs, found 4
                expected 2 outputs, found 1
                fine
                expected 1 input or more, found 0
                expected 2 inputs or more, found 1
                input 4 is missing
            "#]],
        );
    }

    #[test]
    fn versions_differ() {
        check(
            r#"<ir_version: 10, opset_import: ["": 6]> g (float[2] x, float low) => (float[2] y) { y = Clip (x, low) }"#,
            expect![[r#"
                cannot compile `model`

                  expected 1 input, found 2
                    at node `y` (Clip opset 6)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 6"#]],
        );
    }

    #[test]
    fn a_function_is_given_what_its_nodes_require() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float[2] x) => (float[2] y) { y = f.Sum (x) }
               <domain: "f", opset_import: ["": 21]> Sum (a, b) => (c) { c = Add (a, b) }"#,
            expect![[r#"
                cannot compile `model`

                  input 1 is missing
                    at node `Sum/c` (Add opset 21)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21, f 1"#]],
        );
    }

    #[test]
    fn optional_inputs_may_be_left_out() {
        check(
            r#"g (float[2] x, float high) => (float[2] y) { y = Clip (x, "", high) }"#,
            expect![[r#"
                g (float32[2] x, float32[] high) => (float32[2] y)
                {
                    float32[2] y = Clip (x, , high)
                }
            "#]],
        );
    }
}
