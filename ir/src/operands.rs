//! Types of the inputs and outputs of each version of the operators.

mod signature;
mod table;

use std::fmt;

use crate::diagnostics::Problem;
use crate::types::Type;
use signature::{ElementKind, Operand, Signature};

/// Types of the inputs or outputs of a node, `None` for those that are omitted.
pub type Types<'a> = &'a [Option<&'a Type>];

/// An operand of a node.
struct Found {
    /// `input` or `output`.
    what: &'static str,
    index: usize,
    operand: &'static Operand,
    kind: ElementKind,
}

/// Checks that a version of an operator allows the types of a node of the file, or that a later version does: ONNX Runtime
/// refuses such a file, but it has one meaning. Nodes that passes create may have any types.
pub fn check(kind: &str, version: i64, inputs: Types<'_>, outputs: Types<'_>) -> Result<(), Problem> {
    let mut versions = table::since(kind, version);
    let Some(signature) = versions.next() else {
        return Ok(());
    };
    fits(signature, inputs, outputs).or_else(|problem| {
        let is_later = versions.any(|signature| fits(signature, inputs, outputs).is_ok());
        if is_later { Ok(()) } else { Err(problem) }
    })
}

/// Checks that types fit a signature.
fn fits(signature: &'static Signature, inputs: Types<'_>, outputs: Types<'_>) -> Result<(), Problem> {
    // The first operand of each type variable.
    let mut first: Vec<Found> = Vec::new();
    for (what, operands, types) in
        [("input", &signature.inputs, inputs), ("output", &signature.outputs, outputs)]
    {
        for (index, ty) in types.iter().enumerate() {
            let (Some(operand), Some(ty)) = (signature::at(operands, index), ty) else {
                continue;
            };
            let found = Found { what, index, operand, kind: ElementKind::of(ty) };
            if !operand.allows(&found.kind) {
                return Err(Problem::expected(&found, ty, operand.expected(&found.kind)).inconsistent());
            }
            let variable = operand.variable;
            match first.iter().find(|first| first.operand.variable == variable) {
                Some(first) if first.kind != found.kind => {
                    let expected = format_args!("{} like {first}", first.kind);
                    return Err(Problem::expected(&found, ty, expected).inconsistent());
                }
                None if variable.is_some() => first.push(found),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Formats as in messages: ``input 0 (`X`)``.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (`{}`)", self.what, self.index, self.operand.name)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn operands_have_types_of_the_version() {
        check(
            "g (seq(float[2]) s, int16 i) => (float[2] y) { y = SequenceAt (s, i) }",
            expect![[r#"
            cannot compile `model`

              input 1 (`position`) is int16, expected int32 or int64
                at node `y` (SequenceAt version 11)
                help: the file is inconsistent; export the model again

              model: IR version 10, ai.onnx 21"#]],
        );
        problems(
            &[
                "(float[1] x, int32[2] s) => (float[a, b] y) { y = Expand (x, s) }",
                "(float[1, 16] x, float s) => (float[1, n, 9, 2] y) { y = STFT (x, s, , s) }",
                "(float[2] x, int64[2] p, int32[1] a) => (float[n] y) { y = Pad (x, p, , a) }",
            ],
            expect![[r#"
                input 1 (`shape`) is int32[2], expected int64
                input 1 (`frame_step`) is float32, expected int32 or int64
                fine
            "#]],
        );
    }

    #[test]
    fn types_of_later_versions_have_one_meaning() {
        problems(
            &[
                r#"<ir_version: 10, opset_import: ["": 5]> g (int32[2] x) => (int32[2] y) { y = Neg (x) }"#,
                r#"<ir_version: 10, opset_import: ["": 9]> g (float[2] x) => (bfloat16[2] y) { y = Cast <to = 16> (x) }"#,
                r#"<ir_version: 10, opset_import: ["": 8]> g () => (int64[1] y) { y = Constant <value = int64[1] {7}> () }"#,
            ],
            expect![[r#"
                fine
                fine
                fine
            "#]],
        );
    }

    #[test]
    fn operands_of_a_type_variable_have_one_type() {
        problems(
            &[
                "(float[2, 4] x, double[4] s) => (float[2, 4] y) { y = LayerNormalization (x, s) }",
                "(float[1, 2, 4] x, float[2] s, float[2] b, double[2] m) => (float[1, 2, 4] y) { y = BatchNormalization (x, s, b, m, b) }",
                "(float[2, 2] x, int64[2] c) => (float[2, 2] y) { y = Gemm (x, x, c) }",
                "(bool c, int64 m, float s) => (float r) { r = Loop (m, c, s) <body = b (int64 i, bool k, float t) => (bool k, float u) { u = Neg (t) }> }",
            ],
            expect![[r#"
                input 1 (`Scale`) is float64[4], expected float32 like input 0 (`X`)
                input 4 (`input_var`) is float32[2], expected float64 like input 3 (`input_mean`)
                input 2 (`C`) is int64[2], expected float32 like input 0 (`A`)
                fine
            "#]],
        );
    }

    #[test]
    fn nodes_of_functions_and_bodies_are_checked() {
        problems(
            &[
                "(bool c, float[2] x, int32[1] s) => (float[2] y) { y = If (c) <then_branch = a () => (float[2] t) { t = Expand (x, s) }, else_branch = b () => (float[2] e) { e = Neg (x) }> }",
                r#"<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float[2, 2] x, int32[2] c) => (float[2, 2] y) { y = f.Linear (x, c) }
                   <domain: "f", opset_import: ["": 21]> Linear (a, b) => (c) { c = Gemm (a, a, b) }"#,
            ],
            expect![[r#"
                input 1 (`shape`) is int32[1], expected int64
                input 2 (`C`) is int32[2], expected float32 like input 0 (`A`)
            "#]],
        );
    }
}
