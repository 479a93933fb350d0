//! Determinants and inverses.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("Det", &[11, 22], |_| Ok(Rc::new(Determinant))),
    row("Inverse", &[1], |_| Ok(Rc::new(Inverse))).of(MICROSOFT),
];

#[derive(Debug)]
struct Determinant;

attributes!(struct Determinant);

#[derive(Debug)]
struct Inverse;

attributes!(struct Inverse);

impl Operator for Determinant {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = matrices(cx)?;
        let outer = x.rank().saturating_sub(2);
        cx.output(0, x.dtype, x.shape.into_iter().take(outer).collect());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        check(cx)?;
        let x = cx.tensor(0)?;
        Ok(code!(ops::determinant::det::<_, #rank>(#x)))
    }
}

impl Operator for Inverse {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = matrices(cx)?;
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        check(cx)?;
        let x = cx.tensor(0)?;
        Ok(code!(ops::inverse::inverse(#x)))
    }
}

/// Returns the type of input 0, which must contain square matrices.
fn matrices(cx: &Infer<'_>) -> Result<TensorType, Problem> {
    let x = cx.tensor(0)?;
    let square = match x.shape.as_slice() {
        [.., rows, columns] => {
            let sizes = rows.number().zip(columns.number());
            sizes.is_none_or(|(rows, columns)| rows == columns)
        }
        _ => false,
    };
    if square && x.dtype.is_float() {
        Ok(x)
    } else {
        Err(Problem::expected("the input", x, "square matrices of floats"))
    }
}

/// Marks the node as fallible if the matrices may not be square.
fn check(cx: &mut Emit<'_, '_>) -> Result<(), Problem> {
    let sizes = cx.tensor_type(0)?.shape.clone();
    let mut sizes = sizes.iter().rev();
    if sizes.next() != sizes.next() {
        cx.may_fail();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, named, problems};

    #[test]
    fn the_last_two_axes_vanish() {
        check(
            r#"g (float[n, 3, 3] x) => (float[n] y) { y = Det (x) }"#,
            expect![[r#"
                g (float32[n, 3, 3] x) => (float32[n] y)
                {
                    float32[n] y = Det (x)
                }
            "#]],
        );
    }

    #[test]
    fn matrices_are_square() {
        problems(
            &[
                r#"(float[2, 3] x) => (float y) { y = Det (x) }"#,
                r#"(float[3] x) => (float y) { y = Det (x) }"#,
                r#"(int64[3, 3] x) => (int64 y) { y = Det (x) }"#,
                r#"(float[4, 2, 3] x) => (float[4, 2, 3] y) { y = com.microsoft.Inverse (x) }"#,
                r#"(float[n, m] x) => (float y) { y = Det (x) }"#,
            ],
            expect![[r#"
                the input is float32[2, 3], expected square matrices of floats
                the input is float32[3], expected square matrices of floats
                the input is int64[3, 3], expected square matrices of floats
                the input is float32[4, 2, 3], expected square matrices of floats
                fine
            "#]],
        );
    }

    #[test]
    fn matrices_that_may_not_be_square_have_a_name() {
        named(
            &[
                r#"(float[n, n] x) => (float y) { y = Det (x) }"#,
                r#"(float[n, m] x) => (float[n, m] y) { inverse = com.microsoft.Inverse (x) y = Neg (inverse) }"#,
            ],
            expect![[r#"
                "y" , "Det"
                "inverse" , "com.microsoft.Inverse"
            "#]],
        );
    }
}
