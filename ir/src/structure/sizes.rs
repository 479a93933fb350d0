//! Names of sizes in two graphs.

use std::collections::BTreeMap;

use crate::attributes::{Attribute, Described};
use crate::dim::{Dim, Symbol};
use crate::graph::Value;
use crate::types::{Known, Type};

/// Name that no file uses, for sizes without a counterpart.
const UNKNOWN: &str = "?second";

/// Names of sizes of the second graph, with those that they have in the first one.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    first: BTreeMap<Symbol, Symbol>,
    /// The same pairs, by the name in the first graph.
    second: BTreeMap<Symbol, Symbol>,
}

impl Sizes {
    /// Pairs the names of sizes that have the same position in the types of two values or in their known elements, such as the
    /// number of an iteration. Names that have a counterpart keep it.
    pub fn bind(&mut self, first: &Value, second: &Value) {
        if let (Some(first), Some(second)) = (&first.ty, &second.ty) {
            self.bind_types(first, second);
        }
        if let (Some(Known::Ints(first)), Some(Known::Ints(second))) =
            (first.known.peek(), second.known.peek())
        {
            self.bind_all(first, second);
        }
    }

    fn bind_types(&mut self, first: &Type, second: &Type) {
        match (first, second) {
            (Type::Tensor(a), Type::Tensor(b)) => self.bind_all(&a.shape, &b.shape),
            (Type::Sequence(a), Type::Sequence(b))
            | (Type::Optional(a), Type::Optional(b))
            | (Type::Map(_, a), Type::Map(_, b)) => self.bind_types(a, b),
            _ => {}
        }
    }

    fn bind_all(&mut self, first: &[Dim], second: &[Dim]) {
        if first.len() != second.len() {
            return;
        }
        for (a, b) in first.iter().zip(second) {
            if let (Some(a), Some(b)) = (a.name(), b.name())
                && !self.first.contains_key(b)
                && !self.second.contains_key(a)
            {
                self.first.insert(b.clone(), a.clone());
                self.second.insert(a.clone(), b.clone());
            }
        }
    }

    /// Returns `true` if two types are equal up to the names of sizes.
    pub fn same_types(&self, first: Option<&Type>, second: Option<&Type>) -> bool {
        let attribute = |ty: Option<&Type>| ty.map(Type::attributes);
        match (attribute(first), attribute(second)) {
            (Some(first), Some(second)) => self.same(&first, &second),
            (first, second) => first == second,
        }
    }

    /// Returns `true` if two attributes are equal up to the names of sizes.
    pub fn same(&self, first: &Attribute, second: &Attribute) -> bool {
        *first == self.renamed(second)
    }

    /// Returns an attribute of the second graph with the names of the first one.
    pub fn renamed(&self, attribute: &Attribute) -> Attribute {
        match attribute {
            Attribute::Size(size) => Attribute::Size(self.size(size)),
            // It is compared by its location, which means nothing in another file.
            Attribute::Fields("Weight", _) => Attribute::Word("weight of the second file"),
            Attribute::List(items) => Attribute::List(items.iter().map(|item| self.renamed(item)).collect()),
            Attribute::Fields(name, fields) => {
                let fields = fields.iter().map(|(field, value)| (*field, self.renamed(value)));
                Attribute::Fields(name, fields.collect())
            }
            Attribute::Row(inner) => Attribute::Row(Box::new(self.renamed(inner))),
            other => other.clone(),
        }
    }

    fn size(&self, size: &Dim) -> Dim {
        if size.number().is_some() || size.is_any() {
            return size.clone();
        }
        let name = |symbol: &Symbol| self.first.get(symbol).cloned().unwrap_or_else(|| UNKNOWN.into());
        size.renamed(&name).unwrap_or_else(|| Dim::named(UNKNOWN))
    }
}
