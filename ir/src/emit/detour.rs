//! Bindings that a use right behind them makes needless.

use std::collections::BTreeMap;

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;

use super::variables::{occurrences, position};
use super::{name, own};

/// Without `let x = y;`, and with `let x = f(y); z = x;` as `z = f(y);`, and `let x = f(y); rows.push(x);` as `rows.push(f(y));`,
/// where nothing else uses `x`.
pub fn shorten(tokens: &TokenStream) -> TokenStream {
    let tokens = &without_copies(tokens);
    let mut count = BTreeMap::new();
    occurrences(tokens, &mut |variable| {
        *count.entry(variable).or_insert(0usize) += 1
    });
    inside(tokens, &count)
}

/// What is bound to a variable alone is that variable, unless a loop assigns either.
fn without_copies(tokens: &TokenStream) -> TokenStream {
    let mut copies = BTreeMap::new();
    collect_copies(tokens, &mut copies);
    let assigned = own::all_assigned(tokens);
    copies.retain(|copy, from| !assigned.contains(copy) && !assigned.contains(from));
    let mut names = BTreeMap::new();
    for copy in copies.keys() {
        let mut from = copy;
        while let Some(next) = copies.get(from) {
            from = next;
        }
        names.insert(copy.clone(), from.clone());
    }
    match names.is_empty() {
        true => tokens.clone(),
        false => without(name::rename(tokens.clone(), &names)),
    }
}

fn collect_copies(tokens: &TokenStream, copies: &mut BTreeMap<String, String>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for at in 0..tokens.len() {
        if let Some((copy, from)) = tokens.get(at..).and_then(copy) {
            copies.insert(copy, from);
        }
        if let Some(TokenTree::Group(group)) = tokens.get(at) {
            collect_copies(&group.stream(), copies);
        }
    }
}

/// The variables of `let x = y;` at the start of tokens.
fn copy(tokens: &[TokenTree]) -> Option<(String, String)> {
    match tokens {
        [
            TokenTree::Ident(word),
            TokenTree::Ident(copy),
            TokenTree::Punct(equals),
            TokenTree::Ident(from),
            TokenTree::Punct(end),
            ..,
        ] if word == "let" && equals.as_char() == '=' && end.as_char() == ';' => {
            let (copy, from) = (copy.to_string(), from.to_string());
            let variables = copy.starts_with(own::VARIABLE) && from.starts_with(own::VARIABLE);
            variables.then_some((copy, from))
        }
        _ => None,
    }
}

/// Without `let x = x;`.
fn without(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut out = TokenStream::new();
    let mut rest = tokens.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let copy = copy(rest);
        rest = after;
        match (copy, first) {
            (Some((copy, from)), _) if copy == from => rest = after.get(4..).unwrap_or_default(),
            (_, TokenTree::Group(group)) => {
                let mut inner = Group::new(group.delimiter(), without(group.stream()));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            _ => out.extend([first.clone()]),
        }
    }
    out
}

fn inside(tokens: &TokenStream, count: &BTreeMap<String, usize>) -> TokenStream {
    let walk = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), inside(&group.stream(), count));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        other => other,
    };
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().map(walk).collect();
    let mut out = TokenStream::new();
    let mut rest = tokens.as_slice();
    while let Some((first, after)) = rest.split_first() {
        match detour(rest, count) {
            Some((statement, after)) => {
                out.extend(statement);
                rest = after;
            }
            None => {
                out.extend([first.clone()]);
                rest = after;
            }
        }
    }
    out
}

/// The statement that a binding and the statement behind it become, and what follows them.
fn detour<'t>(
    tokens: &'t [TokenTree],
    count: &BTreeMap<String, usize>,
) -> Option<(TokenStream, &'t [TokenTree])> {
    let [
        TokenTree::Ident(word),
        TokenTree::Ident(name),
        TokenTree::Punct(equals),
        rest @ ..,
    ] = tokens
    else {
        return None;
    };
    let once = count.get(&name.to_string()) == Some(&1);
    if word != "let" || equals.as_char() != '=' || !once {
        return None;
    }
    let (value, rest) = rest.split_at(position(rest, ';')?);
    let value: TokenStream = value.iter().cloned().collect();
    match rest.get(1..)? {
        [
            TokenTree::Ident(target),
            TokenTree::Punct(equals),
            TokenTree::Ident(used),
            TokenTree::Punct(end),
            rest @ ..,
        ] if used == name && equals.as_char() == '=' && end.as_char() == ';' && target != "let" => {
            Some((quote!(#target = #value;), rest))
        }
        [
            TokenTree::Ident(rows),
            TokenTree::Punct(_),
            TokenTree::Ident(push),
            TokenTree::Group(item),
            rest @ ..,
        ] if push == "push" && *name == item.stream().to_string() => {
            Some((quote!(#rows.push(#value)), rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_what_it_was_made_from() {
        let tokens = quote! {
            let __v1 = __v0;
            let __v2 = __v1;
            f(__v2, { let [n] = __v1.dims(); n })
        };
        let shorter = quote!(f(__v0, {
            let [n] = __v0.dims();
            n
        }));
        assert_eq!(shorten(&tokens).to_string(), shorter.to_string());
    }

    #[test]
    fn the_state_of_a_loop_is_no_copy() {
        let tokens = quote! {
            let mut __v1 = __v0;
            for _ in 0..n { let __v2 = __v1; __v1 = f(__v1); g(__v2, __v2); }
        };
        assert_eq!(shorten(&tokens).to_string(), tokens.to_string());
    }

    #[test]
    fn a_value_goes_where_it_is_needed_without_a_name() {
        let tokens = quote! {
            let __v1 = f(__v0);
            __v2 = __v1;
            let __v3 = g(__v2);
            rows.push(__v3);
            let __v4 = h(__v2);
            __v2 = __v4;
            k(__v4)
        };
        let shorter = quote! {
            __v2 = f(__v0);
            rows.push(g(__v2));
            let __v4 = h(__v2);
            __v2 = __v4;
            k(__v4)
        };
        assert_eq!(shorten(&tokens).to_string(), shorter.to_string());
    }
}
