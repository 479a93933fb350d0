//! Structs for modules of the graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use quote::format_ident;

use super::name::Unique;
use super::variables::Hint;
use super::{Layer, camel, snake};
use crate::diagnostics::shown;
use crate::rust::{Code, CodeNode, Variable, code};

/// Structs created so far. Equal parts share one.
#[derive(Debug, Default)]
pub struct Structs {
    names: Unique,
    /// Names of the structs that read values from the device.
    reading: BTreeSet<String>,
    /// Indices of the structs by declaration and function.
    by_body: HashMap<(Code, Code), usize>,
    all: Vec<Structure>,
}

/// Functions that run a struct.
#[derive(Debug)]
pub struct Functions {
    pub forward: Code,
    /// The async version, if `forward` reads.
    pub async_body: Option<Code>,
}

#[derive(Debug)]
struct Structure {
    name: proc_macro2::Ident,
    declaration: Code,
    functions: Functions,
    /// Functions that load the struct.
    loads: Vec<Load>,
    /// Indices of the loading functions by body.
    by_load: HashMap<Code, usize>,
    load_names: Unique,
}

#[derive(Debug)]
struct Load {
    /// Modules that it loads.
    modules: Vec<String>,
    name: proc_macro2::Ident,
    weights: Code,
    body: Code,
}

impl Structs {
    /// Reserves a name, so that no struct gets it.
    pub fn reserve(&mut self, name: &str) {
        self.names.reserve(name);
    }

    /// Returns the type of a field and the expression that loads it. Structs with equal declarations and equal `alike`,
    /// the function with names that contain no words of the file, are one.
    pub fn instance(
        &mut self,
        field: &str,
        type_name: &str,
        layer: &Layer,
        alike: &Code,
        functions: Functions,
        hints: &BTreeMap<Variable, Hint>,
    ) -> (Code, Code) {
        let declaration = layer.declarations();
        let key = (declaration.clone(), alike.clone());
        let at = match self.by_body.get(&key) {
            Some(&at) => at,
            None => {
                let name = self.names.name(&camel(type_name));
                if functions.async_body.is_some() {
                    self.reading.insert(name.clone());
                }
                self.all.push(Structure {
                    name: format_ident!("{name}"),
                    declaration,
                    functions,
                    loads: Vec::new(),
                    by_load: HashMap::new(),
                    load_names: Unique::default(),
                });
                let at = self.all.len().saturating_sub(1);
                self.by_body.insert(key, at);
                at
            }
        };
        let Some(structure) = self.all.get_mut(at) else {
            return (Code::default(), Code::default());
        };
        let name = structure.name.clone();
        let body = layer.load(Code::default(), hints);
        let module = layer.module().unwrap_or_else(|| field.to_owned());
        let next = structure.loads.len();
        let at = structure.by_load.entry(body.clone()).or_insert(next);
        if let Some(load) = structure.loads.get_mut(*at).filter(|_| !layer.fields.is_empty()) {
            load.modules.push(module);
            let load = &load.name;
            return (code!(#name), code!(#name::#load(weights)));
        }
        let load = structure.load_names.name(&format!("load_{}", snake(field)));
        let load = format_ident!("{load}");
        let weights = if layer.fields.is_empty() { code!(_weights) } else { code!(weights) };
        structure.loads.push(Load { modules: vec![module], name: load.clone(), weights, body });
        (code!(#name), code!(#name::#load(weights)))
    }

    /// Returns `true` if a struct reads values from the device.
    pub fn reads(&self, name: &str) -> bool {
        self.reading.contains(name)
    }

    /// Returns the bodies of the functions that load the structs.
    pub fn loads(&self) -> impl Iterator<Item = &Code> {
        let loads = self.all.iter().flat_map(|structure| &structure.loads);
        loads.map(|load| &load.body)
    }

    /// Returns the structs as items.
    pub fn items(&mut self) -> Vec<Code> {
        let short = self.loaded_once();
        let all = std::mem::take(&mut self.all).into_iter();
        all.map(|structure| structure.item(&short)).collect()
    }

    /// Returns an expression that loads structs, with the final names of the loading functions.
    pub fn shortened(&self, load: &Code) -> Code {
        shortened(load, &self.loaded_once())
    }

    /// Returns the structs with a single loading function, whose name becomes `load`.
    fn loaded_once(&self) -> BTreeSet<String> {
        let all = self.all.iter();
        let once = all.filter(|structure| structure.loads.len() == 1);
        once.map(|structure| structure.name.to_string()).collect()
    }
}

/// Replaces `Mlp::load_mlp(weights)` by `Mlp::load(weights)` for the structs in `short`.
fn shortened(code: &Code, short: &BTreeSet<String>) -> Code {
    let mut parts: Vec<CodeNode> = Vec::new();
    for part in code.parts() {
        let is_load = match (parts.as_slice(), part) {
            ([.., CodeNode::Name(ty), CodeNode::Sign("::")], CodeNode::Name(_)) => short.contains(&**ty),
            _ => false,
        };
        parts.push(if is_load {
            CodeNode::Name("load".into())
        } else {
            part.with_inside(&mut |inside| shortened(inside, short))
        });
    }
    parts.into()
}

impl Structure {
    fn item(self, short: &BTreeSet<String>) -> Code {
        let (name, declaration) = (self.name, self.declaration);
        let Functions { forward, async_body } = self.functions;
        let modules = self.loads.iter().flat_map(|load| &load.modules);
        let modules: Vec<String> = modules.map(|module| format!("`{}`", shown(module))).collect();
        let doc = match modules.as_slice() {
            [first, second, rest @ ..] if rest.len() > 4 => {
                format!(" Modules {first}, {second} and {} more of the model.", rest.len())
            }
            [only] => format!(" Module {only} of the model."),
            _ => format!(" Modules {} of the model.", modules.join(", ")),
        };
        let is_short = short.contains(&name.to_string());
        let loads = self.loads.into_iter().map(|load| {
            let Load { name, weights, body, .. } = load;
            let body = shortened(&body, short);
            let name = if is_short { format_ident!("load") } else { name };
            code! {
                fn #name(#weights: &Weights<'_>) -> Self {
                    #body
                }
            }
        });
        code! {
            #[doc = #doc]
            #[derive(Module, Debug)]
            struct #name {
                #declaration
            }

            impl #name {
                #forward

                #async_body

                #(#loads)*
            }
        }
    }
}
