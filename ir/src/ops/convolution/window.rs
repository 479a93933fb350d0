//! Sliding windows: their attributes, sizes and code.

pub mod channels;
pub mod filter;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::{Atom, Dim};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::sizes;
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

/// Attributes that convolution and pooling share.
#[derive(Clone, Debug)]
pub struct Window {
    pub kernel: Option<Vec<i64>>,
    strides: Option<Vec<i64>>,
    dilations: Option<Vec<i64>>,
    pads: Option<Vec<i64>>,
    padding: Padding,
    pub ceil: bool,
}

attributes!(struct Window { kernel, strides, dilations, pads, padding, ceil });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Padding {
    Explicit,
    Valid,
    SameUpper,
    SameLower,
}

attributes!(
    enum Padding {
        Explicit,
        Valid,
        SameUpper,
        SameLower,
    }
);

/// A window for a known number of axes.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub kernel: Vec<i64>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    /// `(begin, end)` of each axis. Unused if the padding keeps sizes.
    pub pads: Vec<(i64, i64)>,
    padding: Padding,
    ceil: bool,
}

impl Window {
    pub fn read(a: &Attributes<'_>) -> Result<Self, Problem> {
        let paddings = [
            ("NOTSET", Padding::Explicit),
            ("VALID", Padding::Valid),
            ("SAME_UPPER", Padding::SameUpper),
            ("SAME_LOWER", Padding::SameLower),
        ];
        let padding = match a.string("auto_pad")?.as_deref() {
            Some("") => Padding::Explicit,
            _ => a.choice("auto_pad", "NOTSET", &paddings)?,
        };
        Ok(Window {
            kernel: a.ints("kernel_shape")?,
            strides: a.ints("strides")?,
            dilations: a.ints("dilations")?,
            pads: a.ints("pads")?,
            padding,
            ceil: a.flag("ceil_mode", false)?,
        })
    }

    /// Adds zeros before and after each axis. Returns `None` if the padding depends on sizes, or if elements would be
    /// removed.
    pub fn padded(&self, more: &[(i64, i64)]) -> Option<Self> {
        let none = || vec![0; more.len().saturating_mul(2)];
        let pads = match self.padding {
            Padding::Explicit => self.pads.clone().unwrap_or_else(none),
            Padding::Valid => none(),
            Padding::SameUpper | Padding::SameLower => return None,
        };
        let begins = more.iter().map(|pads| pads.0);
        let added = begins.chain(more.iter().map(|pads| pads.1));
        let added: Vec<i64> = added.collect();
        if pads.len() != added.len() || added.iter().any(|&pads| pads < 0) {
            return None;
        }
        let pads = pads.iter().zip(added).map(|(pad, added)| pad.checked_add(added));
        Some(Window { pads: Some(pads.collect::<Option<_>>()?), padding: Padding::Explicit, ..self.clone() })
    }

    /// Returns `true` if nothing is padded, for any sizes.
    pub fn is_unpadded(&self) -> bool {
        let zeros = |pads: &Vec<i64>| pads.iter().all(|&pads| pads == 0);
        match self.padding {
            Padding::Explicit => self.pads.as_ref().is_none_or(zeros),
            Padding::Valid => true,
            Padding::SameUpper | Padding::SameLower => false,
        }
    }

    /// Returns the shape of a result with one value for each channel and output pixel.
    pub fn pooled(&self, cx: &mut Infer<'_>, x: &TensorType) -> Result<Shape, Problem> {
        let axes = spatial_axes(x.rank())?;
        let window = self.resolve(axes, None)?;
        let mut shape: Shape = x.shape.iter().take(2).cloned().collect();
        match window.positions(x.shape.get(2..).unwrap_or_default()) {
            Some(positions) => shape.extend(positions),
            None => shape.extend((0..axes).map(|_| cx.fresh("pool"))),
        }
        Ok(shape)
    }

    /// Returns the window over `axes` spatial axes. `kernel` is the default for a missing attribute.
    pub fn resolve(&self, axes: usize, kernel: Option<Vec<i64>>) -> Result<Resolved, Problem> {
        let kernel = self.kernel.clone().or(kernel).ok_or_else(|| {
            Problem::new("the kernel shape is unknown at compile time")
                .help("export the model with the attribute `kernel_shape`")
        })?;
        let all =
            |setting: &Option<Vec<i64>>, default: i64| setting.clone().unwrap_or_else(|| vec![default; axes]);
        let pads = self.pads.clone().unwrap_or_else(|| vec![0; axes.saturating_mul(2)]);
        let (strides, dilations) = (all(&self.strides, 1), all(&self.dilations, 1));
        let lists = [("the kernel shape", &kernel), ("`strides`", &strides), ("`dilations`", &dilations)];
        for (name, list) in lists {
            sizes::length(name, list.len(), axes)?;
        }
        sizes::length("`pads`", pads.len(), axes.saturating_mul(2))?;
        for (name, list) in lists {
            if list.iter().any(|&value| !(1..1 << 31).contains(&value)) {
                return Err(Problem::expected(name, format_args!("{list:?}"), "positive 32-bit integers"));
            }
        }
        let (begins, ends) = pads.split_at(axes);
        let pads: Vec<(i64, i64)> = match self.padding {
            Padding::Explicit => begins.iter().copied().zip(ends.iter().copied()).collect(),
            _ => vec![(0, 0); axes],
        };
        if pads.iter().any(|&(begin, end)| begin < 0 || end < 0 || begin.max(end) >= 1 << 31) {
            let found = format!("{:?}", self.pads.as_deref().unwrap_or_default());
            return Err(Problem::expected("`pads`", found, "non-negative 32-bit integers"));
        }
        Ok(Resolved { kernel, strides, dilations, pads, padding: self.padding, ceil: self.ceil })
    }
}

impl Resolved {
    /// Returns the number of output pixels along each axis.
    pub fn positions(&self, sizes: &[Dim]) -> Option<Vec<Dim>> {
        let axes = self.kernel.iter().zip(&self.strides).zip(&self.dilations).zip(&self.pads);
        axes.zip(sizes)
            .map(|((((&kernel, &stride), &dilation), &(begin, end)), size)| {
                let stride_dim = Dim::from(stride);
                if self.keeps_sizes() {
                    return size.add(&Dim::from(stride - 1))?.div(&stride_dim);
                }
                let reach = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
                let room = size.add(&Dim::from(begin + end - reach))?;
                if !self.ceil {
                    return room.div(&stride_dim)?.add(&Dim::from(1));
                }
                let positions = room.add(&Dim::from(stride - 1))?.div(&stride_dim)?.add(&Dim::from(1))?;
                // A last window that would start in the padding at the end is omitted.
                match (size.number(), positions.number()) {
                    (Some(size), Some(count)) if (count - 1) * stride >= size + begin => {
                        Some(Dim::from(count - 1))
                    }
                    (Some(_), Some(_)) => Some(positions),
                    _ => None,
                }
            })
            .collect()
    }

    /// Returns `true` if the window fits into axes of these sizes, assuming that they are not empty.
    pub fn always_fits(&self, sizes: &[Dim]) -> bool {
        let axes = self.kernel.iter().zip(&self.dilations).zip(&self.pads);
        let fits = |((axis, pads), size): ((_, &(i64, i64)), &Dim)| {
            let (&(begin, end), (&kernel, &dilation)): (_, (&i64, &i64)) = (pads, axis);
            let reach = kernel.saturating_sub(1).saturating_mul(dilation);
            begin.saturating_add(end).saturating_add(least(size)) > reach
        };
        self.keeps_sizes() || axes.zip(sizes).all(fits)
    }

    /// Returns `true` if the transposed convolution of axes of these sizes, with `more` elements at the end, is at
    /// least as long as the padding, assuming that the axes are not empty.
    pub fn always_spreads(&self, sizes: &[Dim], more: &[i64]) -> bool {
        let kernels = self.kernel.iter().zip(&self.dilations).zip(&self.strides);
        let axes = kernels.zip(&self.pads).zip(sizes.iter().zip(more));
        axes.into_iter().all(|((((&kernel, &dilation), &stride), &(begin, end)), (size, &more))| {
            let reach = kernel.saturating_sub(1).saturating_mul(dilation);
            let steps = least(size).saturating_sub(1).saturating_mul(stride);
            let whole = reach.saturating_add(1).saturating_add(steps);
            whole.saturating_add(more) >= begin.saturating_add(end)
        })
    }

    /// Returns `true` if the padding depends on the sizes, and the result has one output pixel for each stride.
    pub fn keeps_sizes(&self) -> bool {
        matches!(self.padding, Padding::SameUpper | Padding::SameLower)
    }

    /// Returns `true` if padding that keeps sizes puts its odd element at the end.
    pub fn is_upper(&self) -> bool {
        self.padding == Padding::SameUpper
    }

    /// Replaces the padding.
    #[must_use]
    pub fn with_pads(&self, pads: Vec<(i64, i64)>) -> Self {
        Resolved { pads, padding: Padding::Explicit, ..self.clone() }
    }

    /// Generates `Window::new([3, 3]).strides([2, 2])`, for an input with these spatial sizes.
    pub fn emit(&self, cx: &mut Emit<'_, '_>, sizes: &[Dim]) -> Code {
        let kernel = list(&self.kernel);
        let mut window = code!(Window::new(#kernel));
        if self.strides.iter().any(|&stride| stride != 1) {
            let strides = list(&self.strides);
            window.extend(code!(.strides(#strides)));
        }
        if self.dilations.iter().any(|&dilation| dilation != 1) {
            let dilations = list(&self.dilations);
            window.extend(code!(.dilations(#dilations)));
        }
        if self.keeps_sizes() {
            let sizes = cx.shape(sizes);
            window.extend(match self.padding {
                Padding::SameUpper => code!(.same_upper(#sizes)),
                _ => code!(.same_lower(#sizes)),
            });
        } else if self.pads.iter().any(|&pads| pads != (0, 0)) {
            let pads = self.pads.iter().map(|&(begin, end)| {
                let (begin, end) = (Literal::i64_unsuffixed(begin), Literal::i64_unsuffixed(end));
                code!((#begin, #end))
            });
            window.extend(code!(.pads([#(#pads),*])));
        }
        window
    }
}

/// Returns the number of spatial axes of a tensor of this rank.
pub fn spatial_axes(rank: usize) -> Result<usize, Problem> {
    match rank {
        3..=5 => Ok(rank - 2),
        _ => Err(Problem::new(format!("the input has rank {rank}, expected 3 to 5"))),
    }
}

/// Returns the minimum of a size whose symbols are 1 or more.
fn least(size: &Dim) -> i64 {
    let terms = size.terms().map(|(atoms, factor)| {
        let plain = atoms.iter().all(|atom| matches!(atom, Atom::Name(_)));
        (plain && (factor > 0 || atoms.is_empty())).then_some(factor)
    });
    let sum = terms.sum::<Option<i64>>();
    sum.map_or(1, |sum| sum.max(1))
}

/// Generates `[1, 2]`.
pub fn list(values: &[i64]) -> Code {
    let values = values.iter().map(|&value| Literal::i64_unsuffixed(value));
    code!([#(#values),*])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(kernel: i64, stride: i64, pads: (i64, i64), ceil: bool) -> Resolved {
        Resolved {
            kernel: vec![kernel],
            strides: vec![stride],
            dilations: vec![1],
            pads: vec![pads],
            padding: Padding::Explicit,
            ceil,
        }
    }

    fn positions(window: &Resolved, size: impl Into<Dim>) -> Option<String> {
        let positions = window.positions(&[size.into()])?;
        positions.first().map(ToString::to_string)
    }

    #[test]
    fn a_window_has_as_many_positions_as_fit() {
        let plain = window(3, 2, (0, 1), false);
        assert_eq!(positions(&plain, 8).as_deref(), Some("4"));
        let n = Dim::named("n");
        assert_eq!(plain.positions(&[n]).unwrap()[0].to_string(), "floor((n) / (2))");
        let same = Resolved { padding: Padding::SameUpper, ..plain };
        assert_eq!(positions(&same, 7).as_deref(), Some("4"));
    }

    #[test]
    fn a_last_window_in_the_padding_is_left_out() {
        let ceil = |pads| positions(&window(2, 3, pads, true), 4);
        assert_eq!(ceil((0, 0)).as_deref(), Some("2"));
        assert_eq!(ceil((0, 3)).as_deref(), Some("2"));
        assert_eq!(window(2, 3, (0, 0), true).positions(&[Dim::named("n")]), None);
    }

    #[test]
    fn sizes_are_1_or_more() {
        let n = [Dim::named("n")];
        assert!(window(3, 1, (1, 1), false).always_fits(&n));
        assert!(!window(4, 1, (1, 1), false).always_fits(&n));
        assert!(window(4, 1, (1, 1), false).always_fits(&[2.into()]));
        assert!(window(2, 3, (1, 1), false).always_spreads(&n, &[0]));
        assert!(!window(2, 3, (2, 1), false).always_spreads(&n, &[0]));
        assert!(window(2, 3, (2, 1), false).always_spreads(&n, &[1]));
        assert!(window(2, 3, (2, 1), false).always_spreads(&[2.into()], &[0]));
    }

    #[test]
    fn more_padding_is_added_to_what_is_there() {
        let own = Window {
            kernel: None,
            strides: None,
            dilations: None,
            pads: Some(vec![1, 2]),
            padding: Padding::Explicit,
            ceil: false,
        };
        assert_eq!(own.padded(&[(3, 0)]).and_then(|window| window.pads), Some(vec![4, 2]));
        assert!(own.padded(&[(-1, 0)]).is_none());
        let same = Window { padding: Padding::SameLower, ..own };
        assert!(same.padded(&[(1, 1)]).is_none());
    }
}
