//! Split: a tensor divided along an axis.

use std::ops::Range;
use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] = &[row("Split", &[1, 2, 11, 13, 18], split)
    .view()
    .follows()
    .arity("ro", "+")
    .before(&[(2, "ro", "+"), (13, "r", "+")])];

/// Parts along an axis. Their sizes are an attribute before version 13, then input 1.
#[derive(Debug)]
pub struct Split {
    axis: i64,
    sizes: Option<Vec<i64>>,
    /// Whether the last part may be smaller than the others, without sizes.
    uneven: bool,
    /// Whether the version is 1, in which sizes have the type of the input.
    is_first: bool,
}

attributes!(struct Split { axis, sizes, uneven, is_first });

/// Sizes of the parts.
enum Sizes {
    Known(Vec<Dim>),
    /// Equal sizes that are known only at run time.
    Equal,
    /// Sizes in input 1 that are known only at run time.
    Open,
}

fn split(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let sizes = match a.version() {
        ..13 => a.ints("split")?,
        _ => None,
    };
    let uneven = a.version() >= 18
        && match a.int("num_outputs")? {
            Some(count) if usize::try_from(count) != Ok(a.outputs()) => {
                let expected = format_args!("{}, the number of outputs", a.outputs());
                return Err(Problem::expected("`num_outputs`", count, expected));
            }
            count => count.is_some(),
        };
    let axis = a.int_or("axis", 0)?;
    Ok(Rc::new(Split { axis, sizes, uneven, is_first: a.version() < 2 }))
}

impl Operator for Split {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if !self.is_first {
            sizes::integers(cx, 1, "split")?;
        }
        let axis = axis(self.axis, x.rank())?;
        let size = x.shape.get(axis).cloned().unwrap_or_default();
        let count = cx.outputs();
        let count_of_parts = i64::try_from(count).unwrap_or(i64::MAX);
        let rest = size.number().and_then(|size| size.checked_rem(count_of_parts));
        let equal = !self.uneven && self.sizes.is_none() && !cx.has(1);
        if equal && rest.is_some_and(|rest| rest != 0) {
            return Err(Problem::new(format!(
                "an axis of size {size} cannot be split into {count} equal parts"
            )));
        }
        let sizes = match self.sizes(cx.has(1), cx.known(1).and_then(Known::whole), &size, count) {
            Sizes::Known(sizes) => {
                sizes::length("`split`", sizes.len(), count)?;
                check_sum(&sizes, &size)?;
                sizes
            }
            Sizes::Equal | Sizes::Open => (0..count).map(|_| cx.fresh("split")).collect(),
        };
        let from = broadcast::fixed(&x.shape);
        let known = cx.folded(0).cloned();
        let mut start = Some(0);
        for (at, size) in sizes.into_iter().enumerate() {
            let mut shape = x.shape.clone();
            let fixed = size.fixed();
            if let Some(slot) = shape.get_mut(axis) {
                *slot = size;
            }
            cx.output(at, x.dtype, shape);
            let end = start.zip(fixed).and_then(|(start, size): (usize, _)| start.checked_add(size));
            if let (Some(known), Some(from)) = (&known, &from)
                && let Some(range) = start.zip(end).map(|(start, end)| start..end)
                && let Some(part) = part(known, from, axis, range)
            {
                cx.output_known(at, part);
            }
            start = end;
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let at = axis(self.axis, x.rank())?;
        let along = Literal::usize_unsuffixed(at);
        let count = cx.outputs();
        let ints = cx.known(1).and_then(Known::whole);
        let size = x.shape.get(at).cloned().unwrap_or_default();
        let sizes = self.sizes(cx.has(1), ints, &size, count);
        if count == 1 {
            return cx.value(0);
        }
        let parts = Literal::usize_unsuffixed(count);
        let (x, module) =
            if cx.on_host() { (cx.host(0)?, code!(host)) } else { (cx.tensor(0)?, code!(ops::slice)) };
        let split = match sizes {
            Sizes::Known(sizes) => {
                let sum = sizes.iter().try_fold(Dim::default(), |sum, size| sum.add(size));
                if sum != Some(size) {
                    cx.may_fail();
                }
                let sizes = cx.shape(&sizes);
                code!(#module::split(#x, #along, #sizes))
            }
            Sizes::Equal if cx.on_host() => code!(host::split_evenly::<#parts, _>(#x, #along)),
            Sizes::Equal => code!(ops::slice::split_evenly::<#parts, _, _>(#x, #along)),
            Sizes::Open => {
                cx.may_fail();
                let sizes = cx.host_ints(1)?;
                code!(#module::split(#x, #along, host::sizes::<#parts>(#sizes)))
            }
        };
        Ok(tuple(&split, count))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let at = rows.alone()?;
        let along = axis(self.axis, rows.tensor(0)?.rank()).ok()?;
        (at != along).then(|| vec![at; rows.outputs()])
    }
}

impl Split {
    /// Returns the axis and the size of each part, if they are known and their sum is the size of the axis.
    pub fn parts(
        &self,
        count: usize,
        (has_sizes, known): (bool, Option<&Known>),
        shape: &[Dim],
    ) -> Option<(usize, Vec<Dim>)> {
        let axis = axis(self.axis, shape.len()).ok()?;
        let size = shape.get(axis)?;
        let Sizes::Known(parts) = self.sizes(has_sizes, known.and_then(Known::whole), size, count) else {
            return None;
        };
        let sum = parts.iter().try_fold(Dim::default(), |sum, part| sum.add(part))?;
        (sum == *size).then_some((axis, parts))
    }

    fn sizes(&self, has_sizes: bool, ints: Option<Vec<Dim>>, size: &Dim, count: usize) -> Sizes {
        if let Some(sizes) = &self.sizes {
            return Sizes::Known(sizes.iter().map(|&size| Dim::from(size)).collect());
        }
        if has_sizes {
            return ints.map_or(Sizes::Open, Sizes::Known);
        }
        let parts = i64::try_from(count).unwrap_or(i64::MAX);
        match (size.number(), size.div_exact(&parts.into())) {
            (Some(size), _) => {
                let each = u64::try_from(size).unwrap_or(0).div_ceil(count.max(1) as u64);
                let each = i64::try_from(each).unwrap_or(i64::MAX);
                let part = |at: i64| size.saturating_sub(at.saturating_mul(each)).clamp(0, each);
                Sizes::Known((0..parts).map(|at| Dim::from(part(at))).collect())
            }
            (None, Some(part)) => Sizes::Known(vec![part; count]),
            (None, None) if !self.uneven => match size.div(&parts.into()) {
                Some(part) => Sizes::Known(vec![part; count]),
                None => Sizes::Equal,
            },
            (None, None) => Sizes::Equal,
        }
    }
}

/// Reports sizes of parts whose sum is known to differ from the size of the axis, or that are negative.
pub(in crate::ops) fn check_sum(sizes: &[Dim], size: &Dim) -> Result<(), Problem> {
    let sum = sizes.iter().try_fold(Dim::default(), |sum, size| sum.add(size));
    let (Some(sum), Some(size)) = (sum.and_then(|sum| sum.number()), size.number()) else {
        return Ok(());
    };
    let negative = sizes.iter().filter_map(Dim::number).find(|&size| size < 0);
    match negative {
        Some(negative) => {
            Err(Problem::new(format!("`split` contains {negative}, expected non-negative integers")))
        }
        None if sum == size => Ok(()),
        None => {
            let expected = format_args!("{size}, the size of the axis");
            Err(Problem::expected("the sum of `split`", sum, expected))
        }
    }
}

/// Converts an array to a tuple. The standard library supports up to 12 elements.
pub(in crate::ops) fn tuple(parts: &Code, count: usize) -> Code {
    if count <= 12 {
        return code!(#parts.into());
    }
    let names: Vec<_> = (1..=count).map(|at| format_ident!("part{at}")).collect();
    code!({
        let [#(#names),*] = #parts;
        (#(#names),*)
    })
}

fn part(known: &Known, from: &[usize], axis: usize, range: Range<usize>) -> Option<Known> {
    if from.iter().any(|&size| size > broadcast::MAX_KNOWN_ELEMENTS) || range.end > *from.get(axis)? {
        return None;
    }
    let indices = from
        .iter()
        .enumerate()
        .map(|(at, &size)| if at == axis { range.clone().collect() } else { (0..size).collect() });
    let indices: Vec<Vec<usize>> = indices.collect();
    known.pick(&broadcast::grid(from, &indices)?)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn parts_of_shapes_are_known() {
        check(
            "g (float[n, 3, m] x, float[k] f) => (float[a, b] y, float[c] z) {
                s = Shape(x)
                n = Constant<value_ints: ints = [2, 1]>()
                p, q = Split(s, n)
                y = Reshape(f, p)
                z = Reshape(f, q)
            }",
            expect![[r#"
                g (float32[n, 3, m] x, float32[k] f) => (float32[n, 3] y, float32[m] z)
                <
                    int64[2] p = {n, 3},
                    int64[1] q = {m}
                >
                {
                    float32[n, 3] y = Reshape (f, p)
                    float32[m] z = Reshape (f, q)
                }
            "#]],
        );
    }

    #[test]
    fn parts_are_equal_or_the_last_one_is_smaller() {
        check(
            "g (float[7, n] x) => (float[a, n] p, float[b, n] q, float[7, c] r, float[7, d] s) {
                p, q = Split<num_outputs: int = 2>(x)
                r, s = Split<num_outputs: int = 2, axis: int = -1>(x)
            }",
            expect![[r#"
                g (float32[7, n] x) => (float32[4, n] p, float32[3, n] q, float32[7, split] r, float32[7, split_2] s)
                {
                    float32[4, n] p, float32[3, n] q = Split <axis: 0, uneven: true> (x)
                    float32[7, split] r, float32[7, split_2] s = Split <axis: -1, uneven: true> (x)
                }
            "#]],
        );
    }

    #[test]
    fn the_sizes_of_parts_must_fit() {
        check(
            "g (float[7] x) => (float[a] p, float[b] q) <int64[2] sizes = {3, 5}> {
                p, q = Split(x, sizes)
            }",
            expect![[r#"
                cannot compile `model`

                  the sum of `split` is 8, expected 7, the size of the axis
                    at node `p` (Split version 18)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
