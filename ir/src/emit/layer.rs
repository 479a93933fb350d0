//! Fields of a struct while its code is generated.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::bindings::Bindings;
use super::name::{self, Unique};
use super::place::{Place, is_number};
use crate::graph::ValueId;
use crate::rust::{Code, CodeNode, code};

/// A struct of the expansion: fields that its `load` creates and its `forward` uses.
#[derive(Debug)]
pub struct Layer {
    pub fields: Vec<Field>,
    /// Weights that are fields of this struct because several of its layers use them.
    pub owned: BTreeSet<ValueId>,
    /// Path of the module that the struct represents.
    path: Vec<String>,
    /// Whether fields are named after their types, so that equal blocks have equal code.
    plain: bool,
    /// Computed constants that the constructor binds to variables, in order.
    pub(super) bindings: Bindings,
    /// Field with the traced nodes of the function, and the description of each node, if the model is traced.
    steps: Option<(String, Vec<Code>)>,
    /// Name of the layer that was requested last.
    pub(super) latest: Option<String>,
    taken: Unique,
    constants: BTreeMap<ValueId, String>,
    /// Names of the fields by type, load expression and the weight whose packed form they keep.
    loaded: HashMap<(Code, Code, Option<PackedWeight>), String>,
}

/// A weight that another struct contains, and whether it is transposed.
pub type PackedWeight = (ValueId, bool);

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: Code,
    /// An expression over `weights: &Weights`.
    pub load: Code,
    /// Weights of the file in the field, with their paths.
    pub parameters: Vec<(String, ValueId)>,
    /// Whether it contains a tensor, and therefore determines the device of the model.
    pub has_tensor: bool,
    /// Location of the module that it represents, if that is one of a list.
    pub place: Option<Place>,
}

/// Layers that always contain tensors.
const TENSOR_LAYERS: &[&str] = &[
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

/// Parameters of functions that the `Module` derive generates. Fields become variables there and need other names.
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
    /// Creates the public struct, which reserves the field `anchor`. `path` is the module that contains the whole
    /// model.
    pub fn root(path: Vec<String>) -> Self {
        let mut layer = Layer { path, ..Layer::default() };
        layer.taken.reserve("anchor");
        layer
    }

    /// Creates the struct of a module.
    pub fn within(path: &[String]) -> Self {
        Layer { path: path.to_vec(), ..Layer::default() }
    }

    /// Creates the struct of consecutive nodes that are not a module.
    pub fn plain() -> Self {
        Layer { plain: true, ..Layer::default() }
    }

    /// Returns `true` if the struct represents exactly this module.
    pub fn is_at(&self, path: &[String]) -> bool {
        self.path == path
    }

    /// Returns the name of a weight or module without the path of the struct.
    pub fn relative(&self, name: &str) -> String {
        let parts = name.split(['.', '/']).filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.collect();
        // In a wrapped model, names of weights start with the name of the attribute that contains the model.
        let find = |is_equal: &dyn Fn(&str, &str) -> bool| {
            (0..parts.len()).find(|&at| {
                let rest = parts.get(at..).unwrap_or_default();
                rest.len() > self.path.len() && rest.iter().zip(&self.path).all(|(a, b)| is_equal(a, b))
            })
        };
        // Equal weights of several layers have the name of the first.
        let is_alike = |a: &str, b: &str| a == b || is_number(a) && is_number(b);
        let starts = find(&|a, b| a == b).or_else(|| find(&is_alike));
        let Some(at) = starts.filter(|_| !self.path.is_empty()) else {
            return name.to_owned();
        };
        let rest = parts.get(at + self.path.len()..).unwrap_or_default().join(".");
        // A number is not a name: `0` of `features` is `features0`.
        let word = self.path.iter().rev().find(|part| !is_number(part));
        match word.filter(|_| rest.starts_with(|first: char| first.is_ascii_digit())) {
            Some(word) => format!("{word}{rest}"),
            None => rest,
        }
    }

    /// Returns the path of the module that the struct represents, as in the file.
    pub fn module(&self) -> Option<String> {
        (!self.path.is_empty()).then(|| self.path.join("."))
    }

    /// Sorts the fields by their first use in the code.
    pub fn order(&mut self, code: &Code) {
        let mut indices: BTreeMap<Rc<str>, usize> = BTreeMap::new();
        each_field(code, &mut |name| {
            let next = indices.len();
            indices.entry(name.clone()).or_insert(next);
        });
        let index = |field: &Field| indices.get(&*field.name).copied().unwrap_or(usize::MAX);
        self.fields.sort_by_key(index);
    }

    /// Returns the declarations of the fields.
    pub fn declarations(&self) -> Code {
        let fields = self.fields.iter().map(|field| {
            let (name, ty) = (format_ident!("{}", field.name), &field.ty);
            code!(#name: #ty,)
        });
        fields.collect()
    }

    /// Adds a field named after `hint`, unless a field with the same type and load expression exists. Returns its name.
    pub fn field(&mut self, hint: &str, ty: Code, load: Code, parameters: Vec<(String, ValueId)>) -> String {
        self.field_for(None, hint, ty, load, parameters)
    }

    /// Adds a field like [`Layer::field`] that keeps the packed form of a weight. Each weight has a field of its own.
    pub fn field_for(
        &mut self,
        packed: Option<PackedWeight>,
        hint: &str,
        ty: Code,
        load: Code,
        parameters: Vec<(String, ValueId)>,
    ) -> String {
        let key = (ty, load, packed);
        if let Some(name) = self.loaded.get(&key) {
            return name.clone();
        }
        let (ty, load, _) = key.clone();
        let wanted =
            if self.plain { name::snake(kind(&ty)) } else { name::snake(&self.relative(name::plain(hint))) };
        let name = self.taken.name(&wanted);
        self.loaded.insert(key, name.clone());
        let has_tensor = match words(&ty).as_slice() {
            ["Param" | "Tensor", ..] => true,
            ["layers", layer] => TENSOR_LAYERS.contains(layer),
            _ => false,
        };
        self.fields.push(Field { name: name.clone(), has_tensor, ty, load, parameters, place: None });
        name
    }

    /// Records that a field represents a module of a list.
    pub fn set_place(&mut self, name: &str, place: Place) {
        let field = self.fields.iter_mut().find(|field| field.name == name);
        if let Some(field) = field {
            field.place.get_or_insert(place);
        }
    }

    /// Replaces fields of consecutive modules by an array, which `load` creates. `is_whole` if no other field represents
    /// a module of their list. Returns the name of the array.
    pub fn join(&mut self, fields: &[Field], is_whole: bool, load: Code) -> Option<String> {
        let (first, last) = (fields.first()?, fields.last()?);
        let ty = &first.ty;
        let (from, to) = (first.place.as_ref()?, last.place.as_ref()?);
        let is_whole = !from.is_module || is_whole && from.number == 0;
        let wanted = if self.plain || is_whole {
            plural(&name::snake(if self.plain { kind(ty) } else { from.word() }))
        } else {
            // Numbers are those of the file, since the indices of elements are not.
            let word = name::snake(from.word());
            let between = if word.ends_with(|end: char| end.is_ascii_digit()) { "_" } else { "" };
            format!("{word}{between}{}_to_{}", from.number, to.number)
        };
        let name = self.taken.name(&wanted);
        let length = Literal::usize_unsuffixed(fields.len());
        let parameters = fields.iter().enumerate().flat_map(|(at, field)| {
            let parameters = field.parameters.iter();
            parameters.map(move |(path, id)| (format!("{at}.{path}"), *id))
        });
        let joined = Field {
            name: name.clone(),
            ty: code!([#ty; #length]),
            load,
            parameters: parameters.collect(),
            has_tensor: fields.iter().any(|field| field.has_tensor),
            place: None,
        };
        self.fields.retain(|field| !fields.iter().any(|joined| joined.name == field.name));
        self.fields.push(joined);
        Some(name)
    }

    /// Adds a traced node. Returns the field of the traced nodes and the index of the new one.
    pub fn step(&mut self, step: Code) -> (String, usize) {
        if self.steps.is_none() {
            // `finish_steps` sets the load expression, because all nodes must be known.
            let field = self.field("trace", code!(trace::TracedNodes), Code::default(), Vec::new());
            self.steps = Some((field, Vec::new()));
        }
        let (field, steps) = self.steps.get_or_insert_default();
        steps.push(step);
        (field.clone(), steps.len() - 1)
    }

    /// Sets the load expression of the field of traced nodes.
    pub fn finish_steps(&mut self) {
        let Some((name, steps)) = &self.steps else {
            return;
        };
        let field = self.fields.iter_mut().find(|field| field.name == *name);
        if let Some(field) = field {
            field.load = code!(trace::TracedNodes::new(&[#(#steps),*]));
        }
    }

    /// Returns the first field that determines the device of the model.
    pub fn device_field(&self) -> Option<&str> {
        let field = self.fields.iter().find(|field| field.has_tensor);
        field.map(|field| field.name.as_str())
    }

    /// Records that a field determines the device of the model.
    pub fn mark_device_field(&mut self, name: &str) {
        let field = self.fields.iter_mut().find(|field| field.name == name);
        if let Some(field) = field {
            field.has_tensor = true;
        }
    }

    /// Returns the load expressions of the fields and bindings after the first `before.0` fields and `before.1`
    /// bindings.
    pub fn made_since(&self, before: (usize, usize)) -> impl Iterator<Item = &Code> {
        let fields = self.fields.iter().skip(before.0);
        let loads = fields.map(|field| &field.load);
        loads.chain(self.bindings.expressions().skip(before.1))
    }

    /// Returns the parameters of the file in the struct, with their paths.
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

    /// Returns the field of a constant. `make` provides its name, type and load expression on first use.
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

/// Returns the name of a list of modules with this name: `layers` for `layer`, `h` for `h`.
fn plural(name: &str) -> String {
    let is_plural =
        name.ends_with(|end: char| end == 's' || end.is_ascii_digit()) || name.chars().count() < 2;
    if is_plural { name.to_owned() } else { format!("{name}s") }
}

/// Calls `see` with each field. Fields in the arguments of a method come before the receiver.
fn each_field(code: &Code, see: &mut impl FnMut(&Rc<str>)) {
    let mut parts = code.parts().iter().peekable();
    while let Some(part) = parts.next() {
        if let CodeNode::Field(name) = part {
            if let Some(CodeNode::Method(_, arguments)) = parts.peek() {
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

/// Returns the first two words of a type.
fn words(ty: &Code) -> Vec<&str> {
    let words = ty.parts().iter().filter_map(|part| match part {
        CodeNode::Word(word) | CodeNode::Member(word) => Some(*word),
        CodeNode::Name(name) => Some(&**name),
        _ => None,
    });
    words.take(2).collect()
}

/// Returns the base of a field's name by its type, not yet in snake case: `Linear` for `layers::Linear`.
fn kind(ty: &Code) -> &str {
    match words(ty).as_slice() {
        ["Param", ..] => "parameter",
        ["Tensor" | "Array", ..] => "constant",
        ["layers", layer] => layer,
        [first, ..] => first,
        [] => "part",
    }
}
