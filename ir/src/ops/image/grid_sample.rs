//! GridSample: sampling at the points of a grid.

use std::rc::Rc;

use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::Kind;
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
    let mode = match a.string_or("mode", default)?.as_str() {
        "linear" | "bilinear" => "Linear",
        "cubic" | "bicubic" => "Cubic",
        "nearest" => "Nearest",
        other => {
            return Err(
                Problem::new(format!("`mode` is `{other}`")).help("it may be linear, nearest or cubic")
            );
        }
    };
    let padding = match a.string_or("padding_mode", "zeros")?.as_str() {
        "zeros" => "Zeros",
        "border" => "Border",
        "reflection" => "Reflection",
        other => {
            return Err(Problem::new(format!("`padding_mode` is `{other}`"))
                .help("it may be zeros, border or reflection"));
        }
    };
    Ok(Rc::new(GridSample { mode, padding, align_corners: a.flag("align_corners", false)? }))
}

impl Operator for GridSample {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, grid) = (cx.tensor(0)?, cx.tensor(1)?);
        let axes = x.rank().checked_sub(2).filter(|&axes| axes > 0);
        let coordinates = grid.shape.last().and_then(Dim::number);
        let fits = axes.is_some_and(|axes| {
            grid.rank() == x.rank() && coordinates.is_none_or(|count| usize::try_from(count) == Ok(axes))
        });
        let numbers = matches!(x.dtype.kind(), Kind::Float | Kind::Int | Kind::Bool);
        if !fits || !numbers || !grid.dtype.is_float() {
            return Err(Problem::new(format!(
                "the input is {x} and the grid {grid}, which do not fit together"
            )));
        }
        if self.mode == "Cubic" && axes != Some(2) {
            return Err(Problem::new(format!(
                "the input is {x}; cubic interpolation is defined over 2 axes"
            )));
        }
        let mut shape: Vec<Dim> = x.shape.iter().take(2).cloned().collect();
        if let (Some(grids), Some(images)) = (grid.shape.first(), x.shape.first()) {
            sizes::equal(("the grid", grids, "batch elements"), ("the input", images, "batch elements"))?;
        }
        let points = grid.shape.iter().skip(1).take(axes.unwrap_or(0));
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
                the grid has 3 batch elements, but the input has 2 batch elements
            "#]],
        );
    }
}
