//! Moves where a value is used last, clones before.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, Ident, Punct, TokenStream, TokenTree};
use quote::quote;

/// Variables of values while code is put together; `name.rs` gives them their final names.
pub const VARIABLE: &str = "__v";

/// Methods that only look at a value.
const BORROWING: &[&str] = &[
    "dims", "device", "shape", "dtype", "data", "as_slice", "len", "is_some", "is_none", "iter",
    "sizes", "item", "as_ref",
];

/// Adds `.clone()` to every use of a variable that is not the last one and takes the value.
#[derive(Debug)]
pub struct Owner {
    /// How many occurrences of each variable are still to come.
    left: BTreeMap<String, usize>,
}

/// The variables that occur in tokens, declarations left out, in order of their first use.
pub fn variables(tokens: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    each(tokens, &mut |ident| {
        if !found.contains(ident) {
            found.push(ident.clone());
        }
    });
    found
}

/// What surrounds a token.
#[derive(Default)]
struct Place {
    /// Inside of a loop, the variables declared there.
    local: Option<BTreeSet<String>>,
}

fn is_variable(ident: &Ident) -> bool {
    ident.to_string().starts_with(VARIABLE)
}

/// Calls `see` with each occurrence that is no declaration.
fn each(tokens: &TokenStream, see: &mut impl FnMut(&String)) {
    let mut declares = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if ident == "let" => declares = true,
            TokenTree::Ident(ident) if is_variable(&ident) && !declares => see(&ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == '=' => declares = false,
            TokenTree::Group(group) if !declares => each(&group.stream(), see),
            _ => {}
        }
    }
}

/// Variables that tokens declare, at any depth.
fn declared(tokens: &TokenStream, found: &mut BTreeSet<String>) {
    let mut declares = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if ident == "let" => declares = true,
            TokenTree::Ident(ident) if declares && is_variable(&ident) => {
                found.insert(ident.to_string());
            }
            TokenTree::Punct(punct) if punct.as_char() == '=' => declares = false,
            TokenTree::Group(group) if declares => {
                for token in group.stream() {
                    if let TokenTree::Ident(ident) = token
                        && is_variable(&ident)
                    {
                        found.insert(ident.to_string());
                    }
                }
            }
            TokenTree::Group(group) => declared(&group.stream(), found),
            _ => {}
        }
    }
}

impl Owner {
    /// An owner for tokens that will be rewritten piece by piece, in this order.
    pub fn new(all: &TokenStream) -> Self {
        let mut left = BTreeMap::new();
        each(all, &mut |variable| {
            *left.entry(variable.clone()).or_insert(0) += 1
        });
        Owner { left }
    }

    /// The next piece.
    pub fn rewrite(&mut self, tokens: TokenStream) -> TokenStream {
        self.walk(tokens, &mut Place::default())
    }

    fn walk(&mut self, tokens: TokenStream, place: &mut Place) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut out = TokenStream::new();
        let mut declares = false;
        let mut repeats = false;
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(ident) if ident == "let" => {
                    declares = true;
                    out.extend([token.clone()]);
                }
                TokenTree::Ident(ident) if is_variable(ident) && !declares => {
                    out.extend(self.variable(ident, &tokens, at, place));
                }
                TokenTree::Ident(ident) => {
                    repeats |= ident == "for" || ident == "while" || ident == "loop";
                    out.extend([token.clone()]);
                }
                TokenTree::Punct(punct) => {
                    declares &= punct.as_char() != '=';
                    out.extend([token.clone()]);
                }
                TokenTree::Group(group) if !declares => {
                    let inner = if repeats && group.delimiter() == Delimiter::Brace {
                        repeats = false;
                        self.repeated(group.stream(), place)
                    } else {
                        self.walk(group.stream(), place)
                    };
                    let mut rewritten = Group::new(group.delimiter(), inner);
                    rewritten.set_span(group.span());
                    out.extend([TokenTree::Group(rewritten)]);
                }
                _ => out.extend([token.clone()]),
            }
        }
        out
    }

    /// The body of a loop: what is declared outside must be left for the next round.
    fn repeated(&mut self, tokens: TokenStream, place: &mut Place) -> TokenStream {
        let mut local = BTreeSet::new();
        declared(&tokens, &mut local);
        let outer = place.local.replace(local);
        let rewritten = self.walk(tokens, place);
        place.local = outer;
        rewritten
    }

    fn variable(
        &mut self,
        ident: &Ident,
        tokens: &[TokenTree],
        at: usize,
        place: &Place,
    ) -> TokenStream {
        let name = ident.to_string();
        let left = self.left.entry(name.clone()).or_insert(1);
        *left = left.saturating_sub(1);
        let kept = place
            .local
            .as_ref()
            .is_some_and(|local| !local.contains(&name));
        if borrowed(tokens, at) || (*left == 0 && !kept) {
            quote!(#ident)
        } else {
            quote!(#ident.clone())
        }
    }
}

fn borrowed(tokens: &[TokenTree], at: usize) -> bool {
    let punct = |at: Option<usize>, wanted: char| match at.and_then(|at| tokens.get(at)) {
        Some(TokenTree::Punct(punct)) => Punct::as_char(punct) == wanted,
        _ => false,
    };
    let method = match tokens.get(at + 2) {
        Some(TokenTree::Ident(ident)) => BORROWING.contains(&ident.to_string().as_str()),
        _ => false,
    };
    let mutable = matches!(
        at.checked_sub(1).and_then(|at| tokens.get(at)),
        Some(TokenTree::Ident(ident)) if ident == "mut"
    );
    punct(at.checked_sub(1), '&') || mutable || (punct(Some(at + 1), '.') && method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tokens: TokenStream, expected: TokenStream) {
        let owned = Owner::new(&tokens).rewrite(tokens);
        assert_eq!(owned.to_string(), expected.to_string());
    }

    #[test]
    fn the_last_use_moves() {
        check(
            quote!(let __v2 = f(__v1); let __v3 = __v1 + __v2; __v3),
            quote!(let __v2 = f(__v1.clone()); let __v3 = __v1 + __v2; __v3),
        );
    }

    #[test]
    fn looking_at_a_value_needs_no_clone() {
        check(
            quote!(let n = __v1.dims(); g(&__v1, __v1)),
            quote!(let n = __v1.dims(); g(&__v1, __v1)),
        );
    }

    #[test]
    fn a_later_look_keeps_the_value() {
        check(
            quote!(__v1.reshape([__v1.dims()[0]])),
            quote!(__v1.clone().reshape([__v1.dims()[0]])),
        );
    }

    #[test]
    fn loops_leave_outer_values_for_the_next_round() {
        check(
            quote!(for i in 0..n {
                let __v2 = __v1 + i;
                f(__v2)
            }),
            quote!(for i in 0..n {
                let __v2 = __v1.clone() + i;
                f(__v2)
            }),
        );
    }
}
