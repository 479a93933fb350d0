//! Quotients of sizes in normal form.

use super::{Atom, Dim};

impl Dim {
    /// Returns the quotient rounded down, `None` if the sign of the divisor depends on sizes or the quotient grows too
    /// large.
    ///
    /// Division by a size assumes that it is not 0: `n * m / m` is `n`. Code that divides by 0 returns 0.
    pub fn div(&self, other: &Dim) -> Option<Dim> {
        if other.is(0) {
            return None;
        }
        if let Some(exact) = self.div_exact(other) {
            return Some(exact);
        }
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => {
                let down = i64::from(a.is_negative() != b.is_negative());
                a.checked_div(b)?.checked_sub(down).map(Dim::from)
            }
            (_, Some(by @ 1..)) => self.rounded_down(by),
            _ if other.is_size() => {
                let quotient = Atom::Quotient(Box::new(self.clone()), Box::new(other.clone()));
                Dim::of(quotient).bounded()
            }
            _ => {
                let other = other.neg()?;
                let positive = other.is_size().then(|| self.neg())??;
                positive.div(&other)
            }
        }
    }

    /// Returns the quotient rounded toward zero, as ONNX divides integers. Returns `None` if the sign of the divisor
    /// depends on sizes or the quotient grows too large.
    pub fn div_truncated(&self, other: &Dim) -> Option<Dim> {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return a.checked_div(b).map(Dim::from);
        }
        if other.is(0) {
            return None;
        }
        if let Some(exact) = self.div_exact(other) {
            return Some(exact);
        }
        if !other.is_size() {
            let other = other.neg()?;
            let positive = other.is_size().then(|| self.neg())??;
            return positive.div_truncated(&other);
        }
        let negated = self.neg()?;
        self.part_divided(other)?.sub(&negated.part_divided(other)?)
    }

    /// Returns the remainder with the sign of the divisor, `None` if the divisor may be 0 or its sign depends on sizes.
    pub fn modulo(&self, other: &Dim) -> Option<Dim> {
        self.rest(other, Dim::div)
    }

    /// Returns the remainder with the sign of the dividend, `None` if the divisor may be 0 or its sign depends on
    /// sizes.
    pub fn remainder(&self, other: &Dim) -> Option<Dim> {
        self.rest(other, Dim::div_truncated)
    }

    /// Returns the remainder of a quotient.
    fn rest(&self, other: &Dim, div: fn(&Dim, &Dim) -> Option<Dim>) -> Option<Dim> {
        match (self.number(), other.number()) {
            // The quotient of the smallest number by -1 overflows.
            (_, Some(1 | -1)) => return Some(Dim::default()),
            (Some(a), Some(b)) => {
                let quotient = div(&a.into(), &b.into())?.number()?;
                // The product may overflow even if the remainder does not.
                let rest = i128::from(a) - i128::from(b) * i128::from(quotient);
                return i64::try_from(rest).ok().map(Dim::from);
            }
            _ => {}
        }
        if self.div_exact(other).is_some() {
            return Some(Dim::default());
        }
        let is_positive = |dim: &Dim| dim.sub(&1.into()).is_some_and(|less| less.is_size());
        if !is_positive(other) && !other.neg().is_some_and(|other| is_positive(&other)) {
            return None;
        }
        self.sub(&div(self, other)?.mul(other)?)
    }

    /// Returns the quotient of the size, or of 0 if it is negative, by a size.
    fn part_divided(&self, by: &Dim) -> Option<Dim> {
        let is_less = by.sub(&1.into()).and_then(|most| most.sub(self));
        let is_less = is_less.is_some_and(|rest| rest.is_size());
        if is_less && by.sub(&1.into())?.is_size() {
            return Some(Dim::default());
        }
        self.larger(&Dim::default())?.div(by)
    }

    /// Returns the quotient if `other` is one term that divides every term of the size.
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

    /// Returns the quotient by a positive number, with all multiples of the number outside the rounding.
    fn rounded_down(&self, by: i64) -> Option<Dim> {
        let (mut whole, mut inside) = (Dim::default(), Dim::default());
        for (atoms, factor) in self.terms() {
            let (quotient, rest) = if atoms.is_empty() {
                (factor.checked_div_euclid(by)?, factor.checked_rem_euclid(by)?)
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

    /// Returns the quotient of a sum whose factors are all smaller than `by`.
    fn remainder_rounded_down(&self, by: i64) -> Option<Dim> {
        let constant = self.terms.constant();
        let mut others = self.terms().filter(|(atoms, _)| !atoms.is_empty());
        let Some(first) = others.next() else {
            return Some(Dim::default());
        };
        // A quotient of a quotient is a quotient by the product.
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

/// Returns the greatest common divisor of a positive number and another one.
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
        let sum = n().add(&1.into()).unwrap();
        check(sum.div(&sum), "1");
        assert_eq!(Dim::from(0).div_exact(&0.into()), None);
    }

    #[test]
    fn other_quotients_stay_and_round_down() {
        check(n().div(&2.into()), "floor((n) / (2))");
        check(Dim::from(-7).div(&2.into()), "-4");
        check(Dim::from(7).div(&(-2).into()), "-4");
        assert_eq!(n().div(&0.into()), None);
        check(n().div(&(-2).into()), "floor((-n) / (2))");
        check(Dim::from(i64::MIN).div(&3.into()), "-3074457345618258603");
        let difference = n().sub(&Dim::named("m")).unwrap();
        assert_eq!(n().div(&difference), None);
        check(Dim::from(-10).div(&Dim::named("m").neg().unwrap()), "floor((10) / (m))");
    }

    #[test]
    fn quotients_toward_zero_have_two_parts() {
        let less = |by: i64| n().sub(&by.into()).unwrap();
        check(n().div_truncated(&2.into()), "floor((n) / (2))");
        check(n().div_truncated(&(-2).into()), "-floor((n) / (2))");
        check(less(1).div_truncated(&2.into()), "floor((max(n - 1, 0)) / (2))");
        check(
            less(5).div_truncated(&2.into()),
            "-floor((max(-n + 5, 0)) / (2)) + floor((max(n - 5, 0)) / (2))",
        );
        check(Dim::from(-7).div_truncated(&n()), "-floor((7) / (n))");
        check(less(4).mul(&6.into()).unwrap().div_truncated(&(-3).into()), "-2*n + 8");
        assert_eq!(n().div_truncated(&0.into()), None);
        assert_eq!(n().div_truncated(&less(1)), None);
        assert_eq!(Dim::from(i64::MIN).div_truncated(&(-1).into()), None);
    }

    #[test]
    fn remainders_have_the_sign_of_either() {
        let number = |a: i64, b: i64| {
            let (a, b) = (Dim::from(a), Dim::from(b));
            [a.modulo(&b), a.remainder(&b)].map(|rest| rest.and_then(|rest| rest.number()))
        };
        assert_eq!(number(-7, 3), [Some(2), Some(-1)]);
        assert_eq!(number(7, -3), [Some(-2), Some(1)]);
        assert_eq!(number(i64::MIN, -1), [Some(0), Some(0)]);
        assert_eq!(number(i64::MIN, i64::MAX), [Some(i64::MAX - 1), Some(-1)]);
        assert_eq!(number(5, 0), [None, None]);
        check(n().modulo(&3.into()), "-3*floor((n) / (3)) + n");
        check(n().neg().unwrap().remainder(&3.into()), "3*floor((n) / (3)) - n");
        assert_eq!(Dim::from(-10).modulo(&n()), None);
        check(n().mul(&4.into()).unwrap().modulo(&n()), "0");
    }

    #[test]
    fn multiples_stand_outside() {
        let room = n().sub(&4.into()).and_then(|room| room.div(&4.into()));
        check(room.and_then(|room| room.add(&1.into())), "floor((n) / (4))");
        let even = n().mul(&6.into()).and_then(|even| even.add(&3.into()));
        check(even.and_then(|even| even.div(&4.into())), "floor((n + 1) / (2)) + n");
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
