//! Nesting of expressions that are used once.

use std::collections::BTreeMap;

use super::variables::Hint;
use crate::rust::{Access, Bracket, Code, CodeNode, Variable, code};

/// Maximum width of an expression that results from nesting, in characters.
const MAX_INLINED_WIDTH: usize = 72;
/// Maximum width of a chain of methods, which a formatter writes on several lines.
const CHAIN: usize = 110;
/// Maximum number of operators in an expression that results from nesting.
const OPERATORS: usize = 2;
/// Maximum width of an expression that is nested as an argument.
const ARGUMENT: usize = 40;
/// Approximate width of the name of a value.
const NAME: usize = 6;

/// Nests expressions that are used once: `let a = f(x); let b = a.g();` becomes `let b = f(x).g();`, and operators form
/// one expression, if the line stays short and the order of evaluation does not change. Updates the producers in the
/// hints of bound variables.
pub fn nested(code: &Code, hints: &mut BTreeMap<Variable, Hint>) -> Code {
    walk(code, &code.counts(), hints)
}

fn walk(code: &Code, count: &BTreeMap<Variable, usize>, hints: &mut BTreeMap<Variable, Hint>) -> Code {
    let parts = code.parts().iter();
    let parts: Vec<CodeNode> =
        parts.map(|part| part.with_inside(&mut |code| walk(code, count, hints))).collect();
    let mut out: Vec<CodeNode> = Vec::new();
    let mut rest = parts.as_slice();
    while let Some((part, after)) = rest.split_first() {
        let earlier = match out.last() {
            Some(CodeNode::Let(pattern, value)) => pattern
                .as_value()
                .filter(|bound| count.get(bound) == Some(&1))
                .map(|bound| (bound, value.clone())),
            _ => None,
        };
        let Some((bound, value)) = earlier else {
            out.push(part.clone());
            rest = after;
            continue;
        };
        let inner = Inner::new(bound, &value);
        if let CodeNode::Let(pattern, outer) = part {
            let joined = inner.and_then(|inner| inner.within(outer));
            rest = after;
            if let Some(joined) = joined {
                out.pop();
                inherit(pattern, bound, outer, hints);
                out.push(CodeNode::Let(pattern.clone(), joined));
            } else {
                out.push(part.clone());
            }
            continue;
        }
        // The statement ends before the next `let` or `;`.
        let ends = |part: &CodeNode| matches!(part, CodeNode::Let(..) | CodeNode::Sign(";"));
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let (statement, after) = rest.split_at(length);
        let outer: Code = statement.to_vec().into();
        if let Some(joined) = inner.and_then(|inner| inner.within(&outer)) {
            out.pop();
            out.extend_from_slice(joined.parts());
        } else {
            out.extend_from_slice(statement);
        }
        rest = after;
        if let Some((end @ CodeNode::Sign(_), after)) = rest.split_first() {
            out.push(end.clone());
            rest = after;
        }
    }
    out.into()
}

/// Updates the hint of a variable whose operand was nested: another form of a value has the producer of that value.
fn inherit(pattern: &Code, from: Variable, code: &Code, hints: &mut BTreeMap<Variable, Hint>) {
    let used = code.variables();
    let Some(inner) = hints.get(&from).filter(|_| used.first() == Some(&from)) else {
        return;
    };
    let from = inner.clone();
    let bound = pattern.as_value().and_then(|bound| hints.get_mut(&bound));
    if let Some(hint) = bound.filter(|hint| used.len() <= hint.keeps) {
        hint.maker = from.maker;
        hint.keeps = hint.keeps.min(from.keeps);
        hint.word = hint.word.take().or(from.word);
    }
}

/// A value that is to replace its variable.
struct Inner<'c> {
    bound: Variable,
    value: &'c Code,
    /// Whether the value has an operator whose precedence is lower than that of a call.
    loose: bool,
    width: usize,
}

/// Syntactic role of a use.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Receiver,
    Operand,
    Argument,
}

impl<'c> Inner<'c> {
    fn new(bound: Variable, value: &'c Code) -> Option<Self> {
        let width = width(value, CHAIN)?;
        let plain = !value.any(&mut |part| !is_plain(part));
        plain.then(|| Inner { bound, value, loose: value.is_loose(), width })
    }

    /// Returns a statement with the value in place of its variable, or `None` if that would be too long or not
    /// equivalent.
    fn within(&self, outer: &Code) -> Option<Code> {
        let is_chain = matches!(
            outer.parts(),
            [CodeNode::Value(first, _), methods @ ..]
                if *first == self.bound && methods.iter().all(|part| matches!(part, CodeNode::Method(..)))
        );
        let starts = matches!(self.value.parts(), [CodeNode::Field(_) | CodeNode::Value(..), ..]);
        let most = if is_chain && starts && !self.loose { CHAIN } else { MAX_INLINED_WIDTH };
        let together = self.width + width(outer, most)?;
        if together > most + NAME {
            return None;
        }
        let joined = self.substituted(outer, false)?;
        let mut operators = 0;
        joined.each_part(&mut |part| operators += usize::from(is_operator(part)));
        (operators <= OPERATORS).then_some(joined)
    }

    /// Returns the code with the value in place of its variable, or `None` if anything before it is evaluated.
    fn substituted(&self, code: &Code, is_call: bool) -> Option<Code> {
        let parts = code.parts();
        for (at, part) in parts.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| parts.get(at));
            let replacement = match part {
                CodeNode::Value(variable, access) if *variable == self.bound => {
                    let after = parts.get(at + 1);
                    let as_value = *access == Access::Take;
                    let usage = usage(before, after, is_call).filter(|_| as_value)?;
                    self.used_as(usage, before, after)?
                }
                CodeNode::Method(name, arguments) if !arguments.is_empty() => {
                    CodeNode::Method(name, self.substituted(arguments, true)?).into()
                }
                CodeNode::Method("clone" | "val" | "dims", _) => continue,
                CodeNode::Group(Bracket::Square, index)
                    if matches!(index.single(), Some(CodeNode::Number(_))) =>
                {
                    continue;
                }
                CodeNode::Group(bracket @ (Bracket::Round | Bracket::Square), inside) => {
                    let is_call = match before {
                        Some(CodeNode::Word(_) | CodeNode::Member(_)) => *bracket == Bracket::Round,
                        Some(CodeNode::Sign("!")) => *bracket == Bracket::Square,
                        Some(CodeNode::Sign(">")) => true,
                        _ => false,
                    };
                    CodeNode::Group(*bracket, self.substituted(inside, is_call)?).into()
                }
                part if is_quiet(part) => continue,
                _ => return None,
            };
            let (before, after) = (parts.get(..at)?, parts.get(at + 1..)?);
            return Some(code!(#before #replacement #after));
        }
        None
    }

    fn used_as(&self, usage: Use, before: Option<&CodeNode>, after: Option<&CodeNode>) -> Option<Code> {
        let value = self.value;
        // `a + b - c` needs no parentheses, but `c - (a + b)` and `(a + b) * c` do.
        let adds = matches!(after, Some(CodeNode::Sign("+" | "-")));
        let first = before.is_none() && (value.is_product() || adds && value.is_sum());
        match usage {
            Use::Argument if !self.loose || self.width > ARGUMENT => None,
            Use::Operand if self.loose && !first => Some(code!((#value))),
            Use::Receiver if self.loose => Some(code!((#value))),
            _ => Some(value.clone()),
        }
    }
}

/// Returns the role of a variable between two parts, or `None` if its value cannot be nested there.
fn usage(before: Option<&CodeNode>, after: Option<&CodeNode>, is_call: bool) -> Option<Use> {
    let starts = |part: &CodeNode| is_operator(part) || *part == CodeNode::Sign(",");
    if !before.is_none_or(starts) {
        return None;
    }
    match after {
        Some(CodeNode::Method(..)) => Some(Use::Receiver),
        Some(after) if is_operator(after) => Some(Use::Operand),
        Some(CodeNode::Sign(",")) | None if before.is_some_and(is_operator) => Some(Use::Operand),
        Some(CodeNode::Sign(",")) | None if is_call => Some(Use::Argument),
        _ => None,
    }
}

fn is_operator(part: &CodeNode) -> bool {
    matches!(part, CodeNode::Sign("+" | "-" | "*" | "/" | "%"))
}

/// Returns `true` if a part evaluates nothing.
fn is_quiet(part: &CodeNode) -> bool {
    match part {
        CodeNode::Word(word) => !["if", "match", "return", "move", "break", "in"].contains(word),
        CodeNode::Sign(sign) => !sign.contains('|') && *sign != "=" && *sign != "=>" && *sign != ";",
        part => is_leaf(part),
    }
}

fn is_leaf(part: &CodeNode) -> bool {
    matches!(
        part,
        CodeNode::Member(_)
            | CodeNode::Name(_)
            | CodeNode::Lifetime(_)
            | CodeNode::Literal(_)
            | CodeNode::Number(_)
            | CodeNode::Text(_)
            | CodeNode::Field(_)
            | CodeNode::Device
            | CodeNode::Value(..)
            | CodeNode::Size(_)
    )
}

/// Returns `true` if a part may be nested in an expression on one line: not a closure, a block or a cast.
fn is_plain(part: &CodeNode) -> bool {
    match part {
        CodeNode::Word(word) => *word != "as" && *word != "move",
        CodeNode::Sign(sign) => !sign.contains('|') && *sign != "?" && *sign != "..",
        CodeNode::Group(bracket, _) => *bracket != Bracket::Curly,
        CodeNode::Method(name, _) => *name != "into",
        part => is_leaf(part),
    }
}

/// Returns the approximate width of code, or `None` if it exceeds `most` or contains statements.
fn width(code: &Code, most: usize) -> Option<usize> {
    let mut sum = 0usize;
    for part in code.parts() {
        sum += match part {
            CodeNode::Word(text) | CodeNode::Member(text) | CodeNode::Literal(text) => text.len(),
            CodeNode::Name(text) | CodeNode::Number(text) => text.len(),
            CodeNode::Text(text) | CodeNode::Weight(text) => text.len() + 2,
            CodeNode::Field(name) => name.len() + 5,
            CodeNode::Sign(sign) if is_operator(part) => sign.len() + 2,
            CodeNode::Sign(sign) => sign.len(),
            CodeNode::Method(name, inside) => name.len() + 3 + width(inside, most)?,
            CodeNode::Group(_, inside) => 2 + width(inside, most)?,
            CodeNode::Value(..) | CodeNode::Size(_) | CodeNode::Device | CodeNode::Weights => NAME,
            _ => return None,
        };
        if sum > most {
            return None;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Variable = Variable(0);
    const B: Variable = Variable(1);
    const C: Variable = Variable(2);
    const X: Variable = Variable(3);

    fn check(code: Code, expected: Code) {
        assert_eq!(nested(&code, &mut BTreeMap::new()), expected);
    }

    #[test]
    fn methods_form_a_chain() {
        check(
            code!(let #A = self.q.forward(#X); let #B = #A.reshape([1, 2]); let #C = #B.swap_dims(1, 2); f(#C, #C)),
            code!(let #C = self.q.forward(#X).reshape([1, 2]).swap_dims(1, 2); f(#C, #C)),
        );
        check(
            code!(let #A = #X + 1.0; let #B = #A.reshape([1, 2]); f(#B, #B)),
            code!(let #B = (#X + 1.0).reshape([1, 2]); f(#B, #B)),
        );
    }

    #[test]
    fn operators_form_an_expression() {
        check(
            code!(let #A = #X + #C; let #B = #A / 2.0; f(#B, #B)),
            code!(let #B = (#X + #C) / 2.0; f(#B, #B)),
        );
        check(
            code!(let #A = #X * 2.0; let #B = #A + #C; f(#B, #B)),
            code!(let #B = #X * 2.0 + #C; f(#B, #B)),
        );
        check(code!(let #A = self.mlp.forward(#B); #X + #A), code!(#X + self.mlp.forward(#B)));
        check(
            code!(let #A = #X + #C; let #B = #A + #X; let #C = #B + #X; #C),
            code!(let #B = #X + #C + #X; let #C = #B + #X; #C),
        );
    }

    #[test]
    fn arguments_are_operators_on_values() {
        check(
            code!(let #A = #X - #C; let #B = Tensor::cat(vec![#C, #A], 1); f(#B, #B)),
            code!(let #B = Tensor::cat(vec![#C, #X - #C], 1); f(#B, #B)),
        );
        let code = code!(let #A = g(#X); let #B = h(#A); f(#B, #B));
        check(code.clone(), code);
    }

    #[test]
    fn the_order_of_what_is_computed_stays() {
        let code = code!(let #A = f(#X) + 1.0; let #B = g(h(), #A); k(#B, #B));
        check(code.clone(), code);
        let code = code!(let #A = #X + 1.0; let #B = self.gather.run(|| g(#A)); k(#B, #B));
        check(code.clone(), code);
        let code = code!(let #A = #X + 1.0; for i in 0..3 { #B = #B + #A; } #B);
        check(code.clone(), code);
        let code = code!(let #A = #X + 1.0; let #B = f(); g(#A, #B));
        check(code.clone(), code);
    }

    #[test]
    fn long_lines_stay_apart() {
        let code = code! {
            let #A = #X.reshape([1000000, 2000000, 3000000]) + #X.reshape([1000000, 2000000, 3000000]);
            let #B = #A.swap_dims(1, 2);
            f(#B, #B)
        };
        check(code.clone(), code);
    }
}
