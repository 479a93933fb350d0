//! Names for the variables of one function.

mod taken;

/// Returns the variable of a value. Its name is chosen later.
pub fn variable(id: ValueId) -> Variable {
    Variable(id.number())
}

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::graph::ValueId;
use crate::rust::{Access, Bracket, Code, CodeNode, Head, Loop, Size, Variable, code};
use taken::{Named, Taken};

/// Preferred names of a variable.
#[derive(Clone, Debug, Default)]
pub struct Hint {
    /// Name if no better one is free.
    pub name: String,
    /// Whether it is a tensor on the device, which may take over the name of a value that it is computed from.
    pub chains: bool,
    /// Word that the file uses for the value.
    pub word: Option<String>,
    /// Word for its producer, a layer or an operator.
    pub maker: Option<String>,
    /// Maximum number of operands with which the value is another form of the first operand, and keeps its name.
    pub keeps: usize,
}

/// Chooses names. The name of a variable can be reused after its last use.
#[derive(Debug)]
pub struct Namer<'h> {
    hints: &'h BTreeMap<Variable, Hint>,
    taken: Taken,
    /// Whether names may be words of the file.
    words: bool,
    /// Index of the last occurrence of each variable.
    last: BTreeMap<Variable, usize>,
    /// Number of uses that move or clone each variable.
    counts: BTreeMap<Variable, usize>,
    /// Number of occurrences visited so far.
    seen: usize,
}

/// Names of the operands of a statement that are not used after it, so that its results can reuse them.
struct Ended {
    /// Number of operands.
    count: usize,
    /// Name of the first operand.
    first: Option<String>,
    /// First of these names in the order of [`SHORT`].
    short: Option<&'static str>,
    /// First of these names in the order of [`SHORT`] whose value has no other consumer.
    single: Option<&'static str>,
}

/// Names for tensors in chains of operators.
pub const SHORT: [&str; 6] = ["x", "y", "z", "w", "v", "u"];

impl<'h> Namer<'h> {
    /// Returns a namer for `code`. Each parameter gets its preferred name, with a number if that is taken.
    pub fn new(
        code: &Code,
        parameters: &[(Variable, String)],
        sizes: &[(Size, String)],
        hints: &'h BTreeMap<Variable, Hint>,
    ) -> Self {
        let mut namer = Namer {
            hints,
            taken: Taken::default(),
            words: true,
            last: BTreeMap::new(),
            counts: BTreeMap::new(),
            seen: 0,
        };
        if code.uses_device() {
            namer.taken.fix("device");
        }
        if code.uses_weights() {
            namer.taken.fix("weights");
        }
        code.each_part(&mut |part| {
            if let Some((name, _)) = part.element() {
                namer.taken.fix(name);
            }
        });
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
        occurrences(code, &mut |variable, access| {
            namer.last.insert(variable, at);
            if access != Access::Borrow {
                *namer.counts.entry(variable).or_default() += 1;
            }
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

    /// Excludes words of the file, so that pieces of code that differ only in these get equal names.
    pub fn plain(self) -> Self {
        Namer { words: false, ..self }
    }

    /// Returns the name of a parameter.
    pub fn name(&self, variable: Variable) -> String {
        self.named(Named::Value(variable))
    }

    /// Returns the name of a size.
    pub fn size(&self, size: Size) -> String {
        self.named(Named::Size(size))
    }

    fn named(&self, named: Named) -> String {
        let name = self.taken.names().get(&named);
        name.map(|name| name.to_string()).unwrap_or_default()
    }

    /// Returns the code with names for all variables.
    pub fn rename(&mut self, code: &Code) -> Code {
        without_last_binding(self.walk(code))
    }

    fn walk(&mut self, code: &Code) -> Code {
        let mut parts = Vec::new();
        code.parts().iter().for_each(|part| self.part(part, &mut parts));
        parts.into()
    }

    fn part(&mut self, part: &CodeNode, out: &mut Vec<CodeNode>) {
        match part {
            CodeNode::Value(variable, access) => {
                self.seen += 1;
                out.push(self.renamed(part, Named::Value(*variable)));
                if *access == Access::Clone {
                    out.push(CodeNode::Method("clone", Code::default()));
                }
            }
            CodeNode::Size(size) => out.push(self.renamed(part, Named::Size(*size))),
            CodeNode::Let(pattern, value) => {
                let used = value.variables();
                let value = self.walk(value);
                self.bind(pattern, &used);
                out.push(CodeNode::Let(self.pattern(pattern), value));
            }
            // Names that are chosen inside braces end with them.
            CodeNode::Group(Bracket::Curly, inside) => {
                out.push(CodeNode::Group(Bracket::Curly, self.scope(inside)));
            }
            CodeNode::Loop(made) => {
                let head = match &made.head {
                    Head::For(pattern, range) => Head::For(self.pattern(pattern), self.walk(range)),
                    Head::While(condition) => Head::While(self.walk(condition)),
                    Head::Endless => Head::Endless,
                };
                let body = self.scope(&made.body);
                out.push(CodeNode::Loop(Rc::new(Loop { head, body })));
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

    /// Returns a pattern with the names of its variables.
    fn pattern(&self, pattern: &Code) -> Code {
        pattern.changed(&mut |part| {
            Some(match part {
                CodeNode::Value(variable, _) => self.renamed(&part, Named::Value(variable)),
                CodeNode::Size(size) => self.renamed(&part, Named::Size(size)),
                other => other,
            })
        })
    }

    fn renamed(&self, part: &CodeNode, named: Named) -> CodeNode {
        match self.taken.names().get(&named) {
            Some(name) => CodeNode::Name(name.clone()),
            None => part.clone(),
        }
    }

    /// Names the variables of a pattern that is bound to a value computed from `used`.
    fn bind(&mut self, pattern: &Code, used: &[Variable]) {
        self.taken.release_before(self.seen);
        let hints = self.hints;
        let ended = self.ended(used);
        let mut unread = Vec::new();
        for variable in pattern.variables() {
            let name = match hints.get(&variable) {
                Some(hint) if hint.chains => self.chained(hint, &ended),
                Some(hint) => match hint.word.as_deref().filter(|_| self.words) {
                    Some(word) => self.taken.unused(word),
                    None => self.taken.unused(&hint.name),
                },
                None => self.taken.unused(""),
            };
            let (named, end) = (Named::Value(variable), self.end(variable));
            self.taken.name(named, name, end);
            if end.is_none() {
                unread.push(named);
            }
        }
        // Unused variables are released last, because all names of a pattern must differ.
        unread.into_iter().for_each(|named| self.taken.release(named));
    }

    /// Returns the index of the last occurrence of a variable, or `None` if it does not occur from here on.
    fn end(&self, variable: Variable) -> Option<usize> {
        let last = self.last.get(&variable).copied();
        last.filter(|&last| last >= self.seen)
    }

    /// Returns the name of a tensor: the word of the file, the name of its first operand, another name that can be
    /// reused, the word for its producer, or a short name.
    fn chained(&mut self, hint: &Hint, ended: &Ended) -> String {
        let word = |word: &Option<String>| word.clone().filter(|_| self.words);
        let (word, maker) = (word(&hint.word), word(&hint.maker));
        let kept = ended.first.clone();
        let kept = kept.filter(|_| self.words && ended.count <= hint.keeps);
        let kept = kept.filter(|name| !name.chars().any(char::is_numeric));
        // If several layers use an operand, each of the results needs its own name.
        let ended = if maker.is_none() { ended.short } else { ended.single };
        let ended = ended.map(str::to_owned);
        let mut names = word.into_iter().chain(kept).chain(ended).chain(maker);
        let mut short = SHORT.into_iter();
        let name = names.find(|name| self.taken.is_free(name));
        match name.or_else(|| Some(short.find(|name| self.taken.is_free(name))?.to_owned())) {
            Some(name) => name,
            None => self.taken.unused(&hint.name),
        }
    }

    /// Returns the names of operands that are not used after a statement.
    fn ended(&self, used: &[Variable]) -> Ended {
        let is_single = |variable: &Variable| self.counts.get(variable).is_none_or(|count| *count < 2);
        let foremost = |single: bool| {
            let used = used.iter().filter(|used| !single || is_single(used));
            let names = used.filter_map(|used| self.left(*used));
            let indices = names.filter_map(|name| SHORT.iter().position(|short| *short == name));
            SHORT.get(indices.min()?).copied()
        };
        let first = used.first().and_then(|first| self.left(*first));
        Ended {
            count: used.len(),
            first: first.map(str::to_owned),
            short: foremost(false),
            single: foremost(true),
        }
    }

    /// Returns the name of a variable that is no longer used.
    fn left(&self, variable: Variable) -> Option<&str> {
        let name = self.taken.names().get(&Named::Value(variable));
        name.filter(|_| self.end(variable).is_none()).map(|name| &**name)
    }
}

/// Calls `see` with each occurrence of a variable outside patterns of `let`, in the order of the text.
fn occurrences(code: &Code, see: &mut impl FnMut(Variable, Access)) {
    for part in code.parts() {
        match part {
            CodeNode::Value(variable, access) => see(*variable, *access),
            CodeNode::Let(_, value) => occurrences(value, see),
            part => {
                let inside = part.inside().into_iter().flatten();
                inside.for_each(|code| occurrences(code, see));
            }
        }
    }
}

/// Rewrites `..; let x = f(y); x` to `..; f(y)`.
fn without_last_binding(code: Code) -> Code {
    let [before @ .., CodeNode::Let(pattern, value), last] = code.parts() else {
        return code;
    };
    let is_array = matches!(last, CodeNode::Group(Bracket::Square, _));
    if pattern.single() != Some(last) || is_array {
        return code;
    }
    code!(#before #value)
}
