//! Bindings that the next statement makes redundant.

use std::collections::BTreeMap;

use crate::rust::{Code, CodeNode, Variable, code};

/// Removes `let x = y;`, and if `x` has no other use, rewrites `let x = f(y); z = x;` to `z = f(y);`, and
/// `let x = f(y); rows.push(x);` to `rows.push(f(y));`, and `let x = f(y); let mut z = x;` to `let mut z = f(y);`.
pub fn shorten(code: &Code) -> Code {
    let code = without_copies(code);
    inside(&code, &code.counts())
}

/// Replaces variables that are bound to another variable by that variable, unless one of the two is assigned.
fn without_copies(code: &Code) -> Code {
    let mut copies = BTreeMap::new();
    code.each_part(&mut |part| copies.extend(copy(part)));
    if copies.is_empty() {
        return code.clone();
    }
    let assigned = code.assigned();
    copies.retain(|copy, from| !assigned.contains(copy) && !assigned.contains(from));
    let mut names: BTreeMap<Variable, Variable> = BTreeMap::new();
    for copy in copies.keys() {
        let mut from = copy;
        while let Some(next) = copies.get(from) {
            from = next;
        }
        names.insert(*copy, *from);
    }
    if names.is_empty() {
        return code.clone();
    }
    code.changed(&mut |part| match part {
        CodeNode::Value(variable, access) => {
            let from = names.get(&variable).copied();
            Some(CodeNode::Value(from.unwrap_or(variable), access))
        }
        part => match copy(&part) {
            Some((copy, from)) if copy == from => None,
            _ => Some(part),
        },
    })
}

/// Returns the variables of `let x = y;`.
fn copy(part: &CodeNode) -> Option<(Variable, Variable)> {
    match part {
        CodeNode::Let(pattern, value) => Some((pattern.as_value()?, value.as_value()?)),
        _ => None,
    }
}

fn inside(code: &Code, count: &BTreeMap<Variable, usize>) -> Code {
    let parts = code.parts().iter();
    let parts: Vec<CodeNode> = parts.map(|part| part.with_inside(&mut |code| inside(code, count))).collect();
    let mut out = Vec::new();
    let mut rest = parts.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match detour(first, after, count) {
            Some((made, after)) => {
                out.extend_from_slice(made.parts());
                rest = after;
            }
            None => out.push(first.clone()),
        }
    }
    out.into()
}

/// Returns the replacement of a binding and the statement after it, and the remaining parts.
fn detour<'p>(
    first: &CodeNode,
    after: &'p [CodeNode],
    count: &BTreeMap<Variable, usize>,
) -> Option<(Code, &'p [CodeNode])> {
    let CodeNode::Let(pattern, value) = first else {
        return None;
    };
    let bound = pattern.as_value()?;
    if count.get(&bound) != Some(&1) {
        return None;
    }
    match after {
        [CodeNode::Assign(target, used), rest @ ..] => {
            target.as_value()?;
            (used.as_value()? == bound).then(|| (code!(#target = #value;), rest))
        }
        [CodeNode::Let(pattern, used), rest @ ..] => {
            let is_mutable = matches!(pattern.parts(), [CodeNode::Word("mut"), CodeNode::Value(..)]);
            (is_mutable && used.as_value()? == bound).then(|| (code!(let #pattern = #value;), rest))
        }
        [rows @ CodeNode::Value(..), CodeNode::Method("push", item), rest @ ..] => {
            let rows = Code::from(rows.clone());
            (item.as_value()? == bound).then(|| (code!(#rows.push(#value)), rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Variable = Variable(0);
    const Y: Variable = Variable(1);
    const Z: Variable = Variable(2);
    const ROWS: Variable = Variable(3);
    const LAST: Variable = Variable(4);

    fn check(code: Code, expected: Code) {
        assert_eq!(shorten(&code), expected);
    }

    #[test]
    fn a_copy_is_what_it_was_made_from() {
        check(
            code!(let #Y = #X; let #Z = #Y; f(#Z, { let [n] = #Y.dims(); n })),
            code!(f(#X, { let [n] = #X.dims(); n })),
        );
    }

    #[test]
    fn the_state_of_a_loop_is_no_copy() {
        let code = code! {
            let mut #Y = #X;
            for _ in 0..n { let #Z = #Y; #Y = f(#Y); g(#Z, #Z); }
        };
        check(code.clone(), code);
    }

    #[test]
    fn a_value_goes_where_it_is_needed_without_a_name() {
        check(
            code! {
                let #Y = f(#X);
                #Z = #Y;
                let #LAST = g(#Z);
                #ROWS.push(#LAST);
            },
            code! {
                #Z = f(#X);
                #ROWS.push(g(#Z));
            },
        );
        check(
            code! {
                let #Y = f(#X);
                let mut #Z = #Y;
                for _ in 0..n { #Z = g(#Z); }
            },
            code! {
                let mut #Z = f(#X);
                for _ in 0..n { #Z = g(#Z); }
            },
        );
        let code = code!(let #Y = h(#Z); #Z = #Y; k(#Y));
        check(code.clone(), code);
    }
}
