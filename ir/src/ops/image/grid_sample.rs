//! GridSample: sampling at the points of a grid.

use std::rc::Rc;

use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::ElementClass;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::elementwise::cast::through_floats;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("GridSample", &[16, 20, 22], read).arity("rr", "r")];

#[derive(Debug)]
struct GridSample {
    /// A variant of the kernels' `Mode`.
    mode: &'static str,
    /// A variant of the kernels' `Padding`.
    padding: &'static str,
    align_corners: bool,
}

attributes!(struct GridSample { mode, padding, align_corners });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let default = if a.version() < 20 { "bilinear" } else { "linear" };
    let modes = [
        ("linear", "Linear"),
        ("nearest", "Nearest"),
        ("cubic", "Cubic"),
        ("bilinear", "Linear"),
        ("bicubic", "Cubic"),
    ];
    let mode = a.choice("mode", default, &modes)?;
    let paddings = [("zeros", "Zeros"), ("border", "Border"), ("reflection", "Reflection")];
    let padding = a.choice("padding_mode", "zeros", &paddings)?;
    Ok(Rc::new(GridSample { mode, padding, align_corners: a.flag("align_corners", false)? }))
}

impl Operator for GridSample {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, grid) = (cx.tensor(0)?, cx.tensor(1)?);
        let rank = x.rank();
        let axes = rank.saturating_sub(2);
        if axes == 0
            || !matches!(x.dtype.kind(), ElementClass::Float | ElementClass::Int | ElementClass::Bool)
        {
            return Err(Problem::expected("the input", x, "numbers or booleans of rank 3 or more"));
        }
        let coordinates = grid.shape.last().and_then(Dim::number);
        let fits = coordinates.is_none_or(|count| usize::try_from(count) == Ok(axes));
        if grid.rank() != rank || !fits || !grid.dtype.is_float() {
            let expected = format!("floats of rank {rank} with a last axis of size {axes}");
            return Err(Problem::expected("the grid", grid, expected));
        }
        if self.mode == "Cubic" && axes != 2 {
            return Err(Problem::expected("the input", x, "rank 4 for cubic interpolation"));
        }
        let mut shape: Vec<Dim> = x.shape.iter().take(2).cloned().collect();
        if let (Some(grids), Some(images)) = (grid.shape.first(), x.shape.first()) {
            sizes::agree("the batch size", images, grids)?;
        }
        let points = grid.shape.iter().skip(1).take(axes);
        shape.extend(points.cloned());
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let (x, grid) = (cx.tensor(0)?, cx.tensor(1)?);
        let (mode, padding) = (format_ident!("{}", self.mode), format_ident!("{}", self.padding));
        let align_corners = self.align_corners;
        let dtype = cx.tensor_type(0)?.dtype;
        let sampled = |x| {
            code! {
                ops::grid_sample::grid_sample(
                    #x,
                    #grid,
                    &ops::grid_sample::GridSample {
                        mode: ops::grid_sample::Mode::#mode,
                        padding: ops::grid_sample::Padding::#padding,
                        align_corners: #align_corners,
                    },
                )
            }
        };
        Ok(through_floats(x, dtype, sampled))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn each_image_has_a_grid() {
        problems(
            &[
                r#"(float[2, 1, 4, 4] x, float[3, 5, 5, 2] g) => (float[2, 1, 5, 5] y) { y = GridSample (x, g) }"#,
            ],
            expect![[r#"
                the batch size is 2 in one input and 3 in another
            "#]],
        );
    }
}
