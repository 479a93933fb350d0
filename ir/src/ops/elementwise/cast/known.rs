//! Casts of elements that are known at compile time.

use crate::dim::{Atom, Dim};
use crate::dtype::{DType, ElementClass};
use crate::ops::elementwise::unary::rounded;
use crate::types::Known;

/// Maximum number of factors. A product of more sizes may exceed every integer.
const MAX_FACTORS: usize = 8;

/// Returns the known elements after the conversion. Floats outside the range of integers become the nearest integer,
/// and NaN becomes 0.
pub fn converted(known: &Known, to: DType) -> Option<Known> {
    match (known, to.kind()) {
        // The kernels round to floats of 8 bits and fewer.
        (_, ElementClass::Float) if !to.is_float() => None,
        (Known::Ints(dims), ElementClass::Int) => {
            let dims = dims.iter().map(|dim| match dim.number() {
                Some(number) => wrapped(number, to).map(Dim::from),
                None => stays(dim, to).then(|| dim.clone()),
            });
            dims.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Ints(dims), ElementClass::Float) => {
            let floats = dims.iter().map(|dim| float(dim.number()?, to));
            floats.collect::<Option<_>>().map(Known::Floats)
        }
        (Known::Ints(dims), ElementClass::Bool) => {
            let truths = dims.iter().map(|dim| dim.number().map(|number| number != 0));
            truths.collect::<Option<_>>().map(Known::Bools)
        }
        (Known::Floats(values), ElementClass::Int) => {
            let ints = values.iter().map(|&value| nearest(value, to).map(Dim::from));
            ints.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Floats(values), ElementClass::Float) => {
            Some(Known::Floats(values.iter().map(|&value| rounded(value, to)).collect()))
        }
        (Known::Floats(values), ElementClass::Bool) => {
            Some(Known::Bools(values.iter().map(|&value| value != 0.0).collect()))
        }
        (Known::Bools(values), ElementClass::Int) => {
            Some(Known::Ints(values.iter().map(|&value| i64::from(value).into()).collect()))
        }
        (Known::Bools(values), ElementClass::Float) => {
            Some(Known::Floats(values.iter().map(|&value| f64::from(value)).collect()))
        }
        _ => None,
    }
}

/// Returns `true` if an integer of the type can represent the number for all values of its symbols. Sizes fit into 32
/// bits, and so do sums and products of them if their factors are small enough.
pub fn stays(dim: &Dim, dtype: DType) -> bool {
    if let Some(number) = dim.number() {
        return wrapped(number, dtype) == Some(number);
    }
    let room = match dtype.bits() {
        64 => Room { constant: 1 << 62, factor: 1 << 32 },
        32 => Room { constant: 1 << 30, factor: 1 << 16 },
        _ => return false,
    };
    room.holds(dim) && (dtype.is_signed() || dim.is_size())
}

/// Largest constant and factor that leave enough range for sizes.
struct Room {
    constant: u64,
    factor: u64,
}

impl Room {
    fn holds(&self, dim: &Dim) -> bool {
        dim.terms().all(|(atoms, by)| {
            let most = if atoms.is_empty() { self.constant } else { self.factor };
            let mut atoms = atoms.iter();
            by.unsigned_abs() <= most
                && atoms.len() <= MAX_FACTORS
                && atoms.all(|atom| match atom {
                    Atom::Name(_) => true,
                    Atom::Quotient(a, _) => self.holds(a),
                    Atom::Max(a, b) => self.holds(a) && self.holds(b),
                    Atom::Min(a, b) => match (self.holds(a), self.holds(b)) {
                        (true, true) => true,
                        (one, other) => (one || other) && a.is_size() && b.is_size(),
                    },
                })
        })
    }
}

/// Returns the truncated float, or the nearest bound of the type; `None` if `i64` cannot represent it.
pub fn nearest(value: f64, to: DType) -> Option<i64> {
    // The kernels compute integers of fewer than 8 bits in 32 bits, and keep the low bits.
    if to.bits() < 8 {
        return wrapped(nearest(value, DType::I32)?, to);
    }
    let shift = 64u32.saturating_sub(to.bits());
    let (least, most) = if to.is_signed() {
        (i64::MIN >> shift, i64::MAX >> shift)
    } else {
        (0, i64::try_from(u64::MAX >> shift).unwrap_or(i64::MAX))
    };
    let is_known = to != DType::U64 || value < i64::MAX as f64 || value.is_nan();
    is_known.then(|| (value as i64).clamp(least, most))
}

/// Returns the low bits of a number as an integer of the type; `None` if `i64` cannot represent it.
fn wrapped(number: i64, to: DType) -> Option<i64> {
    let shift = 64u32.saturating_sub(to.bits());
    let high = number.wrapping_shl(shift);
    match (to.is_signed(), shift) {
        (true, _) => Some(high >> shift),
        (false, 0) => (number >= 0).then_some(number),
        (false, _) => i64::try_from((high as u64) >> shift).ok(),
    }
}

/// Returns an integer, rounded once to a float of the type.
fn float(number: i64, to: DType) -> Option<f64> {
    match to {
        DType::F32 => Some(f64::from(number as f32)),
        DType::F64 => Some(number as f64),
        _ => (number.unsigned_abs() < 1 << 52).then(|| rounded(number as f64, to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(numbers: &[i64]) -> Known {
        Known::Ints(numbers.iter().map(|&number| number.into()).collect())
    }

    #[test]
    fn integers_keep_their_low_bits() {
        let known = ints(&[300, -1]);
        assert_eq!(converted(&known, DType::U8), Some(ints(&[44, 255])));
        assert_eq!(converted(&known, DType::I8), Some(ints(&[44, -1])));
        assert_eq!(converted(&ints(&[-1]), DType::U64), None);
    }

    #[test]
    fn floats_are_cut_off_toward_zero() {
        let known = Known::Floats(vec![2.9, -2.9]);
        assert_eq!(converted(&known, DType::I32), Some(ints(&[2, -2])));
        let beyond = Known::Floats(vec![300.0, -1.0, f64::NAN, f64::INFINITY, -1e19]);
        assert_eq!(converted(&beyond, DType::U8), Some(ints(&[255, 0, 0, 255, 0])));
        assert_eq!(converted(&beyond, DType::I8), Some(ints(&[127, -1, 0, 127, -128])));
        let bounds = ints(&[300, -1, 0, i64::MAX, i64::MIN]);
        assert_eq!(converted(&beyond, DType::I64), Some(bounds));
        assert_eq!(converted(&beyond, DType::U64), None);
        let nothing = Known::Floats(vec![f64::NAN, -0.0]);
        let truths = Known::Bools(vec![true, false]);
        assert_eq!(converted(&nothing, DType::Bool), Some(truths));
    }

    #[test]
    fn numbers_are_rounded_to_the_type() {
        let rounded = converted(&Known::Floats(vec![1.0 + 1e-9, 1e39]), DType::F32);
        assert_eq!(rounded, Some(Known::Floats(vec![1.0, f64::INFINITY])));
        let rounded = converted(&ints(&[(1 << 24) + 1]), DType::F32);
        assert_eq!(rounded, Some(Known::Floats(vec![f64::from(1 << 24)])));
        assert_eq!(converted(&Known::Floats(vec![1.0]), DType::F8E5M2), None);
    }

    #[test]
    fn sizes_fit_into_32_bits() {
        let size = Known::Ints(vec![Dim::named("n")]);
        assert_eq!(converted(&size, DType::I32), Some(size.clone()));
        assert_eq!(converted(&size, DType::I16), None);
        let less = Known::Ints(vec![Dim::named("n").sub(&1.into()).unwrap()]);
        assert_eq!(converted(&less, DType::I32), Some(less.clone()));
        assert_eq!(converted(&less, DType::U32), None);
        let many = Known::Ints(vec![Dim::named("n").mul(&(1 << 20).into()).unwrap()]);
        assert_eq!(converted(&many, DType::I32), None);
        assert_eq!(converted(&size, DType::F32), None);
        for (bound, stays) in [(i64::MAX, true), (-5, true), (i64::MIN, false)] {
            let least = Dim::named("n").smaller(&bound.into()).unwrap();
            let least = Known::Ints(vec![least]);
            assert_eq!(converted(&least, DType::I32).is_some(), stays, "{bound}");
        }
        let most = Dim::named("n").sub(&5.into()).and_then(|n| n.larger(&i64::MAX.into()));
        assert_eq!(converted(&Known::Ints(vec![most.unwrap()]), DType::I32), None);
    }

    #[test]
    fn truths_are_0_and_1() {
        let truths = Known::Bools(vec![false, true]);
        assert_eq!(converted(&truths, DType::I8), Some(ints(&[0, 1])));
        assert_eq!(converted(&truths, DType::F16), Some(Known::Floats(vec![0.0, 1.0])));
        assert_eq!(converted(&truths, DType::String), None);
    }
}
