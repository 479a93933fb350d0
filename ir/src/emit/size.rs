//! Sizes as Rust expressions.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};
use quote::{format_ident, quote};

use super::name;
use crate::dim::{Atom, Dim, Symbol};

/// Variables of sizes while code is put together.
pub const VARIABLE: &str = "__s";

/// The names of sizes, numbered.
#[derive(Debug, Default)]
pub struct Sizes {
    symbols: Vec<Symbol>,
    numbers: BTreeMap<Symbol, usize>,
    /// How many sizes of their own were made.
    made: usize,
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

    /// The variable of a size of its own, which is called `i`.
    pub fn index(&mut self, is_taken: &impl Fn(&str) -> bool) -> TokenStream {
        loop {
            // What is behind the letter keeps sizes apart and is no part of the variable's name.
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

    /// The sizes of which the variables stand in tokens, and some others, each with its variable, in
    /// the order in which they were named.
    pub fn mentioned(&self, tokens: &TokenStream, others: &[Symbol]) -> Vec<(String, Symbol)> {
        let mut found = BTreeSet::new();
        name::identifiers(tokens, &mut found);
        let found = found.iter().filter_map(|name| self.symbol(name));
        let found = found.chain(others);
        let found = found.filter_map(|symbol| Some((self.numbers.get(symbol)?, symbol)));
        let found: BTreeMap<&usize, &Symbol> = found.collect();
        found
            .into_iter()
            .map(|(at, symbol)| (format!("{VARIABLE}{at}"), symbol.clone()))
            .collect()
    }

    /// The symbol that a variable stands for.
    pub fn symbol(&self, variable: &str) -> Option<&Symbol> {
        let number = variable.strip_prefix(VARIABLE)?.parse::<usize>().ok()?;
        self.symbols.get(number)
    }

    /// The sizes that tokens use and do not bind themselves.
    pub fn used(&self, tokens: &TokenStream) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        self.collect(tokens, &mut BTreeSet::new(), &mut found);
        found
    }

    fn collect(
        &self,
        tokens: &TokenStream,
        bound: &mut BTreeSet<Symbol>,
        found: &mut BTreeSet<Symbol>,
    ) {
        let mut binds = false;
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) if ident == "let" || ident == "for" => binds = true,
                TokenTree::Ident(ident) if ident == "in" => binds = false,
                TokenTree::Punct(punct) => binds &= punct.as_char() != '=',
                TokenTree::Ident(ident) => match self.symbol(&ident.to_string()) {
                    Some(symbol) if binds => {
                        bound.insert(symbol.clone());
                    }
                    Some(symbol) if !bound.contains(symbol) => {
                        found.insert(symbol.clone());
                    }
                    _ => {}
                },
                TokenTree::Group(group) if binds => {
                    let mut inside = BTreeSet::new();
                    self.collect(&group.stream(), &mut BTreeSet::new(), &mut inside);
                    bound.append(&mut inside);
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    self.collect(&group.stream(), &mut bound.clone(), found);
                }
                TokenTree::Group(group) => self.collect(&group.stream(), bound, found),
                TokenTree::Literal(_) => {}
            }
        }
    }

    fn number(&mut self, symbol: &Symbol) -> usize {
        let next = self.symbols.len();
        let at = *self.numbers.entry(symbol.clone()).or_insert(next);
        if at == next {
            self.symbols.push(symbol.clone());
        }
        at
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
            let (a, b) = (self.receiver(a, signed), self.polynomial(b, signed));
            return quote!(#a.#method(#b));
        }
        if let (true, Some((added, taken))) = (b.is(0), difference(a)) {
            let (added, taken) = (self.receiver(&added, false), self.polynomial(&taken, false));
            return quote!(#added.saturating_sub(#taken));
        }
        let (a, b) = (self.grouped(a, true), self.polynomial(b, true));
        quote!((#a.#method(#b) as usize))
    }

    /// What a method can be called on: a number says its type.
    fn receiver(&mut self, dim: &Dim, signed: bool) -> TokenStream {
        match dim.number().and_then(|number| usize::try_from(number).ok()) {
            Some(number) if !signed => {
                let literal = Literal::usize_suffixed(number);
                quote!(#literal)
            }
            _ => self.grouped(dim, signed),
        }
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
        let tokens = quote!(if c { let [#a, _] = x.dims(); f(#a, #b) } else { g(#b) });
        assert_eq!(sizes.used(&tokens), BTreeSet::from([m.clone()]));
        let tokens = quote!(for #b in 0..#a { f(#b) });
        assert_eq!(sizes.used(&tokens), BTreeSet::from([n.clone()]));
        let tokens = quote!({ let [#a] = x.dims(); } #a);
        assert_eq!(sizes.used(&tokens), BTreeSet::from([n]));
    }

    #[test]
    fn quotients_are_grouped() {
        let sum = Dim::named("n").add(&1.into()).unwrap();
        check(sum.div(&2.into()), "((__s0 + 1) / 2)");
    }
}
