//! Rust code as a tree.
//!
//! Operators write code with `code!`, which accepts the input of `quote!` but keeps the structure that the emitter
//! analyzes: values and their uses, bindings, assignments, loops, and words that may be imported. The analysis of last
//! uses, the choice of names and the comparison of parts are folds over this tree, which is converted to tokens once.

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

/// A piece of code, possibly empty. Clones share its parts.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Code(Option<Rc<Vec<CodeNode>>>);

/// A part of code, a node of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CodeNode {
    /// A keyword, or an identifier at the start of a path or expression.
    Word(&'static str),
    /// An identifier after `.` or `::`, or a label.
    Member(&'static str),
    /// A name that derives from names of the file.
    Name(Rc<str>),
    Sign(&'static str),
    Lifetime(&'static str),
    /// A literal in its Rust syntax.
    Literal(&'static str),
    Number(Rc<str>),
    Text(Rc<str>),
    /// Name of a weight in the table of weights, a string literal.
    Weight(Rc<str>),
    /// `self.name`
    Field(Rc<str>),
    /// The parameter `device: &Device`.
    Device,
    /// The parameter `weights: &Weights`.
    Weights,
    Value(Variable, Access),
    /// Variable of a size, a `usize`.
    Size(Size),
    /// `.name(arguments)`
    Method(&'static str, Code),
    Group(Bracket, Code),
    /// `let pattern = value;`
    Let(Code, Code),
    /// `target = value;`
    Assign(Code, Code),
    Loop(Rc<Loop>),
    /// `name: value` of a struct, abbreviated to `name` if the value has this name.
    Entry(Rc<str>, Code),
    /// Code that the caller of the macro wrote.
    Foreign(Foreign),
}

/// Variable of a value. `emit` chooses its name last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(pub u32);

/// Variable of a size, identified by the number of the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u32);

/// Effect of a use on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Moves the value.
    Take,
    /// Borrows the value, or changes it in place.
    Borrow,
    /// Moves a clone of the value, which is used again.
    Clone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bracket {
    Round,
    Square,
    /// Braces, which end the scope of names that are bound inside.
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

/// Tokens with their spans, equal only to clones of themselves.
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
    /// Returns code that the caller of the macro wrote.
    pub fn foreign(tokens: TokenStream) -> Self {
        CodeNode::Foreign(Foreign(Rc::new(tokens))).into()
    }

    /// Returns `self.name`.
    pub fn field(name: &str) -> Self {
        CodeNode::Field(name.into()).into()
    }

    /// Returns the name of a weight, a string literal.
    pub fn weight(name: &str) -> Self {
        CodeNode::Weight(name.into()).into()
    }

    /// Returns a number in its Rust syntax.
    pub fn number(text: &str) -> Self {
        CodeNode::Number(text.into()).into()
    }

    /// Returns an operator or another sign.
    pub fn sign(sign: &'static str) -> Self {
        CodeNode::Sign(sign).into()
    }

    /// Returns the variable of a size.
    pub fn size(size: Size) -> Self {
        CodeNode::Size(size).into()
    }

    /// Appends code.
    pub fn extend(&mut self, more: impl ToCode) {
        let mut added = Vec::new();
        more.add_to(&mut added);
        if !added.is_empty() {
            Rc::make_mut(self.0.get_or_insert_default()).append(&mut added);
        }
    }

    pub fn parts(&self) -> &[CodeNode] {
        self.0.as_ref().map_or(&[], |parts| parts)
    }

    pub fn into_parts(self) -> Vec<CodeNode> {
        self.0.map(Rc::unwrap_or_clone).unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the number of parts at all depths.
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.each_part(&mut |_| count += 1);
        count
    }

    /// Returns the part if the code has exactly one.
    pub fn single(&self) -> Option<&CodeNode> {
        match self.parts() {
            [part] => Some(part),
            _ => None,
        }
    }

    /// Returns the size if the code is just a use of its variable.
    pub fn as_size(&self) -> Option<Size> {
        match self.single() {
            Some(CodeNode::Size(size)) => Some(*size),
            _ => None,
        }
    }

    /// Returns the value if the code is just a use of its variable.
    pub fn as_value(&self) -> Option<Variable> {
        match self.single() {
            Some(CodeNode::Value(variable, _)) => Some(*variable),
            _ => None,
        }
    }
}

impl From<CodeNode> for Code {
    fn from(part: CodeNode) -> Self {
        vec![part].into()
    }
}

impl From<Vec<CodeNode>> for Code {
    fn from(mut parts: Vec<CodeNode>) -> Self {
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
