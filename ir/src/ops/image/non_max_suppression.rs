//! NonMaxSuppression: boxes that no box with a higher score overlaps.

use std::rc::Rc;

use quote::format_ident;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] = &[row("NonMaxSuppression", &[10, 11], |a| {
    let form = match a.int_or("center_point_box", 0)? {
        0 => "Corners",
        1 => "Center",
        other => {
            let expected = "0 (corners) or 1 (center and size)";
            return Err(Problem::expected("`center_point_box`", other, expected));
        }
    };
    Ok(Rc::new(NonMaxSuppression(form)))
})
.arity("rrooo", "r")];

/// Non-maximum suppression of boxes in a format, a variant of the kernels' `BoxForm`.
#[derive(Debug)]
struct NonMaxSuppression(&'static str);

attributes!(struct NonMaxSuppression(inner));

impl Operator for NonMaxSuppression {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (boxes, scores) = (cx.tensor_of_rank(0, 3)?, cx.tensor_of_rank(1, 3)?);
        let numbers = boxes.shape.last().and_then(Dim::number);
        if boxes.dtype != DType::F32 || scores.dtype != DType::F32 || numbers.is_some_and(|n| n != 4) {
            return Err(Problem::new(format!(
                "the boxes are {boxes} and the scores are {scores}, expected float32[batch, boxes, 4] and \
                 float32[batch, classes, boxes]"
            )));
        }
        if let ([batch, count, _], [other, _, each]) = (boxes.shape.as_slice(), scores.shape.as_slice()) {
            sizes::agree("the batch size", batch, other)?;
            sizes::agree("the number of boxes", count, each)?;
        }
        let none = !cx.has(2) || cx.numbers(2).is_some_and(|most| most.iter().all(|&n| n <= 0));
        let count = if none { Dim::default() } else { cx.fresh("kept") };
        cx.output(0, DType::I64, vec![count, Dim::from(3)]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let fits = match (cx.tensor_type(0)?.shape.as_slice(), cx.tensor_type(1)?.shape.as_slice()) {
            ([batch, boxes, numbers], [other, _, count]) => batch == other && boxes == count && numbers.is(4),
            _ => false,
        };
        let is_share = match cx.known(3) {
            Some(Known::Floats(shares)) => shares.iter().all(|share| (0.0..=1.0).contains(share)),
            Some(_) => false,
            None => !cx.has(3),
        };
        if !(fits && is_share) {
            cx.may_fail();
        }
        let (boxes, scores) = (cx.tensor(0)?, cx.tensor(1)?);
        let form = format_ident!("{}", self.0);
        let most = if cx.has(2) { cx.host_int(2)? } else { code!(0) };
        let overlap = if cx.has(3) { cx.host_float(3)? } else { code!(0.0) };
        let score = if cx.has(4) {
            let score = cx.host_float(4)?;
            code!(Some(#score))
        } else {
            code!(None)
        };
        Ok(code! {
            ops::non_max_suppression::non_max_suppression(
                #boxes,
                #scores,
                ops::non_max_suppression::BoxForm::#form,
                ops::non_max_suppression::Limits {
                    most: #most,
                    overlap: #overlap,
                    score: #score,
                },
            )
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 1
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn how_many_boxes_are_kept_has_a_name_unless_it_is_none() {
        check(
            "g (float[1, n, 4] b, float[1, c, n] s) => (int64[x, 3] y, int64[z, 3] w) <int64 most = {5}> {
                y = NonMaxSuppression(b, s, most)
                w = NonMaxSuppression<center_point_box: int = 1>(b, s)
            }",
            expect![[r#"
                g (float32[1, n, 4] b, float32[1, c, n] s) => (int64[kept, 3] y, int64[0, 3] w)
                <
                    int64[] most = {5}
                >
                {
                    int64[kept, 3] y = NonMaxSuppression <"Corners"> (b, s, most)
                    int64[0, 3] w = NonMaxSuppression <"Center"> (b, s)
                }
            "#]],
        );
    }

    #[test]
    fn boxes_and_scores_must_fit() {
        problems(
            &[
                r#"(float[1, 8, 4] b, float[2, 3, 8] s, int64 m) => (int64[n, 3] y) { y = NonMaxSuppression (b, s, m) }"#,
                r#"(float[1, 8, 4] b, float[1, 3, 9] s, int64 m) => (int64[n, 3] y) { y = NonMaxSuppression (b, s, m) }"#,
            ],
            expect![[r#"
                the batch size is 1 in one input and 2 in another
                the number of boxes is 8 in one input and 9 in another
            "#]],
        );
    }
}
