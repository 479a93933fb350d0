//! The fields of one struct while its code is made.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::name;
use crate::graph::ValueId;

/// A struct of the expansion: what its `load` makes and its `forward` uses.
#[derive(Debug, Default)]
pub struct Layer {
    pub fields: Vec<Field>,
    /// The path of the module that the struct stands for.
    path: Vec<String>,
    taken: BTreeSet<String>,
    constants: BTreeMap<ValueId, String>,
}

/// One field.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: TokenStream,
    /// An expression over `weights: &Weights`.
    pub load: TokenStream,
}

impl Layer {
    /// The struct that users see, which has fields of its own.
    pub fn root() -> Self {
        let mut layer = Layer::default();
        layer.taken.insert("anchor".to_owned());
        layer
    }

    /// The struct of a module.
    pub fn within(path: &[String]) -> Self {
        Layer {
            path: path.to_vec(),
            ..Layer::default()
        }
    }

    /// Whether the struct stands for just this module.
    pub fn is_at(&self, path: &[String]) -> bool {
        self.path == path
    }

    /// A weight's or module's name without the path that the struct stands for.
    pub fn relative(&self, name: &str) -> String {
        let parts = name.split(['.', '/']).filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.collect();
        // The weights of a wrapped model have its attribute's name in front.
        let starts = (0..parts.len()).find(|&at| {
            let rest = parts.get(at..).unwrap_or_default();
            rest.len() > self.path.len() && rest.iter().zip(&self.path).all(|(a, b)| a == b)
        });
        match starts.filter(|_| !self.path.is_empty()) {
            Some(at) => parts
                .get(at + self.path.len()..)
                .unwrap_or_default()
                .join("."),
            None => name.to_owned(),
        }
    }

    /// The fields as they stand in the struct.
    pub fn declarations(&self) -> TokenStream {
        let fields = self.fields.iter().map(|field| {
            let (name, ty) = (format_ident!("{}", field.name), &field.ty);
            quote!(#name: #ty,)
        });
        fields.collect()
    }

    /// The fields as `load` makes them.
    pub fn loads(&self) -> TokenStream {
        let fields = self.fields.iter().map(|field| {
            let (name, load) = (format_ident!("{}", field.name), &field.load);
            quote!(#name: #load,)
        });
        fields.collect()
    }

    /// Adds a field named after `hint` and returns its name.
    pub fn field(&mut self, hint: &str, ty: TokenStream, load: TokenStream) -> String {
        let wanted = name::snake(&self.relative(hint));
        let mut name = wanted.clone();
        let mut count = 1usize;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = match wanted.ends_with(|end: char| end.is_ascii_digit()) {
                true => format!("{wanted}_{count}"),
                false => format!("{wanted}{count}"),
            };
        }
        self.fields.push(Field {
            name: name.clone(),
            ty,
            load,
        });
        name
    }

    /// The field that holds a constant, made by `make` at its first use.
    pub fn constant(
        &mut self,
        id: ValueId,
        make: impl FnOnce() -> (String, TokenStream, TokenStream),
    ) -> TokenStream {
        let name = match self.constants.get(&id) {
            Some(name) => name.clone(),
            None => {
                let (hint, ty, load) = make();
                let name = self.field(&hint, ty, load);
                self.constants.insert(id, name.clone());
                name
            }
        };
        let name = format_ident!("{name}");
        quote!(self.#name)
    }
}
