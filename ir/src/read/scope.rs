//! Names of values, block by block.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::NEWEST_OPSET;
use crate::diagnostics::Problem;
use crate::graph::ValueId;
use crate::proto::AttributeProto;

/// What names mean at one place of the model: a graph sees the names of the graphs around it,
/// a function only its own.
#[derive(Clone, Debug)]
pub struct Scope {
    values: BTreeMap<String, ValueId>,
    around: Option<Rc<Scope>>,
    opsets: Rc<BTreeMap<String, i64>>,
    /// The attributes that a function was called with.
    arguments: Rc<BTreeMap<String, AttributeProto>>,
    /// The names of the calls around, ending in `/`.
    prefix: String,
}

impl Scope {
    pub fn new(opsets: BTreeMap<String, i64>) -> Self {
        Scope {
            values: BTreeMap::new(),
            around: None,
            opsets: Rc::new(opsets),
            arguments: Rc::default(),
            prefix: String::new(),
        }
    }

    /// The scope of a graph inside this one.
    pub fn nested(&self) -> Self {
        Scope {
            values: BTreeMap::new(),
            around: Some(Rc::new(self.clone())),
            ..self.clone()
        }
    }

    /// The scope of a function called from this one.
    pub fn function(
        &self,
        node: &str,
        opsets: BTreeMap<String, i64>,
        arguments: BTreeMap<String, AttributeProto>,
    ) -> Self {
        Scope {
            values: BTreeMap::new(),
            around: None,
            opsets: Rc::new(opsets),
            arguments: Rc::new(arguments),
            prefix: format!("{}{node}/", self.prefix),
        }
    }

    pub fn define(&mut self, name: &str, id: ValueId) {
        self.values.insert(name.to_owned(), id);
    }

    pub fn value(&self, name: &str) -> Option<ValueId> {
        let around = || self.around.as_ref().and_then(|scope| scope.value(name));
        self.values.get(name).copied().or_else(around)
    }

    /// A node's input; the empty name is an input left out.
    pub fn input(&self, name: &str) -> Result<Option<ValueId>, Problem> {
        match (name.is_empty(), self.value(name)) {
            (true, _) => Ok(None),
            (false, Some(id)) => Ok(Some(id)),
            (false, None) => Err(Problem::new(format!("no node makes the input `{name}`"))
                .help("the file is inconsistent; export the model again")),
        }
    }

    /// The version imported for a domain, under which its operators are read.
    pub fn opset(&self, domain: &str) -> Option<i64> {
        let imported = self.opsets.get(domain).copied();
        // Writers of optimised files use these domains without importing them; without a version of
        // the standard its newest is meant.
        imported.or(match domain {
            "com.microsoft" | "ai.onnx.ml" => Some(1),
            "" => Some(NEWEST_OPSET),
            _ => None,
        })
    }

    /// Every version imported here.
    pub fn opsets(&self) -> &BTreeMap<String, i64> {
        &self.opsets
    }

    /// Sets every version imported here; those before are returned.
    pub fn exchange_opsets(
        &mut self,
        opsets: Rc<BTreeMap<String, i64>>,
    ) -> Rc<BTreeMap<String, i64>> {
        std::mem::replace(&mut self.opsets, opsets)
    }

    /// Attributes with references to the function's own attributes replaced; a reference to one
    /// that the caller left out is left out too.
    pub fn resolve(&self, list: &[AttributeProto]) -> Result<Vec<AttributeProto>, Problem> {
        let resolve = |held: &AttributeProto| match held.ref_attr_name.as_str() {
            "" => Some(held.clone()),
            wanted => self.arguments.get(wanted).map(|argument| AttributeProto {
                name: held.name.clone(),
                ..argument.clone()
            }),
        };
        Ok(list.iter().filter_map(resolve).collect())
    }

    pub fn node_name(&self, name: &str) -> String {
        match name {
            "" => String::new(),
            _ => format!("{}{name}", self.prefix),
        }
    }

    pub fn value_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}
