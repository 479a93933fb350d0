//! Functions that the model file defines.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::facts::domain;
use crate::proto::{AttributeProto, FunctionProto, NodeProto, OperatorSetIdProto};

/// Functions of a model by domain, name and overload.
#[derive(Debug)]
pub struct Functions<'a> {
    domains: BTreeMap<String, BTreeMap<&'a str, BTreeMap<&'a str, Local<'a>>>>,
}

/// A function of the model.
#[derive(Debug)]
pub struct Local<'a> {
    pub proto: &'a FunctionProto,
    pub inputs: BTreeSet<&'a str>,
    pub attributes: BTreeSet<&'a str>,
    pub defaults: BTreeMap<&'a str, &'a AttributeProto>,
    pub opsets: Rc<BTreeMap<String, i64>>,
}

impl<'a> Functions<'a> {
    pub fn new(list: &'a [FunctionProto]) -> Self {
        let mut domains: BTreeMap<_, BTreeMap<_, BTreeMap<_, _>>> = BTreeMap::new();
        for function in list {
            let names = domains.entry(domain(&function.domain)).or_default();
            let overloads = names.entry(function.name.as_str()).or_default();
            overloads.insert(function.overload.as_str(), Local::new(function));
        }
        Functions { domains }
    }

    /// Returns the function with the name of a node.
    pub fn called(&self, node: &NodeProto) -> Option<&Local<'a>> {
        if self.domains.is_empty() {
            return None;
        }
        let names = self.domains.get(&domain(&node.domain))?;
        names.get(&*node.op_type)?.get(&*node.overload)
    }
}

impl<'a> Local<'a> {
    fn new(proto: &'a FunctionProto) -> Self {
        let defaults = proto.attribute_proto.iter();
        let defaults: BTreeMap<&str, _> =
            defaults.map(|attribute| (attribute.name.as_str(), attribute)).collect();
        let attributes = proto.attribute.iter().map(String::as_str);
        let import = |opset: &OperatorSetIdProto| (domain(&opset.domain), opset.version.unwrap_or(1));
        Local {
            proto,
            inputs: proto.input.iter().map(String::as_str).collect(),
            attributes: attributes.chain(defaults.keys().copied()).collect(),
            defaults,
            opsets: Rc::new(proto.opset_import.iter().map(import).collect()),
        }
    }
}
