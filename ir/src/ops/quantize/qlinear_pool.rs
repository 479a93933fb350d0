//! Averages of quantized tensors.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::convolution::window::{Window, channels, spatial_axes};
use crate::ops::quantize::affine;
use crate::ops::quantize::qlinear::other_type;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rows::{Rows, reduced};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("QLinearAveragePool", &[1], pool).arity("rroro", "r").of(MICROSOFT),
    row("QLinearGlobalAveragePool", &[1], global).arity("rrrrr", "r").of(MICROSOFT),
    row("QLinearReduceMean", &[1], reduce).arity("rroro", "r").of(MICROSOFT),
];

/// Average of each window.
#[derive(Debug)]
struct Pool {
    window: Window,
    include_padding: bool,
    channels_last: bool,
}

attributes!(struct Pool { window, include_padding, channels_last });

/// Average of each channel.
#[derive(Debug)]
struct Global {
    channels_last: bool,
    /// Whether it rounds like the sequence of DequantizeLinear, the mean and QuantizeLinear.
    in_steps: bool,
}

attributes!(struct Global { channels_last, in_steps });

/// Average over axes, or over all if `axes` is empty.
#[derive(Debug)]
struct Reduce {
    axes: Vec<i64>,
    keep: bool,
}

attributes!(struct Reduce { axes, keep });

fn pool(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Pool {
        window: Window::read(a)?,
        include_padding: a.flag("count_include_pad", false)?,
        channels_last: a.flag("channels_last", false)?,
    }))
}

fn global(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Global { channels_last: a.flag("channels_last", false)?, in_steps: false }))
}

/// Returns the operator that computes the same integers as GlobalAveragePool between DequantizeLinear and
/// QuantizeLinear.
pub fn global_between_scales() -> Rc<dyn Operator> {
    Rc::new(Global { channels_last: false, in_steps: true })
}

fn reduce(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Reduce { axes: a.ints("axes")?.unwrap_or_default(), keep: a.flag("keepdims", true)? }))
}

/// Returns the type of the input, with channels second. The result must have the same element type.
fn input(cx: &Infer<'_>, channels_last: bool) -> Result<TensorType, Problem> {
    let mut x = affine::quantized(cx, 0)?;
    if let Some(result) = affine::check(cx, 3, 4)?.filter(|&dtype| dtype != x.dtype) {
        return Err(other_type(0, x.dtype, result));
    }
    x.shape = channels::first(&x.shape, channels_last);
    Ok(x)
}

impl Operator for Pool {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = input(cx, self.channels_last)?;
        let shape = self.window.pooled(cx, &x)?;
        cx.output(0, x.dtype, channels::back(&shape, self.channels_last));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let shape = channels::first(&x.shape, self.channels_last);
        let window = self.window.resolve(spatial_axes(x.rank())?, None)?;
        let window = window.emit(cx, shape.get(2..).unwrap_or_default());
        let (result, include, ceil) =
            (affine::emit(cx, 3, 4, x.dtype)?, self.include_padding, self.window.ceil);
        let (input, of) = (cx.tensor(0)?, affine::emit(cx, 1, 2, x.dtype)?);
        let input = channels::transposed_first(input, x.rank(), self.channels_last);
        let y = code! {
            ops::quantize::average_pool((#input, #of), #result, #window, #include, #ceil)
        };
        Ok(channels::transposed_back(y, x.rank(), self.channels_last))
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

impl Operator for Global {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = input(cx, self.channels_last)?;
        spatial_axes(x.rank())?;
        let mut shape: Vec<Dim> = x.shape.iter().take(2).cloned().collect();
        shape.resize(x.rank(), Dim::from(1));
        cx.output(0, x.dtype, channels::back(&shape, self.channels_last));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let result = affine::emit(cx, 3, 4, x.dtype)?;
        let (input, of) = (cx.tensor(0)?, affine::emit(cx, 1, 2, x.dtype)?);
        let input = channels::transposed_first(input, x.rank(), self.channels_last);
        let module = if self.in_steps { code!(quantize::steps) } else { code!(quantize) };
        let y = code!(ops::#module::global_average_pool((#input, #of), #result));
        Ok(channels::transposed_back(y, x.rank(), self.channels_last))
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

impl Reduce {
    /// Returns the axes in ascending order.
    fn axes(&self, rank: usize) -> Result<Vec<usize>, Problem> {
        if self.axes.is_empty() {
            return Ok((0..rank).collect());
        }
        let axes = self.axes.iter().map(|&at| axis(at, rank));
        let mut axes = axes.collect::<Result<Vec<_>, Problem>>()?;
        axes.sort_unstable();
        axes.dedup();
        Ok(axes)
    }
}

impl Operator for Reduce {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = input(cx, false)?;
        let axes = self.axes(x.rank())?;
        let kept = |(at, dim): (usize, &Dim)| match (axes.contains(&at), self.keep) {
            (false, _) => Some(dim.clone()),
            (true, true) => Some(Dim::from(1)),
            (true, false) => None,
        };
        let shape = x.shape.iter().enumerate().filter_map(kept).collect();
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let axes = self.axes(x.rank())?.into_iter().map(Literal::usize_unsuffixed);
        let axes: Vec<Literal> = axes.collect();
        let (input, result) = (affine::pair(cx, 0, x.burn_rank())?, affine::emit(cx, 3, 4, x.dtype)?);
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        Ok(code!(ops::quantize::reduce_mean::<_, #rank>(#input, #result, &[#(#axes),*])))
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let at = rows.alone()?;
        let axes = self.axes(rows.tensor(0)?.rank()).ok()?;
        reduced(at, &axes, self.keep)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn channels_may_be_last() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (int8[N, 6, W, 3] x, float s, int8 z) => (int8[a, b, c, d] y, int8[e, f, g, h] g, int8[i, j] r) {
                y = com.microsoft.QLinearAveragePool <kernel_shape = [2, 2], strides = [2, 1], channels_last = 1> (x, s, z, s, z)
                g = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (x, s, z, s, z)
                r = com.microsoft.QLinearReduceMean <axes = [-1, 1], keepdims = 0> (x, s, z, s, z)
            }
            "#,
            expect![[r#"
                main (int8[N, 6, W, 3] x, host float32[] s, host int8[] z) => (int8[N, 3, W - 1, 3] y, int8[N, 1, 1, 3] g, int8[N, W] r)
                {
                    int8[N, 3, W - 1, 3] y = com.microsoft.QLinearAveragePool <window: {kernel: [2, 2], strides: [2, 1], padding: Explicit}, channels_last: true> (x, s, z, s, z)
                    int8[N, 1, 1, 3] g = com.microsoft.QLinearGlobalAveragePool <channels_last: true> (x, s, z, s, z)
                    int8[N, W] r = com.microsoft.QLinearReduceMean <axes: [-1, 1]> (x, s, z, s, z)
                }
            "#]],
        );
    }
}
