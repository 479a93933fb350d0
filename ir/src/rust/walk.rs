//! Searches and changes of code trees.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Bracket, Code, CodeNode, Head, Size, Variable};

/// An event for the variable of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Use,
    /// A new value, which the variable gets when the statement ends.
    Assign,
}

impl Code {
    /// Calls `see` with each part in the order of the text, and with a part before the parts inside it.
    pub fn each_part(&self, see: &mut impl FnMut(&CodeNode)) {
        for part in self.parts() {
            see(part);
            part.inside().into_iter().flatten().for_each(|code| code.each_part(see));
        }
    }

    /// Returns `true` if a part at any depth satisfies `is`.
    pub fn any(&self, is: &mut impl FnMut(&CodeNode) -> bool) -> bool {
        self.parts()
            .iter()
            .any(|part| is(part) || part.inside().into_iter().flatten().any(|code| code.any(is)))
    }

    /// Returns `true` if the code uses the parameter `device`.
    pub fn uses_device(&self) -> bool {
        self.any(&mut |part| *part == CodeNode::Device)
    }

    /// Returns `true` if the code uses the parameter `weights`.
    pub fn uses_weights(&self) -> bool {
        self.any(&mut |part| *part == CodeNode::Weights)
    }

    /// Returns `true` if the code has an operator outside brackets whose precedence is lower than that of a call.
    pub fn is_loose(&self) -> bool {
        let loose = |part: &CodeNode| match part {
            CodeNode::Sign(sign) => sign.contains(|sign| "+-*/%&|^!".contains(sign)),
            part => *part == CodeNode::Word("as"),
        };
        self.parts().iter().any(loose)
    }

    /// Returns `true` if an expression has no operator whose precedence is lower than that of `+`.
    pub fn is_sum(&self) -> bool {
        let weaker = |part: &CodeNode| matches!(part, CodeNode::Sign("&" | "|" | "^" | "!"));
        !self.parts().iter().any(weaker)
    }

    /// Returns `true` if an expression has no operator whose precedence is lower than that of `*`.
    pub fn is_product(&self) -> bool {
        let weaker = |part: &CodeNode| matches!(part, CodeNode::Sign("+" | "-"));
        self.is_sum() && !self.parts().iter().any(weaker)
    }

    /// Returns the code as left operand of an operator, without redundant parentheses.
    pub fn as_left_of(self, operator: &str) -> Code {
        let adds = ["+", "-"].contains(&operator);
        self.unbracketed(|inside| inside.is_product() || adds && inside.is_sum())
    }

    /// Returns the code as right operand of an operator, without redundant parentheses.
    pub fn as_right_of(self, operator: &str) -> Code {
        let adds = ["+", "-"].contains(&operator);
        self.unbracketed(|inside| adds && inside.is_product())
    }

    fn unbracketed(self, needless: impl Fn(&Code) -> bool) -> Code {
        // A statement that starts with a block ends after it.
        let is_block = |code: &Code| {
            let first = code.parts().first();
            matches!(first, Some(CodeNode::Group(Bracket::Curly, _) | CodeNode::Word("if" | "match")))
        };
        let mut code = self;
        while let Some(CodeNode::Group(Bracket::Round, inside)) = code.single() {
            if !needless(inside) || is_block(inside) {
                break;
            }
            code = inside.clone();
        }
        code
    }

    /// Returns the sizes whose variables occur in the code.
    pub fn sizes(&self) -> BTreeSet<Size> {
        let mut found = BTreeSet::new();
        self.each_part(&mut |part| {
            if let CodeNode::Size(size) = part {
                found.insert(*size);
            }
        });
        found
    }

    /// Calls `see` with each value that is used or assigned, in the order of evaluation.
    pub fn each_event(&self, see: &mut impl FnMut(Variable, Event)) {
        for part in self.parts() {
            match part {
                CodeNode::Value(variable, _) => see(*variable, Event::Use),
                CodeNode::Let(_, value) => value.each_event(see),
                CodeNode::Assign(target, value) => {
                    value.each_event(see);
                    for variable in target.variables() {
                        see(variable, Event::Assign);
                    }
                }
                part => {
                    let inside = part.inside().into_iter().flatten();
                    inside.for_each(|code| code.each_event(see));
                }
            }
        }
    }

    /// Returns the number of times that each value is used or assigned.
    pub fn counts(&self) -> BTreeMap<Variable, usize> {
        let mut counts = BTreeMap::new();
        self.each_event(&mut |variable, _| *counts.entry(variable).or_default() += 1);
        counts
    }

    /// Returns the values that are used or assigned, each once, in the order of evaluation.
    pub fn variables(&self) -> Vec<Variable> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        self.each_event(&mut |variable, _| {
            if seen.insert(variable) {
                found.push(variable);
            }
        });
        found
    }

    /// Returns the values that are assigned at any depth.
    pub fn assigned(&self) -> BTreeSet<Variable> {
        let mut found = BTreeSet::new();
        self.each_event(&mut |variable, event| {
            if event == Event::Assign {
                found.insert(variable);
            }
        });
        found
    }

    /// Returns the values that are bound at any depth.
    pub fn bound(&self) -> BTreeSet<Variable> {
        let mut found = BTreeSet::new();
        self.each_part(&mut |part| {
            if let CodeNode::Let(pattern, _) = part {
                found.extend(pattern.variables());
            }
        });
        found
    }

    /// Replaces each part by the result of `change`, or removes it. Parts inside another part are changed first.
    pub fn changed(&self, change: &mut impl FnMut(CodeNode) -> Option<CodeNode>) -> Code {
        let parts = self.parts().iter();
        let parts = parts.filter_map(|part| {
            let part = part.with_inside(&mut |code| code.changed(change));
            change(part)
        });
        parts.collect::<Vec<CodeNode>>().into()
    }
}

impl CodeNode {
    /// Returns the code inside the part, in the order of the text.
    pub fn inside(&self) -> [Option<&Code>; 3] {
        match self {
            CodeNode::Method(_, inside) | CodeNode::Group(_, inside) | CodeNode::Entry(_, inside) => {
                [Some(inside), None, None]
            }
            CodeNode::Let(first, second) | CodeNode::Assign(first, second) => {
                [Some(first), Some(second), None]
            }
            CodeNode::Loop(made) => match &made.head {
                Head::For(pattern, range) => [Some(pattern), Some(range), Some(&made.body)],
                Head::While(condition) => [Some(condition), Some(&made.body), None],
                Head::Endless => [Some(&made.body), None, None],
            },
            _ => [None, None, None],
        }
    }

    /// Returns the variable and the field of `for variable in &self.field`.
    pub fn element(&self) -> Option<(&Rc<str>, &Rc<str>)> {
        let CodeNode::Loop(made) = self else {
            return None;
        };
        let Head::For(pattern, range) = &made.head else {
            return None;
        };
        match (pattern.single(), range.parts()) {
            (Some(CodeNode::Name(variable)), [CodeNode::Sign("&"), CodeNode::Field(field)]) => {
                Some((variable, field))
            }
            _ => None,
        }
    }

    /// Returns the part with changed code inside.
    pub fn with_inside(&self, change: &mut impl FnMut(&Code) -> Code) -> CodeNode {
        match self {
            CodeNode::Method(name, arguments) => CodeNode::Method(name, change(arguments)),
            CodeNode::Group(bracket, inside) => CodeNode::Group(*bracket, change(inside)),
            CodeNode::Entry(name, value) => CodeNode::Entry(name.clone(), change(value)),
            CodeNode::Let(pattern, value) => CodeNode::Let(change(pattern), change(value)),
            CodeNode::Assign(target, value) => CodeNode::Assign(change(target), change(value)),
            CodeNode::Loop(made) => {
                let head = match &made.head {
                    Head::For(pattern, range) => Head::For(change(pattern), change(range)),
                    Head::While(condition) => Head::While(change(condition)),
                    Head::Endless => Head::Endless,
                };
                let body = change(&made.body);
                CodeNode::Loop(Rc::new(super::Loop { head, body }))
            }
            other => other.clone(),
        }
    }
}
