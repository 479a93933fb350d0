//! The nodes of a gradient.

use std::collections::{BTreeMap, BTreeSet};

use super::GradientNode;
use super::rules::{self, Call};
use crate::diagnostics::Problem;
use crate::ops::kind;
use crate::ops::{DERIVATIVES, WRITTEN};
use crate::proto::NodeProto;
use crate::read::facts::NEWEST_OPSET;
use crate::read::facts::domain;
use crate::read::scope::Scope;
use crate::text;

/// Nodes that are written for one gradient.
pub struct Writing {
    steps: Vec<GradientNode>,
    /// Prefix of the names of new values.
    prefix: String,
    count: usize,
}

impl Writing {
    /// Starts the nodes that compute this value.
    pub fn new(output: &str) -> Self {
        Writing { steps: Vec::new(), prefix: output.to_owned(), count: 0 }
    }

    pub fn steps(self) -> Vec<GradientNode> {
        self.steps
    }

    /// Copies a value to a new name.
    pub fn same(&mut self, name: &str) -> String {
        let other = self.fresh(name);
        self.push("Identity", vec![name.to_owned()], other.clone());
        other
    }

    fn fresh(&mut self, name: &str) -> String {
        self.count += 1;
        format!("{}/{name}.{}", self.prefix, self.count)
    }

    pub fn push(&mut self, operator: &str, input: Vec<String>, output: String) {
        let node =
            NodeProto { op_type: operator.to_owned(), input, output: vec![output], ..NodeProto::default() };
        let by_rule = true;
        self.steps.push(GradientNode { node, by_rule });
    }

    /// Adds the nodes of a text that the `needed` values depend on. Its values get new names, which are returned.
    fn write(
        &mut self,
        text: &str,
        mut needed: BTreeSet<String>,
        names: impl Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, String>, Problem> {
        let graph = text::graph(&format!("g () => () {{ {text} }}"));
        let graph = graph
            .map_err(|error| Problem::defect(format!("the rule of a derivative is invalid: {error}")))?;
        let mut nodes = graph.node;
        nodes.reverse();
        nodes.retain(|node| {
            let kept = node.output.iter().any(|name| needed.contains(name));
            needed.extend(node.input.iter().filter(|_| kept).cloned());
            kept
        });
        let mut own: BTreeMap<String, String> = BTreeMap::new();
        for mut node in nodes.into_iter().rev() {
            for name in &mut node.input {
                let other = own.get(name).cloned().or_else(|| names(name));
                *name = other.unwrap_or_default();
            }
            for name in &mut node.output {
                let other = self.fresh(name);
                own.insert(std::mem::replace(name, other.clone()), other);
            }
            if WRITTEN.iter().any(|row| row.name == node.op_type) {
                node.domain = DERIVATIVES.to_owned();
            }
            let by_rule = true;
            self.steps.push(GradientNode { node, by_rule });
        }
        Ok(own)
    }

    /// Adds a tensor with the shape of another, filled with one number.
    pub fn filled(&mut self, number: u8, like: String) -> Result<String, Problem> {
        let text = format!("n = Number <value = \"{number}.0\"> (x0) s = Shape (x0) filled = Expand (n, s)");
        let needed = BTreeSet::from(["filled".to_owned()]);
        let names = self.write(&text, needed, |name| (name == "x0").then(|| like.clone()))?;
        Ok(names.get("filled").cloned().unwrap_or_default())
    }

    /// Adds a copy of a node that reads other values.
    pub fn repeat(
        &mut self,
        step: &GradientNode,
        renamed: &mut BTreeMap<String, String>,
    ) -> Result<GradientNode, Problem> {
        let mut step = step.clone();
        if step.node.attribute.iter().any(|attribute| attribute.g.is_some()) {
            return Err(no_rule(&step.node));
        }
        for name in &mut step.node.input {
            if let Some(other) = renamed.get(name) {
                name.clone_from(other);
            }
        }
        for name in step.node.output.iter_mut().filter(|name| !name.is_empty()) {
            let other = self.fresh(name);
            renamed.insert(std::mem::replace(name, other.clone()), other);
        }
        self.steps.push(step.clone());
        Ok(step)
    }

    /// Propagates the derivative of a node's output to its inputs that are `wanted`.
    pub fn back(
        &mut self,
        GradientNode { node, by_rule }: &GradientNode,
        wanted: &[bool],
        scope: &Scope<'_>,
        slopes: &mut BTreeMap<String, String>,
    ) -> Result<(), Problem> {
        let known = |name: &String| slopes.get(name).cloned();
        let Some((y, slope)) = node.output.first().map(|y| (y, known(y))) else {
            return Ok(());
        };
        if node.output.iter().skip(1).any(|name| slopes.contains_key(name)) {
            return Err(no_rule(node));
        }
        let Some(slope) = slope else {
            return Ok(());
        };
        let opset = if *by_rule { NEWEST_OPSET } else { scope.opset("").unwrap_or(NEWEST_OPSET) };
        let call = Call::new(node, scope.resolve(&node.attribute), opset);
        let rule = rules::find(&domain(&node.domain), &node.op_type);
        let text = rule.ok_or_else(|| no_rule(node))?.text(&call)?;
        let inputs = node.input.iter().enumerate();
        let inputs: BTreeMap<String, &String> = inputs.map(|(at, name)| (format!("x{at}"), name)).collect();
        let names = |name: &str| match name {
            "y" => Some(y.clone()),
            "dy" => Some(slope.clone()),
            _ => inputs.get(name).map(|&name| name.clone()),
        };
        let wanted = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
        let wanted: Vec<(usize, String)> = wanted.map(|(at, _)| (at, format!("d{at}"))).collect();
        let needed = wanted.iter().map(|(_, name)| name.clone()).collect();
        let results = self.write(&text, needed, names)?;
        for (at, result) in wanted {
            let (Some(name), Some(result)) = (node.input.get(at), results.get(&result)) else {
                continue;
            };
            let sum = match slopes.remove(name) {
                Some(other) => {
                    let sum = self.fresh("sum");
                    self.push("Add", vec![other, result.clone()], sum.clone());
                    sum
                }
                None => result.clone(),
            };
            slopes.insert(name.clone(), sum);
        }
        Ok(())
    }
}

fn no_rule(node: &NodeProto) -> Problem {
    let kind = kind(&domain(&node.domain), &node.op_type);
    Problem::new(format!("the derivative of `{kind}` is not supported"))
        .help("export the derivative as operators, or remove the gradient")
}
