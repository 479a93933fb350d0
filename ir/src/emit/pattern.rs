//! Known elements that follow a pattern.

use proc_macro2::Literal;

use super::float_literal;
use crate::dtype::DType;
use crate::rust::{Code, code};
use crate::types::Known;

/// A description that is shorter than a list of the elements.
pub enum Pattern {
    Equal(Code),
    /// The first element, and the difference between adjacent elements.
    Steps(Literal, Literal),
}

/// Maximum number of elements that are always listed.
const MAX_LISTED_ELEMENTS: usize = 4;

/// Returns the pattern of more than `MAX_LISTED_ELEMENTS` elements, if any.
pub fn pattern(known: &Known) -> Option<Pattern> {
    if known.len() <= MAX_LISTED_ELEMENTS {
        return None;
    }
    let equal = |first: Code, same: bool| same.then_some(Pattern::Equal(first));
    match known {
        Known::Ints(_) => {
            let numbers = known.numbers()?;
            let (first, second) = (*numbers.first()?, *numbers.get(1)?);
            let step = second.checked_sub(first)?;
            let literal = Literal::i64_unsuffixed;
            let steps = numbers.is_sorted_by(|a, b| a.checked_add(step) == Some(*b));
            match step {
                0 => {
                    let first = literal(first);
                    equal(code!(#first), steps)
                }
                _ => steps.then(|| Pattern::Steps(literal(first), literal(step))),
            }
        }
        Known::Floats(values) => {
            let first = *values.first()?;
            let same = |value: &f64| value.to_bits() == first.to_bits();
            equal(float_literal(first, DType::F64), values.iter().all(same))
        }
        Known::Bools(values) => {
            let first = *values.first()?;
            equal(code!(#first), values.iter().all(|&value| value == first))
        }
        Known::Strings(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(ints: &[i64]) -> Option<Pattern> {
        pattern(&Known::Ints(ints.iter().map(|&int| int.into()).collect()))
    }

    #[test]
    fn equal_elements_and_equal_steps_are_patterns() {
        assert!(matches!(ints(&[7; 9]), Some(Pattern::Equal(_))));
        assert!(matches!(ints(&[5, 3, 1, -1, -3]), Some(Pattern::Steps(..))));
        assert!(ints(&[5, 3, 1, -1, -4]).is_none());
        assert!(pattern(&Known::Floats(vec![0.0, 0.0, -0.0, 0.0, 0.0])).is_none());
    }

    #[test]
    fn few_elements_are_listed() {
        assert!(ints(&[0, 1, 2, 3]).is_none());
    }
}
