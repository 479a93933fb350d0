//! The same elements in another shape.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::{Emit, whole};
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

pub const ROWS: &[Row] = &[
    row("Reshape", &[1, 5, 13, 14, 19, 21, 23, 24, 25], reshape)
        .hoisted()
        .arity(2, 1)
        .before(&[(5, 1, 1)]),
    row("Flatten", &[1, 9, 11, 13, 21, 23, 24, 25], |a| {
        Ok(Rc::new(Reshape::Flatten(a.int_or("axis", 1)?)))
    })
    .hoisted(),
    row("Squeeze", &[1, 11, 13, 21, 23, 24, 25], |a| {
        Ok(Rc::new(Reshape::Squeeze(axes(a)?)))
    })
    .hoisted()
    .arity(2, 1)
    .before(&[(13, 1, 1)]),
    row("Unsqueeze", &[1, 11, 13, 21, 23, 24, 25], |a| {
        Ok(Rc::new(Reshape::Unsqueeze(axes(a)?)))
    })
    .hoisted()
    .arity(2, 1)
    .before(&[(13, 1, 1)]),
];

/// Operators that leave the elements in their order. Axes and sizes come from an attribute in old
/// versions and from input 1 in new ones.
#[derive(Debug)]
enum Reshape {
    To {
        sizes: Option<Vec<i64>>,
        allow_zero: bool,
    },
    Flatten(i64),
    Squeeze(Option<Vec<i64>>),
    Unsqueeze(Option<Vec<i64>>),
}

attributes!(enum Reshape {
    To { sizes, allow_zero }, Flatten(inner), Squeeze(inner), Unsqueeze(inner)
});

fn reshape(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let mut sizes = None;
    if a.version() < 5 {
        a.ignore(&["consumed_inputs"]);
        sizes = a.ints("shape")?;
    }
    let allow_zero = a.flag("allowzero", false)?;
    Ok(Rc::new(Reshape::To { sizes, allow_zero }))
}

fn axes(a: &Attributes<'_>) -> Result<Option<Vec<i64>>, Problem> {
    match a.version() {
        ..13 => a.ints("axes"),
        _ => Ok(None),
    }
}

impl Operator for Reshape {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let shape = match self {
            Reshape::To { sizes, allow_zero } => to(cx, &x, sizes.as_deref(), *allow_zero)?,
            Reshape::Flatten(at) => flatten(cx, &x, *at)?,
            Reshape::Squeeze(axes) => squeeze(cx, &x, axes.as_deref())?,
            Reshape::Unsqueeze(axes) => unsqueeze(cx, &x, axes.as_deref())?,
        };
        let known = cx.folded(0).cloned();
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let shape = cx.output_tensor(0)?.shape.clone();
        let open = shape.iter().any(|dim| dim.fixed().is_none());
        // A size that only the result tells, as where a quotient is too large, computes no result.
        let late = shape.iter().any(|size| cx.is_first_told_here(size));
        let asked = self.at_run_time() && open && (late || cx.has(1) && !cx.is_known(1));
        let allow_zero = matches!(
            self,
            Reshape::To {
                allow_zero: true,
                ..
            }
        );
        let axes = match self {
            Reshape::Squeeze(None) if cx.has(1) && !cx.is_known(1) => Some("squeeze"),
            Reshape::Unsqueeze(None) if !cx.is_known(1) => Some("unsqueeze"),
            _ => None,
        };
        let (from, to) = (
            cx.tensor_type(0)?.elements(),
            cx.output_tensor(0)?.elements(),
        );
        let proven = from.is_some() && from == to && !asked && axes.is_none();
        if !proven {
            cx.may_fail();
        }
        if let Some(name) = axes {
            let at = cx.host_ints(1)?;
            if cx.on_host() {
                let (x, name) = (cx.host(0)?, format_ident!("{name}"));
                return Ok(code!(host::#name(#x, #at)));
            }
            let (x, name) = (cx.tensor(0)?, format_ident!("{name}_axes"));
            let rank = Literal::usize_unsuffixed(shape.len().max(1));
            return Ok(code!(ops::shape::#name::<_, #rank, _>(#x, #at)));
        }
        if cx.on_host() {
            let x = cx.host(0)?;
            if asked {
                let sizes = self.asked(cx)?;
                return Ok(code!(host::reshape(#x, #sizes, #allow_zero)));
            }
            let sizes = match self {
                Reshape::Flatten(at) if late => {
                    let [outer, inner] = self::sizes(cx, *at)?;
                    code!([(#outer) as i64, (#inner) as i64])
                }
                _ => cx.shape_of(&shape),
            };
            return Ok(code!(host::reshape(#x, &#sizes, true)));
        }
        let rank = cx.tensor_type(0)?.burn_rank();
        let x = cx.tensor(0)?;
        if asked {
            let sizes = self.asked(cx)?;
            let to = Literal::usize_unsuffixed(shape.len().max(1));
            return Ok(code!(ops::shape::reshape_to::<_, #to, _>(#x, #sizes, #allow_zero)));
        }
        if rank == 1 && shape.is_empty() {
            return Ok(x);
        }
        let sizes = match self {
            Reshape::Flatten(at) if late => {
                let [outer, inner] = self::sizes(cx, *at)?;
                code!([#outer, #inner])
            }
            _ => cx.shape(&shape),
        };
        // Burn's own takes a size of 0 for the one that was there.
        Ok(if !proven || shape.iter().any(|dim| dim.is(0)) {
            code!(ops::shape::reshape(#x, #sizes))
        } else {
            code!(#x.reshape(#sizes))
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

impl Reshape {
    /// Whether the sizes may be known only when the model runs.
    fn at_run_time(&self) -> bool {
        matches!(self, Reshape::To { .. })
    }

    /// The sizes as the model gives them, -1 and 0 included.
    fn asked(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        match self {
            Reshape::To {
                sizes: Some(sizes), ..
            } => {
                let sizes = sizes.iter().map(|&size| Literal::i64_unsuffixed(size));
                Ok(code!(&[#(#sizes),*]))
            }
            _ => cx.host_ints(1),
        }
    }
}

/// The sizes of a flat tensor as products, however large these grow.
fn sizes(cx: &mut Emit<'_, '_>, at: i64) -> Result<[Code; 2], Problem> {
    let shape = cx.tensor_type(0)?.shape.clone();
    let (outer, inner) = shape.split_at(split_at(at, shape.len())?);
    Ok([outer, inner].map(|part| {
        let factors = part.iter().map(|size| whole(cx.size(size)));
        let product = factors.reduce(|product, size| code!(#product * #size));
        product.unwrap_or_else(|| code!(1))
    }))
}

fn split_at(at: i64, rank: usize) -> Result<usize, Problem> {
    match usize::try_from(at) {
        Ok(at) if at <= rank => Ok(at),
        _ => axis(at, rank),
    }
}

fn to(
    cx: &mut Infer<'_>,
    x: &TensorType,
    sizes: Option<&[i64]>,
    allow_zero: bool,
) -> Result<Shape, Problem> {
    let wanted: Option<Vec<Dim>> = match sizes {
        Some(sizes) => Some(sizes.iter().map(|&size| Dim::from(size)).collect()),
        None => cx.ints(1),
    };
    let Some(wanted) = wanted else {
        let rank = cx.tensor_of_rank(1, 1)?.count().ok_or_else(|| {
            Problem::new("the rank of the result is not known while compiling")
                .help("simplify the model's shape arithmetic, or fix its sizes with `dims(..)`")
        })?;
        return Ok((0..rank)
            .map(|axis| cx.fresh(&format!("reshape_{axis}")))
            .collect());
    };
    let mut shape: Shape = wanted;
    for (at, dim) in shape.iter_mut().enumerate() {
        if dim.is(0) && !allow_zero {
            *dim = x.shape.get(at).cloned().ok_or_else(|| {
                Problem::new(format!(
                    "size 0 on axis {at} copies a size of {x}, which has none there"
                ))
            })?;
        }
    }
    let open: Vec<usize> = (0..shape.len())
        .filter(|&at| shape.get(at).is_some_and(|dim| dim.is(-1)))
        .collect();
    match open.as_slice() {
        [] => {
            let total = shape
                .iter()
                .try_fold(Dim::from(1), |count, dim| count.mul(dim));
            if let (Some(have), Some(want)) = (x.count(), total.and_then(|total| total.fixed()))
                && have != want
            {
                return Err(Problem::new(format!(
                    "{x} of {have} elements cannot become {want}"
                )));
            }
        }
        [at] => {
            // Sizes that stand on both sides cancel out even where their product is not known.
            let mut elements: Vec<Dim> = x.shape.clone();
            let mut others: Vec<Dim> = Vec::new();
            for (axis, dim) in shape.iter().enumerate() {
                if axis == *at {
                    continue;
                }
                match elements.iter().position(|held| held == dim) {
                    Some(held) => {
                        elements.remove(held);
                    }
                    None => others.push(dim.clone()),
                }
            }
            let all = |dims: &[Dim]| {
                dims.iter()
                    .try_fold(Dim::from(1), |count, dim| count.mul(dim))
            };
            let counts = all(&elements).zip(all(&others));
            if let Some((elements, others)) = &counts
                && let (Some(have), Some(each @ 1..)) = (elements.number(), others.number())
                && have.checked_rem(each) != Some(0)
            {
                return Err(Problem::new(format!(
                    "{x} cannot become {}: {have} elements are no multiple of {each}",
                    sizes::Sizes(&shape)
                )));
            }
            let rest = counts.and_then(|(a, b)| a.div(&b));
            let rest = cx.dim_or_fresh(rest, "reshape");
            if let Some(dim) = shape.get_mut(*at) {
                *dim = rest;
            }
        }
        _ => return Err(Problem::new("more than one size is -1")),
    }
    if shape
        .iter()
        .any(|dim| dim.number().is_some_and(|size| size < 0))
    {
        return Err(Problem::new("a size is negative"));
    }
    Ok(shape)
}

fn flatten(cx: &mut Infer<'_>, x: &TensorType, at: i64) -> Result<Shape, Problem> {
    let (outer, inner) = x.shape.split_at(split_at(at, x.rank())?);
    let product = |dims: &[Dim]| {
        dims.iter()
            .try_fold(Dim::from(1), |count, dim| count.mul(dim))
    };
    let outer = cx.dim_or_fresh(product(outer), "flatten");
    let inner = cx.dim_or_fresh(product(inner), "flatten");
    Ok(vec![outer, inner])
}

fn squeeze(cx: &mut Infer<'_>, x: &TensorType, axes: Option<&[i64]>) -> Result<Shape, Problem> {
    let rank = x.rank();
    let given = match (axes, cx.has(1)) {
        (Some(axes), _) => Some(axes.to_vec()),
        (None, true) => match cx.numbers(1) {
            Some(axes) => Some(axes),
            None => {
                let left = rank.checked_sub(told_axes(cx)?);
                let left = left.ok_or_else(|| Problem::new("there are more axes than x has"))?;
                return Ok((0..left)
                    .map(|at| cx.fresh(&format!("squeeze_{at}")))
                    .collect());
            }
        },
        (None, false) => None,
    };
    let axes: Vec<usize> = match given {
        Some(axes) => {
            let axes = axes.iter().map(|&at| axis(at, rank));
            let axes: Vec<usize> = axes.collect::<Result<_, _>>()?;
            for &at in &axes {
                let size = x.shape.get(at).cloned().unwrap_or_default();
                if sizes::differ(&size, &Dim::from(1)) {
                    let problem = format!(
                        "axis {at} of {x} is of size {size}, and only axes of size 1 go away"
                    );
                    return Err(Problem::new(problem));
                }
            }
            axes
        }
        None => {
            let ones: Vec<usize> = (0..rank)
                .filter(|&at| x.shape.get(at).is_some_and(|dim| dim.is(1)))
                .collect();
            match x.shape.iter().find(|dim| dim.number().is_none()) {
                // With an axis that is 1 at every run, the others are taken to be meant to stay.
                Some(open) if ones.is_empty() => {
                    let names = x.shape.iter().filter_map(|dim| dim.name());
                    return Err(Problem::new(format!(
                        "the rank of the result depends on whether the size `{open}` is 1"
                    ))
                    .help(
                        "fix the size with `dims(..)`, or export the model with the axes \
                         to squeeze",
                    )
                    .unless_ones(names.map(|name| name.to_string())));
                }
                _ => {
                    cx.doubt(&x.shape);
                    ones
                }
            }
        }
    };
    let kept = x
        .shape
        .iter()
        .enumerate()
        .filter(|(at, _)| !axes.contains(at));
    Ok(kept.map(|(_, dim)| dim.clone()).collect())
}

fn unsqueeze(cx: &mut Infer<'_>, x: &TensorType, axes: Option<&[i64]>) -> Result<Shape, Problem> {
    let axes = match (axes, cx.numbers(1)) {
        (Some(axes), _) => axes.to_vec(),
        (None, Some(axes)) => axes,
        (None, None) => {
            let rank = x.rank().saturating_add(told_axes(cx)?);
            return Ok((0..rank)
                .map(|at| cx.fresh(&format!("unsqueeze_{at}")))
                .collect());
        }
    };
    let rank = x.rank().saturating_add(axes.len());
    let mut new: Vec<usize> = axes
        .iter()
        .map(|&at| axis(at, rank))
        .collect::<Result<_, _>>()?;
    new.sort_unstable();
    let mut shape = x.shape.clone();
    for at in new {
        if at > shape.len() {
            return Err(Problem::new("an axis is given twice"));
        }
        shape.insert(at, Dim::from(1));
    }
    Ok(shape)
}

/// How many axes the run tells.
fn told_axes(cx: &Infer<'_>) -> Result<usize, Problem> {
    cx.tensor(1)?.count().ok_or_else(|| {
        Problem::new("the number of axes is not known while compiling, so the result has no rank")
            .help("export the model with constant axes")
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
            ],
            expect![[r#"
                float32[3, 4] cannot become [5, -1]: 12 elements are no multiple of 5
                float32[n, 3] cannot become [n, 2, -1]: 3 elements are no multiple of 2
                fine
                axis 0 of float32[2, 3] is of size 2, and only axes of size 1 go away
                fine
            "#]],
        );
    }
}
