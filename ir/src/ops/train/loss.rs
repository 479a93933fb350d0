//! Losses of classifiers.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("NegativeLogLikelihoodLoss", &[12, 13, 22], |a| read(a, "negative_log_likelihood")).arity("rro", "r"),
    row("SoftmaxCrossEntropyLoss", &[12, 13], |a| read(a, "softmax_cross_entropy")).arity("rro", "ro"),
];

#[derive(Debug)]
struct Loss {
    /// Name of the kernels' function.
    function: &'static str,
    /// A variant of the kernels' `Reduction`.
    reduction: &'static str,
    ignored: Option<i64>,
}

attributes!(struct Loss { function, reduction, ignored });

fn read(a: &Attributes<'_>, function: &'static str) -> Result<Rc<dyn Operator>, Problem> {
    let reduction = a.choice("reduction", "mean", &[("none", "None"), ("sum", "Sum"), ("mean", "Mean")])?;
    Ok(Rc::new(Loss { function, reduction, ignored: a.int("ignore_index")? }))
}

impl Operator for Loss {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, target) = (cx.tensor(0)?, cx.tensor(1)?);
        if x.rank() < 2 || !x.dtype.is_float() {
            return Err(Problem::expected("the input", x, "floats of rank 2 or more"));
        }
        if !target.dtype.is_int() {
            return Err(Problem::expected("the target", target, "integers"));
        }
        let mut wanted = x.shape.clone();
        let classes = wanted.remove(1);
        sizes::shaped("the target", &target, &wanted)?;
        if cx.has(2) {
            let weight = cx.tensor_of_rank(2, 1)?;
            sizes::same_type(("the weight", &weight), ("the input", &x))?;
            if let Some(length) = weight.shape.first() {
                sizes::equal(("the weight", length, "elements"), ("the input", &classes, "classes"))?;
            }
        }
        let shape: Vec<Dim> = match self.reduction {
            "None" => target.shape,
            _ => Vec::new(),
        };
        cx.output(0, x.dtype, shape);
        cx.output(1, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        cx.may_fail();
        let (x, target, weight) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
        let function = format_ident!("{}", self.function);
        let reduction = format_ident!("{}", self.reduction);
        let ignored = match self.ignored.map(Literal::i64_unsuffixed) {
            Some(class) => code!(Some(#class)),
            None => code!(None),
        };
        let loss = code! {
            ops::loss::#function(
                #x,
                #target,
                #weight,
                #ignored,
                ops::loss::Reduction::#reduction,
            )
        };
        Ok(match (self.function, cx.outputs()) {
            ("softmax_cross_entropy", 1) => code!(#loss.0),
            _ => loss,
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn a_reduced_loss_has_rank_0() {
        check(
            "g (float[n, c, h] x, int64[n, h] t, float[c] w) => (float y, float[a, b] z, float[d, e, f] p) {
                y = NegativeLogLikelihoodLoss<ignore_index: int = -1>(x, t, w)
                z, p = SoftmaxCrossEntropyLoss<reduction: string = \"none\">(x, t)
            }",
            expect![[r#"
                g (float32[n, c, h] x, int64[n, h] t, float32[c] w) => (float32[] y, float32[n, h] z, float32[n, c, h] p)
                {
                    float32[] y = NegativeLogLikelihoodLoss <function: "negative_log_likelihood", reduction: "Mean", ignored: -1> (x, t, w)
                    float32[n, h] z, float32[n, c, h] p = SoftmaxCrossEntropyLoss <function: "softmax_cross_entropy", reduction: "None"> (x, t)
                }
            "#]],
        );
    }

    #[test]
    fn targets_have_no_axis_of_classes() {
        check(
            "g (float[n, c, h] x, int64[n, c, h] t) => (float y) {
                y = NegativeLogLikelihoodLoss(x, t)
            }",
            expect![[r#"
                cannot compile `model`

                  the target is int64[n, c, h], expected shape [n, h]
                    at node `y` (NegativeLogLikelihoodLoss version 13)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn targets_and_weights_must_fit() {
        problems(
            &[
                r#"(float[4, 3] x, int64[5] t) => (float y) { y = SoftmaxCrossEntropyLoss (x, t) }"#,
                r#"(float[4, 3, 6] x, int64[4, 5] t) => (float y) { y = NegativeLogLikelihoodLoss (x, t) }"#,
                r#"(float[4, 3] x, int64[4] t, float[4] w) => (float y) { y = NegativeLogLikelihoodLoss (x, t, w) }"#,
            ],
            expect![[r#"
                the target is int64[5], expected shape [4]
                the target is int64[4, 5], expected shape [4, 6]
                the weight has 4 elements, but the input has 3 classes
            "#]],
        );
    }
}
