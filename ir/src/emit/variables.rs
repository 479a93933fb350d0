//! Names for the variables of one function.

mod taken;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

use super::{name, own};
use taken::Taken;

/// What a variable may be called.
#[derive(Clone, Debug, Default)]
pub struct Hint {
    pub name: String,
    /// Whether it is a tensor, which may take over the name of what it is made from.
    pub chains: bool,
}

/// Chooses the names; a name is taken over when its variable is used last.
#[derive(Debug)]
pub struct Namer<'h> {
    hints: &'h BTreeMap<String, Hint>,
    taken: Taken,
    /// Where each variable occurs last, counting occurrences.
    last: BTreeMap<String, usize>,
    /// How many occurrences have been seen.
    seen: usize,
}

/// Names of tensors that chains of operators work on.
pub const SHORT: [&str; 6] = ["x", "y", "z", "w", "v", "u"];

impl<'h> Namer<'h> {
    /// A namer for `tokens`, whose parameters want names of their own.
    pub fn new(
        tokens: &TokenStream,
        parameters: &[(String, String)],
        sizes: &[(String, String)],
        hints: &'h BTreeMap<String, Hint>,
    ) -> Self {
        let mut namer = Namer {
            hints,
            taken: Taken::default(),
            last: BTreeMap::new(),
            seen: 0,
        };
        if name::mentions(tokens, "device") {
            namer.taken.fix("device");
        }
        let none = BTreeSet::new();
        for (variable, wanted) in parameters {
            let name = namer.taken.unused(wanted, &none);
            namer.taken.name(variable, name, None);
        }
        for (variable, wanted) in sizes {
            let name = namer.taken.unused(wanted, &none);
            namer.taken.fix(&name);
            namer.taken.name(variable, name, None);
        }
        let mut at = 0;
        occurrences(tokens, &mut |variable| {
            namer.last.insert(variable, at);
            at += 1;
        });
        let given = parameters.iter().chain(sizes).map(|held| &held.0);
        for variable in given.filter(|variable| variable.starts_with(own::VARIABLE)) {
            match namer.last.get(variable) {
                Some(&last) => namer.taken.end_at(variable, last),
                None => namer.taken.release(variable),
            }
        }
        namer
    }

    /// The name of a parameter or size.
    pub fn name(&self, variable: &str) -> String {
        self.taken
            .names()
            .get(variable)
            .cloned()
            .unwrap_or_default()
    }

    /// The tokens, every variable named.
    pub fn rename(&mut self, tokens: &TokenStream) -> TokenStream {
        let renamed = self.walk(tokens);
        without_last_binding(&renamed).unwrap_or(renamed)
    }

    /// What braces hold: names chosen inside end with them.
    fn scope(&mut self, tokens: &TokenStream) -> TokenStream {
        let opened = self.taken.open();
        let renamed = self.rename(tokens);
        self.taken.close(opened);
        renamed
    }

    fn walk(&mut self, tokens: &TokenStream) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let mut out = TokenStream::new();
        let mut rest = tokens.as_slice();
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            match first {
                TokenTree::Ident(ident) if ident == "let" => {
                    let equals = position(rest, '=').unwrap_or(rest.len());
                    let (pattern, value) = rest.split_at(equals);
                    let end = position(value, ';').unwrap_or(value.len());
                    let (value, after) = value.split_at(end);
                    rest = after;
                    let value = self.walk_all(value);
                    let pattern: TokenStream = pattern.iter().cloned().collect();
                    self.declare(&pattern, &value.used);
                    let (pattern, value) =
                        (name::rename(pattern, self.taken.names()), value.tokens);
                    out.extend(quote!(let #pattern #value));
                }
                TokenTree::Ident(ident) => {
                    if ident.to_string().starts_with(own::VARIABLE) {
                        self.seen += 1;
                    }
                    out.extend(name::rename(first.clone().into(), self.taken.names()));
                }
                TokenTree::Group(group) => {
                    let inner = match group.delimiter() {
                        Delimiter::Brace => self.scope(&group.stream()),
                        _ => self.walk(&group.stream()),
                    };
                    let mut renamed = Group::new(group.delimiter(), inner);
                    renamed.set_span(group.span());
                    out.extend([TokenTree::Group(renamed)]);
                }
                other => out.extend([other.clone()]),
            }
        }
        out
    }

    fn walk_all(&mut self, tokens: &[TokenTree]) -> Walked {
        let tokens: TokenStream = tokens.iter().cloned().collect();
        Walked {
            used: own::variables(&tokens),
            tokens: self.walk(&tokens),
        }
    }

    /// Names the variables of a pattern, to which a value made of `used` is bound.
    fn declare(&mut self, pattern: &TokenStream, used: &[String]) {
        self.taken.release_before(self.seen);
        let from = used.iter().find(|used| self.end(used).is_none());
        let from = from.and_then(|used| self.taken.names().get(used)).cloned();
        let mut others = BTreeSet::new();
        let mut named = Vec::new();
        for variable in own::variables(pattern) {
            let hint = self.hints.get(&variable).cloned().unwrap_or_default();
            let name = match hint.chains {
                true => self.chained(&hint.name, from.as_deref(), &others),
                false => self.taken.unused(&hint.name, &others),
            };
            others.insert(name.clone());
            named.push((variable, name));
        }
        for (variable, name) in named {
            let end = self.end(&variable);
            self.taken.name(&variable, name, end.unwrap_or_default());
            if end.is_none() {
                self.taken.release(&variable);
            }
        }
    }

    /// Where a variable that is in use from here on occurs last, if it is one that ends.
    fn end(&self, variable: &str) -> Option<Option<usize>> {
        match variable.starts_with(own::VARIABLE) {
            true => {
                let last = self.last.get(variable).copied();
                last.filter(|&last| last >= self.seen).map(Some)
            }
            false => Some(None),
        }
    }

    /// The name of what it is made from, else a short one.
    fn chained(&mut self, hint: &str, from: Option<&str>, others: &BTreeSet<String>) -> String {
        let short = from.filter(|from| SHORT.contains(from));
        let mut short = short.into_iter().chain(SHORT);
        match short.find(|name| self.taken.is_free(name) && !others.contains(*name)) {
            Some(name) => name.to_owned(),
            None => self.taken.unused(hint, others),
        }
    }
}

struct Walked {
    tokens: TokenStream,
    used: Vec<String>,
}

/// Calls `see` with each variable that is no declaration, in the order of the text.
pub fn occurrences(tokens: &TokenStream, see: &mut impl FnMut(String)) {
    let mut declares = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if ident == "let" => declares = true,
            TokenTree::Ident(ident) if !declares => {
                let name = ident.to_string();
                if name.starts_with(own::VARIABLE) {
                    see(name);
                }
            }
            TokenTree::Punct(punct) => declares &= punct.as_char() != '=',
            TokenTree::Group(group) if !declares => occurrences(&group.stream(), see),
            _ => {}
        }
    }
}

pub fn position(tokens: &[TokenTree], wanted: char) -> Option<usize> {
    let is =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted);
    tokens.iter().position(is)
}

/// `..; let x = f(y); x` as `..; f(y)`.
fn without_last_binding(tokens: &TokenStream) -> Option<TokenStream> {
    let all: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is = |at: usize, text: &str| all.get(at).is_some_and(|token| token.to_string() == text);
    let start = (0..all.len()).rev().find(|&at| is(at, "let"))?;
    let last = all.len().checked_sub(1)?;
    let end = last.checked_sub(1)?;
    let bound = all.get(start + 1)?.to_string();
    if !is(last, &bound) || !is(start + 2, "=") || !is(end, ";") || bound.starts_with('[') {
        return None;
    }
    let value = all.get(start + 3..end)?;
    if position(value, ';').is_some() {
        return None;
    }
    let before = all.get(..start)?.iter();
    Some(before.chain(value).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tokens: TokenStream, expected: TokenStream) {
        let hints = (1..9).map(|number| {
            let hint = Hint {
                name: "value".to_owned(),
                chains: number < 5,
            };
            (format!("{}{number}", own::VARIABLE), hint)
        });
        let hints = hints.collect();
        let parameters = [("__v0".to_owned(), "input".to_owned())];
        let mut namer = Namer::new(&tokens, &parameters, &[], &hints);
        assert_eq!(namer.rename(&tokens).to_string(), expected.to_string());
    }

    #[test]
    fn a_chain_keeps_its_name() {
        check(
            quote!(let __v1 = f(__v0); let __v2 = g(__v1, __v0); h(__v2)),
            quote!(let x = f(input); let x = g(x, input); h(x)),
        );
    }

    #[test]
    fn what_is_needed_later_keeps_its_name() {
        check(
            quote!(let __v1 = f(__v0); let __v2 = g(__v1); h(__v1, __v2)),
            quote!(let x = f(input); let y = g(x); h(x, y)),
        );
    }

    #[test]
    fn the_last_value_needs_no_name() {
        check(
            quote!(let __v1 = f(__v0); let __v2 = g(__v1); __v2),
            quote!(let x = f(input); g(x)),
        );
    }

    #[test]
    fn names_of_braces_end_with_them() {
        check(
            quote! {
                let __v1 = f(__v0);
                let __v5 = if c { let __v2 = g(__v1); h(__v2, 1) } else { __v0 };
                k(__v5, __v1)
            },
            quote! {
                let x = f(input);
                let value = if c { let y = g(x); h(y, 1) } else { input };
                k(value, x)
            },
        );
    }

    #[test]
    fn a_loop_leaves_the_names_of_its_state() {
        check(
            quote! {
                let mut __v1 = __v0;
                for i in 0..3 { let __v2 = f(__v1); let __v3 = g(__v2); __v1 = h(__v3); }
                __v1
            },
            quote! {
                let mut x = input;
                for i in 0..3 { let y = f(x); let y = g(y); x = h(y); }
                x
            },
        );
    }
}
