//! Pooling over windows or whole channels.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::convolution::conv::channels_second;
use crate::ops::convolution::window::{Window, spatial_axes};
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rows::Rows;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("MaxPool", &[1, 8, 10, 11, 12, 22], max_pool)
        .newer(&[("storage_order", 8), ("ceil_mode", 10), ("dilations", 10)])
        .follows()
        .arity("r", "ro")
        .before(&[(8, "r", "r")]),
    row("AveragePool", &[1, 7, 10, 11, 19, 22], average_pool)
        .newer(&[("count_include_pad", 7), ("ceil_mode", 10), ("dilations", 19)])
        .follows(),
    row("LpPool", &[1, 2, 11, 18, 22], lp_pool).newer(&[("ceil_mode", 18), ("dilations", 18)]),
    row("GlobalAveragePool", &[1, 22], |_| global("global_average_pool", None)).follows(),
    row("GlobalMaxPool", &[1, 22], |_| global("global_max_pool", None)).follows(),
    row("GlobalLpPool", &[1, 2, 22], |a| global("global_lp_pool", Some(power(a)?))),
    row("NhwcMaxPool", &[1], |a| Ok(Rc::new(ChannelsLast(Window::read(a)?)))).of(MICROSOFT),
];

#[derive(Debug)]
pub struct Pool {
    window: Window,
    kind: PoolReduction,
}

attributes!(struct Pool { window, kind });

#[derive(Clone, Copy, Debug)]
enum PoolReduction {
    /// The maximum, with ONNX's `storage_order`.
    Max(bool),
    /// The average, with ONNX's `count_include_pad`.
    Average(bool),
    /// A norm, with its power.
    Lp(u32),
}

attributes!(
    enum PoolReduction {
        Max(inner),
        Average(inner),
        Lp(inner),
    }
);

/// Maxima of windows of an input `[N, H, W, C]`.
#[derive(Debug)]
struct ChannelsLast(Window);

attributes!(struct ChannelsLast(inner));

/// Name of the kernels' function, and the power of a norm.
#[derive(Debug)]
struct Global(&'static str, Option<u32>);

attributes!(struct Global(first, second));

fn max_pool(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Pool { window: Window::read(a)?, kind: PoolReduction::Max(a.flag("storage_order", false)?) }))
}

fn average_pool(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Pool {
        window: Window::read(a)?,
        kind: PoolReduction::Average(a.flag("count_include_pad", false)?),
    }))
}

fn lp_pool(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Pool { window: Window::read(a)?, kind: PoolReduction::Lp(power(a)?) }))
}

fn global(function: &'static str, power: Option<u32>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Global(function, power)))
}

/// Reads the power of a norm, which is a float in version 1.
fn power(a: &Attributes<'_>) -> Result<u32, Problem> {
    let power = match a.version() {
        1 => f64::from(a.float_or("p", 2.0)?),
        _ => a.int_or("p", 2)? as f64,
    };
    if power.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&power) {
        Ok(power as u32)
    } else {
        Err(Problem::expected("`p`", power, "a positive integer"))
    }
}

impl Pool {
    pub fn is_maximum(&self) -> bool {
        matches!(self.kind, PoolReduction::Max(_))
    }

    /// Adds padding around each axis, which is included in the count of an average. Returns `None` if that changes
    /// other results.
    pub fn padded(&self, more: &[(i64, i64)]) -> Option<Self> {
        let counted = match self.kind {
            PoolReduction::Max(_) => true,
            PoolReduction::Average(include) => include || self.window.is_unpadded(),
            PoolReduction::Lp(_) => false,
        };
        let kind = match self.kind {
            PoolReduction::Average(_) => PoolReduction::Average(true),
            kind => kind,
        };
        let window = self.window.padded(more).filter(|_| counted && !self.window.ceil)?;
        // A window that is completely outside would be empty.
        let kernel = window.kernel.as_ref()?;
        let within = kernel.iter().zip(more).all(|(&size, &(begin, end))| begin < size && end < size);
        within.then_some(Pool { window, kind })
    }
}

impl Operator for Pool {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let shape = self.window.pooled(cx, &x)?;
        cx.output(0, x.dtype, shape.clone());
        cx.output(1, DType::I64, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let window = self.window.resolve(spatial_axes(x.rank())?, None)?;
        if !window.always_fits(x.shape.get(2..).unwrap_or_default()) {
            cx.may_fail();
        }
        let window = window.emit(cx, x.shape.get(2..).unwrap_or_default());
        let (input, ceil) = (cx.tensor(0)?, self.window.ceil);
        Ok(match self.kind {
            PoolReduction::Max(columns) if cx.wants(1) => {
                let order = if columns {
                    code!(ops::pool::StorageOrder::ColumnMajor)
                } else {
                    code!(ops::pool::StorageOrder::RowMajor)
                };
                code!(ops::pool::max_pool_with_indices(#input, #window, #ceil, #order))
            }
            PoolReduction::Max(_) => {
                let pooled = code!(ops::pool::max_pool(#input, #window, #ceil));
                match cx.outputs() {
                    1 => pooled,
                    _ => code!((#pooled, ())),
                }
            }
            PoolReduction::Average(include) => {
                code!(ops::pool::average_pool(#input, #window, #include, #ceil))
            }
            PoolReduction::Lp(power) => {
                let power = Literal::u32_unsuffixed(power);
                code!(ops::pool::lp_pool(#input, #window, #power, #ceil))
            }
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        // Indices count the elements of all rows.
        let has_indices = rows.output(1).is_some();
        (!has_indices).then(|| rows.batch()).flatten()
    }
}

impl Operator for ChannelsLast {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = channels_second(cx.tensor(0)?);
        let mut shape = self.0.pooled(cx, &x)?;
        if let Some(inner) = shape.get_mut(1..) {
            inner.rotate_left(1);
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = channels_second(cx.tensor_type(0)?.clone());
        let window = self.0.resolve(spatial_axes(x.rank())?, None)?;
        let spatial = x.shape.get(2..).unwrap_or_default();
        if !window.always_fits(spatial) {
            cx.may_fail();
        }
        let (window, ceil) = (window.emit(cx, spatial), self.0.ceil);
        let last = Literal::usize_unsuffixed(x.rank().saturating_sub(1));
        let input = cx.tensor(0)?;
        Ok(code!(ops::pool::max_pool(#input.movedim(#last, 1), #window, #ceil).movedim(1, #last)))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

impl Operator for Global {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        spatial_axes(x.rank())?;
        let size = |(axis, dim): (usize, &Dim)| match axis {
            0 | 1 => dim.clone(),
            _ => Dim::from(1),
        };
        cx.output(0, x.dtype, x.shape.iter().enumerate().map(size).collect());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, function) = (cx.tensor(0)?, format_ident!("{}", self.0));
        let power = self.1.map(Literal::u32_unsuffixed).into_iter();
        Ok(code!(ops::pool::#function(#x #(, #power)*)))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, named, problems};

    #[test]
    fn windows_give_the_sizes() {
        check(
            r#"g (float[n, 3, h, 9] x) => (float[a, b, c, d] y, int64[a, b, c, d] i, float[a, b, c, d] z, float[a, b, c, d] g) { y, i = MaxPool <kernel_shape = [2, 3], strides = [2, 2]> (x) z = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1, strides = [1, 3]> (x) g = GlobalLpPool <p = 3> (x) }"#,
            expect![[r#"
                g (float32[n, 3, h, 9] x) => (float32[n, 3, floor((h) / (2)), 4] y, int64[n, 3, floor((h) / (2)), 4] i, float32[n, 3, pool, pool_2] z, float32[n, 3, 1, 1] g)
                {
                    float32[n, 3, floor((h) / (2)), 4] y, int64[n, 3, floor((h) / (2)), 4] i = MaxPool <window: {kernel: [2, 3], strides: [2, 2], padding: Explicit}> (x)
                    float32[n, 3, pool, pool_2] z = AveragePool <window: {kernel: [3, 3], strides: [1, 3], pads: [1, 1, 1, 1], padding: Explicit, ceil: true}> (x)
                    float32[n, 3, 1, 1] g = GlobalLpPool <"global_lp_pool", 3> (x)
                }
            "#]],
        );
    }

    #[test]
    fn windows_and_norms_are_positive() {
        problems(
            &[
                r#"(float[1, 1, 9] x) => (float[a, b, c] y) { y = MaxPool <kernel_shape = [0]> (x) }"#,
                r#"(float[1, 1, 9] x) => (float[a, b, c] y) { y = MaxPool <kernel_shape = [2, 2]> (x) }"#,
                r#"(float[1, 1, 9] x) => (float[a, b, c] y) { y = MaxPool (x) }"#,
                r#"(float[1, 1, 9] x) => (float[a, b, c] y) { y = LpPool <kernel_shape = [2], p = 0> (x) }"#,
                r#"(float[1, 9] x) => (float[a, b] y) { y = GlobalMaxPool (x) }"#,
                r#"(float[1, 1, 9] x) => (float[a, b, c] y) { y = AveragePool <kernel_shape = [2], pads = [-1, 0]> (x) }"#,
                r#"(float[1, 1, 9] x) => (float[a, b, c] y) { y = AveragePool <kernel_shape = [2], auto_pad = "SAME"> (x) }"#,
            ],
            expect![[r#"
                the kernel shape is [0], expected positive 32-bit integers
                the kernel shape has 2 elements, expected 1
                the kernel shape is unknown at compile time
                `p` is 0, expected a positive integer
                the input has rank 2, expected 3 to 5
                `pads` is [-1, 0], expected non-negative 32-bit integers
                `auto_pad` is `SAME`, expected `NOTSET`, `VALID`, `SAME_UPPER` or `SAME_LOWER`
            "#]],
        );
    }

    #[test]
    fn channels_of_microsoft_are_last() {
        problems(
            &[
                r#"(uint8[n, 9, w, 3] x) => (uint8[n, 4, w, 3] y) { y = com.microsoft.NhwcMaxPool <kernel_shape = [2, 1], strides = [2, 1]> (x) }"#,
                r#"(uint8[n, 9, w, 3] x) => (uint8[n, 4, w, 4] y) { y = com.microsoft.NhwcMaxPool <kernel_shape = [2, 1], strides = [2, 1]> (x) }"#,
                r#"(uint8[n, 9, w, 3] x) => (uint8[n, 9, w, 3] y) { y = com.microsoft.NhwcMaxPool (x) }"#,
                r#"(uint8[n, 9, w, 3] x) => (uint8[n, 9, w, 3] y) { y = com.microsoft.NhwcMaxPool <kernel_shape = [2]> (x) }"#,
                r#"(float[n, 9, w, 3] x) => (float[n, 9, w, 3] y) { y = com.microsoft.NhwcMaxPool <kernel_shape = [1, 1]> (x) }"#,
            ],
            expect![[r#"
                fine
                output `y` is declared as uint8[n, 4, w, 4], but has type uint8[n, 4, w, 3]
                the kernel shape is unknown at compile time
                the kernel shape has 1 element, expected 2
                input 0 (`x`) is float32[n, 9, w, 3], expected uint8 or int8
            "#]],
        );
    }

    #[test]
    fn a_window_that_may_be_too_large_has_a_name() {
        named(
            &[
                r#"(float[1, 1, n] x) => (float[a, b, c] y) { y = MaxPool <kernel_shape = [2]> (x) }"#,
                r#"(float[1, 1, n] x) => (float[a, b, c] y) { y = MaxPool <kernel_shape = [2], pads = [1, 0]> (x) }"#,
            ],
            expect![[r#"
                "y" , "MaxPool"
                none
            "#]],
        );
    }
}
