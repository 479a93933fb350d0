//! LayerNormalization and related operators.

use std::rc::Rc;

use proc_macro2::Literal;

use super::{check_floats, floats, integer, number, optional};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("LayerNormalization", &[17], layer).follows().arity("rro", "roo"),
    row("RMSNormalization", &[23], root_mean_square).follows().arity("rr", "r"),
    row("SimplifiedLayerNormalization", &[1], root_mean_square).follows().arity("rr", "ro"),
    row("LpNormalization", &[1, 22], norm),
    row("MeanVarianceNormalization", &[9, 13], mean_variance),
];

/// Normalization over the last axes, starting with `axis`, and scaling.
#[derive(Debug)]
pub struct Layer {
    pub axis: i64,
    pub epsilon: f32,
    /// Type of the statistics that are outputs.
    statistics: Option<DType>,
    /// Whether the mean is not subtracted.
    root_mean_square: bool,
}

attributes!(struct Layer { axis, epsilon, statistics, root_mean_square });

/// Division by the norm along an axis.
#[derive(Debug)]
struct Norm {
    axis: i64,
    power: u32,
}

attributes!(struct Norm { axis, power });

/// Standardization over axes, without scaling.
#[derive(Debug)]
struct MeanVariance {
    axes: Vec<i64>,
}

attributes!(struct MeanVariance { axes });

pub fn layer(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, false)
}

pub fn root_mean_square(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, true)
}

fn read(a: &Attributes<'_>, root_mean_square: bool) -> Result<Rc<dyn Operator>, Problem> {
    let number = i32::try_from(a.int_or("stash_type", 1)?).ok();
    Ok(Rc::new(Layer {
        axis: a.int_or("axis", -1)?,
        epsilon: a.float_or("epsilon", 1e-5)?,
        statistics: number.and_then(DType::from_onnx),
        root_mean_square,
    }))
}

pub fn norm(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let power = a.int_or("p", 2)?;
    match u32::try_from(power) {
        Ok(power @ 1..) => Ok(Rc::new(Norm { axis: a.int_or("axis", -1)?, power })),
        _ => Err(Problem::expected("`p`", power, "a positive integer")),
    }
}

pub fn mean_variance(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let axes = a.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    Ok(Rc::new(MeanVariance { axes }))
}

impl Operator for Layer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = floats(cx, 1)?;
        let axis = axis(self.axis, x.rank())?;
        for (input, what) in [(1, "the scale"), (2, "the bias")] {
            if input == 1 || cx.has(input) {
                let factor = cx.tensor(input)?;
                check_floats(what, &factor)?;
                sizes::broadcasts(what, &factor, &x.shape)?;
            }
        }
        let outputs = cx.wants(1) || cx.wants(2);
        if outputs && self.statistics != Some(DType::F32) {
            return Err(Problem::new("the statistics are outputs, expected `stash_type` 1 (float32)"));
        }
        let mut statistics: Vec<Dim> = x.shape.iter().take(axis).cloned().collect();
        statistics.resize(x.rank(), Dim::from(1));
        let result = if self.root_mean_square { cx.tensor(1)?.dtype } else { x.dtype };
        cx.output(0, result, x.shape);
        cx.output(1, DType::F32, statistics.clone());
        cx.output(2, DType::F32, statistics);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let at = integer(axis(self.axis, cx.tensor_type(0)?.rank())?);
        let epsilon = number(self.epsilon);
        let rank = cx.tensor_type(1)?.burn_rank();
        let bias_rank = if cx.has(2) { cx.tensor_type(2)?.burn_rank() } else { rank };
        let statistics = cx.wants(1) || cx.wants(2);
        let bias = if cx.has(2) { cx.weight(2).map(Some) } else { Some(None) };
        let scale = cx.weight(1);
        let normalized = match (scale, bias) {
            (Some(scale), Some(bias)) if rank == bias_rank && !statistics => {
                let (hint, x, dimension) = (cx.layer_hint(1), cx.tensor(0)?, integer(rank));
                let bias = optional(bias);
                let (ty, load) = if self.root_mean_square {
                    (
                        code!(layers::RmsNorm<#dimension>),
                        code!(layers::RmsNorm::load(weights, #scale, #at, #epsilon)),
                    )
                } else {
                    (
                        code!(layers::LayerNorm<#dimension>),
                        code!(layers::LayerNorm::load(weights, #scale, #bias, #at, #epsilon)),
                    )
                };
                let layer = cx.layer_of(&hint, ty, load, &[("scale", 1), ("bias", 2)]);
                code!(#layer.forward(#x))
            }
            _ => {
                let rank = rank.max(bias_rank);
                let (x, scale) = (cx.tensor(0)?, cx.tensor_of_rank(1, rank)?);
                if self.root_mean_square {
                    let function = if statistics { code!(rms_norm_with_statistics) } else { code!(rms_norm) };
                    return Ok(code!(ops::normalize::#function(#x, #scale, #at, #epsilon)));
                }
                let bias = if cx.has(2) {
                    let bias = cx.tensor_of_rank(2, rank)?;
                    code!(Some(#bias))
                } else {
                    code!(None)
                };
                if statistics {
                    code! {
                        ops::normalize::layer_norm_with_statistics(#x, #scale, #bias, #at, #epsilon)
                    }
                } else {
                    code!(ops::normalize::layer_norm(#x, #scale, #bias, #at, #epsilon))
                }
            }
        };
        Ok(match (cx.outputs(), statistics) {
            (1, _) => normalized,
            (2, false) => code!((#normalized, ())),
            (_, false) => code!((#normalized, (), ())),
            (2, true) => code!({
                let normed = #normalized;
                (normed.y, normed.mean)
            }),
            (_, true) => code!({
                let normed = #normalized;
                (normed.y, normed.mean, normed.inverse_deviation)
            }),
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (at, rank) = (rows.alone()?, rows.tensor(0)?.rank());
        let first = axis(self.axis, rank).ok()?;
        let factors = [1, 2].into_iter().all(|input| rows.broadcasts(input, at, rank));
        (at < first && factors).then(|| vec![at; 3])
    }
}

impl Operator for Norm {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = floats(cx, 1)?;
        axis(self.axis, x.rank())?;
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let at = integer(axis(self.axis, cx.tensor_type(0)?.rank())?);
        let power = Literal::u32_unsuffixed(self.power);
        let x = cx.tensor(0)?;
        Ok(code!(ops::normalize::lp_normalize(#x, #at, #power)))
    }
}

impl Operator for MeanVariance {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = floats(cx, 1)?;
        for &at in &self.axes {
            axis(at, x.rank())?;
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let axes = self.axes.iter().map(|&at| axis(at, rank).map(integer));
        let axes = axes.collect::<Result<Vec<_>, Problem>>()?;
        let x = cx.tensor(0)?;
        Ok(code!(ops::normalize::mean_variance_normalize(#x, &[#(#axes),*])))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn statistics_are_of_size_one_where_they_are_taken() {
        check(
            r#"
            main (float16[N, 2, 3] x, float16[3] s) => (float16[N, 2, 3] y, float[N, 1, 1] mean) {
                y, mean = LayerNormalization <axis = 1> (x, s)
            }
            "#,
            expect![[r#"
                main (float16[N, 2, 3] x, float16[3] s) => (float16[N, 2, 3] y, float32[N, 1, 1] mean)
                {
                    float16[N, 2, 3] y, float32[N, 1, 1] mean = LayerNormalization <axis: 1, epsilon: 1e-5, statistics: F32> (x, s)
                }
            "#]],
        );
    }

    #[test]
    fn scales_must_stretch_to_the_input() {
        check(
            r#"
            main (float[N, 2, 3] x, float[2] s) => (float[N, 2, 3] y) {
                y = LayerNormalization (x, s)
            }
            "#,
            expect![[r#"
                cannot compile `model`

                  the scale is float32[2], expected a shape that broadcasts to [N, 2, 3]
                    at node `y` (LayerNormalization version 17)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
