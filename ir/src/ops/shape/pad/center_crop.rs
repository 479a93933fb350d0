//! CenterCropPad.

use std::rc::Rc;

use proc_macro2::Literal;

use super::zero;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, sizes};
use crate::rust::{Code, code};

/// Zeros added or elements removed at both sides, so that axes have the sizes in input 1.
#[derive(Debug)]
struct CenterCropPad {
    axes: Option<Vec<i64>>,
}

attributes!(struct CenterCropPad { axes });

pub(super) fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(CenterCropPad { axes: a.ints("axes")? }))
}

impl Operator for CenterCropPad {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let axes = self.axes(x.rank())?;
        let wanted = cx.ints(1);
        let count = cx.tensor_of_rank(1, 1)?.count().unwrap_or(axes.len());
        sizes::length("`shape`", count, axes.len())?;
        let mut shape = x.shape;
        for (at, &axis) in axes.iter().enumerate() {
            let size = wanted.as_ref().and_then(|sizes| sizes.get(at).cloned());
            let size = cx.dim_or_fresh(size, "center");
            if let Some(slot) = shape.get_mut(axis) {
                *slot = size;
            }
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let axes = self.axes(operand.rank())?;
        let (known, to) = (cx.is_known(1), cx.output_tensor(0)?.shape.clone());
        if !known || axes.iter().any(|&axis| to.get(axis).and_then(Dim::number).is_none()) {
            cx.may_fail();
        }
        let wanted = cx.host_ints(1)?;
        let mut pads = Vec::new();
        for (axis, (from, to)) in operand.shape.iter().zip(&to).enumerate() {
            let Some(at) = axes.iter().position(|&operand| operand == axis) else {
                pads.push(code!((0, 0)));
                continue;
            };
            if let (true, Some(more)) = (known, to.sub(from).and_then(|more| more.number())) {
                let begin = Literal::i64_unsuffixed(more / 2);
                let end = Literal::i64_unsuffixed(more - more / 2);
                pads.push(code!((#begin, #end)));
                continue;
            }
            let more = match known.then(|| to.sub(from)).flatten() {
                Some(more) => cx.int(&more),
                None => {
                    let (from, at) = (cx.int(from), Literal::usize_unsuffixed(at));
                    code!(sizes[#at] - (#from))
                }
            };
            pads.push(code!(ops::pad::around(#more)));
        }
        let (x, zero) = (cx.tensor(0)?, zero(operand.dtype.kind()));
        let pads = if known {
            code!([#(#pads),*])
        } else {
            let count = Literal::usize_unsuffixed(axes.len());
            code!({ let sizes = host::ints::<#count>(#wanted); [#(#pads),*] })
        };
        Ok(code!(ops::pad::pad_constant(#x, #pads, #zero)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn moves(&self) -> bool {
        true
    }
}

impl CenterCropPad {
    fn axes(&self, rank: usize) -> Result<Vec<usize>, Problem> {
        match &self.axes {
            None => Ok((0..rank).collect()),
            Some(axes) => axes.iter().map(|&at| axis(at, rank)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn there_is_a_size_for_each_axis() {
        let graph = "(float[4, 3] x, int64[3] s) => (float[a, b] y) { y = CenterCropPad (x, s) }";
        problems(
            &[graph],
            expect![[r#"
                `shape` has 3 elements, expected 2
            "#]],
        );
    }
}
