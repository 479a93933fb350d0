//! Construction of code, part by part.

use std::rc::Rc;

use super::{Access, Bracket, Code, CodeNode, Head, Loop, ToCode};

/// Methods that borrow their receiver, or change it in place.
const BORROWING: &[&str] = &[
    "dims", "device", "shape", "dtype", "data", "as_slice", "len", "is_some", "is_none", "iter", "sizes",
    "item", "as_ref", "push", "is_empty", "reverse",
];

/// Builder of code, from left to right.
#[derive(Debug, Default)]
pub struct Builder {
    parts: Vec<CodeNode>,
}

impl Builder {
    pub fn finish(self) -> Code {
        self.parts.into()
    }

    pub fn add(&mut self, piece: &(impl ToCode + ?Sized)) {
        piece.add_to(&mut self.parts);
    }

    /// Adds a piece after `&`. A value is borrowed.
    pub fn borrow(&mut self, piece: &(impl ToCode + ?Sized)) {
        let start = self.parts.len();
        self.add(piece);
        if let Some([CodeNode::Value(_, access)]) = self.parts.get_mut(start..) {
            *access = Access::Borrow;
        }
    }

    /// Adds a piece before a method. A value is borrowed if the method is one of `BORROWING`.
    pub fn receiver(&mut self, piece: &(impl ToCode + ?Sized), method: &str) {
        let start = self.parts.len();
        self.add(piece);
        let added = self.parts.get_mut(start..).unwrap_or_default();
        if let (Some(CodeNode::Value(_, access)), true) = (added.last_mut(), BORROWING.contains(&method)) {
            *access = Access::Borrow;
        }
    }

    /// Adds pieces with `write`, and the sign `between` between them.
    pub fn each<T>(
        &mut self,
        pieces: impl Iterator<Item = T>,
        between: &'static str,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for (at, piece) in pieces.enumerate() {
            if at > 0 && !between.is_empty() {
                self.sign(between);
            }
            write(self, piece);
        }
    }

    pub fn bind(&mut self, pattern: Code, value: Code) {
        self.parts.push(CodeNode::Let(pattern, value));
    }

    pub fn assign(&mut self, target: Code, value: Code) {
        self.parts.push(CodeNode::Assign(target, value));
    }

    pub fn repeat_for(&mut self, pattern: Code, range: Code, body: Code) {
        self.looped(Head::For(pattern, range), body);
    }

    pub fn repeat_while(&mut self, condition: Code, body: Code) {
        self.looped(Head::While(condition), body);
    }

    pub fn repeat(&mut self, body: Code) {
        self.looped(Head::Endless, body);
    }

    pub fn entry(&mut self, name: &str, value: &(impl ToCode + ?Sized)) {
        let mut inside = Builder::default();
        inside.add(value);
        self.parts.push(CodeNode::Entry(name.into(), inside.finish()));
    }

    pub fn method(&mut self, name: &'static str, arguments: Code) {
        self.parts.push(CodeNode::Method(name, arguments));
    }

    pub fn round(&mut self, inside: Code) {
        self.parts.push(CodeNode::Group(Bracket::Round, inside));
    }

    pub fn square(&mut self, inside: Code) {
        self.parts.push(CodeNode::Group(Bracket::Square, inside));
    }

    pub fn curly(&mut self, inside: Code) {
        self.parts.push(CodeNode::Group(Bracket::Curly, inside));
    }

    pub fn word(&mut self, word: &'static str) {
        self.parts.push(CodeNode::Word(word));
    }

    pub fn member(&mut self, name: &'static str) {
        self.parts.push(CodeNode::Member(name));
    }

    pub fn sign(&mut self, sign: &'static str) {
        self.parts.push(CodeNode::Sign(sign));
    }

    pub fn lifetime(&mut self, name: &'static str) {
        self.parts.push(CodeNode::Lifetime(name));
    }

    pub fn literal(&mut self, text: &'static str) {
        self.parts.push(CodeNode::Literal(text));
    }

    pub fn device(&mut self) {
        self.parts.push(CodeNode::Device);
    }

    pub fn weights(&mut self) {
        self.parts.push(CodeNode::Weights);
    }

    fn looped(&mut self, head: Head, body: Code) {
        self.parts.push(CodeNode::Loop(Rc::new(Loop { head, body })));
    }
}
