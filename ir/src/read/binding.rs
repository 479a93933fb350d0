//! Functions that the caller binds to unknown operators.

use std::rc::Rc;

use super::choice::not_found;
use super::scope::Scope;
use super::{Reader, unknown};
use crate::attributes::Attributes;
use crate::diagnostics::{Problem, Site};
use crate::graph::Block;
use crate::ops::custom::{Advice, Custom};
use crate::ops::kind;
use crate::ops::{self, Operator};
use crate::options::Declared;
use crate::proto::NodeProto;

/// Maximum number of unknown operators that are compared with known ones.
const COMPARED: usize = 100;

impl Reader<'_> {
    /// Returns `true` if the caller binds a function to the operator.
    pub(super) fn is_bound(&self, domain: &str, name: &str) -> bool {
        self.bound.contains_key(&kind(domain, name))
    }

    /// Reads a node of an unknown operator, whose function may be missing.
    pub(super) fn custom(
        &mut self,
        domain: &str,
        proto: &NodeProto,
        scope: &mut Scope<'_>,
        block: &mut Block,
    ) -> Result<(), Problem> {
        let version = scope.opset(domain).unwrap_or(1);
        let list = scope.resolve(&proto.attribute);
        let attributes = Attributes::new(list.clone(), self.files, version)
            .with_arity(proto.input.len(), proto.output.len());
        let kind = kind(domain, &proto.op_type);
        let site = Site {
            operator: match scope.opset(domain) {
                Some(version) => format!("{kind} opset {version}"),
                None => kind.clone(),
            },
            node: scope.node_label(proto),
        };
        let binding = self.binding(domain, &proto.op_type);
        self.unbound += usize::from(binding.is_err());
        let operator = Custom::read(&kind, site, &attributes, binding)?;
        attributes.finish()?;
        let operator: Rc<dyn Operator> = Rc::new(operator);
        self.push((domain, version, operator), attributes, (proto, &list), scope, block)
    }

    /// Returns the results of the function of an unknown operator or, without a function, the message.
    fn binding(&mut self, domain: &str, name: &str) -> Result<Rc<[Declared]>, Rc<Advice>> {
        let kind = kind(domain, name);
        if let Some(binding) = self.bound.get(&kind) {
            return Ok(Custom::results(&binding.results));
        }
        let count = self.unknown.len();
        let advice = self.unknown.entry(kind).or_insert_with_key(|kind| {
            let help = unknown::help(domain, name, count < COMPARED);
            Rc::new(Advice {
                message: format!("operator `{kind}` is not supported"),
                kind: kind.clone(),
                help,
            })
        });
        Err(advice.clone())
    }

    /// Reports functions for operators that the model does not contain, and for built-in operators.
    pub(super) fn check_bindings(&mut self) {
        let operators = self.facts.operators.keys();
        let known = |domain: &str, name: &str| ops::spelling(domain, name) == Some(name);
        let custom = operators.filter(|(domain, name)| !known(domain, name));
        let custom: Vec<String> = custom.map(|(domain, name)| kind(domain, name)).collect();
        for name in self.bound.keys() {
            let (domain, operator) = name.rsplit_once('.').unwrap_or(("", name));
            let problem = if known(domain, operator) {
                let message = format!("`{name}` is a built-in operator and cannot be replaced by a function");
                let help = "rename the operator in the file to bind a function to it, because simplification depends \
                            on the semantics of built-in operators";
                Problem::new(message).help(help).choice(name)
            } else if custom.contains(name) {
                continue;
            } else {
                not_found("operator", name, &custom, "all its operators are built in")
            };
            self.diagnostics.push(problem);
        }
    }
}
