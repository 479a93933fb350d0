//! A quick check whether a pattern may match.

use super::Matcher;
use crate::graph::{Node, ValueId};
use crate::passes::rewrite::pattern::{Call, Pattern};

impl Matcher<'_, '_> {
    /// Returns `false` only if the pattern does not match, by its operators and constants alone.
    pub(super) fn may_match(&self, pattern: &Pattern, id: ValueId) -> bool {
        match pattern {
            Pattern::Any(_) => true,
            Pattern::Constant(_) => self.values[id].is_constant(),
            Pattern::Number(_) | Pattern::Scalar(_) => self.values[id].known.peek().is_some(),
            Pattern::Either(all) => all.iter().any(|pattern| self.may_match(pattern, id)),
            Pattern::Call(call) => self.may_call(call, id),
            Pattern::Sum(parts) => self.may_chain(parts, id, ["Add", "Sub"]),
            Pattern::Product(parts) => self.may_chain(parts, id, ["Mul", "Div"]),
            Pattern::Power(base, 1) => self.may_match(base, id),
            Pattern::Difference(_) | Pattern::Inverse(_) | Pattern::Power(..) => {
                let kinds = pattern.kinds();
                self.candidate(id).is_some_and(|node| kinds.contains(&&*node.kind))
            }
            Pattern::Absent => false,
        }
    }

    /// Returns the node that makes a value, if a pattern with an operator may match there.
    fn candidate(&self, id: ValueId) -> Option<&Node> {
        let (_, node) = self.view.maker(id)?;
        (!self.values[id].is_constant()).then_some(node)
    }

    fn may_call(&self, call: &Call, id: ValueId) -> bool {
        let Some(node) = self.candidate(id) else {
            return false;
        };
        // A square root may be a power, and bounds of old versions are attributes.
        if let ["Sqrt" | "Clip"] = call.kinds.as_slice() {
            return call.kinds.contains(&&*node.kind) || &*node.kind == "Pow";
        }
        if !call.kinds.contains(&&*node.kind) {
            return false;
        }
        let in_order = |patterns: &mut dyn Iterator<Item = &Pattern>| {
            patterns.zip(&node.inputs).all(|(pattern, input)| match input {
                Some(input) => self.may_match(pattern, *input),
                None => *pattern == Pattern::Absent,
            })
        };
        in_order(&mut call.arguments.iter())
            || (call.commutative && in_order(&mut call.arguments.iter().rev()))
    }

    /// Checks two parts in either order. Three or more may be nested in many ways.
    fn may_chain(&self, parts: &[Pattern], id: ValueId, [together, inverse]: [&str; 2]) -> bool {
        let Some(node) = self.candidate(id) else {
            return false;
        };
        match (parts, node.inputs.as_slice()) {
            ([p, q], [Some(a), Some(b)]) if &*node.kind == together => {
                let both = |a, b| self.may_match(p, a) && self.may_match(q, b);
                both(*a, *b) || both(*b, *a)
            }
            _ => [together, inverse].contains(&&*node.kind),
        }
    }
}
