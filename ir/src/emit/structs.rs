//! The structs that modules of the graph become.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::name::Unique;
use super::variables::Hint;
use super::{Layer, camel, snake};
use crate::diagnostics::shown;

/// The structs made so far: parts that are alike share one.
#[derive(Debug, Default)]
pub struct Structs {
    names: Unique,
    /// By what they hold and do.
    by_body: BTreeMap<String, usize>,
    all: Vec<Structure>,
}

#[derive(Debug)]
struct Structure {
    name: proc_macro2::Ident,
    declaration: TokenStream,
    forward: TokenStream,
    /// The loading functions: for which module, under which name, with which body.
    loads: Vec<Load>,
    /// By their bodies.
    by_load: BTreeMap<String, usize>,
    load_names: Unique,
}

#[derive(Debug)]
struct Load {
    /// The modules that it loads.
    modules: Vec<String>,
    name: proc_macro2::Ident,
    weights: TokenStream,
    body: TokenStream,
}

impl Structs {
    /// Keeps a name from being given to a struct.
    pub fn reserve(&mut self, name: &str) {
        self.names.reserve(name);
    }

    /// The type of a field of this name and the expression that loads it. Structs are alike whose
    /// functions are so with parameters that are called the same.
    pub fn instance(
        &mut self,
        field: &str,
        type_name: &str,
        layer: &Layer,
        alike: &TokenStream,
        forward: TokenStream,
        hints: &BTreeMap<String, Hint>,
    ) -> (TokenStream, TokenStream) {
        let declaration = layer.declarations();
        let key = format!("{declaration} {alike}");
        let at = match self.by_body.get(&key) {
            Some(&at) => at,
            None => {
                let name = self.names.name(&camel(type_name));
                self.all.push(Structure {
                    name: format_ident!("{name}"),
                    declaration,
                    forward,
                    loads: Vec::new(),
                    by_load: BTreeMap::new(),
                    load_names: Unique::default(),
                });
                let at = self.all.len().saturating_sub(1);
                self.by_body.insert(key, at);
                at
            }
        };
        let Some(structure) = self.all.get_mut(at) else {
            return (TokenStream::new(), TokenStream::new());
        };
        let name = structure.name.clone();
        let body = layer.load(TokenStream::new(), hints);
        let module = layer.module().unwrap_or_else(|| field.to_owned());
        let next = structure.loads.len();
        let at = structure.by_load.entry(body.to_string()).or_insert(next);
        if let Some(load) = structure
            .loads
            .get_mut(*at)
            .filter(|_| !layer.fields.is_empty())
        {
            load.modules.push(module);
            let load = &load.name;
            return (quote!(#name), quote!(#name::#load(weights)));
        }
        let load = structure.load_names.name(&format!("load_{}", snake(field)));
        let load = format_ident!("{load}");
        let weights = match layer.fields.is_empty() {
            true => quote!(_weights),
            false => quote!(weights),
        };
        structure.loads.push(Load {
            modules: vec![module],
            name: load.clone(),
            weights,
            body,
        });
        (quote!(#name), quote!(#name::#load(weights)))
    }

    /// The bodies of the functions that load them.
    pub fn loads(&self) -> impl Iterator<Item = &TokenStream> {
        let loads = self.all.iter().flat_map(|structure| &structure.loads);
        loads.map(|load| &load.body)
    }

    /// The structs as items.
    pub fn items(&mut self) -> Vec<TokenStream> {
        let all = std::mem::take(&mut self.all);
        all.into_iter().map(Structure::item).collect()
    }
}

impl Structure {
    fn item(self) -> TokenStream {
        let (name, declaration, forward) = (self.name, self.declaration, self.forward);
        let modules = self.loads.iter().flat_map(|load| &load.modules);
        let modules: Vec<String> = modules
            .map(|module| format!("`{}`", shown(module)))
            .collect();
        let doc = match modules.as_slice() {
            [first, second, rest @ ..] if rest.len() > 4 => {
                format!(" {first}, {second} and {} more of the model.", rest.len())
            }
            _ => format!(" {} of the model.", modules.join(", ")),
        };
        let loads = self.loads.into_iter().map(|load| {
            let Load {
                name,
                weights,
                body,
                ..
            } = load;
            quote! {
                fn #name(#weights: &Weights<'_>) -> Self {
                    #body
                }
            }
        });
        quote! {
            #[doc = #doc]
            #[derive(Module, Debug)]
            struct #name {
                #declaration
            }

            impl #name {
                #forward

                #(#loads)*
            }
        }
    }
}
