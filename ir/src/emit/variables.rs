//! Names for the variables of one function.

mod taken;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::rust::{Access, Bracket, Code, Head, Loop, Part, Size, Variable, code};
use taken::{Named, Taken};

/// What a variable may be called.
#[derive(Clone, Debug, Default)]
pub struct Hint {
    /// What it is called where nothing better is free.
    pub name: String,
    /// Whether it is a tensor, which may take over the name of what it is made from.
    pub chains: bool,
    /// The word that the file has for it.
    pub word: Option<String>,
    /// The word for what makes it, a layer or an operator.
    pub maker: Option<String>,
    /// It is the first of what it is made from in another form, if that is no more than this.
    pub keeps: usize,
}

/// Chooses the names; a name is taken over when its variable is used last.
#[derive(Debug)]
pub struct Namer<'h> {
    hints: &'h BTreeMap<Variable, Hint>,
    taken: Taken,
    /// Whether names may be words of the file.
    words: bool,
    /// Where each variable occurs last, counting occurrences.
    last: BTreeMap<Variable, usize>,
    /// How often each is taken.
    counts: BTreeMap<Variable, usize>,
    /// How many occurrences have been seen.
    seen: usize,
}

/// What the values that a statement is made of leave to its results: names that nothing uses any more.
struct Ended {
    /// How many values there are.
    count: usize,
    /// The name of the first one.
    first: Option<String>,
    /// The foremost of the short names.
    short: Option<&'static str>,
    /// The foremost of those whose value nothing else is made of.
    single: Option<&'static str>,
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

    /// Without words of the file, so that equal code of other words is named alike.
    pub fn plain(self) -> Self {
        Namer { words: false, ..self }
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
        code.parts().iter().for_each(|part| self.part(part, &mut parts));
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
        // Names of one pattern differ, whether somebody reads them or not.
        unread.into_iter().for_each(|named| self.taken.release(named));
    }

    /// Where a variable occurs last, if it does from here on.
    fn end(&self, variable: Variable) -> Option<usize> {
        let last = self.last.get(&variable).copied();
        last.filter(|&last| last >= self.seen)
    }

    /// The name of a tensor: the file's word for it, the name of what it is made from, the word for what
    /// makes it, or a short one.
    fn chained(&mut self, hint: &Hint, ended: &Ended) -> String {
        let word = |word: &Option<String>| word.clone().filter(|_| self.words);
        let (word, maker) = (word(&hint.word), word(&hint.maker));
        let kept = ended.first.clone();
        let kept = kept.filter(|_| self.words && ended.count <= hint.keeps);
        let kept = kept.filter(|name| !name.chars().any(char::is_numeric));
        // What several layers read has several results, and each wants a name of its own.
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

    /// What the values that a statement is made of leave to all of its results.
    fn ended(&self, used: &[Variable]) -> Ended {
        let is_single = |variable: &Variable| self.counts.get(variable).is_none_or(|count| *count < 2);
        let foremost = |single: bool| {
            let used = used.iter().filter(|used| !single || is_single(used));
            let names = used.filter_map(|used| self.left(*used));
            let places = names.filter_map(|name| SHORT.iter().position(|short| *short == name));
            SHORT.get(places.min()?).copied()
        };
        let first = used.first().and_then(|first| self.left(*first));
        Ended {
            count: used.len(),
            first: first.map(str::to_owned),
            short: foremost(false),
            single: foremost(true),
        }
    }

    /// The name of a variable that nothing uses any more.
    fn left(&self, variable: Variable) -> Option<&str> {
        let name = self.taken.names().get(&Named::Value(variable));
        name.filter(|_| self.end(variable).is_none()).map(|name| &**name)
    }
}

/// Calls `see` with each variable that is not bound there, in the order of the text.
fn occurrences(code: &Code, see: &mut impl FnMut(Variable, Access)) {
    for part in code.parts() {
        match part {
            Part::Value(variable, access) => see(*variable, *access),
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
