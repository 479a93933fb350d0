//! Choices of the caller for the generated item.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::{imports, name};
use crate::rust::{Code, code};

/// The struct that the caller requests.
#[derive(Clone, Debug)]
pub struct Item {
    /// Documentation and other attributes.
    pub attributes: TokenStream,
    pub visibility: TokenStream,
    pub name: Ident,
    /// Path of the runtime crate.
    pub runtime: TokenStream,
    /// Name of the model's file, for documentation.
    pub file: String,
    /// Name of the model's file that does not depend on the folder of the package, for symbols.
    pub origin: String,
    /// Functions that compute operators, as the caller wrote them, by operator.
    pub functions: BTreeMap<String, TokenStream>,
}

impl Item {
    /// Returns `pub struct Model`, compiled from a file with this name.
    pub fn model(file: impl Into<String>) -> Self {
        let file = file.into();
        Item {
            attributes: TokenStream::new(),
            visibility: quote!(pub),
            name: format_ident!("Model"),
            runtime: quote!(::onnx_embed),
            origin: file.clone(),
            file,
            functions: BTreeMap::new(),
        }
    }

    /// Returns the item with its name inside the module, which differs if that name has another meaning there.
    pub(super) fn inside(&self) -> Self {
        let mut taken = imports::names();
        let name = if taken.any(|name| self.name == name) {
            format_ident!("Embedded{}", self.name)
        } else {
            self.name.clone()
        };
        Item { name, ..self.clone() }
    }

    /// Returns the names of the structs of inputs and outputs.
    pub(super) fn structures(&self) -> [Ident; 2] {
        ["Input", "Output"].map(|part| format_ident!("{}{part}", self.name))
    }

    /// Returns the name of the module.
    pub(super) fn module(&self) -> Ident {
        format_ident!("{}_onnx", name::snake(&self.name.to_string()))
    }

    /// Returns the `use` of the module's public items. `inside` is the item with its name in the module.
    pub(super) fn uses(&self, inside: &Item, inputs: usize, outputs: usize, others: &[Ident]) -> Code {
        let (name, module) = (&self.name, self.module());
        let visibility = Code::foreign(self.visibility.clone());
        let [input, output] = self.structures();
        let named = |ident: &Ident| Code::foreign(ident.to_token_stream());
        let item = named(&inside.name);
        let mut names = vec![if inside.name == *name {
            item
        } else {
            let name = named(name);
            code!(#item as #name)
        }];
        if inputs > 1 {
            names.push(named(&input));
        }
        if outputs != 1 {
            names.push(named(&output));
        }
        names.extend(others.iter().map(named));
        code! {
            #[allow(unused_imports)]
            #visibility use #module::{#(#names),*};
        }
    }
}
