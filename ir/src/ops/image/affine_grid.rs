//! AffineGrid: points transformed by affine maps.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("AffineGrid", &[20], |a| {
    Ok(Rc::new(AffineGrid { align_corners: a.flag("align_corners", false)? }))
})
.arity("rr", "r")];

#[derive(Debug)]
struct AffineGrid {
    align_corners: bool,
}

attributes!(struct AffineGrid { align_corners });

impl Operator for AffineGrid {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (theta, size) = (cx.tensor_of_rank(0, 3)?, cx.tensor_of_rank(1, 1)?);
        let [batch, rows, columns] = theta.shape.as_slice() else {
            return Err(Problem::expected("`theta`", theta, "rank 3"));
        };
        let counts = [
            size.shape.first().and_then(Dim::number).and_then(|count| count.checked_sub(2)),
            rows.number(),
            columns.number().and_then(|count| count.checked_sub(1)),
        ];
        let axes = counts.iter().flatten().next().copied();
        let axes =
            axes.filter(|&axes| matches!(axes, 2 | 3) && counts.iter().flatten().all(|&count| count == axes));
        let axes = axes.filter(|_| theta.dtype.is_float());
        let axes = axes.ok_or_else(|| {
            Problem::new(format!(
                "`theta` is {theta} and `size` is {size}, expected floats [batch, 2, 3] and 4 sizes, or floats \
                 [batch, 3, 4] and 5 sizes"
            ))
        })?;
        let mut shape = vec![batch.clone()];
        if let Some(images) = cx.ints(1).and_then(|sizes| sizes.into_iter().next()) {
            sizes::equal(("`theta`", batch, "maps"), ("`size`", &images, "images"))?;
        }
        match cx.ints(1) {
            Some(sizes) => shape.extend(sizes.into_iter().skip(2)),
            None => shape.extend((0..axes).map(|_| cx.fresh("grid"))),
        }
        shape.push(Dim::from(axes));
        cx.output(0, theta.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if !cx.is_known(1) || cx.output_tensor(0)?.count().is_none() {
            cx.may_fail();
        }
        let (theta, sizes) = (cx.tensor(0)?, cx.host_ints(1)?);
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.rank());
        let align_corners = self.align_corners;
        Ok(code! {
            ops::affine_grid::affine_grid::<#rank>(#theta, #sizes, #align_corners)
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn points_have_the_sizes_of_the_image() {
        check(
            "g (float[n, 2, 3] t, float[n, 3, 4] u, int64[5] s, float[1, 1, h, w] x) => (float[a, b, c, d] y, float[e, f, g, h, i] z) {
                size = Shape(x)
                y = AffineGrid(t, size)
                z = AffineGrid<align_corners: int = 1>(u, s)
            }",
            expect![[r#"
                g (float32[n, 2, 3] t, float32[n_2, 3, 4] u, host int64[5] s, float32[1, 1, h, w] x) => (float32[n, h, w, 2] y, float32[n_2, grid, grid_2, grid_3, 3] z)
                <
                    int64[4] size = {1, 1, h, w}
                >
                {
                    float32[n, h, w, 2] y = AffineGrid (t, size)
                    float32[n_2, grid, grid_2, grid_3, 3] z = AffineGrid <align_corners: true> (u, s)
                }
            "#]],
        );
    }

    #[test]
    fn maps_fit_the_image() {
        check(
            "g (float[n, 2, 3] t) => (float[a, b, c, d] y) <int64[5] s = {1, 1, 2, 3, 4}> {
                y = AffineGrid(t, s)
            }",
            expect![[r#"
                cannot compile `model`

                  `theta` is float32[n, 2, 3] and `size` is int64[5], expected floats [batch, 2, 3] and 4 sizes, or floats [batch, 3, 4] and 5 sizes
                    at node `y` (AffineGrid version 20)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn each_image_has_a_map() {
        problems(
            &[
                r#"(float[3, 2, 3] t) => (float[a, b, c, d] y) <int64[4] s = {2, 1, 4, 4}> { y = AffineGrid (t, s) }"#,
            ],
            expect![[r#"
                `theta` has 3 maps, but `size` has 2 images
            "#]],
        );
    }
}
