//! Moves at the last use of a value, clones before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use crate::rust::{Access, Code, CodeNode, Event, Head, Loop, Variable};

/// Returns the code with a clone at each use that takes a value and is not its last one.
pub fn owned(code: &Code) -> Code {
    let mut left: BTreeMap<Variable, VecDeque<usize>> = BTreeMap::new();
    code.each_event(&mut |variable, event| {
        let counts = left.entry(variable).or_insert_with(|| [0].into());
        match (event, counts.back_mut()) {
            (Event::Use, Some(count)) => *count += 1,
            _ => counts.push_back(0),
        }
    });
    Owner { left, local: None }.walk(code)
}

struct Owner {
    /// Numbers of remaining uses of each value, one for each range between assignments.
    left: BTreeMap<Variable, VecDeque<usize>>,
    /// Inside a loop, the variables that get a new value in each iteration.
    local: Option<BTreeSet<Variable>>,
}

impl Owner {
    fn walk(&mut self, code: &Code) -> Code {
        let parts = code.parts().iter().map(|part| self.part(part));
        parts.collect::<Vec<CodeNode>>().into()
    }

    fn part(&mut self, part: &CodeNode) -> CodeNode {
        match part {
            CodeNode::Value(variable, access) => CodeNode::Value(*variable, self.access(*variable, *access)),
            CodeNode::Let(pattern, value) => CodeNode::Let(pattern.clone(), self.walk(value)),
            CodeNode::Assign(target, value) => {
                let value = self.walk(value);
                for variable in target.variables() {
                    if let Some(counts) = self.left.get_mut(&variable) {
                        counts.pop_front();
                    }
                }
                CodeNode::Assign(target.clone(), value)
            }
            CodeNode::Loop(made) => {
                let head = match &made.head {
                    Head::For(pattern, range) => Head::For(pattern.clone(), self.walk(range)),
                    Head::While(condition) => Head::While(self.walk(condition)),
                    Head::Endless => Head::Endless,
                };
                let body = self.repeated(&made.body);
                CodeNode::Loop(Rc::new(Loop { head, body }))
            }
            other => other.with_inside(&mut |inside| self.walk(inside)),
        }
    }

    /// Returns the body of a loop. Values that are bound outside must remain for the next iteration.
    fn repeated(&mut self, body: &Code) -> Code {
        let mut local = body.bound();
        for part in body.parts() {
            if let CodeNode::Assign(target, _) = part {
                local.extend(target.variables());
            }
        }
        let outer = self.local.replace(local);
        let body = self.walk(body);
        self.local = outer;
        body
    }

    fn access(&mut self, variable: Variable, access: Access) -> Access {
        let left = match self.left.get_mut(&variable).and_then(VecDeque::front_mut) {
            Some(left) => {
                *left = left.saturating_sub(1);
                *left
            }
            None => 0,
        };
        let local = self.local.as_ref();
        let kept = local.is_some_and(|local| !local.contains(&variable));
        if access == Access::Take && (left > 0 || kept) {
            return Access::Clone;
        }
        access
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::code;

    fn check(code: Code, expected: Code) {
        assert_eq!(owned(&code).tokens().to_string(), expected.tokens().to_string());
    }

    const X: Variable = Variable(1);
    const Y: Variable = Variable(2);
    const Z: Variable = Variable(3);

    #[test]
    fn the_last_use_moves() {
        check(
            code!(let #Y = f(#X); let #Z = #X + #Y; #Z),
            code!(let #Y = f(#X.clone()); let #Z = #X + #Y; #Z),
        );
    }

    #[test]
    fn looking_at_a_value_needs_no_clone() {
        let code = code!(let n = #X.dims(); g(&#X, #X));
        check(code.clone(), code);
    }

    #[test]
    fn a_later_look_keeps_the_value() {
        check(code!(#X.reshape([#X.dims()[0]])), code!(#X.clone().reshape([#X.dims()[0]])));
    }

    #[test]
    fn loops_leave_outer_values_for_the_next_iteration() {
        check(
            code!(for i in 0..n { let #Y = #X + i; f(#Y) }),
            code!(for i in 0..n { let #Y = #X.clone() + i; f(#Y) }),
        );
    }

    #[test]
    fn what_an_iteration_assigns_moves_into_it() {
        check(
            code!(
                let mut #X = x;
                for _ in 0..n {
                    let #Y = f(#X, #Z);
                    #X = g(#X, #Y);
                }
                #X
            ),
            code!(
                let mut #X = x;
                for _ in 0..n {
                    let #Y = f(#X.clone(), #Z.clone());
                    #X = g(#X, #Y);
                }
                #X
            ),
        );
    }

    #[test]
    fn values_can_be_swapped() {
        let code = code!(loop { (#X, #Y) = (#Y, #X); });
        check(code.clone(), code);
    }
}
