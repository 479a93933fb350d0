//! Elements selected by conditions.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::{Known, Shape, TensorType};

pub const ROWS: &[Row] = &[
    row("Compress", &[9, 11, 28], |a| Ok(Rc::new(Compress { axis: a.int("axis")? }))).arity("rr", "r"),
    row("NonZero", &[9, 13], |_| Ok(Rc::new(NonZero))),
    row("Trilu", &[14], trilu).follows().arity("ro", "r"),
    row("Trilu", &[1], trilu).follows().arity("ro", "r").of(MICROSOFT),
    row("Where", &[9, 16], |_| Ok(Rc::new(Where))).elementwise().follows().arity("rrr", "r"),
];

fn trilu(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Trilu { upper: a.flag("upper", true)? }))
}

/// Slices along an axis, or elements, for which the condition is true.
#[derive(Debug)]
struct Compress {
    axis: Option<i64>,
}

attributes!(struct Compress { axis });

/// Indices of nonzero elements.
#[derive(Debug)]
struct NonZero;

attributes!(struct NonZero);

/// A triangle of a matrix; the other elements are 0.
#[derive(Debug)]
struct Trilu {
    upper: bool,
}

attributes!(struct Trilu { upper });

/// Input 1 if input 0 is true, otherwise input 2.
#[derive(Debug)]
struct Where;

attributes!(struct Where);

impl Operator for Where {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let [condition, a, b] = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
        check_condition(&condition)?;
        sizes::same_type(("`X`", &a), ("`Y`", &b))?;
        let shapes = [condition.shape, a.shape, b.shape];
        let shape = broadcast::shape(cx, &shapes)?;
        let known = chosen(cx, &shapes, &shape);
        cx.output(0, a.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check(cx)?;
        if cx.on_host() {
            let (condition, a, b) = (cx.host(0)?, cx.host(1)?, cx.host(2)?);
            return Ok(code!(host::select(#condition, #a, #b)));
        }
        let output = cx.output_tensor(0)?.clone();
        let whole = |cx: &Emit<'_, '_>, at: usize| -> Result<bool, Problem> {
            Ok(cx.tensor_type(at)?.shape == output.shape)
        };
        if whole(cx, 0)? {
            if let (Some(value), true) = (cx.scalar(1), whole(cx, 2)?) {
                let (condition, b) = (cx.tensor(0)?, cx.tensor(2)?);
                return Ok(code!(#b.mask_fill(#condition, #value)));
            }
            if let (true, Some(value)) = (whole(cx, 1)?, cx.scalar(2)) {
                let (condition, a) = (cx.tensor(0)?, cx.tensor(1)?);
                return Ok(code!(#a.mask_fill(#condition.bool_not(), #value)));
            }
        }
        let rank = output.burn_rank();
        let condition = cx.tensor_of_rank(0, rank)?;
        let (a, b) = (cx.tensor_of_rank(1, rank)?, cx.tensor_of_rank(2, rank)?);
        Ok(code!(ops::select::where_(#condition, #a, #b)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

/// Reports a condition that does not consist of booleans.
pub fn check_condition(condition: &TensorType) -> Result<(), Problem> {
    match condition.dtype {
        DType::Bool => Ok(()),
        _ => Err(Problem::expected("the condition", condition, "booleans")),
    }
}

/// Returns the selected elements, if they are known.
fn chosen(cx: &Infer<'_>, shapes: &[Shape; 3], to: &[Dim]) -> Option<Known> {
    let Some(Known::Bools(condition)) = cx.folded(0) else {
        return None;
    };
    let to = broadcast::fixed(to)?;
    let count = to.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    if count > broadcast::MAX_KNOWN_ELEMENTS {
        return None;
    }
    let expanded = |at: usize| {
        let shape: &Shape = shapes.get(at)?;
        cx.folded(at)?.pick(&broadcast::positions(&broadcast::fixed(shape)?, &to))
    };
    if condition.iter().all(|&holds| holds) {
        return expanded(1);
    }
    if !condition.contains(&true) {
        return expanded(2);
    }
    let Some(Known::Bools(condition)) = expanded(0) else {
        return None;
    };
    let choices = expanded(1)?.followed_by(expanded(2)?)?;
    let indices = condition.iter().enumerate();
    let indices: Vec<usize> = indices.map(|(at, &holds)| if holds { at } else { at + count }).collect();
    choices.pick(&indices)
}

impl Operator for Compress {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let condition = cx.tensor_of_rank(1, 1)?;
        check_condition(&condition)?;
        let count = match cx.known(1) {
            Some(Known::Bools(holds)) => {
                let count = holds.iter().filter(|&&holds| holds).count();
                Some(Dim::from(i64::try_from(count).unwrap_or(i64::MAX)))
            }
            _ => None,
        };
        let size = cx.dim_or_fresh(count, "compress");
        let mut shape = match self.axis {
            None => vec![Dim::default()],
            Some(_) => x.shape.clone(),
        };
        let at = match self.axis {
            None => 0,
            Some(at) => axis(at, x.rank())?,
        };
        if let Some(slot) = shape.get_mut(at) {
            *slot = size;
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let (x, condition) = (cx.tensor(0)?, cx.tensor(1)?);
        Ok(match self.axis {
            None => code!(ops::select::compress_flat(#x, #condition)),
            Some(at) => {
                let at = Literal::usize_unsuffixed(axis(at, rank)?);
                code!(ops::select::compress(#x, #at, #condition))
            }
        })
    }

    fn moves(&self) -> bool {
        true
    }
}

impl Operator for NonZero {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if x.dtype.kind() == ElementClass::Complex {
            return Err(Problem::expected("the input", x, "real numbers, booleans or strings"));
        }
        let rank = i64::try_from(x.rank()).unwrap_or(i64::MAX);
        let found = cx.known(0).and_then(|known| nonzero_indices(known, &x));
        let size = found.as_ref().and_then(|found| found.first());
        let size = size.and_then(|row| i64::try_from(row.len()).ok());
        let size = cx.dim_or_fresh(size.map(Dim::from), "nonzero");
        cx.output(0, DType::I64, vec![Dim::from(rank), size]);
        if let Some(found) = found {
            cx.output_known(0, Known::Ints(found.concat()));
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if cx.on_host() {
            let (x, dtype) = (cx.host(0)?, cx.tensor_type(0)?.dtype);
            return Ok(match dtype {
                DType::String => code!(host::nonzero(&host::not_empty(#x))),
                _ => code!(host::nonzero(#x)),
            });
        }
        // A scalar has no axes and therefore no indices, but may be nonzero.
        let scalar = cx.tensor_type(0)?.rank() == 0;
        let x = cx.tensor(0)?;
        Ok(if scalar { code!(ops::select::nonzero_scalar(#x)) } else { code!(ops::select::nonzero(#x)) })
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

/// Returns the indices of nonzero elements, axis by axis.
fn nonzero_indices(known: &Known, x: &TensorType) -> Option<Vec<Vec<Dim>>> {
    let holds: Vec<bool> = match known {
        Known::Ints(ints) => {
            let differs = |int: &Dim| int.compare(&0.into()).map(|order| order.is_ne());
            ints.iter().map(differs).collect::<Option<_>>()?
        }
        Known::Floats(floats) => floats.iter().map(|&float| float != 0.0).collect(),
        Known::Bools(bools) => bools.clone(),
        Known::Strings(strings) => strings.iter().map(|string| !string.is_empty()).collect(),
    };
    let shape = broadcast::fixed(&x.shape)?;
    let mut rows = Vec::new();
    let mut stride = 1usize;
    for &size in shape.iter().rev() {
        let index = |(at, _): (usize, &bool)| {
            let index = at.checked_div(stride)?.checked_rem(size)?;
            i64::try_from(index).ok().map(Dim::from)
        };
        let row = holds.iter().enumerate().filter(|(_, holds)| **holds);
        rows.push(row.map(index).collect::<Option<Vec<Dim>>>()?);
        stride = stride.checked_mul(size)?;
    }
    rows.reverse();
    Some(rows)
}

impl Operator for Trilu {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let [.., rows, columns] = x.shape.as_slice() else {
            return Err(Problem::expected("the input", x, "rank 2 or more"));
        };
        let k = if cx.has(1) { cx.numbers(1).and_then(|numbers| numbers.first().copied()) } else { Some(0) };
        let known = cx.folded(0).and_then(|known| self.triangle(known, rows.fixed()?, columns.fixed()?, k?));
        cx.output(0, x.dtype, x.shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let k = if cx.has(1) { cx.host_int(1)? } else { code!(0) };
        let (x, upper) = (cx.tensor(0)?, self.upper);
        Ok(code!(ops::select::trilu(#x, #k, #upper)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn moves(&self) -> bool {
        true
    }
}

impl Trilu {
    fn triangle(&self, known: &Known, rows: usize, columns: usize, k: i64) -> Option<Known> {
        let zero = match known {
            Known::Ints(_) => Known::Ints(vec![Dim::default()]),
            Known::Floats(_) => Known::Floats(vec![0.0]),
            Known::Bools(_) => Known::Bools(vec![false]),
            Known::Strings(_) => return None,
        };
        let last = known.len();
        let index = |at: usize| {
            let column = i128::try_from(at.checked_rem(columns)?).ok()?;
            let row = i128::try_from(at.checked_div(columns)?.checked_rem(rows)?).ok()?;
            let above = column - row - i128::from(k);
            let kept = if self.upper { above >= 0 } else { above <= 0 };
            Some(if kept { at } else { last })
        };
        let indices = (0..last).map(index).collect::<Option<Vec<usize>>>()?;
        known.clone().followed_by(zero)?.pick(&indices)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_shape_to_expand_to_is_chosen_while_compiling() {
        check(
            "g (float[1, n] x) => (float[a, b] y) <int64[2] wanted = {4, -1}, int64 open = {-1}> {
                s = Shape(x)
                e = Equal(wanted, open)
                c = Where(e, s, wanted)
                y = Expand(x, c)
            }",
            expect![[r#"
                g (float32[1, n] x) => (float32[4, n] y)
                <
                    int64[2] c = {4, n}
                >
                {
                    float32[4, n] y = Expand (x, c)
                }
            "#]],
        );
    }

    #[test]
    fn indices_of_what_is_known_are_known() {
        check(
            "g () => (int64[a, b] y) <float[2, 3] x = {0, 1, 2, 0, 0, 3}> { y = NonZero(x) }",
            expect![[r#"
                g () => (int64[2, 3] y)
                <
                    int64[2, 3] y = {0, 0, 1, 1, 2, 2}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn triangles_of_what_is_known_are_known() {
        check(
            "g () => (int64[a, b] y) <int64[2, 3] x = {1, 2, 3, 4, 5, 6}, int64 k = {1}> {
                y = Trilu(x, k)
            }",
            expect![[r#"
                g () => (int64[2, 3] y)
                <
                    int64[2, 3] y = {0, 2, 3, 0, 0, 6}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn how_many_are_left_has_a_name() {
        check(
            "g (float[n, m] x, bool[n] c) => (float[a, b] y, float[d] z, int64[e, f] w) {
                y = Compress<axis: int = 0>(x, c)
                z = Compress(x, c)
                w = NonZero(x)
            }",
            expect![[r#"
                g (float32[n, m] x, bool[n] c) => (float32[compress, m] y, float32[compress_2] z, int64[2, nonzero] w)
                {
                    float32[compress, m] y = Compress <axis: 0> (x, c)
                    float32[compress_2] z = Compress (x, c)
                    int64[2, nonzero] w = NonZero (x)
                }
            "#]],
        );
    }
}
