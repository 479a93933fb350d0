//! Slice: ranges of elements along axes.

mod bounds;

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::Known;
pub use bounds::Span;
use bounds::{Bounds, Range};

pub const ROWS: &[Row] = &[row("Slice", &[1, 10, 11, 13], slice)
    .hoisted()
    .view()
    .follows()
    .arity("rrroo", "r")
    .before(&[(10, "r", "r")])];

/// Starts, ends, axes and steps, which are attributes before version 10, then inputs 1 to 4.
#[derive(Debug)]
pub struct Slice {
    attributes: Option<[Input; 4]>,
}

attributes!(struct Slice { attributes });

/// One of the four lists.
#[derive(Clone, Debug)]
enum Input {
    Absent,
    /// Known only at run time.
    Open,
    Known(Vec<Dim>),
}

attributes!(
    enum Input {
        Absent,
        Open,
        Known(inner),
    }
);

fn slice(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let list = |name: &str| -> Result<Input, Problem> {
        Ok(match a.ints(name)? {
            Some(ints) => Input::Known(ints.into_iter().map(Dim::from).collect()),
            None => Input::Absent,
        })
    };
    let attributes = match a.version() {
        ..10 => Some([list("starts")?, list("ends")?, list("axes")?, Input::Absent]),
        _ => None,
    };
    Ok(Rc::new(Slice { attributes }))
}

impl Operator for Slice {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        for (input, name) in (1..).zip(["starts", "ends", "axes", "steps"]) {
            sizes::integers(cx, input, name)?;
        }
        let inputs = self.inputs(|at| cx.has(at), |at| cx.known(at));
        let count = match &self.attributes {
            Some(_) => None,
            None => cx.tensor_of_rank(1, 1)?.count(),
        };
        let mut shape = x.shape.clone();
        let mut indices: Vec<Option<Vec<usize>>> = shape.iter().map(all).collect();
        for (axis, bounds) in bounds(&inputs, count, x.rank())? {
            let Some(size) = x.shape.get(axis) else {
                continue;
            };
            let sliced = bounds.as_ref().and_then(|bounds| bounds.size(size));
            let sliced = cx.dim_or_fresh(sliced, "slice");
            let kept = bounds.and_then(|bounds| bounds.indices(size));
            if let (Some(to), Some(from)) = (shape.get_mut(axis), indices.get_mut(axis)) {
                (*to, *from) = (sliced, kept);
            }
        }
        let known = cx.folded(0).and_then(|known| {
            let from = broadcast::fixed(&x.shape)?;
            let indices = indices.into_iter().collect::<Option<Vec<_>>>()?;
            known.pick(&broadcast::grid(&from, &indices)?)
        });
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let shape = cx.tensor_type(0)?.shape.clone();
        let inputs = self.inputs(|at| cx.has(at), |at| cx.known(at));
        let count = cx.tensor_type(1).ok().and_then(|starts| starts.count());
        let bounds = bounds(&inputs, count, shape.len())?;
        if is_leading(&inputs, count) {
            cx.may_fail();
            let (starts, ends) = (cx.host_ints(1)?, cx.host_ints(2)?);
            let (module, x) =
                if cx.on_host() { (code!(host), cx.host(0)?) } else { (code!(ops::slice), cx.tensor(0)?) };
            return Ok(code!(#module::slice_leading(#x, #starts, #ends)));
        }
        if cx.on_host() {
            let x = cx.host(0)?;
            let lists = lists(cx, &inputs, count, &bounds)?;
            return Ok(code!(host::slice(#x, #lists)));
        }
        let known: Option<Vec<(usize, Bounds)>> =
            bounds.iter().map(|(axis, bounds)| Some((*axis, bounds.clone()?))).collect();
        if let Some([(axis, bounds)]) = known.as_deref()
            && bounds.is_reverse()
            && bounds.step == -1
        {
            let (x, axis) = (cx.tensor(0)?, Literal::usize_unsuffixed(*axis));
            return Ok(code!(#x.flip([#axis])));
        }
        let ranges = known.and_then(|bounds| ranges(cx, &bounds, &shape));
        let x = cx.tensor(0)?;
        let Some(ranges) = ranges else {
            let lists = lists(cx, &inputs, count, &bounds)?;
            return Ok(code!(ops::slice::slice(#x, #lists)));
        };
        let mut sliced = (0..).zip(&ranges).filter(|(_, range)| range.is_some());
        let (first, last) = (sliced.next(), sliced.last());
        Ok(match (first, last) {
            (Some((axis, Some(range))), None) => {
                let axis = Literal::usize_unsuffixed(axis);
                let range = match range {
                    (range, Some(step)) => code!(burn::tensor::s![#range; #step]),
                    (range, None) => range.clone(),
                };
                code!(#x.slice_dim(#axis, #range))
            }
            (Some(_), Some((last, _))) => {
                let ranges = ranges.iter().take(last + 1).map(|range| match range {
                    Some((range, Some(step))) => code!(#range; #step),
                    Some((range, None)) => range.clone(),
                    None => code!(..),
                });
                code!(#x.slice(burn::tensor::s![#(#ranges),*]))
            }
            _ => x,
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (at, tensor) = (rows.alone()?, rows.tensor(0)?);
        let inputs = self.inputs(|input| rows.tensor(input).is_some(), |input| rows.known(input));
        // A range of as many rows with step 1 has all of them.
        let is_kept = |(axis, bounds): (usize, Option<Bounds>)| {
            axis != at || bounds.is_some_and(|bounds| bounds.step == 1)
        };
        bounds(&inputs, None, tensor.rank()).ok()?.into_iter().all(is_kept).then(|| vec![at])
    }
}

impl Slice {
    /// Returns the range that is kept of each axis of `shape`, if all ranges are known and forward.
    pub fn spans<'k>(
        &self,
        known: impl Fn(usize) -> (bool, Option<&'k Known>),
        shape: &[Dim],
    ) -> Option<Vec<Span>> {
        let inputs = self.inputs(|at| known(at).0, |at| known(at).1);
        let mut all: Vec<Span> = shape.iter().map(Span::whole).collect();
        for (axis, bounds) in bounds(&inputs, None, shape.len()).ok()? {
            *all.get_mut(axis)? = bounds?.span(shape.get(axis)?)?;
        }
        Some(all)
    }

    fn inputs<'k>(
        &self,
        has: impl Fn(usize) -> bool,
        known: impl Fn(usize) -> Option<&'k Known>,
    ) -> [Input; 4] {
        match &self.attributes {
            Some(inputs) => inputs.clone(),
            None => [1, 2, 3, 4].map(|at| match (has(at), known(at)) {
                (false, _) => Input::Absent,
                (true, Some(Known::Ints(ints))) => Input::Known(ints.clone()),
                (true, _) => Input::Open,
            }),
        }
    }
}

impl Input {
    fn known(&self) -> Option<&Vec<Dim>> {
        match self {
            Input::Known(ints) => Some(ints),
            _ => None,
        }
    }

    /// Returns the numbers, by default `absent()`; `None` if they are known only at run time.
    fn numbers(&self, absent: impl FnOnce() -> Vec<i64>) -> Option<Vec<i64>> {
        match self {
            Input::Absent => Some(absent()),
            Input::Open => None,
            Input::Known(ints) => ints.iter().map(Dim::number).collect(),
        }
    }
}

/// Returns `true` if the first axes are sliced, and their number is known only at run time.
fn is_leading(inputs: &[Input; 4], count: Option<usize>) -> bool {
    count.is_none() && matches!(inputs, [Input::Open, Input::Open, Input::Absent, Input::Absent])
}

/// Returns the sliced axes and their bounds, if known. If the axes are unknown, returns all axes.
fn bounds(
    inputs: &[Input; 4],
    count: Option<usize>,
    rank: usize,
) -> Result<Vec<(usize, Option<Bounds>)>, Problem> {
    if is_leading(inputs, count) {
        return Ok((0..rank).map(|axis| (axis, None)).collect());
    }
    let [starts, ends, axes, steps] = inputs;
    let (starts, ends) = (starts.known(), ends.known());
    let known = [starts, ends, axes.known(), steps.known()];
    let count = known.iter().flatten().map(|list| list.len()).chain(count);
    let count = count.min().ok_or_else(|| {
        Problem::new("the number of sliced axes is unknown at compile time")
            .help("export the model with a constant number of `starts`")
            .about(Topic::Shape)
    })?;
    if count > rank {
        return Err(Problem::expected("the number of sliced axes", count, format_args!("at most {rank}")));
    }
    if known.iter().flatten().any(|list| list.len() != count) {
        return Err(Problem::new("`starts`, `ends`, `axes` and `steps` have different lengths"));
    }
    let Some(axes) = axes.numbers(|| (0i64..).take(count).collect()) else {
        return Ok((0..rank).map(|axis| (axis, None)).collect());
    };
    let steps = steps.numbers(|| vec![1; count]);
    if steps.as_ref().is_some_and(|steps| steps.contains(&0)) {
        return Err(Problem::new("`steps` contains 0, expected nonzero integers"));
    }
    let bounds = axes.iter().enumerate().map(|(at, &along)| {
        let bounds = || {
            let (start, end) = (starts?.get(at)?.clone(), ends?.get(at)?.clone());
            Some(Bounds { start, end, step: *steps.as_ref()?.get(at)? })
        };
        Ok((axis(along, rank)?, bounds()))
    });
    bounds.collect()
}

/// Returns a range for each axis, `None` for a whole one, if Burn's ranges have the same semantics.
fn ranges(cx: &mut Emit<'_, '_>, bounds: &[(usize, Bounds)], shape: &[Dim]) -> Option<Vec<Option<Range>>> {
    let mut ranges: Vec<Option<Range>> = vec![None; shape.len()];
    for (axis, bounds) in bounds {
        *ranges.get_mut(*axis)? = bounds.range(cx, shape.get(*axis)?)?;
    }
    Some(ranges)
}

/// Returns starts, ends, axes and steps as slices.
fn lists(
    cx: &mut Emit<'_, '_>,
    inputs: &[Input; 4],
    count: Option<usize>,
    bounds: &[(usize, Option<Bounds>)],
) -> Result<Code, Problem> {
    let [starts, ends, axes, steps] = inputs;
    // If the axes are unknown, `bounds` are those of all axes.
    let count = starts.known().or(ends.known()).map(Vec::len).or(count);
    let count = Literal::usize_unsuffixed(count.unwrap_or(bounds.len()));
    let mut ints = |at: usize, list: &Input| match list.known() {
        Some(list) => {
            let ints = cx.shape_of(list);
            Ok(code!(&#ints))
        }
        None => cx.host_ints(at),
    };
    let (starts, ends) = (ints(1, starts)?, ints(2, ends)?);
    let steps = match steps {
        Input::Absent => code!(&[1; #count]),
        _ => ints(4, steps)?,
    };
    let axes = match axes {
        Input::Open if cx.on_host() => {
            let (axes, rank) = (cx.host(3)?, Literal::usize_unsuffixed(bounds.len()));
            match cx.tensor_type(3)?.dtype {
                DType::I64 => code!(&host::axes(#axes, #rank)),
                _ => code!(&host::axes(&host::cast(#axes), #rank)),
            }
        }
        Input::Open => cx.host_ints(3)?,
        _ => {
            let axes = bounds.iter().map(|(axis, _)| Literal::usize_unsuffixed(*axis));
            code!(&[#(#axes),*])
        }
    };
    Ok(code!(#starts, #ends, #axes, #steps))
}

/// Returns all indices of an axis, if their number is within the limit of known elements.
fn all(size: &Dim) -> Option<Vec<usize>> {
    let size = size.fixed().filter(|&size| size <= broadcast::MAX_KNOWN_ELEMENTS)?;
    Some((0..size).collect())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_shape_is_sliced_while_compiling() {
        check(
            "g (float[n, 3, m] x, float[k] y) => (float[a, b] z)
            <int64[1] one = {1}, int64[1] end = {9223372036854775807}> {
                s = Shape(x)
                t = Slice(s, one, end)
                z = Reshape(y, t)
            }",
            expect![[r#"
                g (float32[n, 3, m] x, float32[k] y) => (float32[3, m] z)
                <
                    int64[2] t = {3, m}
                >
                {
                    float32[3, m] z = Reshape (y, t)
                }
            "#]],
        );
    }

    #[test]
    fn the_run_may_tell_the_bounds() {
        check(
            "g (float[n, m] x, int64[1] end) => (float[a, b] y) <int64[1] one = {1}> {
                y = Slice(x, one, end, one)
            }",
            expect![[r#"
                g (float32[n, m] x, host int64[1] end) => (float32[n, slice] y)
                <
                    int64[1] one = {1}
                >
                {
                    float32[n, slice] y = Slice (x, one, end, one)
                }
            "#]],
        );
    }

    #[test]
    fn the_run_may_tell_how_many_axes_are_sliced() {
        check(
            "g (float[n, m] x, int64[k] starts, int64[k] ends) => (y) { y = Slice(x, starts, ends) }",
            expect![[r#"
                g (float32[n, m] x, host int64[k] starts, host int64[k] ends) => (float32[slice, slice_2] y)
                {
                    float32[slice, slice_2] y = Slice (x, starts, ends)
                }
            "#]],
        );
    }

    #[test]
    fn lists_of_different_lengths_are_refused() {
        check(
            "g (float[n, m] x) => (float[a, b] y) <int64[1] one = {1}, int64[2] two = {1, 2}> {
                y = Slice(x, one, two)
            }",
            expect![[r#"
                cannot compile `model`

                  `starts`, `ends`, `axes` and `steps` have different lengths
                    at node `y` (Slice version 13)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
