//! Comparison of sizes.

use std::cmp::Ordering;

use super::{Atom, Dim};

impl Dim {
    /// Returns the smaller of two sizes, `None` if it grows too large.
    pub fn smaller(&self, other: &Dim) -> Option<Dim> {
        self.choose(other, Ordering::Less, Atom::Min)
    }

    /// Returns the larger of two sizes, `None` if it grows too large.
    pub fn larger(&self, other: &Dim) -> Option<Dim> {
        self.choose(other, Ordering::Greater, Atom::Max)
    }

    /// Compares two sizes. Returns `None` if the order depends on the sizes in them.
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

    /// Returns `true` if the number can never be negative. Named sizes are not.
    pub fn is_size(&self) -> bool {
        self.stays_positive(3)
    }

    /// Replaces atoms by their bounds, up to this many levels deep.
    fn stays_positive(&self, levels: usize) -> bool {
        let atom = |atom: &Atom| match atom {
            Atom::Name(_) => true,
            Atom::Quotient(a, b) | Atom::Min(a, b) => a.is_size() && b.is_size(),
            Atom::Max(a, b) => a.is_size() || b.is_size(),
        };
        let term = |(atoms, factor): (&[Atom], i64)| factor.is_positive() && atoms.iter().all(atom);
        if self.terms().all(term) {
            return true;
        }
        let Some(levels) = levels.checked_sub(1) else {
            return false;
        };
        self.terms().any(|(atoms, factor)| {
            let [atom] = atoms else {
                return false;
            };
            let with = |bound: &Dim| {
                let mut rest = self.clone();
                let removed = factor.checked_neg();
                let removed = removed.and_then(|less| rest.add_term(atoms.to_vec(), less));
                let replaced = removed.and_then(|()| rest.add(&bound.mul(&factor.into())?));
                replaced.is_some_and(|dim| dim.stays_positive(levels))
            };
            match (atom, factor.is_negative()) {
                (Atom::Name(_), _) => false,
                // No divisor is negative, and a quotient by 0 is 0.
                (Atom::Quotient(a, _), true) => a.is_size() && with(a),
                (Atom::Quotient(..), false) => false,
                (Atom::Min(a, b), true) | (Atom::Max(a, b), false) => with(a) || with(b),
                (Atom::Min(a, b), false) | (Atom::Max(a, b), true) => with(a) && with(b),
            }
        })
    }

    fn choose(&self, other: &Dim, chosen: Ordering, atom: fn(Box<Dim>, Box<Dim>) -> Atom) -> Option<Dim> {
        // The difference of two numbers may overflow.
        let at_least = |a: &Dim, b: &Dim| match (a.number(), b.number()) {
            (Some(a), Some(b)) => a >= b,
            _ => a.sub(b).is_some_and(|rest| rest.is_size()),
        };
        match (at_least(self, other), at_least(other, self)) {
            (true, _) if chosen == Ordering::Greater => Some(self.clone()),
            (true, _) => Some(other.clone()),
            (_, true) if chosen == Ordering::Greater => Some(other.clone()),
            (_, true) => Some(self.clone()),
            _ => {
                // Numbers are last.
                let mut operands = [self, other];
                operands.sort_by_key(|&dim| (dim.number().is_some(), dim));
                let [first, second] = operands.map(|dim| Box::new(dim.clone()));
                Dim::of(atom(first, second)).bounded()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim::tests::{check, n};

    #[test]
    fn sizes_are_never_negative() {
        let one_less = n().sub(&1.into()).unwrap();
        check(one_less.larger(&0.into()), "max(n - 1, 0)");
        check(one_less.smaller(&n()), "n - 1");
        check(n().larger(&0.into()), "n");
        let rest = n().smaller(&5.into()).and_then(|five| n().sub(&five));
        check(rest.unwrap().larger(&0.into()), "-min(n, 5) + n");
        assert_eq!(n().compare(&(-1).into()), Some(Ordering::Greater));
        assert_eq!(n().compare(&0.into()), None);
        let some = one_less.larger(&0.into()).and_then(|most| most.mul(&Dim::named("m")));
        check(some.unwrap().larger(&0.into()), "m*max(n - 1, 0)");
    }

    #[test]
    fn quotients_are_at_most_what_is_divided() {
        let rest = |whole: Dim, divided: Dim, by: Dim| whole.sub(&divided.div(&by)?)?.larger(&0.into());
        let m = Dim::named("m");
        check(rest(n(), n(), 2.into()), "-floor((n) / (2)) + n");
        check(rest(n(), n(), m), "-floor((n) / (m)) + n");
        check(rest(1.into(), n(), 2.into()), "max(-floor((n) / (2)) + 1, 0)");
        let negative = n().neg().unwrap();
        check(rest(negative.clone(), negative, 2.into()), "max(-floor((-n) / (2)) - n, 0)");
    }

    #[test]
    fn sizes_do_not_nest_without_end() {
        let next = |dim: Dim| dim.div(&Dim::named("m"))?.larger(&Dim::named("k"));
        assert_eq!((0..100).try_fold(n(), |dim, _| next(dim)), None);
    }

    #[test]
    fn bounds_are_equal_in_either_order() {
        assert_eq!(n().smaller(&5.into()), Dim::from(5).smaller(&n()));
    }

    #[test]
    fn numbers_compare_however_far_apart() {
        let (most, least) = (Dim::from(i64::MAX), Dim::from(-2));
        assert_eq!(most.larger(&least), Some(most.clone()));
        assert_eq!(least.smaller(&most), Some(least.clone()));
        assert_eq!(least.larger(&least), Some(least));
    }
}
