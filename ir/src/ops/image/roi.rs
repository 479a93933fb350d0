//! MaxRoiPool and RoiAlign: regions of images.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::convolution::window::list;
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("MaxRoiPool", &[1, 22], |a| {
        Ok(Rc::new(MaxRoiPool {
            output: output(&a.ints("pooled_shape")?.unwrap_or_default())?,
            scale: a.float_or("spatial_scale", 1.0)?,
        }))
    })
    .arity("rr", "r"),
    row("RoiAlign", &[10, 16, 22], align).arity("rrr", "r"),
];

/// The maxima of the cells of regions, whose corners are rounded to elements.
#[derive(Debug)]
struct MaxRoiPool {
    output: [i64; 2],
    scale: f32,
}

attributes!(struct MaxRoiPool { output, scale });

/// The interpolated values at sampling points in the cells of regions.
#[derive(Debug)]
struct RoiAlign {
    output: [i64; 2],
    scale: f32,
    sampling: i64,
    half_pixel: bool,
    /// A variant of the kernels' `Mode`.
    mode: &'static str,
}

attributes!(struct RoiAlign { output, scale, sampling, half_pixel, mode });

fn align(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let half_pixel = match a.version() {
        ..16 => false,
        _ => {
            let modes = [("half_pixel", true), ("output_half_pixel", false)];
            a.choice("coordinate_transformation_mode", "half_pixel", &modes)?
        }
    };
    let mode = a.choice("mode", "avg", &[("avg", "Average"), ("max", "Max")])?;
    let sampling = a.int_or("sampling_ratio", 0)?;
    const LIMIT: i64 = 1 << 15;
    if !(0..LIMIT).contains(&sampling) {
        return Err(Problem::expected("`sampling_ratio`", sampling, format_args!("0 to {}", LIMIT - 1)));
    }
    Ok(Rc::new(RoiAlign {
        output: output(&[a.int_or("output_height", 1)?, a.int_or("output_width", 1)?])?,
        scale: a.float_or("spatial_scale", 1.0)?,
        sampling,
        half_pixel,
        mode,
    }))
}

/// Checks and returns the height and width of the result.
fn output(sizes: &[i64]) -> Result<[i64; 2], Problem> {
    match *sizes {
        [height, width] if height > 0 && width > 0 => Ok([height, width]),
        _ => {
            let found = format!("{sizes:?}");
            Err(Problem::expected("the output size", found, "a positive height and width"))
        }
    }
}

/// Infers the result for regions that are described by `numbers` numbers.
fn infer(cx: &mut Infer<'_>, numbers: i64, output: [i64; 2]) -> Result<(), Problem> {
    let (x, rois) = (cx.tensor_of_rank(0, 4)?, cx.tensor_of_rank(1, 2)?);
    let columns = rois.shape.last().and_then(Dim::number);
    if x.dtype != rois.dtype || !x.dtype.is_float() || columns.is_some_and(|columns| columns != numbers) {
        return Err(Problem::new(format!(
            "the input is {x} and the regions are {rois}, expected floats of the same type and {numbers} values \
             per region"
        )));
    }
    let size = |dims: &[Dim], at: usize| dims.get(at).cloned().unwrap_or_default();
    let shape = vec![size(&rois.shape, 0), size(&x.shape, 1), Dim::from(output[0]), Dim::from(output[1])];
    cx.output(0, x.dtype, shape);
    Ok(())
}

impl Operator for MaxRoiPool {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        infer(cx, 5, self.output)
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        cx.may_fail();
        let (x, rois) = (cx.tensor(0)?, cx.tensor(1)?);
        let output = list(&self.output);
        let scale = float_literal(self.scale.into(), DType::F32);
        Ok(code!(ops::roi::max_roi_pool(#x, #rois, #output, #scale)))
    }
}

impl Operator for RoiAlign {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let batches = cx.tensor_of_rank(2, 1)?;
        if !batches.dtype.is_int() {
            return Err(Problem::expected("`batch_indices`", batches, "integers"));
        }
        if let (Some(count), Some(rois)) = (batches.shape.first(), cx.tensor(1)?.shape.first()) {
            sizes::equal(("`batch_indices`", count, "elements"), ("`rois`", rois, "regions"))?;
        }
        infer(cx, 4, self.output)
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        cx.may_fail();
        let (x, rois, batches) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let output = list(&self.output);
        let scale = float_literal(self.scale.into(), DType::F32);
        let sampling = Literal::i64_unsuffixed(self.sampling);
        let half_pixel = self.half_pixel;
        let mode = format_ident!("{}", self.mode);
        Ok(code! {
            ops::roi::roi_align(
                #x,
                #rois,
                #batches,
                &ops::roi::RoiAlign {
                    output: #output,
                    sampling: #sampling,
                    scale: #scale,
                    half_pixel: #half_pixel,
                    mode: ops::roi::Mode::#mode,
                },
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn each_region_becomes_an_image() {
        check(
            "g (float[1, c, h, w] x, float[n, 4] r, int64[n] b, float[m, 5] p) => (float[x0, x1, x2, x3] y, float[y0, y1, y2, y3] z) {
                y = RoiAlign<output_height: int = 7, output_width: int = 5, mode: string = \"max\">(x, r, b)
                z = MaxRoiPool<pooled_shape: ints = [2, 3]>(x, p)
            }",
            expect![[r#"
                g (float32[1, c, h, w] x, float32[n, 4] r, int64[n] b, float32[m, 5] p) => (float32[n, c, 7, 5] y, float32[m, c, 2, 3] z)
                {
                    float32[n, c, 7, 5] y = RoiAlign <output: [7, 5], scale: 1.0, sampling: 0, half_pixel: true, mode: "Max"> (x, r, b)
                    float32[m, c, 2, 3] z = MaxRoiPool <output: [2, 3], scale: 1.0> (x, p)
                }
            "#]],
        );
    }

    #[test]
    fn coordinates_had_no_half_pixel_before_version_16() {
        check(
            "<ir_version: 5, opset_import: [\"\": 10]>
            g (float[1, c, h, w] x, float[n, 4] r, int64[n] b) => (float[x0, x1, x2, x3] y) {
                y = RoiAlign(x, r, b)
            }",
            expect![[r#"
                g (float32[1, c, h, w] x, float32[n, 4] r, int64[n] b) => (float32[n, c, 1, 1] y)
                {
                    float32[n, c, 1, 1] y = RoiAlign <output: [1, 1], scale: 1.0, sampling: 0, mode: "Average"> (x, r, b)
                }
            "#]],
        );
    }

    #[test]
    fn each_region_has_a_batch_index() {
        problems(
            &[
                r#"(float[1, 2, 8, 8] x, float[3, 4] r, int64[2] b) => (float[3, 2, 1, 1] y) { y = RoiAlign (x, r, b) }"#,
            ],
            expect![[r#"
                `batch_indices` has 2 elements, but `rois` has 3 regions
            "#]],
        );
    }
}
