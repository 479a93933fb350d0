//! Col2Im: columns of blocks assembled to an image.

use std::rc::Rc;

use super::window::Window;
use crate::attributes::attributes;
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::ElementClass;
use crate::emit::Emit;
use crate::infer::{Infer, rank_of_result};
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("Col2Im", &[18], |a| Ok(Rc::new(Col2Im(Window::read(a)?)))).arity("rrr", "r")];

#[derive(Debug)]
struct Col2Im(Window);

attributes!(struct Col2Im(inner));

impl Operator for Col2Im {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 3)?;
        if matches!(x.dtype.kind(), ElementClass::String | ElementClass::Complex) {
            return Err(Problem::expected("the input", x, "numbers or booleans"));
        }
        let (image, block) = (cx.tensor_of_rank(1, 1)?, cx.tensor_of_rank(2, 1)?);
        let counts = [&image, &block].map(|tensor| tensor.shape.first().and_then(Dim::fixed));
        let axes = match counts {
            [Some(axes), other] | [None, other @ Some(axes)]
                if axes > 0 && other.is_none_or(|other| other == axes) =>
            {
                rank_of_result(axes)?
            }
            [None, None] => {
                return Err(Problem::new("the rank of the image is unknown at compile time")
                    .help("fix the length of `image_shape` or `block_shape` with `dims(..)` or `inputs(..)`")
                    .about(Topic::Shape));
            }
            _ => {
                return Err(Problem::new(format!(
                    "`image_shape` is {image} and `block_shape` is {block}, expected equal lengths of at least 1"
                )));
            }
        };
        let window = self.0.resolve(axes, cx.numbers(2).or_else(|| Some(vec![1; axes])))?;
        let taps = cx.ints(2).and_then(|block| Dim::product(&block));
        let rows = x.shape.get(1).cloned().unwrap_or_default();
        if let Some(taps) = taps.as_ref().and_then(Dim::number) {
            sizes::multiple(("the input", &rows, "rows"), (taps, "block elements"))?;
        }
        if let (Some(sizes), Some(_)) = (cx.ints(1), cx.numbers(2)) {
            let positions = window.positions(&sizes).unwrap_or_default();
            let blocks = Dim::product(&positions);
            if let (Some(columns), Some(blocks)) = (x.shape.get(2), blocks.filter(|_| !positions.is_empty()))
            {
                sizes::equal(("the input", columns, "columns"), ("the image", &blocks, "blocks"))?;
            }
        }
        let channels = taps.and_then(|taps| rows.div(&taps));
        let mut shape =
            vec![x.shape.first().cloned().unwrap_or_default(), cx.dim_or_fresh(channels, "channels")];
        match cx.ints(1) {
            Some(sizes) => shape.extend(sizes),
            None => shape.extend((0..axes).map(|_| cx.fresh("image"))),
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let axes = cx.output_tensor(0)?.rank().saturating_sub(2);
        let boolean = cx.tensor_type(0)?.dtype.kind() == ElementClass::Bool;
        let block = cx.numbers(2);
        let known = block.is_some();
        let window = self.0.resolve(axes, block.or_else(|| Some(vec![1; axes])))?;
        let mut window = window.emit(cx, &[]);
        if !known {
            let block = cx.host_ints(2)?;
            window = code!(Window { kernel: ops::shape::sizes(#block), ..#window });
        }
        let image = if cx.is_known(1) {
            let shape = cx.output_tensor(0)?.shape.clone();
            cx.shape(shape.get(2..).unwrap_or_default())
        } else {
            let image = cx.host_ints(1)?;
            code!(ops::shape::sizes(#image))
        };
        if !known || cx.tensor_type(0)?.count().is_none() || !cx.is_known(1) {
            cx.may_fail();
        }
        let x = cx.tensor(0)?;
        // A sum of booleans is true if any of them is true.
        Ok(if boolean {
            code!(ops::col2im::col2im(#x.int(), #image, #window).not_equal_scalar(0))
        } else {
            code!(ops::col2im::col2im(#x, #image, #window))
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn the_image_has_the_sizes_that_are_given() {
        check(
            "g (float[n, 12, k] x, int64[2] image, int64[2] block) => (float[a, b, c, d] y, float[e, f, g, h] z, float[i, j, l, m] w)
            <int64[2] size = {5, 7}, int64[2] two = {2, 3}> {
                y = Col2Im(x, size, two)
                z = Col2Im<strides: ints = [2, 2]>(x, image, two)
                w = Col2Im<pads: ints = [1, 1, 0, 0]>(x, size, block)
            }",
            expect![[r#"
                g (float32[n, 12, k] x, host int64[2] image, host int64[2] block) => (float32[n, 2, 5, 7] y, float32[n, 2, image, image_2] z, float32[n, channels, 5, 7] w)
                <
                    int64[2] size = {5, 7},
                    int64[2] two = {2, 3}
                >
                {
                    float32[n, 2, 5, 7] y = Col2Im <{padding: Explicit}> (x, size, two)
                    float32[n, 2, image, image_2] z = Col2Im <{strides: [2, 2], padding: Explicit}> (x, image, two)
                    float32[n, channels, 5, 7] w = Col2Im <{pads: [1, 1, 0, 0], padding: Explicit}> (x, size, block)
                }
            "#]],
        );
    }

    #[test]
    fn the_number_of_axes_is_known() {
        check(
            "g (float[n, 12, k] x, int64[s] image, int64[s] block) => (float[a, b, c, d] y) {
                y = Col2Im(x, image, block)
            }",
            expect![[r#"
                cannot compile `model`

                  the rank of the image is unknown at compile time
                    at node `y` (Col2Im version 18)
                    help: fix the length of `image_shape` or `block_shape` with `dims(..)` or `inputs(..)`

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn blocks_must_fit() {
        problems(
            &[
                r#"(float[1, 5, 20] x) => (float[1, 1, 5, 7] y) <int64[2] i = {5, 7}, int64[2] b = {2, 3}> { y = Col2Im (x, i, b) }"#,
                r#"(float[1, 12, 21] x) => (float[1, 2, 5, 7] y) <int64[2] i = {5, 7}, int64[2] b = {2, 3}> { y = Col2Im (x, i, b) }"#,
            ],
            expect![[r#"
                the input has 5 rows, expected a multiple of 6, the number of block elements
                the input has 21 columns, but the image has 20 blocks
            "#]],
        );
    }
}
