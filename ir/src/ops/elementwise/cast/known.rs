//! Casts of what is known while compiling.

use crate::dim::Dim;
use crate::dtype::{DType, Kind};
use crate::ops::elementwise::unary::rounded;
use crate::types::Known;

/// What is known after the conversion. Floats that no integer of the type is near are left to the
/// run, which differs by device.
pub fn converted(known: &Known, to: DType) -> Option<Known> {
    match (known, to.kind()) {
        // The kernels round to floats of 8 bits and fewer.
        (_, Kind::Float) if !to.is_float() => None,
        (Known::Ints(dims), Kind::Int) => {
            let dims = dims.iter().map(|dim| match dim.number() {
                Some(number) => wrapped(number, to).map(Dim::from),
                // Sizes fit into 32 bits.
                None => (to.bits() >= 32).then(|| dim.clone()),
            });
            dims.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Ints(dims), Kind::Float) => {
            let floats = dims.iter().map(|dim| float(dim.number()?, to));
            floats.collect::<Option<_>>().map(Known::Floats)
        }
        (Known::Ints(dims), Kind::Bool) => {
            let truths = dims
                .iter()
                .map(|dim| dim.number().map(|number| number != 0));
            truths.collect::<Option<_>>().map(Known::Bools)
        }
        (Known::Floats(values), Kind::Int) => {
            let ints = values.iter().map(|&value| {
                let whole = value.trunc();
                let number = (whole.abs() < 9e18).then_some(whole as i64)?;
                fits(number, to).then(|| Dim::from(number))
            });
            ints.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Floats(values), Kind::Float) => Some(Known::Floats(
            values.iter().map(|&value| rounded(value, to)).collect(),
        )),
        (Known::Floats(values), Kind::Bool) => Some(Known::Bools(
            values.iter().map(|&value| value != 0.0).collect(),
        )),
        (Known::Bools(values), Kind::Int) => Some(Known::Ints(
            values
                .iter()
                .map(|&value| i64::from(value).into())
                .collect(),
        )),
        (Known::Bools(values), Kind::Float) => Some(Known::Floats(
            values.iter().map(|&value| f64::from(value)).collect(),
        )),
        _ => None,
    }
}

/// Whether an integer of the type can be this number.
pub fn fits(number: i64, dtype: DType) -> bool {
    wrapped(number, dtype) == Some(number)
}

/// The low bits of a number as an integer of the type; `None` beyond what `i64` holds.
fn wrapped(number: i64, to: DType) -> Option<i64> {
    let shift = 64u32.saturating_sub(to.bits());
    let high = number.wrapping_shl(shift);
    match (to.is_signed(), shift) {
        (true, _) => Some(high >> shift),
        (false, 0) => (number >= 0).then_some(number),
        (false, _) => i64::try_from((high as u64) >> shift).ok(),
    }
}

/// An integer rounded once to a float of the type.
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
        let beyond = [300.0, -1.0, f64::NAN, f64::INFINITY, 1e19];
        for value in beyond {
            assert_eq!(
                converted(&Known::Floats(vec![value]), DType::U8),
                None,
                "{value}"
            );
        }
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
        assert_eq!(converted(&size, DType::F32), None);
    }

    #[test]
    fn truths_are_0_and_1() {
        let truths = Known::Bools(vec![false, true]);
        assert_eq!(converted(&truths, DType::I8), Some(ints(&[0, 1])));
        assert_eq!(
            converted(&truths, DType::F16),
            Some(Known::Floats(vec![0.0, 1.0]))
        );
        assert_eq!(converted(&truths, DType::String), None);
    }
}
