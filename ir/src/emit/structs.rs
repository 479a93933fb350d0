//! Structs for modules of the graph.

mod alike;
mod arrays;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use proc_macro2::Literal;
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
    by_name: HashMap<String, usize>,
    all: Vec<Structure>,
    /// Expressions that load arrays, by those that load the elements.
    arrays: HashMap<Vec<Code>, Code>,
    /// Names of the weights of each array, layer by layer. They are consecutive in the table of weights.
    rows: Vec<Vec<Rc<str>>>,
    in_rows: HashSet<Rc<str>>,
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
    /// Modules that the struct represents.
    modules: Vec<String>,
    /// Functions that load the struct.
    loads: Vec<Load>,
    /// Indices of the loading functions by body, and by name.
    by_load: HashMap<Code, usize>,
    by_load_name: HashMap<String, usize>,
    load_names: Unique,
}

#[derive(Debug)]
struct Load {
    name: proc_macro2::Ident,
    weights: Code,
    /// Names of weights, and other texts, that differ between the layers of an array.
    texts: Vec<Rc<str>>,
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
                    modules: Vec::new(),
                    loads: Vec::new(),
                    by_load: HashMap::new(),
                    by_load_name: HashMap::new(),
                    load_names: Unique::default(),
                });
                let at = self.all.len().saturating_sub(1);
                self.by_body.insert(key, at);
                self.by_name.insert(name, at);
                at
            }
        };
        let Some(structure) = self.all.get_mut(at) else {
            return (Code::default(), Code::default());
        };
        let name = structure.name.clone();
        let body = layer.load(Code::default(), hints);
        structure.modules.push(layer.module().unwrap_or_else(|| field.to_owned()));
        let next = structure.loads.len();
        let at = structure.by_load.entry(body.clone()).or_insert(next);
        if let Some(load) = structure.loads.get_mut(*at).filter(|_| !layer.fields.is_empty()) {
            let load = &load.name;
            return (code!(#name), code!(#name::#load(weights)));
        }
        let load = structure.load_names.name(&format!("load_{}", snake(field)));
        structure.by_load_name.insert(load.clone(), next);
        let load = format_ident!("{load}");
        let weights = if layer.fields.is_empty() { code!(_weights) } else { code!(weights) };
        structure.loads.push(Load { name: load.clone(), weights, texts: Vec::new(), body });
        (code!(#name), code!(#name::#load(weights)))
    }

    /// Returns the names of the weights of each array, which must be consecutive in the table of weights.
    pub fn rows(&self) -> &[Vec<Rc<str>>] {
        &self.rows
    }

    /// Returns `true` if a struct reads values from the device.
    pub fn reads(&self, name: &str) -> bool {
        self.reading.contains(name)
    }

    /// Removes the loading functions that neither the constructor of the model nor another loading function calls.
    pub fn retain_called(&mut self, root: &Code) {
        let mut called: HashSet<(Rc<str>, Rc<str>)> = HashSet::new();
        let mut open = vec![root.clone()];
        while let Some(code) = open.pop() {
            each_call(&code, &mut |ty, load| {
                if called.insert((ty.clone(), load.clone())) {
                    open.extend(self.load(ty, load).map(|load| load.body.clone()));
                }
            });
        }
        for structure in &mut self.all {
            let name: Rc<str> = structure.name.to_string().into();
            let is_called = |load: &Load| called.contains(&(name.clone(), load.name.to_string().into()));
            structure.loads.retain(is_called);
            structure.by_load_name.clear();
        }
    }

    fn load(&self, ty: &str, load: &str) -> Option<&Load> {
        let structure = self.all.get(*self.by_name.get(ty)?)?;
        structure.loads.get(*structure.by_load_name.get(load)?)
    }

    /// Returns the bodies of the functions that load the structs.
    pub fn loads(&self) -> impl Iterator<Item = &Code> {
        let loads = self.all.iter().flat_map(|structure| &structure.loads);
        // The function of an array runs several times.
        loads.flat_map(|load| std::iter::repeat_n(&load.body, if load.texts.is_empty() { 1 } else { 2 }))
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

/// Calls `see` with each `Mlp::load_mlp`, the struct and the function.
fn each_call(code: &Code, see: &mut impl FnMut(&Rc<str>, &Rc<str>)) {
    for window in code.parts().windows(3) {
        if let [CodeNode::Name(ty), CodeNode::Sign("::"), CodeNode::Name(load)] = window {
            see(ty, load);
        }
    }
    for part in code.parts() {
        part.inside().into_iter().flatten().for_each(|inside| each_call(inside, see));
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
        let modules: Vec<String> = self.modules.iter().map(|module| format!("`{}`", shown(module))).collect();
        let doc = match modules.as_slice() {
            [first, second, rest @ ..] if rest.len() > 4 => {
                format!(" Modules {first}, {second} and {} more of the model.", rest.len())
            }
            [only] => format!(" Module {only} of the model."),
            _ => format!(" Modules {} of the model.", modules.join(", ")),
        };
        let is_short = short.contains(&name.to_string());
        let loads = self.loads.into_iter().map(|load| {
            let Load { name, weights, texts, body, .. } = load;
            let body = shortened(&body, short);
            let name = if is_short { format_ident!("load") } else { name };
            let (parameter, binding) = if texts.is_empty() {
                (Code::default(), Code::default())
            } else {
                let names: Vec<CodeNode> = texts.iter().map(|text| CodeNode::Name(text.clone())).collect();
                let count = Literal::usize_unsuffixed(texts.len());
                (code!(, names: [&'static str; #count]), code!(let [#(#names),*] = names;))
            };
            code! {
                fn #name(#weights: &Weights<'_> #parameter) -> Self {
                    #binding
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
