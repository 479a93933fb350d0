//! Moves where a value is used last, clones before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenStream, TokenTree};
use quote::quote;

/// Variables of values while code is put together; `name.rs` gives them their final names.
pub const VARIABLE: &str = "__v";

/// Methods that only look at a value.
const BORROWING: &[&str] = &[
    "dims", "device", "shape", "dtype", "data", "as_slice", "len", "is_some", "is_none", "iter",
    "sizes", "item", "as_ref", "push", "is_empty", "reverse",
];

/// Adds `.clone()` to every use of a variable that is not the last one and takes the value.
#[derive(Debug)]
pub struct Owner {
    /// How many uses of each variable are still to come, between one assignment and the next.
    left: BTreeMap<String, VecDeque<usize>>,
}

/// What happens to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Use,
    /// It gets another value when the statement ends.
    Assignment,
}

/// The variables that occur in tokens, declarations left out, in order of their first use.
pub fn variables(tokens: &TokenStream) -> Vec<String> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    each(tokens, &mut |ident, _| {
        if seen.insert(ident.clone()) {
            found.push(ident.clone());
        }
    });
    found
}

/// The variables that tokens declare, at any depth.
pub fn declared(tokens: &TokenStream) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_declared(tokens, &mut found);
    found
}

/// The variables that tokens assign, at any depth.
pub fn all_assigned(tokens: &TokenStream) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each(tokens, &mut |variable, event| {
        if event == Event::Assignment {
            found.insert(variable.clone());
        }
    });
    found
}

/// What surrounds a token.
#[derive(Default)]
struct Place {
    /// Inside of a loop, the variables that have a value of their own in each round.
    local: Option<BTreeSet<String>>,
}

fn is_variable(ident: &Ident) -> bool {
    ident.to_string().starts_with(VARIABLE)
}

/// Calls `see` with each occurrence that is no declaration.
fn each(tokens: &TokenStream, see: &mut impl FnMut(&String, Event)) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut declares = false;
    let mut targets = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(ident) if ident == "let" => declares = true,
            TokenTree::Ident(ident) if is_variable(ident) && !declares => {
                match is_assigned(&tokens, at) {
                    true => targets.push(ident.to_string()),
                    false => see(&ident.to_string(), Event::Use),
                }
            }
            TokenTree::Punct(punct) => {
                declares &= punct.as_char() != '=';
                if punct.as_char() == ';' {
                    targets
                        .drain(..)
                        .for_each(|name| see(&name, Event::Assignment));
                }
            }
            TokenTree::Group(group) if !declares => match is_assigned(&tokens, at) {
                true => targets.extend(variables(&group.stream())),
                false => each(&group.stream(), see),
            },
            _ => {}
        }
    }
    targets.iter().for_each(|name| see(name, Event::Assignment));
}

/// Whether a token stands before a single `=`.
fn is_assigned(tokens: &[TokenTree], at: usize) -> bool {
    match tokens.get(at + 1) {
        Some(TokenTree::Punct(punct)) => {
            punct.as_char() == '=' && punct.spacing() == Spacing::Alone
        }
        _ => false,
    }
}

fn collect_declared(tokens: &TokenStream, found: &mut BTreeSet<String>) {
    let mut declares = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if ident == "let" => declares = true,
            TokenTree::Ident(ident) if declares && is_variable(&ident) => {
                found.insert(ident.to_string());
            }
            TokenTree::Punct(punct) if punct.as_char() == '=' => declares = false,
            TokenTree::Group(group) if declares => found.extend(variables(&group.stream())),
            TokenTree::Group(group) => collect_declared(&group.stream(), found),
            _ => {}
        }
    }
}

/// The variables that the statements of a loop's body assign in every round.
fn assigned(tokens: &TokenStream) -> BTreeSet<String> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let targets = tokens
        .iter()
        .enumerate()
        .filter(|(at, _)| is_assigned(&tokens, *at));
    let mut found = BTreeSet::new();
    for (_, token) in targets {
        match token {
            TokenTree::Ident(ident) if is_variable(ident) => {
                found.insert(ident.to_string());
            }
            TokenTree::Group(group) => found.extend(variables(&group.stream())),
            _ => {}
        }
    }
    found
}

impl Owner {
    /// An owner for tokens that will be rewritten piece by piece, in this order.
    pub fn new(all: &TokenStream) -> Self {
        let mut left: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        each(all, &mut |variable, event| {
            let counts = left.entry(variable.clone()).or_insert_with(|| [0].into());
            match (event, counts.back_mut()) {
                (Event::Use, Some(count)) => *count += 1,
                _ => counts.push_back(0),
            }
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
        let mut targets: Vec<String> = Vec::new();
        let mut declares = false;
        let mut repeats = false;
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(ident) if ident == "let" => {
                    declares = true;
                    out.extend([token.clone()]);
                }
                TokenTree::Ident(ident) if is_variable(ident) && !declares => {
                    if is_assigned(&tokens, at) {
                        targets.push(ident.to_string());
                        out.extend([token.clone()]);
                    } else {
                        out.extend(self.variable(ident, &tokens, at, place));
                    }
                }
                TokenTree::Ident(ident) => {
                    repeats |= ident == "for" || ident == "while" || ident == "loop";
                    out.extend([token.clone()]);
                }
                TokenTree::Punct(punct) => {
                    declares &= punct.as_char() != '=';
                    if punct.as_char() == ';' {
                        targets.drain(..).for_each(|name| self.assign(&name));
                    }
                    out.extend([token.clone()]);
                }
                TokenTree::Group(group) if !declares && is_assigned(&tokens, at) => {
                    targets.extend(variables(&group.stream()));
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
        targets.iter().for_each(|name| self.assign(name));
        out
    }

    /// The body of a loop: what is declared outside must be left for the next round.
    fn repeated(&mut self, tokens: TokenStream, place: &mut Place) -> TokenStream {
        let mut local = declared(&tokens);
        local.extend(assigned(&tokens));
        let outer = place.local.replace(local);
        let rewritten = self.walk(tokens, place);
        place.local = outer;
        rewritten
    }

    fn assign(&mut self, name: &str) {
        if let Some(counts) = self.left.get_mut(name) {
            counts.pop_front();
        }
    }

    fn variable(
        &mut self,
        ident: &Ident,
        tokens: &[TokenTree],
        at: usize,
        place: &Place,
    ) -> TokenStream {
        let name = ident.to_string();
        let left = match self.left.get_mut(&name).and_then(VecDeque::front_mut) {
            Some(left) => {
                *left = left.saturating_sub(1);
                *left
            }
            None => 0,
        };
        let kept = place
            .local
            .as_ref()
            .is_some_and(|local| !local.contains(&name));
        if borrowed(tokens, at) || (left == 0 && !kept) {
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

    #[test]
    fn what_a_round_assigns_moves_into_it() {
        check(
            quote!(
                let mut __v1 = x;
                for _ in 0..n {
                    let __v2 = f(__v1, __v3);
                    __v1 = g(__v1, __v2);
                }
                __v1
            ),
            quote!(
                let mut __v1 = x;
                for _ in 0..n {
                    let __v2 = f(__v1.clone(), __v3.clone());
                    __v1 = g(__v1, __v2);
                }
                __v1
            ),
        );
    }

    #[test]
    fn values_can_change_places() {
        check(
            quote!(loop {
                (__v1, __v2) = (__v2, __v1);
            }),
            quote!(loop {
                (__v1, __v2) = (__v2, __v1);
            }),
        );
    }
}
