//! Sizes as Rust expressions.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Literal;

use crate::dim::{Atom, Dim, Symbol};
use crate::rust::{Bracket, Code, Head, Part, Size, code};

/// The names of sizes, numbered.
#[derive(Debug, Default)]
pub struct Sizes {
    symbols: Vec<Symbol>,
    numbers: BTreeMap<Symbol, Size>,
    /// How many sizes of their own were made.
    made: usize,
}

impl Sizes {
    /// The size as an expression of type `usize`.
    pub fn expression(&mut self, dim: &Dim) -> Code {
        self.sum(dim)
    }

    /// The number as an expression of type `i64`.
    pub fn signed(&mut self, dim: &Dim) -> Code {
        match dim.number() {
            Some(number) => {
                let literal = Literal::i64_unsuffixed(number);
                code!(#literal)
            }
            None if dim.name().is_some() => {
                let size = self.sum(dim);
                code!(#size as i64)
            }
            // Differences may be negative, which `usize` cannot hold.
            None => self.polynomial(dim, true),
        }
    }

    /// The variable of a named size.
    pub fn variable(&mut self, symbol: &Symbol) -> Code {
        Code::size(self.number(symbol))
    }

    /// The variable of a size of its own, which is called `i`.
    pub fn index(&mut self, is_taken: &impl Fn(&str) -> bool) -> Code {
        loop {
            // What is behind the letter distinguishes sizes and is no part of the variable's name.
            let marks = format!("{:b}", self.made)
                .replace('0', "'")
                .replace('1', "\"");
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

    /// The sizes of which the variables stand in code, and some others, in the order in which they were
    /// named.
    pub fn mentioned(&self, code: &Code, others: &[Symbol]) -> Vec<(Size, Symbol)> {
        let mut found = code.sizes();
        found.extend(others.iter().filter_map(|symbol| self.numbers.get(symbol)));
        let symbol = |size: Size| Some((size, self.symbol(size)?.clone()));
        found.into_iter().filter_map(symbol).collect()
    }

    /// The variable of a size that was named before.
    pub fn size(&self, symbol: &Symbol) -> Option<Size> {
        self.numbers.get(symbol).copied()
    }

    /// The sizes that code uses and does not bind itself.
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

    fn sum(&mut self, dim: &Dim) -> Code {
        self.polynomial(dim, false)
    }

    /// Positive terms first, so that a difference of sizes stays a size on the way.
    fn polynomial(&mut self, dim: &Dim, signed: bool) -> Code {
        let mut terms: Vec<(&[Atom], i64)> = dim.terms().collect();
        terms.reverse();
        terms.sort_by_key(|(_, factor)| *factor < 0);
        let mut sum = Code::default();
        for (at, (atoms, factor)) in terms.into_iter().enumerate() {
            let product = self.product(atoms, factor.unsigned_abs(), signed);
            sum = match (at, factor < 0) {
                (0, false) => product,
                (0, true) => code!(-#product),
                (_, false) => code!(#sum + #product),
                (_, true) => code!(#sum - #product),
            };
        }
        if sum.is_empty() { code!(0) } else { sum }
    }

    fn product(&mut self, atoms: &[Atom], factor: u64, signed: bool) -> Code {
        let mut product = Code::default();
        if factor != 1 || atoms.is_empty() {
            let literal = Literal::u64_unsuffixed(factor);
            product = code!(#literal);
        }
        for atom in atoms {
            let atom = match atom {
                Atom::Name(name) => {
                    let name = self.variable(name);
                    if signed { code!((#name as i64)) } else { name }
                }
                Atom::Quotient(a, b) => {
                    let (a, b) = (self.grouped(a, signed), self.grouped(b, signed));
                    if signed {
                        code!(#a.div_euclid(#b))
                    } else {
                        code!((#a / #b))
                    }
                }
                Atom::Min(a, b) => self.choice(a, b, signed, &code!(min)),
                Atom::Max(a, b) => self.choice(a, b, signed, &code!(max)),
            };
            product = if product.is_empty() {
                atom
            } else {
                code!(#product * #atom)
            };
        }
        product
    }

    /// `a.min(b)`. Where an operand may be negative, `usize` could not hold it.
    fn choice(&mut self, a: &Dim, b: &Dim, signed: bool, method: &Code) -> Code {
        if signed || (a.is_size() && b.is_size()) {
            let (a, b) = (self.receiver(a, signed), self.polynomial(b, signed));
            return code!(#a.#method(#b));
        }
        if let (true, Some((added, taken))) = (b.is(0), difference(a)) {
            let (added, taken) = (self.receiver(&added, false), self.polynomial(&taken, false));
            return code!(#added.saturating_sub(#taken));
        }
        let (a, b) = (self.grouped(a, true), self.polynomial(b, true));
        code!((#a.#method(#b) as usize))
    }

    /// What a method can be called on: a number says its type.
    fn receiver(&mut self, dim: &Dim, signed: bool) -> Code {
        match dim.number().and_then(|number| usize::try_from(number).ok()) {
            Some(number) if !signed => {
                let literal = Literal::usize_suffixed(number);
                code!(#literal)
            }
            _ => self.grouped(dim, signed),
        }
    }

    fn grouped(&mut self, dim: &Dim, signed: bool) -> Code {
        let inner = self.polynomial(dim, signed);
        if let Some(number) = dim.number() {
            let literal = if signed {
                Literal::i64_suffixed(number)
            } else {
                Literal::u64_unsuffixed(number.unsigned_abs())
            };
            return code!(#literal);
        }
        if dim.name().is_some() {
            inner
        } else {
            code!((#inner))
        }
    }
}

/// The sizes that are used behind what binds them nowhere. What braces bind ends with them.
fn collect(code: &Code, bound: &mut BTreeSet<Size>, found: &mut BTreeSet<Size>) {
    for part in code.parts() {
        match part {
            Part::Size(size) => {
                if !bound.contains(size) {
                    found.insert(*size);
                }
            }
            Part::Let(pattern, value) => {
                bound.extend(pattern.sizes());
                collect(value, bound, found);
            }
            Part::Loop(made) => {
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
            Part::Group(Bracket::Curly, inside) => collect(inside, &mut bound.clone(), found),
            part => {
                let inside = part.inside().into_iter().flatten();
                inside.for_each(|code| collect(code, bound, found));
            }
        }
    }
}

/// The two sizes whose difference this is.
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
        check(
            bounded,
            "((((__s0 as i64) - 3) . min (5)) . max (0) as usize)",
        );
        check(Dim::named("n").smaller(&5.into()), "__s0 . min (5)");
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
        check(sum.div(&2.into()), "((__s0 + 1) / 2)");
    }
}
