//! Dropout, which leaves everything in place outside of training.

use std::rc::Rc;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Operator, Row, row};
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::types::Known;

pub const ROWS: &[Row] = &[row("Dropout", &[1, 6, 7, 10, 12, 13, 22], dropout)];

#[derive(Debug)]
struct Dropout {
    /// Before version 10 the mask was of the input's type.
    old_mask: bool,
}

fn dropout(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    match a.version() {
        ..7 => a.ignore(&["ratio", "is_test", "consumed_inputs"]),
        7..12 => a.ignore(&["ratio"]),
        _ => a.ignore(&["seed"]),
    }
    Ok(Rc::new(Dropout {
        old_mask: a.version() < 10,
    }))
}

impl Operator for Dropout {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let training = match cx.known(2) {
            Some(Known::Bools(values)) => values.contains(&true),
            _ => cx.has(2),
        };
        let none = matches!(cx.known(1), Some(Known::Floats(values)) if values == &[0.0]);
        if training && !none {
            return Err(
                Problem::new("the model drops elements at random as in training")
                    .help("export the model in evaluation mode (`model.eval()` in PyTorch)"),
            );
        }
        cx.output_same(0, 0);
        let mask = if self.old_mask { x.dtype } else { DType::Bool };
        cx.output(1, mask, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let x = cx.tensor(0)?;
        let mask = match (cx.wants(1), self.old_mask) {
            (false, _) => quote!(()),
            (true, true) => quote!(#x.ones_like()),
            (true, false) => {
                let held = cx.tensor_type(0)?.clone();
                let (rank, shape) = (
                    Literal::usize_unsuffixed(held.burn_rank()),
                    cx.shape(&held.shape),
                );
                quote!(Tensor::<#rank, Bool>::ones(#shape, device))
            }
        };
        Ok(match cx.outputs() {
            1 => x,
            _ => quote!((#x, #mask)),
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn training_is_a_problem() {
        check(
            r#"
            main (float[N] x) => (float[N] y) <float ratio = {0.5}, bool yes = {1}> {
                y = Dropout (x, ratio, yes)
            }
            "#,
            expect![[r#"
                cannot compile `model`

                  the model drops elements at random as in training
                    at node `y` (Dropout version 13)
                    help: export the model in evaluation mode (`model.eval()` in PyTorch)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn constants_pass_through() {
        check(
            r#"
            main () => (float[1] y, bool[1] mask) <float[1] x = {3}> {
                y, mask = Dropout (x)
            }
            "#,
            expect![[r#"
                main () => (float32[1] y, bool[1] mask)
                <
                    float32[1] x = {3},
                    float32[1] y = {3}
                >
                {
                    _, bool[1] mask = Dropout (x)
                }
            "#]],
        );
    }
}
