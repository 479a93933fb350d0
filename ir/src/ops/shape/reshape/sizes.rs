//! Sizes of results of reshaping.

use super::split_at;
use crate::diagnostics::{Problem, Topic, counted};
use crate::dim::Dim;
use crate::infer::{Infer, rank_of_result};
use crate::ops::axes::axis;
use crate::ops::sizes;
use crate::types::{Shape, TensorType};

pub(super) fn to(
    cx: &mut Infer<'_>,
    x: &TensorType,
    sizes: Option<&[i64]>,
    allow_zero: bool,
) -> Result<Shape, Problem> {
    let wanted: Option<Vec<Dim>> = match sizes {
        Some(sizes) => Some(sizes.iter().map(|&size| Dim::from(size)).collect()),
        None => {
            sizes::integers(cx, 1, "shape")?;
            cx.ints(1)
        }
    };
    let Some(wanted) = wanted else {
        let rank = sizes::rank(cx, 1)?;
        return Ok((0..rank).map(|axis| cx.fresh(&format!("reshape_{axis}"))).collect());
    };
    let mut shape: Shape = wanted;
    for (at, dim) in shape.iter_mut().enumerate() {
        if dim.is(0) && !allow_zero {
            *dim = x.shape.get(at).cloned().ok_or_else(|| {
                Problem::new(format!(
                    "size 0 on axis {at} copies the size of the input, but {x} has no axis {at}"
                ))
            })?;
        }
    }
    if let Some(size) = shape.iter().filter_map(Dim::number).find(|&size| size < -1) {
        return Err(Problem::new(format!("`shape` contains {size}, expected at least -1")));
    }
    let open: Vec<usize> =
        (0..shape.len()).filter(|&at| shape.get(at).is_some_and(|dim| dim.is(-1))).collect();
    match open.as_slice() {
        [] => {
            let total = Dim::product(&shape);
            if let (Some(have), Some(want)) = (x.count(), total.and_then(|total| total.fixed()))
                && have != want
            {
                let want = counted(want, "elements");
                return Err(Problem::new(format!(
                    "{x} cannot be reshaped to {}: expected {want}, found {have}",
                    sizes::Sizes(&shape)
                )));
            }
        }
        [at] => {
            // Sizes on both sides cancel even if their product is unknown.
            let mut elements: Vec<Dim> = x.shape.clone();
            let mut others: Vec<Dim> = Vec::new();
            for (axis, dim) in shape.iter().enumerate() {
                if axis == *at {
                    continue;
                }
                match elements.iter().position(|element| element == dim) {
                    Some(at) => {
                        elements.remove(at);
                    }
                    None => others.push(dim.clone()),
                }
            }
            let counts = Dim::product(&elements).zip(Dim::product(&others));
            if let Some((elements, others)) = &counts
                && let (Some(have), Some(each @ 1..)) = (elements.number(), others.number())
                && have.checked_rem(each) != Some(0)
            {
                return Err(Problem::new(format!(
                    "{x} cannot be reshaped to {}: expected a multiple of {each} elements, found {have}",
                    sizes::Sizes(&shape)
                )));
            }
            let rest = counts.and_then(|(a, b)| a.div(&b));
            let rest = cx.dim_or_fresh(rest, "reshape");
            if let Some(dim) = shape.get_mut(*at) {
                *dim = rest;
            }
        }
        _ => return Err(Problem::new("`shape` contains -1 more than once")),
    }
    Ok(shape)
}

pub(super) fn flatten(cx: &mut Infer<'_>, x: &TensorType, at: i64) -> Result<Shape, Problem> {
    let (outer, inner) = x.shape.split_at(split_at(at, x.rank())?);
    let outer = cx.dim_or_fresh(Dim::product(outer), "flatten");
    let inner = cx.dim_or_fresh(Dim::product(inner), "flatten");
    Ok(vec![outer, inner])
}

pub(super) fn squeeze(cx: &mut Infer<'_>, x: &TensorType, axes: Option<&[i64]>) -> Result<Shape, Problem> {
    let rank = x.rank();
    let axes = match (axes, cx.has(1)) {
        (Some(axes), _) => Some(axes.to_vec()),
        (None, true) => match cx.numbers(1) {
            Some(axes) => Some(axes),
            None => {
                let count = count_axes(cx)?;
                let left = rank.checked_sub(count).ok_or_else(|| {
                    Problem::expected("the number of axes", count, format_args!("at most {rank}"))
                })?;
                return Ok((0..left).map(|at| cx.fresh(&format!("squeeze_{at}"))).collect());
            }
        },
        (None, false) => None,
    };
    let axes: Vec<usize> = match axes {
        Some(axes) => {
            let axes = axes.iter().map(|&at| axis(at, rank));
            let axes: Vec<usize> = axes.collect::<Result<_, _>>()?;
            for &at in &axes {
                let size = x.shape.get(at).cloned().unwrap_or_default();
                if sizes::differ(&size, &Dim::from(1)) {
                    return Err(Problem::new(format!("axis {at} of {x} has size {size}, expected 1")));
                }
            }
            axes
        }
        None => {
            let ones: Vec<usize> =
                (0..rank).filter(|&at| x.shape.get(at).is_some_and(|dim| dim.is(1))).collect();
            match x.shape.iter().find(|dim| dim.number().is_none()) {
                // If an axis is 1 in every run, the other axes are assumed to be kept.
                Some(open) if ones.is_empty() => {
                    let names = x.shape.iter().filter_map(|dim| dim.name());
                    return Err(Problem::new(format!(
                        "the rank of the result depends on whether the size `{open}` is 1"
                    ))
                    .help("fix the size with `dims(..)`, or export the model with the axes to squeeze")
                    .about(Topic::Shape)
                    .unless_ones(names.map(|name| name.to_string())));
                }
                _ => {
                    cx.doubt(&x.shape);
                    ones
                }
            }
        }
    };
    let kept = x.shape.iter().enumerate().filter(|(at, _)| !axes.contains(at));
    Ok(kept.map(|(_, dim)| dim.clone()).collect())
}

pub(super) fn unsqueeze(cx: &mut Infer<'_>, x: &TensorType, axes: Option<&[i64]>) -> Result<Shape, Problem> {
    let axes = match (axes, cx.numbers(1)) {
        (Some(axes), _) => axes.to_vec(),
        (None, Some(axes)) => axes,
        (None, None) => {
            let rank = rank_of_result(x.rank().saturating_add(count_axes(cx)?))?;
            return Ok((0..rank).map(|at| cx.fresh(&format!("unsqueeze_{at}"))).collect());
        }
    };
    let rank = x.rank().saturating_add(axes.len());
    let mut new: Vec<usize> = axes.iter().map(|&at| axis(at, rank)).collect::<Result<_, _>>()?;
    new.sort_unstable();
    let mut shape = x.shape.clone();
    for at in new {
        if at > shape.len() {
            return Err(Problem::new("`axes` contains an axis twice"));
        }
        shape.insert(at, Dim::from(1));
    }
    Ok(shape)
}

/// Reports another number of axes than one.
pub(super) fn one_axis(cx: &Infer<'_>) -> Result<(), Problem> {
    let axis = cx.tensor(1)?;
    match axis.shape.as_slice() {
        [] => Ok(()),
        [size] if !sizes::differ(size, &Dim::from(1)) => Ok(()),
        _ => Err(Problem::expected("`axis`", axis, "a single axis")),
    }
}

/// Returns the number of axes in an input whose elements are unknown.
fn count_axes(cx: &Infer<'_>) -> Result<usize, Problem> {
    cx.tensor(1)?.count().ok_or_else(|| {
        Problem::new("the rank of the result depends on a number of axes that is unknown at compile time")
            .help("export the model with constant axes")
            .about(Topic::Shape)
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn squeeze_without_axes_takes_the_sizes_that_are_always_1() {
        check(
            "g (float[n,1,3] x) => (y) { y = Squeeze (x) }",
            expect![[r#"
            g (float32[n, 1, 3] x) => (float32[n, 3] y)
            {
                float32[n, 3] y = Squeeze (x)
            }
        "#]],
        );
    }

    #[test]
    fn a_rank_that_hangs_on_a_size_is_that_of_one() {
        check(
            "g (float[batch, 3] x) => (float[3] y) { y = Squeeze (x) }",
            expect![[r#"
                g (float32[1, 3] x) => (float32[3] y)
                {
                    float32[3] y = Squeeze (x)
                }
            "#]],
        );
    }

    #[test]
    fn the_declared_rank_says_whether_a_size_is_one() {
        check(
            "g (float[batch, 1] x) => (float y) { y = Squeeze (x) }",
            expect![[r#"
                g (float32[1, 1] x) => (float32[] y)
                {
                    float32[] y = Squeeze (x)
                }
            "#]],
        );
    }

    #[test]
    fn a_rank_that_hangs_on_elements_is_none() {
        check(
            "g (float[n] x) => (y) { found = Unique (x) y = Squeeze (found) }",
            expect![[r#"
                cannot compile `model`

                  the rank of the result depends on whether the size `unique` is 1
                    at node `y` (Squeeze version 21)
                    help: fix the size with `dims(..)`, or export the model with the axes to squeeze

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn elements_must_fit() {
        problems(
            &[
                r#"(float[3, 4] x) => (float[5, a] y) <int64[2] s = {5, -1}> { y = Reshape (x, s) }"#,
                r#"(float[n, 3] x) => (float[n, 2, a] y) <int64[3] s = {0, 2, -1}> { y = Reshape (x, s) }"#,
                r#"(float[n, 3] x) => (float[5, a] y) <int64[2] s = {5, -1}> { y = Reshape (x, s) }"#,
                r#"(float[2, 3] x) => (float[3] y) <int64[1] a = {0}> { y = Squeeze (x, a) }"#,
                r#"(float[n, 3] x) => (float[3] y) <int64[1] a = {0}> { y = Squeeze (x, a) }"#,
                r#"(float[n, 3] x, int32[2] a) => (float[n, 1, 1, 3] y) { y = com.microsoft.ExpandDims (x, a) }"#,
                r#"(float[n, 3] x, int32[1, 1] a) => (float[n, 1, 3] y) { y = com.microsoft.ExpandDims (x, a) }"#,
                r#"(float[n, 3] x) => (float[n, 1, 3] y) <int32 a = {3}> { y = com.microsoft.ExpandDims (x, a) }"#,
                r#"(float[n, 3] x) => (float[n, 3, 1] y) <int32 a = {-1}> { y = com.microsoft.ExpandDims (x, a) }"#,
            ],
            expect![[r#"
                float32[3, 4] cannot be reshaped to [5, -1]: expected a multiple of 5 elements, found 12
                float32[n, 3] cannot be reshaped to [n, 2, -1]: expected a multiple of 2 elements, found 3
                fine
                axis 0 of float32[2, 3] has size 2, expected 1
                fine
                `axis` is int32[2], expected a single axis
                `axis` is int32[1, 1], expected a single axis
                axis 3 is out of bounds for a tensor of rank 3
                fine
            "#]],
        );
    }
}
