//! Builds the right side of a rule for a match.

use super::matching::{State, View, number, tensor};
use super::pattern::{AttributeValue, Call, Pattern};
use super::{Miss, Right};
use crate::attributes::Attributes;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::elements::Elements;
use crate::files::Files;
use crate::graph::{Node, Value, ValueId, Values};
use crate::infer;
use crate::names::Names;
use crate::ops::{self, Operator};
use crate::proto::{AttributeProto, Setting};
use crate::types::{Known, Placement, TensorType, Type};

/// Maximum number of elements of a weight that may be stored twice.
const COPIED: usize = 1 << 18;

/// A match of a rule, which its functions inspect and from which they build the right side.
pub struct Match<'m, 'g> {
    pub(super) view: &'m View<'g>,
    pub(super) values: &'m mut Values,
    pub(super) names: &'m mut Names,
    pub(super) files: &'m Files,
    pub(super) state: &'m State,
    /// The last node of the match, whose result the right side computes.
    pub(super) root: &'g Node,
    pub(super) made: Vec<Node>,
    pub(super) settings: Vec<(&'static str, Setting)>,
}

impl<'g> Match<'_, 'g> {
    /// Returns the last node of the match, whose result the right side computes.
    pub fn root(&self) -> &'g Node {
        self.root
    }

    /// Returns the node with this label.
    pub fn node(&self, label: &str) -> Result<&'g Node, Miss> {
        let found = self.state.labels.iter().find(|(letter, _)| *letter == label);
        let node = found.and_then(|(_, at)| self.view.nodes.get(*at));
        node.ok_or("no node has this label")
    }

    /// Returns the operator of the node with this label.
    pub fn operator<T: Operator>(&self, label: &str) -> Result<&'g T, Miss> {
        let operator = self.node(label)?.operator_as::<T>();
        operator.ok_or("the node has another operator")
    }

    /// Returns the value of a word or a constant of the pattern.
    pub fn value(&self, name: &str) -> Result<ValueId, Miss> {
        let found = self.state.bound.iter().find(|(word, _)| *word == name);
        found.map(|(_, id)| *id).ok_or("no value has this name")
    }

    /// Returns the number of a scalar of the pattern.
    pub fn number(&self, name: &str) -> Result<f64, Miss> {
        let found = self.state.numbers.iter().find(|(scalar, _)| *scalar == name);
        found.map(|(_, number)| *number).ok_or("no number has this name")
    }

    /// Converts a number to single precision, as attributes store it. Fails if digits of a double would be lost.
    pub fn single(&self, number: f64) -> Result<f32, Miss> {
        let single = number as f32;
        if self.result()?.dtype == DType::F64 && f64::from(single) != number {
            Err("an attribute cannot represent the double exactly")
        } else {
            Ok(single)
        }
    }

    /// Returns the tensor type of a word or a constant of the pattern.
    pub fn tensor(&self, name: &str) -> Result<&TensorType, Miss> {
        self.tensor_of(self.value(name)?)
    }

    pub fn tensor_of(&self, id: ValueId) -> Result<&TensorType, Miss> {
        tensor(self.values, id).ok_or("a value is not a tensor")
    }

    /// Returns the type of the result.
    pub fn result(&self) -> Result<&TensorType, Miss> {
        let id = self.root.output(0).ok_or("the node has no output")?;
        self.tensor_of(id)
    }

    pub fn value_of(&self, id: ValueId) -> &Value {
        &self.values[id]
    }

    /// Returns the integers of a node's input, if all are known.
    pub fn ints(&self, node: &Node, input: usize) -> Option<Vec<i64>> {
        let id = node.input(input)?;
        self.values[id].known.read()?.numbers()
    }

    /// Returns the number that all elements of a value equal.
    pub fn uniform(&self, id: ValueId) -> Option<f64> {
        number(self.values[id].known.read()?)
    }

    /// Returns `true` if all elements of a constant are finite, and those of the constants that it is computed from.
    pub fn finite(&self, id: ValueId) -> bool {
        let value = &self.values[id];
        if let Some(weight) = &value.weight {
            return weight.is_finite();
        }
        match (value.known.peek(), &value.maker) {
            (Some(known), _) if known.is_concrete() => known.is_finite(),
            (_, Some(maker)) => maker.inputs.iter().flatten().all(|&id| self.finite(id)),
            _ => false,
        }
    }

    /// Returns the number of uses of a value.
    pub fn uses(&self, id: ValueId) -> usize {
        self.view.uses(id)
    }

    /// Fails if storing a copy computed from a weight costs more memory than it saves time: the weight is large and has
    /// other uses.
    pub fn copied(&self, weight: ValueId) -> Result<(), Miss> {
        let small = self.tensor_of(weight)?.count().is_some_and(|count| count <= COPIED);
        if small || self.uses(weight) <= 1 {
            Ok(())
        } else {
            Err("the weight is large and has other consumers")
        }
    }

    /// Returns the producer of a value, if it has no other result.
    pub fn maker(&self, id: ValueId) -> Option<&'g Node> {
        self.view.maker(id).map(|(_, node)| node)
    }

    /// Returns the producer of a value, and the index of the value among its results.
    pub fn source(&self, id: ValueId) -> Option<(&'g Node, usize)> {
        self.view.source(id)
    }

    /// Returns whether the node has an input, and its known elements.
    pub fn known(&self, node: &Node, input: usize) -> (bool, Option<&Known>) {
        let id = node.input(input);
        (id.is_some(), id.and_then(|id| self.values[id].known.read()))
    }

    /// Returns those of the named attributes that were set.
    pub fn settings(&self, names: &[&'static str]) -> Vec<(&'static str, Setting)> {
        let settings = self.settings.iter().filter(|(name, _)| names.contains(name));
        settings.cloned().collect()
    }

    /// Sets the attribute that the right side refers to as `@name`.
    pub fn set(&mut self, name: &'static str, setting: Setting) {
        self.settings.push((name, setting));
    }

    /// Adds a constant to the right side.
    pub fn constant(&mut self, dtype: DType, shape: Vec<Dim>, known: Known) -> ValueId {
        self.values.push(Value {
            ty: Some(Type::tensor(dtype, shape)),
            known: known.into(),
            ..Value::default()
        })
    }

    /// Adds a constant list of integers, such as axes or sizes.
    pub fn integers(&mut self, all: Vec<Dim>) -> ValueId {
        let count = i64::try_from(all.len()).unwrap_or(i64::MAX);
        self.constant(DType::I64, vec![count.into()], Known::Ints(all))
    }

    /// Adds a constant of rank 0 with the element type of the result.
    pub fn scalar(&mut self, number: f64) -> Result<ValueId, Miss> {
        let dtype = self.result()?.dtype;
        let known = match dtype.kind() {
            ElementClass::Float => Known::Floats(vec![ops::elementwise::unary::rounded(number, dtype)]),
            ElementClass::Int if number.fract() == 0.0 => Known::Ints(vec![(number as i64).into()]),
            _ => return Err("the type of the result cannot represent the number"),
        };
        Ok(self.constant(dtype, Vec::new(), known))
    }

    /// Adds a node with the newest version of an operator, by its name with its domain.
    pub fn call(
        &mut self,
        kind: &str,
        attributes: &[(&str, Setting)],
        inputs: &[Option<ValueId>],
    ) -> Result<ValueId, Miss> {
        self.call_in(i64::MAX, kind, attributes, inputs)
    }

    /// Adds a node with the version of an operator that `opset` selects.
    pub fn call_in(
        &mut self,
        opset: i64,
        kind: &str,
        attributes: &[(&str, Setting)],
        inputs: &[Option<ValueId>],
    ) -> Result<ValueId, Miss> {
        let (domain, name) = kind.rsplit_once('.').unwrap_or(("", kind));
        let found = ops::find(domain, name, opset);
        let Some((row, Some(version))) = found else {
            return Err("the right side has an unknown operator");
        };
        let attributes = attributes.iter();
        let list: Vec<AttributeProto> = attributes.map(|(name, attribute)| attribute.named(name)).collect();
        let list = list.iter().map(|attribute| (attribute.name.as_str(), attribute)).collect();
        let read = Attributes::new(list, self.files, version).with_arity(inputs.len(), 1);
        let operator = (row.read)(&read).map_err(|_| "the operator rejects its attributes")?;
        read.finish().map_err(|_| "the operator has no such attribute")?;
        let like = Node { kind: kind.into(), version, operator, ..self.root.clone() };
        self.made(like, inputs)
    }

    /// Adds a node with the operator of `like` and other inputs.
    pub fn made(&mut self, like: Node, inputs: &[Option<ValueId>]) -> Result<ValueId, Miss> {
        let mut inputs = inputs.to_vec();
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        let output = self.values.push(Value::default());
        let node = Node {
            inputs,
            outputs: vec![Some(output)],
            blocks: Vec::new(),
            placement: Placement::Device,
            ..like
        };
        infer::node(&node, self.values, self.names).map_err(|_| "the operator rejects its inputs")?;
        let stored = node.inputs.iter().flatten();
        if stored.into_iter().any(|id| self.values[*id].is_stored()) && self.values[output].known.is_some() {
            // A value that depends on weights is computed from them by the code, not embedded.
            self.values[output].known = Elements::default();
        }
        self.made.push(node);
        Ok(output)
    }

    /// Builds a right side.
    pub(super) fn right(&mut self, right: &Right) -> Result<ValueId, Miss> {
        match right {
            Right::Text(pattern) => self.written(pattern),
            Right::Made(make) => make(self),
        }
    }

    fn written(&mut self, pattern: &Pattern) -> Result<ValueId, Miss> {
        match pattern {
            Pattern::Any(name) | Pattern::Constant(name) => self.value(name),
            Pattern::Number(number) => self.scalar(*number),
            Pattern::Scalar(name) => self.scalar(self.number(name)?),
            Pattern::Sum(terms) => self.folded("Add", terms),
            Pattern::Product(factors) => self.folded("Mul", factors),
            Pattern::Difference(sides) => self.folded("Sub", sides.as_slice()),
            Pattern::Inverse(inner) => {
                let inner = self.written(inner)?;
                self.call("Reciprocal", &[], &[Some(inner)])
            }
            Pattern::Power(base, exponent) => {
                let (base, exponent) = (self.written(base)?, self.scalar((*exponent).into())?);
                self.call("Pow", &[], &[Some(base), Some(exponent)])
            }
            Pattern::Call(call) => self.called(call),
            Pattern::Absent => Err("`_` is not an argument"),
            Pattern::Either(_) => Err("a right side cannot have alternatives"),
        }
    }

    fn folded(&mut self, kind: &str, parts: &[Pattern]) -> Result<ValueId, Miss> {
        let mut all = None;
        for part in parts {
            let part = self.written(part)?;
            all = Some(match all {
                None => part,
                Some(all) => self.call(kind, &[], &[Some(all), Some(part)])?,
            });
        }
        all.ok_or("an operation has no operands")
    }

    fn called(&mut self, call: &Call) -> Result<ValueId, Miss> {
        let mut inputs = Vec::new();
        for argument in &call.arguments {
            inputs.push(match argument {
                Pattern::Absent => None,
                argument => Some(self.written(argument)?),
            });
        }
        let mut attributes = Vec::new();
        for (name, value) in &call.attributes {
            attributes.push((
                *name,
                match value {
                    AttributeValue::Int(int) => Setting::Int(*int),
                    AttributeValue::Float(float) => Setting::Float(self.single(*float)?),
                    AttributeValue::Text(text) => Setting::Text((*text).to_owned()),
                    AttributeValue::Scalar(name) => Setting::Float(self.single(self.number(name)?)?),
                    AttributeValue::Set(name) => {
                        let found = self.settings.iter().find(|(attribute, _)| attribute == name);
                        found
                            .map(|(_, setting)| setting.clone())
                            .ok_or("an attribute of the right side is not set")?
                    }
                },
            ));
        }
        let kind = call.kinds.first().copied().unwrap_or_default();
        self.call(kind, &attributes, &inputs)
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::rewrite::testing::reasons;

    #[test]
    fn attributes_are_not_less_precise_than_doubles() {
        let found = |alpha: &str| {
            let nodes = "{ p = Mul (x, a) s = Sigmoid (p) y = Mul (x, s) }";
            let example = format!("(double[N] x) => (double[N] y) <double a = {{{alpha}}}> {nodes}");
            reasons("quick gelu", &example)
        };
        assert_eq!(found("1.7"), ["an attribute cannot represent the double exactly"]);
        assert!(found("1.75").is_empty());
    }
}
