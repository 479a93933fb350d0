//! Elements moved between axes or reversed along one.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("DepthToSpace", &[1, 11, 13, 28], |a| blocks(a, true)).follows(),
    row("ReverseSequence", &[10, 28], |a| {
        Ok(Rc::new(ReverseSequence { batch: a.int_or("batch_axis", 1)?, time: a.int_or("time_axis", 0)? }))
    })
    .follows()
    .arity("rr", "r"),
    row("SpaceToDepth", &[1, 13, 28], |a| blocks(a, false)).follows(),
];

/// Channels rearranged to blocks of height and width, or the reverse.
#[derive(Debug)]
struct Blocks {
    to_space: bool,
    size: i64,
    /// Whether the channel is the outer index and the position in a block the inner one (`CRD`).
    depth_first: bool,
}

attributes!(struct Blocks { to_space, size, depth_first });

/// The first elements of each sequence in reverse order. Input 1 contains their numbers.
#[derive(Debug)]
struct ReverseSequence {
    batch: i64,
    time: i64,
}

attributes!(struct ReverseSequence { batch, time });

fn blocks(a: &Attributes<'_>, to_space: bool) -> Result<Rc<dyn Operator>, Problem> {
    let size = a.required("blocksize", Attributes::int)?;
    if !(1..1 << 15).contains(&size) {
        return Err(Problem::expected("`blocksize`", size, "an integer from 1 to 32767"));
    }
    let since = if to_space { 11 } else { 28 };
    let depth_first = a.version() >= since && a.choice("mode", "DCR", &[("DCR", false), ("CRD", true)])?;
    Ok(Rc::new(Blocks { to_space, size, depth_first }))
}

impl Operator for Blocks {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 4)?;
        let [batch, channels, height, width] = x.shape.as_slice() else {
            return Ok(());
        };
        let (side, area) = (self.size, self.size * self.size);
        let multiply = |size: &Dim, by: i64| size.mul(&Dim::from(by));
        let divide = |size: &Dim, things: &str, by: i64| {
            let of_block = format!("{things} of a block");
            sizes::multiple(("the input", size, things), (by, &of_block))?;
            Ok::<_, Problem>(size.div(&Dim::from(by)))
        };
        let sizes = if self.to_space {
            [divide(channels, "channels", area)?, multiply(height, side), multiply(width, side)]
        } else {
            [multiply(channels, area), divide(height, "rows", side)?, divide(width, "columns", side)?]
        };
        let mut shape = vec![batch.clone()];
        for size in sizes {
            shape.push(cx.dim_or_fresh(size, "blocks"));
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, size) = (cx.tensor(0)?, Literal::i64_unsuffixed(self.size));
        let order = if self.depth_first {
            code!(ops::arrange::DepthOrder::ColumnRowDepth)
        } else {
            code!(ops::arrange::DepthOrder::DepthColumnRow)
        };
        Ok(if self.to_space {
            code!(ops::arrange::depth_to_space(#x, #size, #order))
        } else {
            code!(ops::arrange::space_to_depth(#x, #size, #order))
        })
    }

    fn moves(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        rows.batch()
    }
}

impl Operator for ReverseSequence {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let lengths = cx.tensor_of_rank(1, 1)?;
        let (batch, time) = (axis(self.batch, x.rank())?, axis(self.time, x.rank())?);
        if batch == time {
            let message = format!("`batch_axis` and `time_axis` are both {batch}, expected different axes");
            return Err(Problem::new(message));
        }
        if let (Some(count), Some(batch)) = (lengths.shape.first(), x.shape.get(batch)) {
            sizes::equal(("`sequence_lens`", count, "elements"), ("the input", batch, "sequences"))?;
        }
        let longest = x.shape.get(time).cloned().unwrap_or_default();
        for length in cx.ints(1).unwrap_or_default() {
            sizes::at_most(("a sequence", &length, "time steps"), ("the input", &longest, "time steps"))?;
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let batch = Literal::usize_unsuffixed(axis(self.batch, rank)?);
        let time = Literal::usize_unsuffixed(axis(self.time, rank)?);
        cx.may_fail();
        let (x, lengths) = (cx.tensor(0)?, cx.tensor(1)?);
        Ok(code!(ops::arrange::reverse_sequence(#x, #lengths, #batch, #time)))
    }

    fn moves(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn blocks_change_three_sizes() {
        check(
            "g (float[n, 8, h, 6] x) => (float[n, 2, a, b] y, float[n, c, d, e] z) {
                y = DepthToSpace<blocksize: int = 2, mode: string = \"CRD\">(x)
                z = SpaceToDepth<blocksize: int = 2>(x)
            }",
            expect![[r#"
                g (float32[n, 8, h, 6] x) => (float32[n, 2, 2*h, 12] y, float32[n, 32, floor((h) / (2)), 3] z)
                {
                    float32[n, 2, 2*h, 12] y = DepthToSpace <to_space: true, size: 2, depth_first: true> (x)
                    float32[n, 32, floor((h) / (2)), 3] z = SpaceToDepth <size: 2> (x)
                }
            "#]],
        );
    }

    #[test]
    fn channels_must_fill_blocks() {
        check(
            "g (float[1, 6, 2, 2] x) => (float[a, b, c, d] y) {
                y = DepthToSpace<blocksize: int = 2>(x)
            }",
            expect![[r#"
                cannot compile `model`

                  the input has 6 channels, expected a multiple of 4, the number of channels of a block
                    at node `y` (DepthToSpace version 13)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn each_sequence_has_a_length() {
        problems(
            &[
                r#"(float[4, 3] x, int64[2] l) => (float[4, 3] y) { y = ReverseSequence (x, l) }"#,
                r#"(float[4, 3] x) => (float[4, 3] y) <int64[3] l = {1, 5, 4}> { y = ReverseSequence (x, l) }"#,
            ],
            expect![[r#"
                `sequence_lens` has 2 elements, but the input has 3 sequences
                a sequence has 5 time steps, but the input has only 4 time steps
            "#]],
        );
    }
}
