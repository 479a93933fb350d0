//! Bounds of a slice along one axis.

use proc_macro2::Literal;

use crate::dim::Dim;
use crate::emit::Emit;
use crate::ops::broadcast;
use crate::rust::{Code, code};

/// Start, end and step of a slice along one axis. Negative bounds count from the end.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub start: Dim,
    pub end: Dim,
    pub step: i64,
}

/// The elements of one axis that a forward slice keeps. `start` is counted from the start of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: Dim,
    pub length: Dim,
    pub step: i64,
}

/// A range in Rust, and its step if that is not 1.
pub type Range = (Code, Option<Code>);

/// Smallest bound that means the end of the axis. Exporters write such bounds.
const FAR: i64 = i32::MAX as i64;

impl Span {
    pub fn whole(size: &Dim) -> Self {
        Span { start: Dim::default(), length: size.clone(), step: 1 }
    }

    /// Composes two slices: returns the elements of the axis that `self` keeps of those that `outer` keeps.
    pub fn within(&self, outer: &Span) -> Option<Self> {
        let moved = self.start.mul(&outer.step.into())?;
        Some(Span {
            start: outer.start.add(&moved)?,
            length: self.length.clone(),
            step: self.step.checked_mul(outer.step)?,
        })
    }

    /// Returns the first position after the span.
    pub fn end(&self) -> Option<Dim> {
        self.start.add(&self.length.mul(&self.step.into())?)
    }
}

impl Bounds {
    /// Returns the elements that are kept of an axis of this size, if the step is positive.
    pub fn span(&self, size: &Dim) -> Option<Span> {
        let start = match self.limited(size) {
            Some((start, _)) => Dim::from(start),
            None => normalized(&self.start, size)?,
        };
        (self.step > 0).then_some(Span { start, length: self.size(size)?, step: self.step })
    }

    /// Returns the number of elements that are kept of an axis of this size.
    pub fn size(&self, size: &Dim) -> Option<Dim> {
        if let Some((start, end)) = self.limited(size) {
            let distance = if self.step > 0 { end.saturating_sub(start) } else { start.saturating_sub(end) };
            let distance = u64::try_from(distance).unwrap_or(0);
            let count = distance.div_ceil(self.step.unsigned_abs().max(1));
            return i64::try_from(count).ok().map(Dim::from);
        }
        let (step, zero) = (Dim::from(self.step), Dim::default());
        if self.step < 0 {
            let rounded = size.add(&Dim::from(self.step.checked_neg()?.checked_sub(1)?))?;
            return if self.is_reverse() { rounded.div(&zero.sub(&step)?) } else { None };
        }
        let length = match self.start.number() {
            Some(start @ ..0) if self.is_open() => size.smaller(&Dim::from(start.checked_neg()?))?,
            _ => {
                let end = normalized(&self.end, size)?.smaller(size)?;
                end.sub(&normalized(&self.start, size)?)?.larger(&zero)?
            }
        };
        length.add(&step)?.sub(&1.into())?.div(&step)
    }

    /// Returns the indices of the elements that are kept, in order, if they are known.
    pub fn indices(&self, size: &Dim) -> Option<Vec<usize>> {
        let largest = i64::try_from(broadcast::MAX_KNOWN_ELEMENTS).ok()?;
        let (mut at, end) = self.limited(size).filter(|_| size.number() <= Some(largest))?;
        let mut indices = Vec::new();
        while (self.step > 0 && at < end) || (self.step < 0 && at > end) {
            indices.push(usize::try_from(at).ok()?);
            at = at.checked_add(self.step)?;
        }
        Some(indices)
    }

    /// Returns start and end limited to the axis, if all are numbers.
    fn limited(&self, size: &Dim) -> Option<(i64, i64)> {
        let size = size.number().filter(|&size| size >= 0)?;
        // A backward slice may end before the first element, but not start there.
        let (first, last) = if self.step > 0 { (0, size) } else { (-1, size - 1) };
        let limited = |at: &Dim, low: i64| {
            let at = at.number()?;
            let at = if at < 0 { at.saturating_add(size) } else { at };
            Some(at.max(low).min(last))
        };
        Some((limited(&self.start, 0)?, limited(&self.end, first)?))
    }

    /// Returns the range for Burn, which limits bounds to the axis as ONNX does; `Some(None)` for the whole axis.
    /// Returns `None` for backward slices, whose semantics differ.
    pub fn range(&self, cx: &mut Emit<'_, '_>, size: &Dim) -> Option<Option<Range>> {
        if self.step < 0 {
            return None;
        }
        let whole = self.start.is(0) && self.end.compare(size).is_some_and(|order| order.is_ge());
        let open = self.is_open() || whole;
        let start = if self.start.is(0) { None } else { Some(written(cx, &self.start)?) };
        let end = if open { None } else { Some(written(cx, &self.end)?) };
        let range = match (start, end) {
            (None, None) => code!(..),
            (Some(start), None) => code!(#start..),
            (None, Some(end)) => code!(..#end),
            // A size and a negative number have different types.
            (Some(_), Some(_)) if self.start.is_size() != self.end.is_size() => return None,
            (Some(start), Some(end)) => code!(#start..#end),
        };
        let stride = self.stride();
        if range == code!(..) && stride.is_none() {
            return Some(None);
        }
        Some(Some((range, stride)))
    }

    /// Returns `true` if the slice reverses the whole axis.
    pub fn is_reverse(&self) -> bool {
        let from_last = self.start.is(-1) || self.start.number().is_some_and(|at| at >= FAR);
        self.step < 0 && from_last && self.end.number().is_some_and(|at| at < -FAR)
    }

    fn is_open(&self) -> bool {
        self.end.number().is_some_and(|end| end >= FAR)
    }

    fn stride(&self) -> Option<Code> {
        let step = Literal::i64_unsuffixed(self.step);
        (self.step != 1).then(|| code!(#step))
    }
}

/// Returns the bound counted from the start of the axis, not limited to its end.
fn normalized(at: &Dim, size: &Dim) -> Option<Dim> {
    let zero = Dim::default();
    match at.compare(&zero) {
        _ if at.number().is_some_and(|at| at >= FAR) => Some(size.clone()),
        _ if at.is_size() => Some(at.clone()),
        Some(std::cmp::Ordering::Less) => size.add(at)?.larger(&zero),
        _ => None,
    }
}

/// Returns a bound whose sign is known, if it fits an integer without a suffix.
fn written(cx: &mut Emit<'_, '_>, at: &Dim) -> Option<Code> {
    match at.number() {
        Some(number) => {
            let literal = Literal::i32_unsuffixed(i32::try_from(number).ok()?);
            Some(code!(#literal))
        }
        None if at.is_size() => Some(cx.size(at)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> Dim {
        Dim::named("n")
    }

    fn size(start: impl Into<Dim>, end: impl Into<Dim>, step: i64) -> String {
        let (start, end) = (start.into(), end.into());
        let size = Bounds { start, end, step }.size(&n());
        size.map(|size| size.to_string()).unwrap_or_default()
    }

    #[test]
    fn bounds_count_from_both_ends() {
        assert_eq!(size(0, i64::MAX, 1), "n");
        assert_eq!(size(1, i64::MAX, 1), "max(n - 1, 0)");
        assert_eq!(size(0, -1, 1), "max(n - 1, 0)");
        assert_eq!(size(-1, i64::MAX, 1), "min(n, 1)");
        assert_eq!(size(0, 5, 1), "min(n, 5)");
        assert_eq!(size(0, i64::MAX, 2), "floor((n + 1) / (2))");
        assert_eq!(size(-1, i64::MIN, -1), "n");
        assert_eq!(size(3, 0, -1), "");
    }

    #[test]
    fn bounds_may_be_sizes() {
        let more = n().add(&Dim::named("p")).unwrap();
        let bounds = Bounds { start: Dim::named("p"), end: more.clone(), step: 1 };
        assert_eq!(bounds.size(&more), Some(n()));
        assert_eq!(size(0, n(), 1), "n");
    }

    #[test]
    fn known_sizes_are_cut_exactly() {
        let indices = |start: i64, end: i64, step| {
            let (start, end) = (start.into(), end.into());
            Bounds { start, end, step }.indices(&5.into())
        };
        assert_eq!(indices(3, 100, 1), Some(vec![3, 4]));
        assert_eq!(indices(-1, i64::MIN, -2), Some(vec![4, 2, 0]));
        assert_eq!(indices(4, 1, -1), Some(vec![4, 3, 2]));
        assert_eq!(indices(2, 2, 1), Some(vec![]));
        assert_eq!(indices(-9, i64::MIN, -1), Some(vec![0]));
    }
}
