//! Sequences of the input items, and empty sequences.

use std::rc::Rc;

use super::either;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::rust::{Code, code};
use crate::types::Type;

/// A sequence of the inputs.
#[derive(Debug)]
struct Construct;

attributes!(struct Construct);

/// An empty sequence.
#[derive(Debug)]
struct Empty {
    dtype: DType,
}

attributes!(struct Empty { dtype });

/// Returns the operator that constructs a sequence from its inputs.
pub fn construct() -> Rc<dyn Operator> {
    Rc::new(Construct)
}

pub fn empty(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let number = a.int_or("dtype", 1)?;
    let dtype = i32::try_from(number).ok().and_then(DType::from_onnx);
    let dtype = dtype.ok_or_else(|| Problem::expected("`dtype`", number, "an ONNX element type"))?;
    Ok(Rc::new(Empty { dtype }))
}

impl Operator for Construct {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let mut item = cx.ty(0)?.clone();
        for at in 1..cx.inputs() {
            item = either(&item, cx.ty(at)?)?;
        }
        cx.output_type(0, Type::Sequence(Box::new(item)));
        cx.output_parts(0, (0..cx.inputs()).map(|at| cx.part(at)).collect());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let item = cx.output_items(0)?.clone();
        let items = (0..cx.inputs()).map(|at| cx.item(at, &item));
        let items: Vec<Code> = items.collect::<Result<_, _>>()?;
        Ok(code!(vec![#(#items),*]))
    }
}

impl Operator for Empty {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        cx.output_type(0, Type::Sequence(Box::new(Type::Nothing(self.dtype))));
        cx.output_parts(0, Some(Vec::new()));
        Ok(())
    }

    fn emit(&self, _: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        Err(Problem::defect("an empty sequence is computed at compile time"))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn items_of_several_sizes_have_one_type() {
        check(
            r#"g (float[2, n] a, float[2, 3] b) => (seq(float) s) { s = SequenceConstruct (a, b) }"#,
            expect![[r#"
                g (float32[2, n] a, float32[2, 3] b) => (seq(float32[2, ?]) s)
                {
                    seq(float32[2, ?]) s = SequenceConstruct (a, b)
                }
            "#]],
        );
    }

    #[test]
    fn items_are_of_one_element_type() {
        problems(
            &[
                r#"(float[2] a, int64[2] b) => (seq(float) s) { s = SequenceConstruct (a, b) }"#,
                r#"() => (seq(float) s) { s = SequenceEmpty <dtype = 99> () }"#,
                r#"() => (seq(int64) s) { s = SequenceEmpty <dtype = 7> () }"#,
            ],
            expect![[r#"
                float32[2] and int64[2] cannot be items of the same sequence
                `dtype` is 99, expected an ONNX element type
                fine
            "#]],
        );
    }
}
