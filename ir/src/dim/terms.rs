//! The terms of a size, shared by its copies.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Atom;

/// Coefficients of monomials, in the order of the monomials. No coefficient is 0. A graph has far more sizes than
/// different ones, and most are numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Terms {
    /// Only the constant term, or no term if it is 0.
    Number(i64),
    /// At least one term that is not constant.
    Sum(Arc<Vec<(Vec<Atom>, i64)>>),
}

impl Terms {
    /// Returns a single atom.
    pub fn of(atom: Atom) -> Self {
        Terms::Sum(Arc::new(vec![(vec![atom], 1)]))
    }

    /// Returns the number of terms.
    pub fn len(&self) -> usize {
        match self {
            Terms::Number(0) => 0,
            Terms::Number(_) => 1,
            Terms::Sum(terms) => terms.len(),
        }
    }

    /// Returns the constant term.
    pub fn constant(&self) -> i64 {
        match (self, self.iter().next()) {
            (Terms::Number(number), _) => *number,
            (_, Some(([], number))) => number,
            _ => 0,
        }
    }

    /// Iterates over monomials and coefficients.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[Atom], i64)> {
        let (number, terms) = match self {
            Terms::Number(0) => (None, [].as_slice()),
            Terms::Number(number) => (Some(([].as_slice(), *number)), [].as_slice()),
            Terms::Sum(terms) => (None, terms.as_slice()),
        };
        let terms = terms.iter().map(|(atoms, factor)| (atoms.as_slice(), *factor));
        number.into_iter().chain(terms)
    }

    /// Adds a term, `None` if the coefficient overflows.
    pub fn add(&mut self, atoms: Vec<Atom>, factor: i64) -> Option<()> {
        if let (Terms::Number(number), []) = (&mut *self, atoms.as_slice()) {
            *number = number.checked_add(factor)?;
            return Some(());
        }
        if factor == 0 {
            return Some(());
        }
        if let Terms::Number(number) = *self {
            let constant = (number != 0).then(|| (Vec::new(), number));
            *self = Terms::Sum(Arc::new(constant.into_iter().collect()));
        }
        let Terms::Sum(terms) = self else {
            return Some(());
        };
        let terms = Arc::make_mut(terms);
        match terms.binary_search_by(|(other, _)| other.cmp(&atoms)) {
            Ok(at) => {
                if let Some((_, slot)) = terms.get_mut(at) {
                    *slot = slot.checked_add(factor)?;
                }
                terms.retain(|(_, factor)| *factor != 0);
            }
            Err(at) => terms.insert(at, (atoms, factor)),
        }
        match terms.as_slice() {
            [] => *self = Terms::Number(0),
            [(atoms, number)] if atoms.is_empty() => *self = Terms::Number(*number),
            _ => {}
        }
        Some(())
    }
}

impl Default for Terms {
    fn default() -> Self {
        Terms::Number(0)
    }
}

/// Compares term by term.
impl Ord for Terms {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl PartialOrd for Terms {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_leaves_a_number() {
        let n = || vec![Atom::Name("n".into())];
        let mut terms = Terms::Number(3);
        terms.add(n(), 2).unwrap();
        assert_eq!((terms.len(), terms.constant()), (2, 3));
        terms.add(n(), -2).unwrap();
        assert_eq!(terms, Terms::Number(3));
        terms.add(Vec::new(), -3).unwrap();
        assert_eq!((terms.len(), terms), (0, Terms::default()));
    }

    #[test]
    fn numbers_come_before_names() {
        let n = Terms::of(Atom::Name("n".into()));
        let mut more = n.clone();
        more.add(Vec::new(), 1).unwrap();
        let mut all = [n.clone(), Terms::Number(2), more.clone(), Terms::Number(0)];
        all.sort();
        assert_eq!(all, [Terms::Number(0), more, Terms::Number(2), n]);
    }
}
