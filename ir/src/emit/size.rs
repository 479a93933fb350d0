//! Sizes as Rust expressions.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream, TokenTree};
use quote::{format_ident, quote};

use crate::dim::{Atom, Dim, Symbol};

/// Variables of sizes while code is put together.
pub const VARIABLE: &str = "__s";

/// The names of sizes, numbered.
#[derive(Debug, Default)]
pub struct Sizes {
    symbols: Vec<Symbol>,
}

impl Sizes {
    /// The size as an expression of type `usize`.
    pub fn expression(&mut self, dim: &Dim) -> TokenStream {
        self.sum(dim)
    }

    /// The number as an expression of type `i64`.
    pub fn signed(&mut self, dim: &Dim) -> TokenStream {
        match dim.number() {
            Some(number) => {
                let literal = Literal::i64_unsuffixed(number);
                quote!(#literal)
            }
            None if dim.name().is_some() => {
                let size = self.sum(dim);
                quote!(#size as i64)
            }
            // Differences may be negative, which `usize` cannot hold.
            None => self.polynomial(dim, true),
        }
    }

    /// The variable of a named size.
    pub fn variable(&mut self, symbol: &Symbol) -> TokenStream {
        let at = self.number(symbol);
        let ident = format_ident!("{VARIABLE}{at}");
        quote!(#ident)
    }

    /// Every size named so far, with its variable.
    pub fn all(&self) -> Vec<(String, Symbol)> {
        let all = self.symbols.iter().enumerate();
        all.map(|(at, symbol)| (format!("{VARIABLE}{at}"), symbol.clone()))
            .collect()
    }

    /// The symbol that a variable stands for.
    pub fn symbol(&self, variable: &str) -> Option<&Symbol> {
        let number = variable.strip_prefix(VARIABLE)?.parse::<usize>().ok()?;
        self.symbols.get(number)
    }

    /// The sizes that tokens use.
    pub fn used(&self, tokens: &TokenStream) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        self.collect(tokens, &mut found);
        found
    }

    fn collect(&self, tokens: &TokenStream, found: &mut BTreeSet<Symbol>) {
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) => {
                    found.extend(self.symbol(&ident.to_string()).cloned());
                }
                TokenTree::Group(group) => self.collect(&group.stream(), found),
                _ => {}
            }
        }
    }

    fn number(&mut self, symbol: &Symbol) -> usize {
        match self.symbols.iter().position(|held| held == symbol) {
            Some(at) => at,
            None => {
                self.symbols.push(symbol.clone());
                self.symbols.len() - 1
            }
        }
    }

    fn sum(&mut self, dim: &Dim) -> TokenStream {
        self.polynomial(dim, false)
    }

    /// Positive terms first, so that a difference of sizes stays a size on the way.
    fn polynomial(&mut self, dim: &Dim, signed: bool) -> TokenStream {
        let mut terms: Vec<(&[Atom], i64)> = dim.terms().collect();
        terms.reverse();
        terms.sort_by_key(|(_, factor)| *factor < 0);
        let mut sum = TokenStream::new();
        for (at, (atoms, factor)) in terms.into_iter().enumerate() {
            let product = self.product(atoms, factor.unsigned_abs(), signed);
            sum = match (at, factor < 0) {
                (0, false) => product,
                (0, true) => quote!(-#product),
                (_, false) => quote!(#sum + #product),
                (_, true) => quote!(#sum - #product),
            };
        }
        match sum.is_empty() {
            true => quote!(0),
            false => sum,
        }
    }

    fn product(&mut self, atoms: &[Atom], factor: u64, signed: bool) -> TokenStream {
        let mut product = TokenStream::new();
        if factor != 1 || atoms.is_empty() {
            let literal = Literal::u64_unsuffixed(factor);
            product = quote!(#literal);
        }
        for atom in atoms {
            let atom = match atom {
                Atom::Name(name) => {
                    let name = self.variable(name);
                    match signed {
                        true => quote!((#name as i64)),
                        false => name,
                    }
                }
                Atom::Quotient(a, b) => {
                    let (a, b) = (self.grouped(a, signed), self.grouped(b, signed));
                    match signed {
                        true => quote!(#a.div_euclid(#b)),
                        false => quote!((#a / #b)),
                    }
                }
                Atom::Min(a, b) => self.choice(a, b, signed, &quote!(min)),
                Atom::Max(a, b) => self.choice(a, b, signed, &quote!(max)),
            };
            product = match product.is_empty() {
                true => atom,
                false => quote!(#product * #atom),
            };
        }
        product
    }

    /// `a.min(b)`. Where an operand may be negative, `usize` could not hold it.
    fn choice(&mut self, a: &Dim, b: &Dim, signed: bool, method: &TokenStream) -> TokenStream {
        if signed || (a.is_size() && b.is_size()) {
            let (a, b) = (self.grouped(a, signed), self.polynomial(b, signed));
            return quote!(#a.#method(#b));
        }
        if let (true, Some((added, taken))) = (b.is(0), difference(a)) {
            let (added, taken) = (self.grouped(&added, false), self.polynomial(&taken, false));
            return quote!(#added.saturating_sub(#taken));
        }
        let (a, b) = (self.grouped(a, true), self.polynomial(b, true));
        quote!((#a.#method(#b) as usize))
    }

    fn grouped(&mut self, dim: &Dim, signed: bool) -> TokenStream {
        let inner = self.polynomial(dim, signed);
        if let Some(number) = dim.number() {
            let literal = match signed {
                true => Literal::i64_suffixed(number),
                false => Literal::u64_unsuffixed(number.unsigned_abs()),
            };
            return quote!(#literal);
        }
        match dim.name().is_some() {
            true => inner,
            false => quote!((#inner)),
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
        let tokens = Sizes::default().expression(&dim.unwrap());
        assert_eq!(tokens.to_string(), expected);
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
        check(Some(less.larger(&0.into())), "__s0 . saturating_sub (3)");
        let bounded = less.smaller(&5.into()).larger(&0.into());
        check(
            Some(bounded),
            "((((__s0 as i64) - 3) . min (5)) . max (0) as usize)",
        );
        check(Some(Dim::named("n").smaller(&5.into())), "__s0 . min (5)");
    }

    #[test]
    fn quotients_are_grouped() {
        let sum = Dim::named("n").add(&1.into()).unwrap();
        check(sum.div(&2.into()), "((__s0 + 1) / 2)");
    }
}
