//! Names of values, block by block.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::facts::NEWEST_OPSET;
use super::local::Local;
use crate::attributes::NamedAttribute;
use crate::diagnostics::{Problem, shortened};
use crate::graph::ValueId;
use crate::proto::{AttributeProto, NodeProto};

/// Names that are visible at a location of the model: those of the enclosing graphs in a graph, only its own in a
/// function.
#[derive(Debug)]
pub struct Scope<'s> {
    values: BTreeMap<String, ValueId>,
    around: Option<&'s Scope<'s>>,
    opsets: Rc<Opsets>,
    /// The function that is called, and the attributes of the call.
    call: Option<(&'s Local<'s>, BTreeMap<&'s str, &'s AttributeProto>)>,
    /// Names of the enclosing calls, each followed by `/`.
    prefix: Rc<str>,
}

/// Versions that are imported at a location of the model.
#[derive(Debug)]
pub struct Opsets {
    here: Rc<BTreeMap<String, i64>>,
    /// Versions of the caller, for domains that a function does not import.
    around: Option<Rc<Opsets>>,
}

impl Opsets {
    pub fn new(here: Rc<BTreeMap<String, i64>>, around: Option<Rc<Opsets>>) -> Rc<Self> {
        Rc::new(Opsets { here, around })
    }

    fn version(&self, domain: &str) -> Option<i64> {
        let around = || self.around.as_ref()?.version(domain);
        self.here.get(domain).copied().or_else(around)
    }
}

impl<'s> Scope<'s> {
    pub fn new(opsets: BTreeMap<String, i64>) -> Self {
        Scope {
            values: BTreeMap::new(),
            around: None,
            opsets: Opsets::new(Rc::new(opsets), None),
            call: None,
            prefix: "".into(),
        }
    }

    /// Returns the scope of a graph inside this one.
    pub fn nested<'n>(&'n self) -> Scope<'n>
    where
        's: 'n,
    {
        Scope {
            values: BTreeMap::new(),
            around: Some(self),
            opsets: self.opsets.clone(),
            call: None,
            prefix: self.prefix.clone(),
        }
    }

    /// Returns the scope of a function that is called from this one.
    pub fn function<'n>(
        &self,
        node: &str,
        function: &'n Local<'n>,
        arguments: BTreeMap<&'n str, &'n AttributeProto>,
    ) -> Scope<'n> {
        Scope {
            values: BTreeMap::new(),
            around: None,
            opsets: Opsets::new(function.opsets.clone(), Some(self.opsets.clone())),
            call: Some((function, arguments)),
            prefix: format!("{}{}/", self.prefix, shortened(node)).into(),
        }
    }

    pub fn define(&mut self, name: &str, id: ValueId) {
        self.values.insert(name.to_owned(), id);
    }

    pub fn value(&self, name: &str) -> Option<ValueId> {
        let around = || self.around.as_ref().and_then(|scope| scope.value(name));
        self.values.get(name).copied().or_else(around)
    }

    /// Returns an input of a node. The empty name is an omitted input, as is an input of the enclosing function that
    /// its caller omitted.
    pub fn input(&self, name: &str) -> Result<Option<ValueId>, Problem> {
        match (name.is_empty(), self.value(name)) {
            (true, _) => Ok(None),
            (false, Some(id)) => Ok(Some(id)),
            (false, None) if self.is_formal(name) => Ok(None),
            (false, None) => Err(Problem::new(format!("no node produces the input `{name}`")).inconsistent()),
        }
    }

    /// Returns `true` if the enclosing function has an input with this name.
    fn is_formal(&self, name: &str) -> bool {
        match (&self.call, self.around) {
            (Some((function, _)), _) => function.inputs.contains(name),
            (None, Some(around)) => around.is_formal(name),
            (None, None) => false,
        }
    }

    /// Returns the version of a domain in which its operators are read.
    pub fn opset(&self, domain: &str) -> Option<i64> {
        let imported = self.opsets.version(domain);
        // Some writers of optimized files use these domains without importing them. Without a version, `ai.onnx` is the
        // newest.
        imported.or(match domain {
            "com.microsoft" | "ai.onnx.ml" => Some(1),
            "" => Some(NEWEST_OPSET),
            _ => None,
        })
    }

    /// Imports other versions, which take precedence, and returns the previous ones.
    pub fn put_opsets(&mut self, here: Rc<BTreeMap<String, i64>>) -> Rc<Opsets> {
        let before = self.opsets.clone();
        self.opsets = Opsets::new(here, Some(before.clone()));
        before
    }

    /// Sets all imported versions.
    pub fn set_opsets(&mut self, opsets: Rc<Opsets>) {
        self.opsets = opsets;
    }

    /// Returns the attributes, with references to attributes of the enclosing function replaced. References to omitted
    /// ones are omitted.
    pub fn resolve<'n>(&self, list: &'n [AttributeProto]) -> Vec<NamedAttribute<'n>>
    where
        's: 'n,
    {
        let resolve = |attribute: &'n AttributeProto| match attribute.ref_attr_name.as_str() {
            "" => Some((attribute.name.as_str(), attribute)),
            wanted => Some((attribute.name.as_str(), self.argument(wanted)?)),
        };
        list.iter().filter_map(resolve).collect()
    }

    /// Returns an attribute of the enclosing function: the value of the call, or its default.
    fn argument(&self, name: &str) -> Option<&'s AttributeProto> {
        match (&self.call, self.around) {
            (Some((function, attributes)), _) => {
                attributes.get(name).or_else(|| function.defaults.get(name)).copied()
            }
            (None, Some(around)) => around.argument(name),
            (None, None) => None,
        }
    }

    pub fn node_name(&self, name: &str) -> String {
        match name {
            "" => String::new(),
            _ => format!("{}{name}", self.prefix),
        }
    }

    /// Returns the name of a node or, if it has none, of its first output.
    pub fn node_label(&self, node: &NodeProto) -> String {
        let name = match (node.name.is_empty(), node.output.first()) {
            (true, Some(first)) => first,
            _ => &node.name,
        };
        self.value_name(name)
    }

    pub fn value_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}
