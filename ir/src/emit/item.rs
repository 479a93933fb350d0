//! What the caller chose for the item itself.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident};

use super::{imports, name};
use crate::rust::{Code, code};

/// The struct that the caller asks for.
#[derive(Clone, Debug)]
pub struct Item {
    /// Documentation and other attributes.
    pub attributes: TokenStream,
    pub visibility: TokenStream,
    pub name: Ident,
    /// The path of the run-time crate.
    pub runtime: TokenStream,
    /// The model's file name, for documentation.
    pub file: String,
    /// The functions that compute operators, by the names of these, as the caller wrote them.
    pub functions: BTreeMap<String, TokenStream>,
}

impl Item {
    /// The item as its module has it, where some names have another meaning.
    pub(super) fn inside(&self) -> Self {
        let mut taken = imports::names();
        let name = if taken.any(|name| self.name == name) {
            format_ident!("Embedded{}", self.name)
        } else {
            self.name.clone()
        };
        Item { name, ..self.clone() }
    }

    /// The names of the structs of its inputs and outputs.
    pub(super) fn structures(&self) -> [Ident; 2] {
        ["Input", "Output"].map(|part| format_ident!("{}{part}", self.name))
    }

    /// The name of its module.
    pub(super) fn module(&self) -> Ident {
        format_ident!("{}_onnx", name::snake(&self.name.to_string()))
    }

    /// What is taken out of the module, where the item is called as `inside` is.
    pub(super) fn uses(&self, inside: &Item, inputs: usize, outputs: usize) -> Code {
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
        code! {
            #[allow(unused_imports)]
            #visibility use #module::{#(#names),*};
        }
    }
}
