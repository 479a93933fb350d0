//! SplitToSequence: a tensor split to a sequence.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::shape::split;
use crate::ops::{Operator, sizes};
use crate::rust::{Code, code};
use crate::types::{Known, TensorType, Type};

/// Chunks of a tensor. Input 1 contains their sizes, or one size; without it, each is one slice. The outputs are a
/// sequence, or its items if they are known.
#[derive(Debug)]
struct Split {
    axis: i64,
    keeps: bool,
}

attributes!(struct Split { axis, keeps });

/// Maximum number of chunks that are separate values.
const PARTS: i64 = 64;

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let axis = a.int_or("axis", 0)?;
    let keeps = a.flag("keepdims", true)?;
    // Chunks with sizes from an input keep the axis.
    let keeps = keeps || a.inputs() > 1;
    Ok(Rc::new(Split { axis, keeps }))
}

impl Operator for Split {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        sizes::integers(cx, 1, "split")?;
        let along = axis(self.axis, x.rank())?;
        let size = x.shape.get(along).cloned().unwrap_or_default();
        let sizes_rank = sizes_rank(cx)?;
        let sizes = sizes(sizes_rank, cx.known(1), &size)?;
        let item = |size: Dim| self.item(&x, along, size);
        let whole = match &sizes {
            Some(sizes) => {
                sizes.iter().map(|size| item(size.clone())).reduce(|a, b| a.either(&b).unwrap_or(a))
            }
            None => None,
        };
        let whole = whole.unwrap_or_else(|| if cx.has(1) { item(Dim::any()) } else { item(Dim::from(1)) });
        cx.output_type(0, Type::Sequence(Box::new(whole)));
        if let Some(sizes) = sizes {
            let types = sizes.into_iter().map(item).enumerate();
            let parts = types.map(|(at, ty)| cx.new_part(0, at, ty)).collect();
            cx.output_parts(0, Some(parts));
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let along = axis(self.axis, x.rank())?;
        let sequence = (0..cx.outputs())
            .find(|&at| cx.wants(at))
            .is_none_or(|at| matches!(cx.output_type(at), Ok(Type::Sequence(_))));
        let at = Literal::usize_unsuffixed(along);
        let (module, from) = match x.dtype {
            DType::String => (code!(host), cx.host(0)?),
            _ => (code!(ops::sequence), cx.tensor(0)?),
        };
        if !sequence {
            return self.parts(cx, &x, along, &from);
        }
        if !cx.has(1) {
            return Ok(if self.keeps || x.rank() == 1 && x.dtype != DType::String {
                code!(#module::chunks(#from, #at, 1))
            } else {
                code!(#module::unbind(#from, #at))
            });
        }
        cx.may_fail();
        Ok(match cx.tensor_type(1)?.rank() {
            0 => {
                let size = cx.host_int(1)?;
                code!(#module::chunks(#from, #at, #size))
            }
            _ => {
                let sizes = cx.host_ints(1)?;
                code!(#module::parts(#from, #at, #sizes))
            }
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn unpacks(&self) -> bool {
        true
    }
}

impl Split {
    /// Returns the type of a chunk of this size.
    fn item(&self, x: &TensorType, along: usize, size: Dim) -> Type {
        let mut shape = x.shape.clone();
        match (self.keeps, shape.get_mut(along)) {
            (true, Some(slot)) => *slot = size,
            (true, None) => {}
            (false, _) => {
                shape.remove(along);
            }
        }
        Type::tensor(x.dtype, shape)
    }

    /// Returns the chunks as separate values.
    fn parts(
        &self,
        cx: &mut Emit<'_, '_>,
        x: &TensorType,
        along: usize,
        from: &Code,
    ) -> Result<Code, Problem> {
        let size = x.shape.get(along).cloned().unwrap_or_default();
        let sizes_rank = if cx.has(1) { Some(cx.tensor_type(1)?.rank()) } else { None };
        let sizes = sizes(sizes_rank, cx.known(1), &size)?.unwrap_or_default();
        let count = sizes.len();
        let sizes = cx.shape(&sizes);
        let at = Literal::usize_unsuffixed(along);
        let rank = Literal::usize_unsuffixed(x.rank().saturating_sub(1));
        let host = x.dtype == DType::String;
        let squeezed = |part: Code| match (self.keeps, host) {
            (true, _) => part,
            (false, true) => code!(host::squeeze(&#part, &[#at])),
            (false, false) if x.rank() == 1 => part,
            (false, false) => code!(#part.squeeze_dim::<#rank>(#at)),
        };
        if count == 1 {
            return Ok(squeezed(cx.value(0)?));
        }
        let module = if host { code!(host) } else { code!(ops::slice) };
        let parts = code!(#module::split(#from, #at, #sizes));
        let part = squeezed(code!(part));
        Ok(if part == code!(part) {
            split::tuple(&parts, count)
        } else {
            split::tuple(&code!(#parts.map(|part| #part)), count)
        })
    }
}

/// Returns the rank of the input with the sizes of the chunks, if any.
fn sizes_rank(cx: &Infer<'_>) -> Result<Option<usize>, Problem> {
    if !cx.has(1) {
        return Ok(None);
    }
    let operand = cx.tensor(1)?;
    match operand.rank() {
        rank @ ..=1 => Ok(Some(rank)),
        _ => Err(Problem::expected("`split`", operand, "rank 0 or 1")),
    }
}

/// Returns the sizes of the chunks of an axis, if their number is known.
fn sizes(sizes_rank: Option<usize>, known: Option<&Known>, size: &Dim) -> Result<Option<Vec<Dim>>, Problem> {
    let chunks = |each: i64| {
        let count = |size: i64| size.max(0) as u64;
        let total = size.number()?;
        let number = i64::try_from(count(total).div_ceil(count(each))).ok()?;
        let start = |at: i64| total.saturating_sub(at.saturating_mul(each));
        let part = |at: i64| Dim::from(start(at).min(each));
        (number <= PARTS).then(|| (0..number).map(part).collect())
    };
    let Some(rank) = sizes_rank else {
        return Ok(chunks(1));
    };
    let Some(Known::Ints(ints)) = known else {
        return Ok(None);
    };
    if rank == 0 {
        return match ints.first().and_then(Dim::number) {
            Some(each @ 1..) => Ok(chunks(each)),
            Some(each) => Err(Problem::expected("`split`", each, "a positive integer")),
            None => Ok(None),
        };
    }
    split::check_sum(ints, size)?;
    Ok((ints.len() as i64 <= PARTS).then(|| ints.clone()))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn parts_have_the_sizes_that_are_given() {
        check(
            r#"g (float[2, 5, n] x) => (seq(float) a, seq(float) b, seq(float) c) { s = Constant <value_int = 2> () a = SplitToSequence <axis = 1> (x, s) t = Constant <value_ints = [1, 4]> () b = SplitToSequence <axis = 1> (x, t) c = SplitToSequence <axis = 2, keepdims = 0> (x) }"#,
            expect![[r#"
                g (float32[2, 5, n] x) => (seq(float32[2, ?, n]) a, seq(float32[2, ?, n]) b, seq(float32[2, 5]) c)
                <
                    int64[] s = {2},
                    int64[2] t = {1, 4}
                >
                {
                    seq(float32[2, ?, n]) a = SplitToSequence <axis: 1, keeps: true> (x, s)
                    seq(float32[2, ?, n]) b = SplitToSequence <axis: 1, keeps: true> (x, t)
                    seq(float32[2, 5]) c = SplitToSequence <axis: 2> (x)
                }
            "#]],
        );
    }

    #[test]
    fn parts_are_those_of_the_axis() {
        problems(
            &[
                r#"(float[5] x) => (seq(float) y) { t = Constant <value_ints = [1, 3]> () y = SplitToSequence (x, t) }"#,
                r#"(float[5] x) => (seq(float) y) { t = Constant <value_int = 0> () y = SplitToSequence (x, t) }"#,
                r#"(float[5] x) => (seq(float) y) { t = Constant <value_ints = [6, -1]> () y = SplitToSequence (x, t) }"#,
                r#"(float[5] x) => (seq(float) y) { y = SplitToSequence <axis = 1> (x) }"#,
                r#"(float[5] x, float t) => (seq(float) y) { y = SplitToSequence (x, t) }"#,
            ],
            expect![[r#"
                the sum of `split` is 4, expected 5, the size of the axis
                `split` is 0, expected a positive integer
                `split` contains -1, expected non-negative integers
                axis 1 is out of bounds for a tensor of rank 1
                `split` is float32, expected int32 or int64
            "#]],
        );
    }
}
