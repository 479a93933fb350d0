//! Loading functions that differ only in names.

use std::collections::HashMap;
use std::rc::Rc;

use super::Structs;
use crate::emit::name::{Unique, snake};
use crate::rust::{Code, CodeNode, code};

/// Loading functions of several layers as one.
#[derive(Debug)]
pub struct Alike {
    /// Body with variables in place of what differs.
    pub body: Code,
    /// The variables.
    pub texts: Vec<Rc<str>>,
    /// Values of the variables in each layer: weights and texts.
    pub rows: Vec<Vec<CodeNode>>,
}

/// A loading function of a struct inside the layers: the struct, the name of the function, and what it replaces.
pub type Inner = (Rc<str>, Rc<str>, Alike);

/// Returns the functions with these bodies as one, if they differ only in names of weights and nodes, with the functions
/// of the structs inside.
pub fn unified(bodies: &[&Code], structs: &Structs) -> Option<(Alike, Vec<Inner>)> {
    let mut inner = Vec::new();
    let alike = joined(bodies, structs, &mut inner)?;
    Some((alike, inner))
}

fn joined(bodies: &[&Code], structs: &Structs, inner: &mut Vec<Inner>) -> Option<Alike> {
    let mut names = Unique::default();
    ["weights", "names", "device"].iter().for_each(|name| names.reserve(name));
    let first = bodies.first()?;
    let mut has_functions = false;
    first.each_part(&mut |part| match part {
        CodeNode::Name(name) => names.reserve(name),
        // The variables do not exist inside other functions.
        CodeNode::Word("fn") => has_functions = true,
        _ => {}
    });
    if has_functions {
        return None;
    }
    let mut unifier =
        Unifier { structs, inner, names, columns: HashMap::new(), texts: Vec::new(), field: None };
    let body = unifier.code(bodies, false)?;
    let Unifier { columns, texts, .. } = unifier;
    let mut columns: Vec<(Vec<CodeNode>, usize)> = columns.into_iter().collect();
    columns.sort_by_key(|(_, at)| *at);
    let row = |at: usize| columns.iter().filter_map(|(column, _)| column.get(at).cloned()).collect();
    let rows = (0..bodies.len()).map(row).collect();
    (!texts.is_empty()).then_some(Alike { body, texts, rows })
}

struct Unifier<'s> {
    structs: &'s Structs,
    inner: &'s mut Vec<Inner>,
    names: Unique,
    /// Indices of the variables by their values in all layers.
    columns: HashMap<Vec<CodeNode>, usize>,
    texts: Vec<Rc<str>>,
    /// Field whose expression is read.
    field: Option<Rc<str>>,
}

impl Unifier<'_> {
    /// Returns pieces of code as one. In a `constant`, they must be equal.
    fn code(&mut self, codes: &[&Code], constant: bool) -> Option<Code> {
        let first = codes.first()?;
        if codes.iter().all(|code| code == first) {
            return Some((*first).clone());
        }
        if constant || codes.iter().any(|code| code.parts().len() != first.parts().len()) {
            return None;
        }
        let mut made: Vec<CodeNode> = Vec::new();
        while let Some(part) = first.parts().get(made.len()) {
            let at = made.len();
            if let (CodeNode::Name(field), Some(CodeNode::Sign(":"))) = (part, first.parts().get(at + 1)) {
                self.field = Some(field.clone());
            }
            if let Some((ty, loads)) = calls(codes, at) {
                made.extend_from_slice(self.call(ty, &loads)?.parts());
                continue;
            }
            let parts: Vec<&CodeNode> = codes.iter().filter_map(|code| code.parts().get(at)).collect();
            // References to constants, and arguments of macros.
            let constant = matches!(made.last(), Some(CodeNode::Sign("&" | "!")));
            let part = self.part(&parts, constant)?;
            made.push(part);
        }
        Some(made.into())
    }

    /// Returns calls of loading functions of one struct as a call with the names of the weights.
    fn call(&mut self, ty: &Rc<str>, loads: &[&Rc<str>]) -> Option<Code> {
        let bodies = loads.iter().map(|load| Some(&self.structs.load(ty, load)?.body));
        let bodies: Vec<&Code> = bodies.collect::<Option<_>>()?;
        let alike = joined(&bodies, self.structs, self.inner)?;
        let name = self.structs.same(ty, &alike).or_else(|| {
            let mut inner = self.inner.iter().filter(|(inner, ..)| inner == ty);
            let same = inner.find(|(.., inner)| inner.body == alike.body && inner.texts == alike.texts);
            same.map(|(_, name, _)| name.clone())
        });
        let taken = || self.inner.iter().filter(|(inner, ..)| inner == ty).map(|(_, name, _)| name.clone());
        let wanted = format!("{}_each", loads.first()?);
        let name = name.unwrap_or_else(|| self.structs.unused(ty, &wanted, &taken().collect::<Vec<_>>()));
        let field = self.field.clone();
        let arguments = alike.texts.iter().enumerate().map(|(at, text)| {
            let column = alike.rows.iter().filter_map(|row| row.get(at).cloned()).collect();
            let wanted = match &field {
                Some(field) => format!("{field}_{text}"),
                None => text.to_string(),
            };
            CodeNode::Name(self.variable(column, &wanted))
        });
        let arguments: Vec<CodeNode> = arguments.collect();
        self.inner.push((ty.clone(), name.clone(), alike));
        let (ty, name) = (CodeNode::Name(ty.clone()), CodeNode::Name(name));
        Some(code!(#ty::#name(weights, [#(#arguments),*])))
    }

    fn part(&mut self, parts: &[&CodeNode], constant: bool) -> Option<CodeNode> {
        let first = *parts.first()?;
        if parts.iter().all(|part| *part == first) {
            return Some(first.clone());
        }
        let is_alike = |part: &&CodeNode| match (first, part) {
            (CodeNode::Method(a, _), CodeNode::Method(b, _)) => a == b,
            (CodeNode::Group(a, _), CodeNode::Group(b, _)) => a == b,
            (CodeNode::Weight(_), CodeNode::Weight(_)) | (CodeNode::Text(_), CodeNode::Text(_)) => true,
            (CodeNode::Let(a, _), CodeNode::Let(b, _)) => a == b,
            _ => false,
        };
        if !parts.iter().all(is_alike) {
            return None;
        }
        let mut inside = |which: usize| {
            let inside = parts.iter().map(|part| part.inside().get(which).copied().flatten());
            let inside: Vec<&Code> = inside.collect::<Option<_>>()?;
            self.code(&inside, constant)
        };
        match first {
            CodeNode::Method(name, _) => Some(CodeNode::Method(name, inside(0)?)),
            CodeNode::Group(bracket, _) => Some(CodeNode::Group(*bracket, inside(0)?)),
            CodeNode::Let(pattern, _) => Some(CodeNode::Let(pattern.clone(), inside(1)?)),
            CodeNode::Weight(_) | CodeNode::Text(_) if !constant => {
                let column: Vec<CodeNode> = parts.iter().map(|part| (*part).clone()).collect();
                let wanted = self.wanted(first);
                Some(CodeNode::Name(self.variable(column, &wanted)))
            }
            _ => None,
        }
    }

    /// Returns a name for the variable of a weight or text: its field, and the last word of the weight.
    fn wanted(&self, part: &CodeNode) -> String {
        let last = match part {
            CodeNode::Weight(name) => {
                let last = name.rsplit(['.', '/', ':']).next().unwrap_or_default();
                let is_word = |word: &&str| {
                    !word.is_empty()
                        && word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '_')
                };
                // `scales` for `MatMul_12_scales`.
                let end = last.rsplit('_').next();
                let word = Some(last).filter(is_word).or_else(|| end.filter(is_word));
                Some(snake(word.unwrap_or("weight")))
            }
            _ => None,
        };
        match (&self.field, last) {
            (Some(field), Some(last)) if !field.ends_with(&last) => format!("{field}_{last}"),
            (Some(field), _) => field.to_string(),
            (None, last) => last.unwrap_or_else(|| "name".to_owned()),
        }
    }

    /// Returns the variable for a weight or text of each layer.
    fn variable(&mut self, column: Vec<CodeNode>, wanted: &str) -> Rc<str> {
        if let Some(text) = self.columns.get(&column).and_then(|at| self.texts.get(*at)) {
            return text.clone();
        }
        let name: Rc<str> = self.names.name(wanted).into();
        self.columns.insert(column, self.texts.len());
        self.texts.push(name.clone());
        name
    }
}

/// Returns the struct and the functions of calls such as `Mlp::load_mlp(weights)` at this index, if they differ.
fn calls<'c>(codes: &[&'c Code], at: usize) -> Option<(&'c Rc<str>, Vec<&'c Rc<str>>)> {
    let call = |code: &&'c Code| match code.parts().get(at..at.checked_add(4)?)? {
        [CodeNode::Name(ty), CodeNode::Sign("::"), CodeNode::Name(load), CodeNode::Group(_, arguments)] => {
            (arguments.single() == Some(&CodeNode::Weights)).then_some((ty, load))
        }
        _ => None,
    };
    let calls: Vec<(&Rc<str>, &Rc<str>)> = codes.iter().map(call).collect::<Option<_>>()?;
    let (ty, first) = calls.first()?;
    let is_alike = calls.iter().all(|(other, _)| other == ty) && calls.iter().any(|(_, load)| load != first);
    is_alike.then(|| (*ty, calls.iter().map(|(_, load)| *load).collect()))
}
