//! Rust code as a tree.
//!
//! Operators write it with `code!`, which reads as `quote!` does, but keeps what the emitter asks for:
//! which parts are values and how they are used, what is bound, assigned and repeated, which words may be
//! imported. Last uses, names and equal parts are folds over this tree; tokens are made of it once, at the
//! end.

mod build;
mod holes;
mod lines;
mod macros;
mod text;
mod walk;

use std::rc::Rc;

use proc_macro2::TokenStream;

pub use build::Builder;
pub use holes::{Items, Iterated, ToCode};
pub(crate) use macros::{code, pieces};
pub use text::Token;
pub(crate) use walk::Event;

/// A piece of code, maybe of no parts. Copies share what it consists of.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Code(Option<Rc<Vec<Part>>>);

/// What code consists of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A word of the language, or an identifier with which a path starts.
    Word(&'static str),
    /// An identifier behind `.` or `::`, or a label.
    Member(&'static str),
    /// A name that was made from those of the file.
    Name(Rc<str>),
    Sign(&'static str),
    Lifetime(&'static str),
    /// A literal as it is written.
    Literal(&'static str),
    Number(Rc<str>),
    Text(Rc<str>),
    /// The name of a weight in the table of weights, a string.
    Weight(Rc<str>),
    /// `self.name`
    Field(Rc<str>),
    /// The parameter `device: &Device`.
    Device,
    /// The parameter `weights: &Weights`.
    Weights,
    Value(Variable, Access),
    /// The variable of a size, which is a plain number.
    Size(Size),
    /// `.name(arguments)`
    Method(&'static str, Code),
    Group(Bracket, Code),
    /// `let pattern = value;`
    Let(Code, Code),
    /// `target = value;`
    Assign(Code, Code),
    Loop(Rc<Loop>),
    /// `name: value` of a struct, which is `name` alone where that is the value.
    Entry(Rc<str>, Code),
    /// What the caller of the macro wrote.
    Foreign(Foreign),
}

/// The variable of a value, which `emit` names at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(pub u32);

/// The variable of a size, by the number of the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u32);

/// What a use does with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It takes the value.
    Take,
    /// It looks at the value, or changes it in place.
    Borrow,
    /// It takes a clone of the value, which is used again.
    Clone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bracket {
    Round,
    Square,
    /// Names that are bound inside end with it.
    Curly,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    pub head: Head,
    pub body: Code,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Head {
    /// `for pattern in range`
    For(Code, Code),
    /// `while condition`
    While(Code),
    /// `loop`
    Endless,
}

/// Tokens with their spans, equal to themselves alone.
#[derive(Clone, Debug)]
pub struct Foreign(Rc<TokenStream>);

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Foreign {}

impl std::hash::Hash for Foreign {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Rc::as_ptr(&self.0).hash(state);
    }
}

impl Code {
    /// What the caller of the macro wrote.
    pub fn foreign(tokens: TokenStream) -> Self {
        Part::Foreign(Foreign(Rc::new(tokens))).into()
    }

    /// `self.name`
    pub fn field(name: &str) -> Self {
        Part::Field(name.into()).into()
    }

    /// The name of a weight, a string.
    pub fn weight(name: &str) -> Self {
        Part::Weight(name.into()).into()
    }

    /// A number as it is written.
    pub fn number(text: &str) -> Self {
        Part::Number(text.into()).into()
    }

    /// An operator or another sign.
    pub fn sign(sign: &'static str) -> Self {
        Part::Sign(sign).into()
    }

    /// The variable of a size.
    pub fn size(size: Size) -> Self {
        Part::Size(size).into()
    }

    /// Adds what comes behind.
    pub fn extend(&mut self, more: impl ToCode) {
        let mut added = Vec::new();
        more.add_to(&mut added);
        if !added.is_empty() {
            Rc::make_mut(self.0.get_or_insert_default()).append(&mut added);
        }
    }

    pub fn parts(&self) -> &[Part] {
        self.0.as_ref().map_or(&[], |parts| parts)
    }

    pub fn into_parts(self) -> Vec<Part> {
        self.0.map(Rc::unwrap_or_clone).unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many parts there are, at any depth.
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.each_part(&mut |_| count += 1);
        count
    }

    /// The part of which the code consists.
    pub fn single(&self) -> Option<&Part> {
        match self.parts() {
            [part] => Some(part),
            _ => None,
        }
    }

    /// The size that the code uses, if it does nothing else.
    pub fn as_size(&self) -> Option<Size> {
        match self.single() {
            Some(Part::Size(size)) => Some(*size),
            _ => None,
        }
    }

    /// The value that the code uses, if it does nothing else.
    pub fn as_value(&self) -> Option<Variable> {
        match self.single() {
            Some(Part::Value(variable, _)) => Some(*variable),
            _ => None,
        }
    }
}

impl From<Part> for Code {
    fn from(part: Part) -> Self {
        vec![part].into()
    }
}

impl From<Vec<Part>> for Code {
    fn from(mut parts: Vec<Part>) -> Self {
        parts.shrink_to_fit();
        Code((!parts.is_empty()).then(|| Rc::new(parts)))
    }
}

impl FromIterator<Code> for Code {
    fn from_iter<I: IntoIterator<Item = Code>>(all: I) -> Self {
        let mut made = Builder::default();
        all.into_iter().for_each(|code| made.add(&code));
        made.finish()
    }
}
