//! Sizes as Rust expressions.

mod number;

use std::collections::{BTreeMap, BTreeSet};

use number::{Number, Width};

use crate::dim::{Atom, Dim, Symbol};
use crate::rust::{Bracket, Code, CodeNode, Head, Size};

/// Numbers of named sizes.
#[derive(Debug, Default)]
pub struct Sizes {
    symbols: Vec<Symbol>,
    numbers: BTreeMap<Symbol, Size>,
    /// Number of names that [`Sizes::index`] tried.
    made: usize,
}

impl Sizes {
    /// Returns a size as an expression of type `usize`.
    pub fn expression(&mut self, dim: &Dim) -> Code {
        let size = self.unsigned(dim);
        let size = size.unwrap_or_else(|| self.integer(dim).cast(Width::Usize));
        size.operand()
    }

    /// Returns a number as an expression of type `i64`.
    pub fn signed(&mut self, dim: &Dim) -> Code {
        self.integer(dim).code()
    }

    /// Returns the variable of a named size.
    pub fn variable(&mut self, symbol: &Symbol) -> Code {
        Code::size(self.number(symbol))
    }

    /// Returns the variable of a new size, with the name `i`.
    pub fn index(&mut self, is_taken: &impl Fn(&str) -> bool) -> Code {
        loop {
            // The marks after the letter distinguish sizes, and are not part of the variable's name.
            let marks = format!("{:b}", self.made).replace('0', "'").replace('1', "\"");
            let name = match self.made {
                0 => "i".to_owned(),
                _ => format!("i{marks}"),
            };
            self.made += 1;
            if !self.numbers.contains_key(&*name) && !is_taken(&name) {
                return self.variable(&name.into());
            }
        }
    }

    /// Returns the sizes whose variables occur in code, and those of `others` that have a number, in the order of
    /// numbers.
    pub fn mentioned(&self, code: &Code, others: &[Symbol]) -> Vec<(Size, Symbol)> {
        let mut found = code.sizes();
        found.extend(others.iter().filter_map(|symbol| self.numbers.get(symbol)));
        let symbol = |size: Size| Some((size, self.symbol(size)?.clone()));
        found.into_iter().filter_map(symbol).collect()
    }

    /// Returns the variable of a named size that has a number.
    pub fn size(&self, symbol: &Symbol) -> Option<Size> {
        self.numbers.get(symbol).copied()
    }

    /// Returns the sizes that code uses and does not bind itself.
    pub fn used(&self, code: &Code) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        collect(code, &mut BTreeSet::new(), &mut found);
        let symbols = found.into_iter().filter_map(|size| self.symbol(size));
        symbols.cloned().collect()
    }

    fn symbol(&self, size: Size) -> Option<&Symbol> {
        self.symbols.get(usize::try_from(size.0).ok()?)
    }

    fn number(&mut self, symbol: &Symbol) -> Size {
        let next = Size(u32::try_from(self.symbols.len()).unwrap_or(u32::MAX));
        let size = *self.numbers.entry(symbol.clone()).or_insert(next);
        if size == next {
            self.symbols.push(symbol.clone());
        }
        size
    }

    /// Returns a number in `i64`, which can represent differences that `usize` cannot.
    fn integer(&mut self, dim: &Dim) -> Number {
        let sum = terms(dim).into_iter().fold(None, |sum, (atoms, factor)| {
            let product = self.product(&atoms, factor);
            Some(joined(sum, product, factor))
        });
        sum.unwrap_or(Number::Literal(0))
    }

    /// Returns the absolute value of a term.
    fn product(&mut self, atoms: &[Atom], factor: i64) -> Number {
        let first = literal(factor, atoms);
        let atoms = atoms.iter().map(|atom| match atom {
            Atom::Name(name) => Number::Size(self.variable(name)).cast(Width::I64),
            Atom::Quotient(a, b) => {
                let (a, divisor) = (self.integer(a), self.integer(b));
                if is_positive(b) {
                    a.call("div_euclid", divisor, Width::I64)
                } else {
                    let quotient = a.call("checked_div_euclid", divisor, Width::I64);
                    quotient.call("unwrap_or", Number::Literal(0), Width::I64)
                }
            }
            Atom::Min(a, b) => self.integer(a).call("min", self.integer(b), Width::I64),
            Atom::Max(a, b) => self.integer(a).call("max", self.integer(b), Width::I64),
        });
        first.into_iter().chain(atoms).reduce(Number::mul).unwrap_or(Number::Literal(1))
    }

    /// Returns a size in `usize`, or `None` if an atom of its terms is not a size. Positive terms come first, so that
    /// partial sums do not become negative.
    fn unsigned(&mut self, dim: &Dim) -> Option<Number> {
        let mut sum = None;
        for (atoms, factor) in terms(dim) {
            let mut product = literal(factor, &atoms);
            for atom in &atoms {
                let atom = self.unsigned_atom(atom)?;
                product = Some(match product {
                    Some(product) => product.mul(atom),
                    None => atom,
                });
            }
            sum = Some(joined(sum, product?, factor));
        }
        Some(sum.unwrap_or(Number::Literal(0)))
    }

    fn unsigned_atom(&mut self, atom: &Atom) -> Option<Number> {
        Some(match atom {
            Atom::Name(name) => Number::Size(self.variable(name)),
            Atom::Quotient(a, b) if a.is_size() && b.is_size() => {
                let (a, divisor) = (self.unsigned(a)?, self.unsigned(b)?);
                if is_positive(b) {
                    a.div(divisor)
                } else {
                    let quotient = a.call("checked_div", divisor, Width::Usize);
                    quotient.call("unwrap_or", Number::Literal(0), Width::Usize)
                }
            }
            Atom::Min(a, b) if a.is_size() && b.is_size() => {
                self.unsigned(a)?.call("min", self.unsigned(b)?, Width::Usize)
            }
            Atom::Max(a, b) if a.is_size() && b.is_size() => {
                self.unsigned(a)?.call("max", self.unsigned(b)?, Width::Usize)
            }
            Atom::Max(a, b)
                if b.is(0)
                    && let Some((added, taken)) = difference(a) =>
            {
                let (added, taken) = (self.unsigned(&added)?, self.unsigned(&taken)?);
                added.call("saturating_sub", taken, Width::Usize)
            }
            atom => {
                let dim = Dim::of(atom.clone());
                dim.is_size().then(|| self.integer(&dim).cast(Width::Usize))?
            }
        })
    }
}

/// Returns the terms of a sum, positive ones first.
fn terms(dim: &Dim) -> Vec<(Vec<Atom>, i64)> {
    let mut terms: Vec<(Vec<Atom>, i64)> =
        dim.terms().map(|(atoms, factor)| (atoms.to_vec(), factor)).collect();
    terms.reverse();
    terms.sort_by_key(|(_, factor)| *factor < 0);
    terms
}

/// Returns the absolute value of a factor, or `None` if it can be omitted. `i64::MIN` has none and stays negative.
fn literal(factor: i64, atoms: &[Atom]) -> Option<Number> {
    let amount = factor.checked_abs().unwrap_or(factor);
    (amount != 1 || atoms.is_empty()).then_some(Number::Literal(amount))
}

/// Adds a term to a sum. `amount` is its absolute value.
fn joined(sum: Option<Number>, amount: Number, factor: i64) -> Number {
    let is_added = factor > 0 || factor == i64::MIN;
    match (sum, is_added) {
        (None, true) => amount,
        (None, false) => match amount {
            Number::Literal(amount) => Number::Literal(-amount),
            amount => Number::Negative(amount.into()),
        },
        (Some(sum), true) => sum.add(amount),
        (Some(sum), false) => sum.sub(amount),
    }
}

/// Returns `true` if a divisor is always positive.
fn is_positive(dim: &Dim) -> bool {
    dim.sub(&1.into()).is_some_and(|less| less.is_size())
}

/// Collects the sizes that are used without an earlier binding. Bindings inside braces end with them.
fn collect(code: &Code, bound: &mut BTreeSet<Size>, found: &mut BTreeSet<Size>) {
    for part in code.parts() {
        match part {
            CodeNode::Size(size) => {
                if !bound.contains(size) {
                    found.insert(*size);
                }
            }
            CodeNode::Let(pattern, value) => {
                bound.extend(pattern.sizes());
                collect(value, bound, found);
            }
            CodeNode::Loop(made) => {
                match &made.head {
                    Head::For(pattern, range) => {
                        bound.extend(pattern.sizes());
                        collect(range, bound, found);
                    }
                    Head::While(condition) => collect(condition, bound, found),
                    Head::Endless => {}
                }
                collect(&made.body, &mut bound.clone(), found);
            }
            CodeNode::Group(Bracket::Curly, inside) => collect(inside, &mut bound.clone(), found),
            part => {
                let inside = part.inside().into_iter().flatten();
                inside.for_each(|code| collect(code, bound, found));
            }
        }
    }
}

/// Returns two sizes whose difference is `dim`, if any.
fn difference(dim: &Dim) -> Option<(Dim, Dim)> {
    let negative = dim.terms().filter(|(_, factor)| *factor < 0);
    let mut taken = Dim::default();
    for (atoms, factor) in negative {
        let mut atoms = atoms.iter().map(|atom| Dim::of(atom.clone()));
        let factor = Dim::from(factor.checked_neg()?);
        let product = atoms.try_fold(factor, |product, atom| product.mul(&atom))?;
        taken = taken.add(&product)?;
    }
    let added = dim.add(&taken)?;
    (added.is_size() && taken.is_size()).then_some((added, taken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::code;

    fn check(dim: Option<Dim>, expected: &str) {
        let code = Sizes::default().expression(&dim.unwrap());
        assert_eq!(code.tokens().to_string(), expected);
    }

    #[test]
    fn products_read_as_written() {
        check(Dim::named("n").mul(&4.into()), "4 * __s0");
    }

    #[test]
    fn differences_start_with_what_is_added() {
        check(Dim::from(-1).add(&Dim::named("n")), "__s0 - 1");
    }

    #[test]
    fn what_may_be_negative_is_cut_off_at_zero() {
        let less = Dim::named("n").sub(&3.into()).unwrap();
        check(less.larger(&0.into()), "__s0 . saturating_sub (3)");
        let short = Dim::from(3).sub(&Dim::named("n")).unwrap();
        check(short.larger(&0.into()), "3usize . saturating_sub (__s0)");
        let bounded = less.smaller(&5.into()).unwrap().larger(&0.into());
        check(bounded, "(((__s0 as i64) - 3) . min (5) . max (0) as usize)");
        check(Dim::named("n").smaller(&5.into()), "__s0 . min (5)");
    }

    #[test]
    fn negative_numbers_stay_in_integers() {
        let signed = |dim: Option<Dim>, expected: &str| {
            let code = Sizes::default().signed(&dim.unwrap());
            assert_eq!(code.tokens().to_string(), expected);
        };
        let (n, m) = (Dim::named("n"), Dim::named("m"));
        let less = n.sub(&5.into()).unwrap();
        signed(n.neg(), "- (__s0 as i64)");
        signed(less.larger(&(-1).into()), "((__s0 as i64) - 5) . max (- 1)");
        signed(less.div(&7.into()), "((__s0 as i64) + 2) . div_euclid (7) - 1");
        signed(Dim::from(-10).div(&m), "(- 10i64) . checked_div_euclid (__s0 as i64) . unwrap_or (0)");
        let negated = m.neg().unwrap().add(&n).and_then(|rest| rest.div(&2.into()));
        check(negated, "(((__s0 as i64) - (__s1 as i64)) . div_euclid (2) as usize)");
        check(n.div(&m), "__s0 . checked_div (__s1) . unwrap_or (0)");
    }

    #[test]
    fn what_braces_bind_is_not_used_outside() {
        let mut sizes = Sizes::default();
        let (n, m) = (Symbol::from("n"), Symbol::from("m"));
        let (a, b) = (sizes.variable(&n), sizes.variable(&m));
        let code = code!(if c { let [#a, _] = x.dims(); f(#a, #b) } else { g(#b) });
        assert_eq!(sizes.used(&code), BTreeSet::from([m.clone()]));
        let code = code!(for #b in 0..#a { f(#b) });
        assert_eq!(sizes.used(&code), BTreeSet::from([n.clone()]));
        let code = code!({ let [#a] = x.dims(); } #a);
        assert_eq!(sizes.used(&code), BTreeSet::from([n]));
    }

    #[test]
    fn quotients_are_grouped() {
        let sum = Dim::named("n").add(&1.into()).unwrap();
        check(sum.div(&2.into()), "(__s0 + 1) / 2");
    }
}
