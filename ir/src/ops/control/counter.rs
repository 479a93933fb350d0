//! Counters: numbers that grow by a constant in each iteration.

use crate::dim::{Atom, Dim, Symbol};
use crate::types::Known;

/// Returns the known elements of a state in iteration `index`, given the assumed elements and the elements that an
/// iteration computed from them. Returns `None` if nothing is known, and `Some(assumed)` if the assumption holds.
pub fn settled(assumed: Option<&Known>, next: Option<&Known>, index: Option<&Symbol>) -> Option<Known> {
    let (assumed, next) = (assumed?, next?);
    if assumed == next {
        // A constant state does not depend on the index.
        return index.is_none_or(|index| !mentions(assumed, index)).then(|| assumed.clone());
    }
    let (Known::Ints(assumed), Known::Ints(after)) = (assumed, next) else {
        return None;
    };
    let index = index?;
    let numbers = assumed.iter().zip(after);
    let numbers = numbers.map(|(assumed, after)| {
        let by = after.sub(assumed)?.number()?;
        match factor(assumed, index)? {
            // First estimate, from one iteration.
            0 => assumed.add(&Dim::named(index.clone()).mul(&Dim::from(by))?),
            known if known == by => Some(assumed.clone()),
            _ => None,
        }
    });
    numbers.collect::<Option<_>>().map(Known::Ints)
}

/// Returns the known elements after `iterations` iterations.
pub fn after(known: &Known, index: &Symbol, iterations: Option<&Dim>) -> Option<Known> {
    let Known::Ints(dims) = known else {
        return Some(known.clone());
    };
    let number = |dim: &Dim| match factor(dim, index)? {
        0 => Some(dim.clone()),
        by => {
            let start = dim.sub(&Dim::named(index.clone()).mul(&Dim::from(by))?)?;
            start.add(&iterations?.mul(&Dim::from(by))?)
        }
    };
    dims.iter().map(number).collect::<Option<_>>().map(Known::Ints)
}

/// Returns the constant by which a number grows in each iteration, if there is one.
fn factor(dim: &Dim, index: &Symbol) -> Option<i64> {
    let is_index = |atoms: &[Atom]| matches!(atoms, [Atom::Name(name)] if name == index);
    let by = dim.terms().find(|(atoms, _)| is_index(atoms));
    let by = by.map_or(0, |(_, factor)| factor);
    let rest = dim.sub(&Dim::named(index.clone()).mul(&Dim::from(by))?)?;
    (!rest.symbols().contains(index)).then_some(by)
}

fn mentions(known: &Known, index: &Symbol) -> bool {
    match known {
        Known::Ints(dims) => dims.iter().any(|dim| dim.symbols().contains(index)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(dim: &Dim) -> Known {
        Known::Ints(vec![dim.clone()])
    }

    #[test]
    fn a_counter_is_guessed_from_one_iteration_and_seen_in_the_next() {
        let index: Symbol = "i".into();
        let i = Dim::named(index.clone());
        let guess = settled(Some(&int(&5.into())), Some(&int(&3.into())), Some(&index));
        let settled_counter = int(&Dim::from(5).sub(&i.mul(&2.into()).unwrap()).unwrap());
        assert_eq!(guess.as_ref(), Some(&settled_counter));
        let next = int(&Dim::from(3).sub(&i.mul(&2.into()).unwrap()).unwrap());
        assert_eq!(settled(Some(&settled_counter), Some(&next), Some(&index)), Some(settled_counter.clone()));
        let iterations = Dim::named("n");
        let end = Dim::from(5).sub(&iterations.mul(&2.into()).unwrap()).unwrap();
        assert_eq!(after(&settled_counter, &index, Some(&iterations)), Some(int(&end)));
        assert_eq!(after(&settled_counter, &index, None), None);
    }

    #[test]
    fn what_grows_otherwise_is_not_known() {
        let index: Symbol = "i".into();
        let i = Dim::named(index.clone());
        let doubled = i.mul(&2.into()).unwrap();
        assert_eq!(settled(Some(&int(&i)), Some(&int(&doubled)), Some(&index)), None);
        assert_eq!(settled(Some(&int(&i)), Some(&int(&i)), Some(&index)), None);
        assert_eq!(settled(Some(&int(&1.into())), None, Some(&index)), None);
    }
}
