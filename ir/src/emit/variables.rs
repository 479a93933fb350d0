//! Names for the variables of one function.

mod taken;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::rust::{Access, Bracket, Code, Head, Loop, Part, Size, Variable, code};
use taken::{Named, Taken};

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
    hints: &'h BTreeMap<Variable, Hint>,
    taken: Taken,
    /// Where each variable occurs last, counting occurrences.
    last: BTreeMap<Variable, usize>,
    /// How many occurrences have been seen.
    seen: usize,
}

/// Names of tensors that chains of operators work on.
pub const SHORT: [&str; 6] = ["x", "y", "z", "w", "v", "u"];

impl<'h> Namer<'h> {
    /// A namer for `code`, whose parameters want names of their own.
    pub fn new(
        code: &Code,
        parameters: &[(Variable, String)],
        sizes: &[(Size, String)],
        hints: &'h BTreeMap<Variable, Hint>,
    ) -> Self {
        let mut namer = Namer {
            hints,
            taken: Taken::default(),
            last: BTreeMap::new(),
            seen: 0,
        };
        if code.uses_device() {
            namer.taken.fix("device");
        }
        if code.uses_weights() {
            namer.taken.fix("weights");
        }
        for (variable, wanted) in parameters {
            let name = namer.taken.unused(wanted);
            namer.taken.name(Named::Value(*variable), name, None);
        }
        for (size, wanted) in sizes {
            let name = namer.taken.unused(wanted);
            namer.taken.fix(&name);
            namer.taken.name(Named::Size(*size), name, None);
        }
        let mut at = 0;
        occurrences(code, &mut |variable| {
            namer.last.insert(variable, at);
            at += 1;
        });
        for (variable, _) in parameters {
            let named = Named::Value(*variable);
            match namer.last.get(variable) {
                Some(&last) => namer.taken.end_at(named, last),
                None => namer.taken.release(named),
            }
        }
        namer
    }

    /// The name of a parameter.
    pub fn name(&self, variable: Variable) -> String {
        self.named(Named::Value(variable))
    }

    /// The name of a size.
    pub fn size(&self, size: Size) -> String {
        self.named(Named::Size(size))
    }

    fn named(&self, named: Named) -> String {
        let name = self.taken.names().get(&named);
        name.map(|name| name.to_string()).unwrap_or_default()
    }

    /// The code, every variable named.
    pub fn rename(&mut self, code: &Code) -> Code {
        without_last_binding(self.walk(code))
    }

    fn walk(&mut self, code: &Code) -> Code {
        let mut parts = Vec::new();
        code.parts()
            .iter()
            .for_each(|part| self.part(part, &mut parts));
        parts.into()
    }

    fn part(&mut self, part: &Part, out: &mut Vec<Part>) {
        match part {
            Part::Value(variable, access) => {
                self.seen += 1;
                out.push(self.renamed(part, Named::Value(*variable)));
                if *access == Access::Clone {
                    out.push(Part::Method("clone", Code::default()));
                }
            }
            Part::Size(size) => out.push(self.renamed(part, Named::Size(*size))),
            Part::Let(pattern, value) => {
                let used = value.variables();
                let value = self.walk(value);
                self.bind(pattern, &used);
                out.push(Part::Let(self.pattern(pattern), value));
            }
            // Names chosen inside of braces end with them.
            Part::Group(Bracket::Curly, inside) => {
                out.push(Part::Group(Bracket::Curly, self.scope(inside)));
            }
            Part::Loop(made) => {
                let head = match &made.head {
                    Head::For(pattern, range) => Head::For(self.pattern(pattern), self.walk(range)),
                    Head::While(condition) => Head::While(self.walk(condition)),
                    Head::Endless => Head::Endless,
                };
                let body = self.scope(&made.body);
                out.push(Part::Loop(Rc::new(Loop { head, body })));
            }
            other => out.push(other.with_inside(&mut |inside| self.walk(inside))),
        }
    }

    fn scope(&mut self, code: &Code) -> Code {
        let opened = self.taken.open();
        let renamed = self.rename(code);
        self.taken.close(opened);
        renamed
    }

    /// What is bound, by the names that it has.
    fn pattern(&self, pattern: &Code) -> Code {
        pattern.changed(&mut |part| {
            Some(match part {
                Part::Value(variable, _) => self.renamed(&part, Named::Value(variable)),
                Part::Size(size) => self.renamed(&part, Named::Size(size)),
                other => other,
            })
        })
    }

    fn renamed(&self, part: &Part, named: Named) -> Part {
        match self.taken.names().get(&named) {
            Some(name) => Part::Name(name.clone()),
            None => part.clone(),
        }
    }

    /// Names the variables of a pattern, to which a value made of `used` is bound.
    fn bind(&mut self, pattern: &Code, used: &[Variable]) {
        self.taken.release_before(self.seen);
        let from = used.iter().find(|used| self.end(**used).is_none());
        let from = from.and_then(|used| self.taken.names().get(&Named::Value(*used)));
        let from = from.cloned();
        let mut unread = Vec::new();
        for variable in pattern.variables() {
            let name = match self.hints.get(&variable) {
                Some(hint) if hint.chains => self.chained(&hint.name, from.as_deref()),
                Some(hint) => self.taken.unused(&hint.name),
                None => self.taken.unused(""),
            };
            let (named, end) = (Named::Value(variable), self.end(variable));
            self.taken.name(named, name, end);
            if end.is_none() {
                unread.push(named);
            }
        }
        // Names of one pattern differ, whether somebody reads them or not.
        unread
            .into_iter()
            .for_each(|named| self.taken.release(named));
    }

    /// Where a variable occurs last, if it does from here on.
    fn end(&self, variable: Variable) -> Option<usize> {
        let last = self.last.get(&variable).copied();
        last.filter(|&last| last >= self.seen)
    }

    /// The name of what it is made from, else a short one.
    fn chained(&mut self, hint: &str, from: Option<&str>) -> String {
        let short = from.filter(|from| SHORT.contains(from));
        let mut short = short.into_iter().chain(SHORT);
        match short.find(|name| self.taken.is_free(name)) {
            Some(name) => name.to_owned(),
            None => self.taken.unused(hint),
        }
    }
}

/// Calls `see` with each variable that is not bound there, in the order of the text.
fn occurrences(code: &Code, see: &mut impl FnMut(Variable)) {
    for part in code.parts() {
        match part {
            Part::Value(variable, _) => see(*variable),
            Part::Let(_, value) => occurrences(value, see),
            part => {
                let inside = part.inside().into_iter().flatten();
                inside.for_each(|code| occurrences(code, see));
            }
        }
    }
}

/// `..; let x = f(y); x` as `..; f(y)`.
fn without_last_binding(code: Code) -> Code {
    let [before @ .., Part::Let(pattern, value), last] = code.parts() else {
        return code;
    };
    let is_array = matches!(last, Part::Group(Bracket::Square, _));
    if pattern.single() != Some(last) || is_array {
        return code;
    }
    code!(#before #value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: Variable = Variable(0);
    const A: Variable = Variable(1);
    const B: Variable = Variable(2);
    const C: Variable = Variable(3);
    const OTHER: Variable = Variable(5);

    fn check(code: Code, expected: Code) {
        let hints = (1..9).map(|number| {
            let hint = Hint {
                name: "value".to_owned(),
                chains: number < 5,
            };
            (Variable(number), hint)
        });
        let hints = hints.collect();
        let parameters = [(INPUT, "input".to_owned())];
        let mut namer = Namer::new(&code, &parameters, &[], &hints);
        let renamed = namer.rename(&code).tokens().to_string();
        assert_eq!(renamed, expected.tokens().to_string());
    }

    #[test]
    fn a_chain_keeps_its_name() {
        check(
            code!(let #A = f(#INPUT); let #B = g(#A, #INPUT); h(#B)),
            code!(let x = f(input); let x = g(x, input); h(x)),
        );
    }

    #[test]
    fn what_is_needed_later_keeps_its_name() {
        check(
            code!(let #A = f(#INPUT); let #B = g(#A); h(#A, #B)),
            code!(let x = f(input); let y = g(x); h(x, y)),
        );
    }

    #[test]
    fn the_last_value_needs_no_name() {
        check(
            code!(let #A = f(#INPUT); let #B = g(#A); #B),
            code!(let x = f(input); g(x)),
        );
    }

    #[test]
    fn names_of_braces_end_with_them() {
        check(
            code! {
                let #A = f(#INPUT);
                let #OTHER = if c { let #B = g(#A); h(#B, 1) } else { #INPUT };
                k(#OTHER, #A)
            },
            code! {
                let x = f(input);
                let value = if c { let y = g(x); h(y, 1) } else { input };
                k(value, x)
            },
        );
    }

    #[test]
    fn a_loop_leaves_the_names_of_its_state() {
        check(
            code! {
                let mut #A = #INPUT;
                for i in 0..3 { let #B = f(#A); let #C = g(#B); #A = h(#C); }
                #A
            },
            code! {
                let mut x = input;
                for i in 0..3 { let y = f(x); let y = g(y); x = h(y); }
                x
            },
        );
    }
}
