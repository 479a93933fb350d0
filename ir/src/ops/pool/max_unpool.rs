//! MaxUnpool: pooled elements restored to their positions.

use std::rc::Rc;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::convolution::window::{Resolved, Window};
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

pub const ROWS: &[Row] =
    &[row("MaxUnpool", &[9, 11, 22], |a| Ok(Rc::new(MaxUnpool(Window::read(a)?)))).arity("rro", "r")];

#[derive(Debug)]
struct MaxUnpool(Window);

attributes!(struct MaxUnpool(inner));

impl Operator for MaxUnpool {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        if !x.dtype.is_float() {
            return Err(Problem::expected("the input", x, "floats"));
        }
        if !indices.dtype.is_int() {
            return Err(Problem::expected("the tensor of indices", indices, "integers"));
        }
        sizes::shaped("the tensor of indices", &indices, &x.shape)?;
        let own = self.shape(&x)?;
        if !cx.has(2) {
            cx.output(0, x.dtype, own);
            return Ok(());
        }
        let sizes = cx.ints(2);
        if let Some(sizes) = &sizes {
            sizes::length("`output_shape`", sizes.len(), x.rank())?;
        }
        let shape = match sizes {
            Some(sizes) => sizes,
            None => (0..x.rank()).map(|_| cx.fresh("unpool")).collect(),
        };
        let less = |(size, own): (&Dim, &Dim)| size.compare(own).is_some_and(|order| order.is_lt());
        if shape.iter().zip(&own).any(less) {
            let [found, least] = [&shape, &own].map(|sizes| sizes::Sizes(sizes).to_string());
            return Err(Problem::expected("`output_shape`", found, format_args!("at least {least}")));
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let own = self.shape(&operand)?;
        cx.may_fail();
        let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        let shape = cx.shape(&own);
        if cx.output_tensor(0)?.shape == own {
            return Ok(code!(ops::max_unpool::max_unpool(#x, #indices, #shape)));
        }
        let sizes = cx.host_ints(2)?;
        Ok(code!(ops::max_unpool::max_unpool_to(#x, #indices, #shape, #sizes)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 2
    }
}

impl MaxUnpool {
    /// Returns the sizes before pooling, as far as the window determines them.
    fn shape(&self, x: &TensorType) -> Result<Shape, Problem> {
        let axes = x.rank().checked_sub(2).filter(|&axes| axes > 0);
        let axes = axes.ok_or_else(|| Problem::expected("the input", x, "rank 3 or more"))?;
        let window = self.0.resolve(axes, None)?;
        let spatial = x.shape.iter().skip(2).enumerate();
        let spatial = spatial.map(|(axis, size)| unpooled(&window, axis, size));
        let spatial: Option<Shape> = spatial.collect();
        let mut shape: Shape = x.shape.iter().take(2).cloned().collect();
        shape.extend(spatial.ok_or_else(|| Problem::new("the sizes of the result are too large"))?);
        Ok(shape)
    }
}

fn unpooled(window: &Resolved, axis: usize, size: &Dim) -> Option<Dim> {
    let &(begin, end) = window.pads.get(axis)?;
    let kernel = *window.kernel.get(axis)?;
    let stride = Dim::from(*window.strides.get(axis)?);
    let steps = size.sub(&Dim::from(1))?.mul(&stride)?;
    steps.add(&Dim::from(kernel.checked_sub(begin)?.checked_sub(end)?))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn sizes_follow_from_the_window_or_are_given() {
        check(
            "g (float[1, c, h] x, int64[1, c, h] i, int64[3] s) => (float[x0, x1, x2] y, float[y0, y1, y2] z, float[z0, z1, z2] w) <int64[3] size = {1, 2, 9}> {
                y = MaxUnpool<kernel_shape: ints = [3], strides: ints = [2], pads: ints = [1, 0]>(x, i)
                z = MaxUnpool<kernel_shape: ints = [2], strides: ints = [2]>(x, i, size)
                w = MaxUnpool<kernel_shape: ints = [2]>(x, i, s)
            }",
            expect![[r#"
                g (float32[1, c, h] x, int64[1, c, h] i, host int64[3] s) => (float32[1, c, 2*h] y, float32[1, 2, 9] z, float32[unpool, unpool_2, unpool_3] w)
                <
                    int64[3] size = {1, 2, 9}
                >
                {
                    float32[1, c, 2*h] y = MaxUnpool <{kernel: [3], strides: [2], pads: [1, 0], padding: Explicit}> (x, i)
                    float32[1, 2, 9] z = MaxUnpool <{kernel: [2], strides: [2], padding: Explicit}> (x, i, size)
                    float32[unpool, unpool_2, unpool_3] w = MaxUnpool <{kernel: [2], padding: Explicit}> (x, i, s)
                }
            "#]],
        );
    }

    #[test]
    fn the_output_is_no_smaller_than_what_was_pooled() {
        check(
            "g (float[1, 1, 4] x, int64[1, 1, 4] i) => (float[x0, x1, x2] y) <int64[3] size = {1, 1, 7}> {
                y = MaxUnpool<kernel_shape: ints = [2], strides: ints = [2]>(x, i, size)
            }",
            expect![[r#"
                cannot compile `model`

                  `output_shape` is [1, 1, 7], expected at least [1, 1, 8]
                    at node `y` (MaxUnpool version 11)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn each_element_has_an_index() {
        problems(
            &[
                r#"(float[1, 1, 4] x, int64[1, 1, 3] i) => (float[1, 1, 8] y) { y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i) }"#,
            ],
            expect![[r#"
                the tensor of indices is int64[1, 1, 3], expected shape [1, 1, 4]
            "#]],
        );
    }
}
