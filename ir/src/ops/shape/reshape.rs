//! Reshape, Flatten, Squeeze and Unsqueeze.

mod sizes;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::{Emit, whole};
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};
use sizes::{flatten, squeeze, to, unsqueeze};

pub const ROWS: &[Row] = &[
    row("Reshape", &[1, 5, 13, 14, 19, 21, 23, 24, 25], reshape)
        .newer(&[("allowzero", 14)])
        .hoisted()
        .follows()
        .arity("rr", "r")
        .before(&[(5, "r", "r")]),
    row("Flatten", &[1, 9, 11, 13, 21, 23, 24, 25], |a| Ok(Rc::new(Reshape::Flatten(a.int_or("axis", 1)?))))
        .hoisted()
        .follows(),
    row("Squeeze", &[1, 11, 13, 21, 23, 24, 25], |a| Ok(Rc::new(Reshape::Squeeze(axes(a)?))))
        .hoisted()
        .follows()
        .arity("ro", "r")
        .before(&[(13, "r", "r")]),
    row("Unsqueeze", &[1, 11, 13, 21, 23, 24, 25], |a| Ok(Rc::new(Reshape::Unsqueeze(axes(a)?))))
        .hoisted()
        .follows()
        .arity("rr", "r")
        .before(&[(13, "r", "r")]),
    row("ExpandDims", &[1], |_| Ok(Rc::new(Reshape::ExpandDims)))
        .hoisted()
        .follows()
        .arity("rr", "r")
        .of(MICROSOFT),
];

/// Operators that keep the order of elements. Axes and sizes are an attribute in old versions and input 1 in new ones.
#[derive(Debug)]
enum Reshape {
    To {
        sizes: Option<Vec<i64>>,
        allow_zero: bool,
    },
    Flatten(i64),
    Squeeze(Option<Vec<i64>>),
    Unsqueeze(Option<Vec<i64>>),
    /// One axis, which is input 1.
    ExpandDims,
}

attributes!(enum Reshape {
    To { sizes, allow_zero }, Flatten(inner), Squeeze(inner), Unsqueeze(inner), ExpandDims
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
            Reshape::ExpandDims => {
                self::sizes::one_axis(cx)?;
                unsqueeze(cx, &x, None)?
            }
        };
        let known = cx.folded(0).cloned();
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let shape = cx.output_tensor(0)?.shape.clone();
        let open = shape.iter().any(|dim| dim.fixed().is_none());
        // A size that only the result determines, such as a quotient that is too large, cannot be used to compute it.
        let late = shape.iter().any(|size| cx.is_first_bound_here(size));
        let asked = self.at_run_time() && open && (late || cx.has(1) && !cx.is_known(1));
        let allow_zero = matches!(self, Reshape::To { allow_zero: true, .. });
        let axes = match self {
            Reshape::Squeeze(None) if cx.has(1) && !cx.is_known(1) => Some("squeeze"),
            Reshape::Unsqueeze(None) | Reshape::ExpandDims if !cx.is_known(1) => Some("unsqueeze"),
            _ => None,
        };
        let (from, to) = (cx.tensor_type(0)?.elements(), cx.output_tensor(0)?.elements());
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
        if let Some(axes) = self.dropped(cx)?.filter(|_| !proven) {
            // The product of the sizes of an empty tensor does not determine if an axis has size 1.
            let axes = axes.into_iter().map(Literal::i64_unsuffixed);
            let axes = code!(&[#(#axes),*]);
            if cx.on_host() {
                let x = cx.host(0)?;
                return Ok(code!(host::squeeze(#x, #axes)));
            }
            let (x, rank) = (cx.tensor(0)?, Literal::usize_unsuffixed(shape.len().max(1)));
            return Ok(code!(ops::shape::squeeze_axes::<_, #rank, _>(#x, #axes)));
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
        if let Some(axis) = self.inserted(cx)?.filter(|_| proven) {
            let to = Literal::usize_unsuffixed(shape.len());
            // The sizes after the axis move, and Burn reads a size of 0 as "keep this size".
            let mut moved = cx.tensor_type(0)?.shape.iter().skip(axis);
            let is_filled = moved.all(|size| size.number().is_some());
            let axis = Literal::usize_unsuffixed(axis);
            return Ok(if is_filled {
                code!(#x.unsqueeze_dim::<#to>(#axis))
            } else {
                code!(ops::shape::insert_axis::<_, #to, _>(#x, #axis))
            });
        }
        let sizes = match self {
            Reshape::Flatten(at) if late => {
                let [outer, inner] = self::sizes(cx, *at)?;
                code!([#outer, #inner])
            }
            _ => cx.shape(&shape),
        };
        // Burn's function reads a size of 0 as "keep this size", and copies views with one thread.
        let from = &cx.tensor_type(0)?.shape;
        let mut to = shape.iter().enumerate();
        let is_meant =
            to.all(|(axis, size)| size.number().is_some_and(|size| size > 0) || from.get(axis) == Some(size));
        Ok(if !proven || !is_meant || cx.is_view(0) {
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

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        if !rows.is_fixed(1) {
            return None;
        }
        let (from, to) = (rows.tensor(0)?, rows.output(0)?);
        let (at, new) = (rows.axis(0)?, rows.axis_of_output()?);
        // The order of elements stays: rows stay if as many elements are before and within each.
        let counts = |tensor: &TensorType, axis: usize| {
            let (before, after) = tensor.shape.split_at_checked(axis)?;
            Some([Dim::product(before)?, Dim::product(after.get(1..)?)?])
        };
        (counts(from, at)? == counts(to, new)?).then(|| vec![new])
    }
}

impl Reshape {
    /// Returns `true` if the sizes may be known only at run time.
    fn at_run_time(&self) -> bool {
        matches!(self, Reshape::To { .. })
    }

    /// Returns the axes of Squeeze, if it has axes and they are known.
    fn dropped(&self, cx: &Emit<'_, '_>) -> Result<Option<Vec<i64>>, Problem> {
        Ok(match self {
            Reshape::Squeeze(Some(axes)) => Some(axes.clone()),
            Reshape::Squeeze(None) if cx.has(1) => cx.numbers(1),
            _ => None,
        })
    }

    /// Returns the inserted axis, if it is a single known one and the operand is not a scalar.
    fn inserted(&self, cx: &Emit<'_, '_>) -> Result<Option<usize>, Problem> {
        let axes = match self {
            Reshape::Unsqueeze(Some(axes)) => axes.clone(),
            Reshape::Unsqueeze(None) | Reshape::ExpandDims => {
                let dims = cx.known(1).and_then(Known::whole).unwrap_or_default();
                dims.iter().filter_map(Dim::number).collect()
            }
            _ => return Ok(None),
        };
        let (from, to) = (cx.tensor_type(0)?, cx.output_tensor(0)?);
        let axis = match axes.as_slice() {
            [one] => axis(*one, to.rank())?,
            _ => return Ok(None),
        };
        let zero = from.shape.iter().any(|size| size.is(0));
        Ok((from.rank() > 0 && from.rank() + 1 == to.rank() && !zero).then_some(axis))
    }

    /// Returns the sizes in the model, including -1 and 0.
    fn asked(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        match self {
            Reshape::To { sizes: Some(sizes), .. } => {
                let sizes = sizes.iter().map(|&size| Literal::i64_unsuffixed(size));
                Ok(code!(&[#(#sizes),*]))
            }
            _ => cx.host_ints(1),
        }
    }
}

/// Returns the sizes of a flattened tensor as products, which may be large.
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
