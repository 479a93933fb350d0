//! Inputs of one element that need no array.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust::{Code, CodeNode, Variable};

/// Replaces `x.item()` by `x` for those of the variables that have no other use. Returns the code and these variables.
pub fn elements(code: &Code, scalars: &BTreeSet<Variable>) -> (Code, BTreeSet<Variable>) {
    let mut other: BTreeMap<Variable, bool> = BTreeMap::new();
    uses(code, scalars, &mut other);
    let plain = other.into_iter().filter(|(_, other)| !other);
    let plain: BTreeSet<Variable> = plain.map(|(variable, _)| variable).collect();
    if plain.is_empty() {
        return (code.clone(), plain);
    }
    (replaced(code, &plain), plain)
}

/// Determines for each variable whether it has another use.
fn uses(code: &Code, scalars: &BTreeSet<Variable>, other: &mut BTreeMap<Variable, bool>) {
    let parts = code.parts();
    for (at, part) in parts.iter().enumerate() {
        if let CodeNode::Value(variable, _) = part
            && scalars.contains(variable)
        {
            *other.entry(*variable).or_default() |= !is_item(parts.get(at + 1));
        }
        let inside = part.inside().into_iter().flatten();
        inside.for_each(|code| uses(code, scalars, other));
    }
}

fn is_item(part: Option<&CodeNode>) -> bool {
    matches!(part, Some(CodeNode::Method("item", arguments)) if arguments.is_empty())
}

fn replaced(code: &Code, plain: &BTreeSet<Variable>) -> Code {
    let mut out: Vec<CodeNode> = Vec::new();
    for part in code.parts() {
        let is_plain = matches!(out.last(), Some(CodeNode::Value(variable, _)) if plain.contains(variable));
        if !(is_plain && is_item(Some(part))) {
            out.push(part.with_inside(&mut |code| replaced(code, plain)));
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::code;

    const X: Variable = Variable(0);
    const Y: Variable = Variable(1);

    #[test]
    fn the_element_alone_needs_no_array() {
        let code = code!(if #X.item() { f(#Y.item()) } else { g(&#Y) });
        let (code, plain) = elements(&code, &[X, Y].into());
        let expected = code!(if #X { f(#Y.item()) } else { g(&#Y) });
        assert_eq!(code.tokens().to_string(), expected.tokens().to_string());
        assert_eq!(plain, [X].into());
    }
}
