//! The fields of one struct while its code is made.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use quote::format_ident;

use super::load::Bindings;
use super::name::{self, Unique};
use super::tree::is_number;
use crate::graph::ValueId;
use crate::rust::{Code, Part, code};

/// A struct of the expansion: what its `load` makes and its `forward` uses.
#[derive(Debug)]
pub struct Layer {
    pub fields: Vec<Field>,
    /// The weights that are fields of the struct itself, as several of its layers read them.
    pub owned: BTreeSet<ValueId>,
    /// The path of the module that the struct stands for.
    path: Vec<String>,
    /// Whether fields are called after what they are, so that blocks of equal code are equal.
    plain: bool,
    /// Computed constants of which several fields are made, in order.
    pub(super) bindings: Bindings,
    /// What the steps of its function are called, where the model is traced, and the field that has it.
    steps: Option<(String, Vec<Code>)>,
    /// The name of the layer that was asked for last.
    pub(super) latest: Option<String>,
    taken: Unique,
    constants: BTreeMap<ValueId, String>,
    /// The fields by what they are.
    loaded: HashMap<(Code, Code), String>,
}

/// One field.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: Code,
    /// An expression over `weights: &Weights`.
    pub load: Code,
    /// The weights of the file in it, by their paths.
    pub parameters: Vec<(String, ValueId)>,
    /// Whether it holds a tensor, so that it knows the device of the model.
    is_placed: bool,
}

/// Layers that hold tensors, whatever they are loaded with.
const PLACED: &[&str] = &[
    "BatchNorm",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "GroupNorm",
    "Gru",
    "InstanceNorm",
    "LayerNorm",
    "Linear",
    "Lstm",
    "RmsNorm",
    "Rnn",
];

/// Parameters of functions that the `Module` derive writes, in which fields become variables.
const DERIVED: [&str; 2] = ["device", "mapper"];

impl Default for Layer {
    fn default() -> Self {
        let mut taken = Unique::default();
        DERIVED.iter().for_each(|name| taken.reserve(name));
        Layer {
            fields: Vec::new(),
            owned: BTreeSet::new(),
            path: Vec::new(),
            plain: false,
            bindings: Bindings::default(),
            steps: None,
            latest: None,
            taken,
            constants: BTreeMap::new(),
            loaded: HashMap::new(),
        }
    }
}

impl Layer {
    /// The struct that users see, which has fields of its own; everything in it is of this module.
    pub fn root(path: Vec<String>) -> Self {
        let mut layer = Layer { path, ..Layer::default() };
        layer.taken.reserve("anchor");
        layer
    }

    /// The struct of a module.
    pub fn within(path: &[String]) -> Self {
        Layer { path: path.to_vec(), ..Layer::default() }
    }

    /// The struct of a stretch of a graph that knows no modules.
    pub fn plain() -> Self {
        Layer { plain: true, ..Layer::default() }
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
        let Some(at) = starts.filter(|_| !self.path.is_empty()) else {
            return name.to_owned();
        };
        let rest = parts.get(at + self.path.len()..).unwrap_or_default().join(".");
        // A number alone is no name: `0` of `features` is `features0`.
        let word = self.path.iter().rev().find(|part| !is_number(part));
        match word.filter(|_| rest.starts_with(|first: char| first.is_ascii_digit())) {
            Some(word) => format!("{word}{rest}"),
            None => rest,
        }
    }

    /// The module that the struct stands for, as the file writes it.
    pub fn module(&self) -> Option<String> {
        (!self.path.is_empty()).then(|| self.path.join("."))
    }

    /// Puts the fields in the order in which code uses them.
    pub fn order(&mut self, code: &Code) {
        let mut places: BTreeMap<Rc<str>, usize> = BTreeMap::new();
        each_field(code, &mut |name| {
            let next = places.len();
            places.entry(name.clone()).or_insert(next);
        });
        let place = |field: &Field| places.get(&*field.name).copied().unwrap_or(usize::MAX);
        self.fields.sort_by_key(place);
    }

    /// The fields as they stand in the struct.
    pub fn declarations(&self) -> Code {
        let fields = self.fields.iter().map(|field| {
            let (name, ty) = (format_ident!("{}", field.name), &field.ty);
            code!(#name: #ty,)
        });
        fields.collect()
    }

    /// Adds a field named after `hint`, unless there is one already that is loaded alike, and returns its
    /// name.
    pub fn field(&mut self, hint: &str, ty: Code, load: Code, parameters: Vec<(String, ValueId)>) -> String {
        let key = (ty, load);
        if let Some(name) = self.loaded.get(&key) {
            return name.clone();
        }
        let (ty, load) = key.clone();
        let wanted =
            if self.plain { name::snake(kind(&ty)) } else { name::snake(&self.relative(name::plain(hint))) };
        let name = self.taken.name(&wanted);
        self.loaded.insert(key, name.clone());
        let is_placed = match words(&ty).as_slice() {
            ["Param" | "Tensor", ..] => true,
            ["layers", layer] => PLACED.contains(layer),
            _ => false,
        };
        self.fields.push(Field { name: name.clone(), is_placed, ty, load, parameters });
        name
    }

    /// Adds a step, and returns the field that has the steps and the place of this one.
    pub fn step(&mut self, step: Code) -> (String, usize) {
        if self.steps.is_none() {
            // What it is loaded with is complete when the function is.
            let field = self.field("trace", code!(trace::Steps), Code::default(), Vec::new());
            self.steps = Some((field, Vec::new()));
        }
        let (field, steps) = self.steps.get_or_insert_default();
        steps.push(step);
        (field.clone(), steps.len() - 1)
    }

    /// Has the field of the steps be loaded with all of them.
    pub fn finish_steps(&mut self) {
        let Some((name, steps)) = &self.steps else {
            return;
        };
        let field = self.fields.iter_mut().find(|field| field.name == *name);
        if let Some(field) = field {
            field.load = code!(trace::Steps::new(&[#(#steps),*]));
        }
    }

    /// The first field that knows the device of the model.
    pub fn placed(&self) -> Option<&str> {
        let field = self.fields.iter().find(|field| field.is_placed);
        field.map(|field| field.name.as_str())
    }

    /// Has a field know the device.
    pub fn place(&mut self, name: &str) {
        let field = self.fields.iter_mut().find(|field| field.name == name);
        if let Some(field) = field {
            field.is_placed = true;
        }
    }

    /// What loads the fields and makes the bindings behind so many.
    pub fn made_since(&self, before: (usize, usize)) -> impl Iterator<Item = &Code> {
        let fields = self.fields.iter().skip(before.0);
        let loads = fields.map(|field| &field.load);
        loads.chain(self.bindings.expressions().skip(before.1))
    }

    /// The parameters of the file in the struct, by their paths.
    pub fn parameters(&self) -> Vec<(String, ValueId)> {
        let each = |field: &Field| {
            let join = |(path, id): &(String, ValueId)| {
                if path.is_empty() {
                    (field.name.clone(), *id)
                } else {
                    (format!("{}.{path}", field.name), *id)
                }
            };
            field.parameters.iter().map(join).collect::<Vec<_>>()
        };
        self.fields.iter().flat_map(each).collect()
    }

    /// The field that holds a constant, made by `make` at its first use.
    pub fn constant(
        &mut self,
        id: ValueId,
        parameter: bool,
        make: impl FnOnce() -> (String, Code, Code),
    ) -> Code {
        let name = match self.constants.get(&id) {
            Some(name) => name.clone(),
            None => {
                let (hint, ty, load) = make();
                let parameters = parameter.then(|| (String::new(), id));
                let name = self.field(&hint, ty, load, parameters.into_iter().collect());
                self.constants.insert(id, name.clone());
                name
            }
        };
        Code::field(&name)
    }
}

/// Calls `see` with each field, those that compute the arguments of others first.
fn each_field(code: &Code, see: &mut impl FnMut(&Rc<str>)) {
    let mut parts = code.parts().iter().peekable();
    while let Some(part) = parts.next() {
        if let Part::Field(name) = part {
            if let Some(Part::Method(_, arguments)) = parts.peek() {
                each_field(arguments, see);
                parts.next();
            }
            see(name);
        } else {
            let inside = part.inside().into_iter().flatten();
            inside.for_each(|code| each_field(code, see));
        }
    }
}

/// The first two words of a type.
fn words(ty: &Code) -> Vec<&str> {
    let words = ty.parts().iter().filter_map(|part| match part {
        Part::Word(word) | Part::Member(word) => Some(*word),
        Part::Name(name) => Some(&**name),
        _ => None,
    });
    words.take(2).collect()
}

/// What a field of this type may be called: `linear` for `layers::Linear`.
fn kind(ty: &Code) -> &str {
    match words(ty).as_slice() {
        ["Param", ..] => "parameter",
        ["Tensor" | "Array", ..] => "constant",
        ["layers", layer] => layer,
        [first, ..] => first,
        [] => "part",
    }
}
