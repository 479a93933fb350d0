//! Sizes as sums of products of names.

use std::cmp::Ordering;
mod display;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name of a size that is known only when the model runs.
pub type Symbol = Arc<str>;

/// A size, or an integer computed from sizes: a polynomial over [`Atom`]s in normal form,
/// so that equal sizes compare equal however the graph computed them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dim {
    /// Coefficients by monomial; a monomial is a sorted product of atoms. No coefficient is 0.
    terms: BTreeMap<Vec<Atom>, i64>,
}

/// A factor that arithmetic cannot take apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    Name(Symbol),
    /// Quotient rounded toward negative infinity.
    Quotient(Box<Dim>, Box<Dim>),
    Min(Box<Dim>, Box<Dim>),
    Max(Box<Dim>, Box<Dim>),
}

/// Beyond this many terms or factors a size is given a name of its own.
const LARGEST: usize = 24;

impl Dim {
    /// The size called `name`.
    pub fn named(name: impl Into<Symbol>) -> Self {
        Self::of(Atom::Name(name.into()))
    }

    /// The number, when it is known.
    pub fn number(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The number as a size, when it is known and not negative.
    pub fn fixed(&self) -> Option<usize> {
        self.number().and_then(|n| usize::try_from(n).ok())
    }

    /// The name, when the size is nothing but a name.
    pub fn name(&self) -> Option<&Symbol> {
        match self.terms.iter().next() {
            Some((atoms, 1)) if self.terms.len() == 1 => match atoms.as_slice() {
                [Atom::Name(name)] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether this is the number `n`.
    pub fn is(&self, n: i64) -> bool {
        self.number() == Some(n)
    }

    /// The terms as `(factors, coefficient)`, constant term first.
    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i64)> {
        self.terms
            .iter()
            .map(|(atoms, factor)| (atoms.as_slice(), *factor))
    }

    /// Every name that the size depends on.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        self.collect_symbols(&mut found);
        found
    }

    /// The sum, `None` when it overflows or grows too large.
    pub fn add(&self, other: &Dim) -> Option<Dim> {
        let mut sum = self.clone();
        for (atoms, factor) in &other.terms {
            sum.add_term(atoms.clone(), *factor)?;
        }
        sum.bounded()
    }

    /// The difference, `None` when it overflows or grows too large.
    pub fn sub(&self, other: &Dim) -> Option<Dim> {
        self.add(&other.mul(&Dim::from(-1))?)
    }

    /// The product, `None` when it overflows or grows too large.
    pub fn mul(&self, other: &Dim) -> Option<Dim> {
        let mut product = Dim::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let mut atoms = [left.as_slice(), right.as_slice()].concat();
                atoms.sort();
                if atoms.len() > LARGEST {
                    return None;
                }
                product.add_term(atoms, a.checked_mul(*b)?)?;
            }
            product = product.bounded()?;
        }
        Some(product)
    }

    /// The quotient rounded down, `None` when the divisor may be 0.
    pub fn div(&self, other: &Dim) -> Option<Dim> {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return a.checked_div_euclid(b).map(|euclid| {
                let adjust = i64::from(b < 0 && a.rem_euclid(b) != 0);
                Dim::from(euclid - adjust)
            });
        }
        if other.is(0) {
            return None;
        }
        self.div_exact(other).or_else(|| {
            Some(Dim::of(Atom::Quotient(
                Box::new(self.clone()),
                Box::new(other.clone()),
            )))
        })
    }

    /// The quotient when `other` is one term that divides every term of `self`.
    pub fn div_exact(&self, other: &Dim) -> Option<Dim> {
        if self == other && !other.is(0) {
            return Some(Dim::from(1));
        }
        let mut divisor = other.terms.iter();
        let (factors, by) = divisor.next()?;
        if divisor.next().is_some() {
            return None;
        }
        let mut quotient = Dim::default();
        for (atoms, factor) in &self.terms {
            if factor.checked_rem(*by)? != 0 {
                return None;
            }
            let mut rest = atoms.clone();
            for atom in factors {
                let at = rest.iter().position(|held| held == atom)?;
                rest.remove(at);
            }
            quotient.add_term(rest, factor.checked_div(*by)?)?;
        }
        Some(quotient)
    }

    /// The smaller of two sizes.
    pub fn smaller(&self, other: &Dim) -> Dim {
        self.choose(other, Ordering::Less, Atom::Min)
    }

    /// The larger of two sizes.
    pub fn larger(&self, other: &Dim) -> Dim {
        self.choose(other, Ordering::Greater, Atom::Max)
    }

    /// How two sizes compare, where that holds whatever the sizes in them are.
    pub fn compare(&self, other: &Dim) -> Option<Ordering> {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return Some(a.cmp(&b));
        }
        let above = |a: &Dim, b: &Dim| a.sub(b)?.sub(&1.into()).filter(Dim::is_size);
        match () {
            () if self == other => Some(Ordering::Equal),
            () if above(self, other).is_some() => Some(Ordering::Greater),
            () if above(other, self).is_some() => Some(Ordering::Less),
            () => None,
        }
    }

    /// Whether this cannot be negative, as no named size is.
    pub fn is_size(&self) -> bool {
        self.stays_positive(3)
    }

    /// Tries bounds of the atoms in turn, so many levels deep.
    fn stays_positive(&self, levels: usize) -> bool {
        let atom = |atom: &Atom| match atom {
            Atom::Name(_) => true,
            Atom::Quotient(a, b) | Atom::Min(a, b) => a.is_size() && b.is_size(),
            Atom::Max(a, b) => a.is_size() || b.is_size(),
        };
        let term = |(atoms, factor): (&Vec<Atom>, &i64)| *factor > 0 && atoms.iter().all(atom);
        if self.terms.iter().all(term) {
            return true;
        }
        let Some(levels) = levels.checked_sub(1) else {
            return false;
        };
        self.terms.iter().any(|(atoms, &factor)| {
            let [atom] = atoms.as_slice() else {
                return false;
            };
            let with = |bound: &Dim| {
                let mut rest = self.clone();
                rest.terms.remove(atoms);
                let replaced = bound.mul(&factor.into()).and_then(|bound| rest.add(&bound));
                replaced.is_some_and(|dim| dim.stays_positive(levels))
            };
            match (atom, factor < 0) {
                (Atom::Name(_), _) => false,
                (Atom::Quotient(a, b), true) => {
                    a.is_size() && b.number().is_some_and(|by| by > 0) && with(a)
                }
                (Atom::Quotient(..), false) => false,
                (Atom::Min(a, b), true) | (Atom::Max(a, b), false) => with(a) || with(b),
                (Atom::Min(a, b), false) | (Atom::Max(a, b), true) => with(a) && with(b),
            }
        })
    }

    fn choose(&self, other: &Dim, chosen: Ordering, atom: fn(Box<Dim>, Box<Dim>) -> Atom) -> Dim {
        let at_least = |a: &Dim, b: &Dim| a.sub(b).is_some_and(|rest| rest.is_size());
        match (at_least(self, other), at_least(other, self)) {
            (true, _) if chosen == Ordering::Greater => self.clone(),
            (true, _) => other.clone(),
            (_, true) if chosen == Ordering::Greater => other.clone(),
            (_, true) => self.clone(),
            _ => {
                // Numbers stand last.
                let key = |dim: &Dim| (dim.number().is_some(), dim.clone());
                let (first, second) = match key(self) < key(other) {
                    true => (self, other),
                    false => (other, self),
                };
                Dim::of(atom(Box::new(first.clone()), Box::new(second.clone())))
            }
        }
    }

    /// The size that is one atom.
    pub fn of(atom: Atom) -> Self {
        Dim {
            terms: BTreeMap::from([(vec![atom], 1)]),
        }
    }

    fn add_term(&mut self, atoms: Vec<Atom>, factor: i64) -> Option<()> {
        let sum = self
            .terms
            .get(&atoms)
            .copied()
            .unwrap_or(0)
            .checked_add(factor)?;
        if sum == 0 {
            self.terms.remove(&atoms);
        } else {
            self.terms.insert(atoms, sum);
        }
        Some(())
    }

    fn bounded(self) -> Option<Self> {
        (self.weight() <= LARGEST).then_some(self)
    }

    /// How many atoms and terms there are, nested ones included.
    fn weight(&self) -> usize {
        let inside = |atom: &Atom| match atom {
            Atom::Name(_) => 1,
            Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => a.weight() + b.weight(),
        };
        self.terms
            .keys()
            .map(|atoms| atoms.iter().map(inside).sum::<usize>().max(1))
            .sum()
    }

    fn collect_symbols(&self, found: &mut BTreeSet<Symbol>) {
        for atom in self.terms.keys().flatten() {
            match atom {
                Atom::Name(name) => {
                    found.insert(name.clone());
                }
                Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => {
                    a.collect_symbols(found);
                    b.collect_symbols(found);
                }
            }
        }
    }
}

impl From<i64> for Dim {
    fn from(n: i64) -> Self {
        let mut terms = BTreeMap::new();
        if n != 0 {
            terms.insert(Vec::new(), n);
        }
        Dim { terms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> Dim {
        Dim::named("n")
    }

    fn check(dim: Option<Dim>, text: &str) {
        assert_eq!(dim.map(|dim| dim.to_string()).as_deref(), Some(text));
    }

    #[test]
    fn equal_sizes_compare_equal_however_computed() {
        let left = n().add(&1.into()).and_then(|d| d.mul(&2.into()));
        let right = n().add(&n()).and_then(|d| d.add(&2.into()));
        assert_eq!(left, right);
        check(left, "2*n + 2");
    }

    #[test]
    fn what_is_added_can_be_taken_away() {
        let sum = n().add(&7.into()).unwrap();
        check(sum.sub(&n()), "7");
    }

    #[test]
    fn a_product_divides_by_its_factors() {
        let product = n().mul(&Dim::named("m")).unwrap().mul(&12.into()).unwrap();
        check(product.div(&n().mul(&4.into()).unwrap()), "3*m");
    }

    #[test]
    fn other_quotients_stay_and_round_down() {
        check(n().div(&2.into()), "floor((n) / (2))");
        check(Dim::from(-7).div(&2.into()), "-4");
        check(Dim::from(7).div(&(-2).into()), "-4");
        assert_eq!(n().div(&0.into()), None);
    }

    #[test]
    fn sizes_are_never_negative() {
        let one_less = n().sub(&1.into()).unwrap();
        check(Some(one_less.larger(&0.into())), "max(n - 1, 0)");
        check(Some(one_less.smaller(&n())), "n - 1");
        check(Some(n().larger(&0.into())), "n");
        check(
            n().sub(&n().smaller(&5.into()))
                .map(|dim| dim.larger(&0.into())),
            "-min(n, 5) + n",
        );
        assert_eq!(n().compare(&(-1).into()), Some(Ordering::Greater));
        assert_eq!(n().compare(&0.into()), None);
    }

    #[test]
    fn bounds_are_equal_in_either_order() {
        assert_eq!(n().smaller(&5.into()), Dim::from(5).smaller(&n()));
    }

    #[test]
    fn overflow_is_no_size() {
        assert_eq!(Dim::from(i64::MAX).add(&1.into()), None);
        assert_eq!(Dim::from(i64::MIN).div(&(-1).into()), None);
    }
}
