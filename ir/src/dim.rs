//! Sizes as polynomials in named sizes.

mod bound;
mod display;
mod quotient;
mod terms;

use std::collections::BTreeSet;
use std::sync::Arc;

use terms::Terms;

/// Name of a size that is known only at run time.
pub type Symbol = Arc<str>;

/// A size, or an integer computed from sizes: a polynomial over [`Atom`]s in normal form, so that equal sizes compare
/// as equal for any computation in the graph.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dim {
    /// A monomial is a sorted product of atoms.
    terms: Terms,
}

/// A factor that arithmetic cannot split.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    Name(Symbol),
    /// Quotient rounded toward negative infinity.
    Quotient(Box<Dim>, Box<Dim>),
    Min(Box<Dim>, Box<Dim>),
    Max(Box<Dim>, Box<Dim>),
}

/// A name that files cannot use.
const ANY: &str = "?";

/// Maximum number of terms or factors. Larger sizes get a new name.
const MAX_POLYNOMIAL_TERMS: usize = 24;

impl Dim {
    /// Returns the size with a name.
    pub fn named(name: impl Into<Symbol>) -> Self {
        Self::of(Atom::Name(name.into()))
    }

    /// Returns a size that may differ between the items of a sequence.
    pub fn any() -> Self {
        Self::named(ANY)
    }

    /// Returns `true` if the size may differ between items.
    pub fn is_any(&self) -> bool {
        self.name().is_some_and(|name| &**name == ANY)
    }

    /// Returns the number, if it is known.
    pub fn number(&self) -> Option<i64> {
        match self.terms {
            Terms::Number(number) => Some(number),
            Terms::Sum(_) => None,
        }
    }

    /// Returns the number as a size, if it is known and not negative.
    pub fn fixed(&self) -> Option<usize> {
        self.number().and_then(|n| usize::try_from(n).ok())
    }

    /// Returns the name, if the size is only a name.
    pub fn name(&self) -> Option<&Symbol> {
        match self.terms.iter().next() {
            Some(([Atom::Name(name)], 1)) if self.terms.len() == 1 => Some(name),
            _ => None,
        }
    }

    /// Returns `true` if the size is the number `n`.
    pub fn is(&self, n: i64) -> bool {
        self.number() == Some(n)
    }

    /// Iterates over the terms as `(factors, coefficient)`, constant term first.
    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i64)> {
        self.terms.iter()
    }

    /// Returns all names that the size depends on.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        self.collect_symbols(&mut found);
        found
    }

    /// Returns the size with other names, `None` if it overflows or grows too large.
    pub fn renamed(&self, name: &impl Fn(&Symbol) -> Symbol) -> Option<Dim> {
        let mut sum = Dim::default();
        for (atoms, factor) in self.terms() {
            let mut product = Dim::from(factor);
            for atom in atoms {
                let atom = match atom {
                    Atom::Name(symbol) => Dim::named(name(symbol)),
                    Atom::Quotient(a, b) => a.renamed(name)?.div(&b.renamed(name)?)?,
                    Atom::Min(a, b) => a.renamed(name)?.smaller(&b.renamed(name)?)?,
                    Atom::Max(a, b) => a.renamed(name)?.larger(&b.renamed(name)?)?,
                };
                product = product.mul(&atom)?;
            }
            sum = sum.add(&product)?;
        }
        Some(sum)
    }

    /// Returns the sum, `None` if it overflows or grows too large.
    pub fn add(&self, other: &Dim) -> Option<Dim> {
        let mut sum = self.clone();
        for (atoms, factor) in other.terms() {
            sum.add_term(atoms.to_vec(), factor)?;
        }
        sum.bounded()
    }

    /// Returns the difference, `None` if it overflows or grows too large.
    pub fn sub(&self, other: &Dim) -> Option<Dim> {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return a.checked_sub(b).map(Dim::from);
        }
        self.add(&other.neg()?)
    }

    /// Returns the negated number, `None` if it overflows.
    pub fn neg(&self) -> Option<Dim> {
        self.mul(&Dim::from(-1))
    }

    /// Returns the absolute value, `None` if it overflows or grows too large.
    pub fn abs(&self) -> Option<Dim> {
        self.larger(&self.neg()?)
    }

    /// Returns the product of several sizes, `None` if it overflows or grows too large.
    pub fn product<'d>(sizes: impl IntoIterator<Item = &'d Dim>) -> Option<Dim> {
        sizes.into_iter().try_fold(Dim::from(1), |product, size| product.mul(size))
    }

    /// Returns the product, `None` if it overflows or grows too large.
    pub fn mul(&self, other: &Dim) -> Option<Dim> {
        let mut product = Dim::default();
        for (left, a) in self.terms() {
            for (right, b) in other.terms() {
                let mut atoms = [left, right].concat();
                atoms.sort();
                product.add_term(atoms, a.checked_mul(b)?)?;
            }
            product = product.bounded()?;
        }
        Some(product)
    }

    /// Returns the size of a single atom.
    pub fn of(atom: Atom) -> Self {
        Dim { terms: Terms::of(atom) }
    }

    fn add_term(&mut self, atoms: Vec<Atom>, factor: i64) -> Option<()> {
        self.terms.add(atoms, factor)
    }

    fn bounded(self) -> Option<Self> {
        (self.weight() <= MAX_POLYNOMIAL_TERMS).then_some(self)
    }

    /// Returns the number of atoms and terms, including nested ones.
    fn weight(&self) -> usize {
        let inside = |atom: &Atom| match atom {
            Atom::Name(_) => 1,
            Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => a.weight() + b.weight(),
        };
        self.terms().map(|(atoms, _)| atoms.iter().map(inside).sum::<usize>().max(1)).sum()
    }

    fn collect_symbols(&self, found: &mut BTreeSet<Symbol>) {
        for atom in self.terms().flat_map(|(atoms, _)| atoms) {
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
        Dim { terms: Terms::Number(n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn n() -> Dim {
        Dim::named("n")
    }

    pub fn check(dim: Option<Dim>, text: &str) {
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
    fn sizes_grow_to_a_limit() {
        let power = |times| Dim::product(&vec![n(); times]);
        assert_eq!(power(MAX_POLYNOMIAL_TERMS).map(|dim| dim.weight()), Some(MAX_POLYNOMIAL_TERMS));
        assert_eq!(power(MAX_POLYNOMIAL_TERMS + 1), None);
    }

    #[test]
    fn overflow_is_no_size() {
        assert_eq!(Dim::from(i64::MAX).add(&1.into()), None);
        assert_eq!(Dim::from(i64::MIN).div(&(-1).into()), None);
    }
}
