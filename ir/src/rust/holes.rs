//! Types that `code!` interpolates.

use proc_macro2::{Ident, Literal};

use super::{Access, Code, CodeNode, Size, Variable};

/// A type whose values `code!` can interpolate.
pub trait ToCode {
    fn add_to(&self, parts: &mut Vec<CodeNode>);
}

impl<T: ToCode + ?Sized> ToCode for &T {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        (**self).add_to(parts);
    }
}

impl<T: ToCode + ?Sized> ToCode for &mut T {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        (**self).add_to(parts);
    }
}

/// `None` adds no code.
impl<T: ToCode> ToCode for Option<T> {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        self.iter().for_each(|piece| piece.add_to(parts));
    }
}

impl ToCode for Code {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.extend_from_slice(self.parts());
    }
}

impl ToCode for CodeNode {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.push(self.clone());
    }
}

impl ToCode for [CodeNode] {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.extend_from_slice(self);
    }
}

impl ToCode for Variable {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.push(CodeNode::Value(*self, Access::Take));
    }
}

impl ToCode for Size {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.push(CodeNode::Size(*self));
    }
}

impl ToCode for Ident {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.push(CodeNode::Name(self.to_string().into()));
    }
}

impl ToCode for Literal {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.push(CodeNode::Number(self.to_string().into()));
    }
}

impl ToCode for str {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.push(CodeNode::Text(self.into()));
    }
}

impl ToCode for String {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        self.as_str().add_to(parts);
    }
}

impl ToCode for bool {
    fn add_to(&self, parts: &mut Vec<CodeNode>) {
        parts.push(CodeNode::Word(if *self { "true" } else { "false" }));
    }
}

/// Implements [`ToCode`] for numbers as literals with a type suffix.
macro_rules! suffixed {
    ($($number:ident $literal:ident,)*) => {$(
        impl ToCode for $number {
            fn add_to(&self, parts: &mut Vec<CodeNode>) {
                Literal::$literal(*self).add_to(parts);
            }
        }
    )*};
}

suffixed! {
    i64 i64_suffixed,
    u64 u64_suffixed,
    usize usize_suffixed,
    u32 u32_suffixed,
    f32 f32_suffixed,
    f64 f64_suffixed,
}

/// An iterator, which `#(#x),*` interpolates.
pub trait Iterated: Iterator + Sized {
    fn items(self) -> Self {
        self
    }
}

impl<I: Iterator> Iterated for I {}

/// A list, which `#(#x),*` interpolates.
pub trait Items {
    type Item;

    fn items(&self) -> std::slice::Iter<'_, Self::Item>;
}

impl<T> Items for [T] {
    type Item = T;

    fn items(&self) -> std::slice::Iter<'_, T> {
        self.iter()
    }
}
