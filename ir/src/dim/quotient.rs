//! Quotients of sizes in normal form.

use super::{Atom, Dim};

impl Dim {
    /// The quotient rounded down, `None` when the divisor may be 0 or it grows too large.
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
        if let Some(exact) = self.div_exact(other) {
            return Some(exact);
        }
        match other.number() {
            Some(by @ 1..) => self.rounded_down(by),
            _ => {
                let quotient = Atom::Quotient(Box::new(self.clone()), Box::new(other.clone()));
                Dim::of(quotient).bounded()
            }
        }
    }

    /// The quotient when `other` is one term that divides every term of `self`.
    pub fn div_exact(&self, other: &Dim) -> Option<Dim> {
        if self == other && !other.is(0) {
            return Some(Dim::from(1));
        }
        let mut divisor = other.terms();
        let (factors, by) = divisor.next()?;
        if divisor.next().is_some() {
            return None;
        }
        let mut quotient = Dim::default();
        for (atoms, factor) in self.terms() {
            if factor.checked_rem(by)? != 0 {
                return None;
            }
            let mut rest = atoms.to_vec();
            for atom in factors {
                let at = rest.iter().position(|other| other == atom)?;
                rest.remove(at);
            }
            quotient.add_term(rest, factor.checked_div(by)?)?;
        }
        Some(quotient)
    }

    /// The quotient by a positive number, with only remainders inside of it.
    fn rounded_down(&self, by: i64) -> Option<Dim> {
        let (mut whole, mut inside) = (Dim::default(), Dim::default());
        for (atoms, factor) in self.terms() {
            let (quotient, rest) = if atoms.is_empty() {
                (
                    factor.checked_div_euclid(by)?,
                    factor.checked_rem_euclid(by)?,
                )
            } else {
                (factor.checked_div(by)?, factor.checked_rem(by)?)
            };
            if quotient != 0 {
                whole.add_term(atoms.to_vec(), quotient)?;
            }
            if rest != 0 {
                inside.add_term(atoms.to_vec(), rest)?;
            }
        }
        whole.add(&inside.remainder_rounded_down(by)?)
    }

    /// The quotient of a sum whose factors are all smaller than `by`.
    fn remainder_rounded_down(&self, by: i64) -> Option<Dim> {
        let constant = self.terms.constant();
        let mut others = self.terms().filter(|(atoms, _)| !atoms.is_empty());
        let Some(first) = others.next() else {
            return Some(Dim::default());
        };
        // A quotient of a quotient is one of the product.
        if let ([Atom::Quotient(inner, divisor)], 1, None) = (first.0, first.1, others.next())
            && let Some(divisor @ 1..) = divisor.number()
        {
            let inner = inner.add(&Dim::from(constant.checked_mul(divisor)?))?;
            return inner.rounded_down(by.checked_mul(divisor)?);
        }
        let factors = self.terms().filter(|(atoms, _)| !atoms.is_empty());
        let common = factors.fold(by, |common, (_, factor)| divisor(common, factor));
        let mut inside = Dim::default();
        for (atoms, factor) in self.terms() {
            let factor = factor.checked_div_euclid(common)?;
            if factor != 0 {
                inside.add_term(atoms.to_vec(), factor)?;
            }
        }
        let by = Dim::from(by.checked_div(common)?);
        Dim::of(Atom::Quotient(Box::new(inside), Box::new(by))).bounded()
    }
}

/// The greatest common divisor of a positive number and another one.
fn divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b.checked_abs().unwrap_or(1));
    while b != 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or(0));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim::tests::{check, n};

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
    fn multiples_stand_outside() {
        let room = n().sub(&4.into()).and_then(|room| room.div(&4.into()));
        check(
            room.and_then(|room| room.add(&1.into())),
            "floor((n) / (4))",
        );
        let even = n().mul(&6.into()).and_then(|even| even.add(&3.into()));
        check(
            even.and_then(|even| even.div(&4.into())),
            "floor((n + 1) / (2)) + n",
        );
    }

    #[test]
    fn halves_of_halves_are_quarters() {
        let half = n().sub(&1.into()).and_then(|room| room.div(&2.into()));
        let quarter = half.and_then(|half| half.div(&2.into()));
        check(quarter.clone(), "floor((n + 3) / (4)) - 1");
        let values = |n: i64| (n - 1).div_euclid(2).div_euclid(2) == (n + 3).div_euclid(4) - 1;
        assert!((0..20).all(values));
    }
}
