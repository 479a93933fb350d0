//! Compares the graphs and weights of two files.

use std::collections::BTreeMap;
use std::path::Path;

use crate::attributes::Attribute;
use crate::diagnostics::{Diagnostics, shown};
use crate::graph::{Block, Node, ValueId, Values};
use crate::model::Model;
use crate::options::Options;
use crate::types::Type;
use crate::{inspect, print};

/// Comparison of two models as in their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The first difference between the graphs.
    pub difference: Option<Difference>,
    /// The constants that have the same position in both graphs.
    pub weights: Vec<Pair>,
}

/// A property that differs in the second graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The property that differs, or the node or value that has it.
    pub location: String,
    pub first: String,
    pub second: String,
}

/// A constant of both graphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub name: String,
    pub differs: bool,
}

/// Compares the models at two paths.
pub fn compare(first: &Path, second: &Path, options: &Options) -> Result<Comparison, Diagnostics> {
    let read = |path| -> Result<Model, Diagnostics> {
        Ok(crate::attempts::typed(&inspect::read(path, options)?, options).0)
    };
    let (first, second) = (read(first)?, read(second)?);
    let mut walk = Walk {
        first: &first.graph.values,
        second: &second.graph.values,
        pairs: BTreeMap::new(),
        weights: Vec::new(),
    };
    let found = walk.models(&first, &second);
    Ok(Comparison { difference: found.err(), weights: walk.weights })
}

struct Walk<'g> {
    first: &'g Values,
    second: &'g Values,
    /// Values of the first graph, and the corresponding ones of the second.
    pairs: BTreeMap<ValueId, ValueId>,
    weights: Vec<Pair>,
}

type Found = Result<(), Difference>;

impl Walk<'_> {
    fn models(&mut self, first: &Model, second: &Model) -> Found {
        let names = |names: &[String]| names.join(", ");
        let (a, b) = (&first.facts.outputs, &second.facts.outputs);
        self.block(&first.graph.body, &second.graph.body, "the model")?;
        same("the outputs of the model", &names(a), &names(b))?;
        // Constants that no node uses.
        for (id, value) in self.first.iter() {
            if value.weight.is_some() && !self.pairs.contains_key(&id) {
                let of_name = |other: &(ValueId, &crate::graph::Value)| other.1.name == value.name;
                if let Some((other, _)) = self.second.iter().find(of_name) {
                    self.constant(id, other)?;
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, first: &Block, second: &Block, location: &str) -> Found {
        let name = |values: &Values, ids: &[ValueId]| {
            let names: Vec<&str> = ids.iter().map(|&id| values[id].name.as_str()).collect();
            names.join(", ")
        };
        let inputs = (name(self.first, &first.inputs), name(self.second, &second.inputs));
        same(&format!("the inputs of {location}"), &inputs.0, &inputs.1)?;
        for (&a, &b) in first.inputs.iter().zip(&second.inputs) {
            self.define(a, b)?;
        }
        for (a, b) in first.nodes.iter().zip(&second.nodes) {
            self.node(a, b)?;
        }
        let longer = |first: &[Node], second: &[Node], values: &Values| {
            let more = first.get(second.len())?;
            Some((more.site(values).node, shown(&more.kind)))
        };
        let nothing = "no such node".to_owned();
        if let Some((name, kind)) = longer(&first.nodes, &second.nodes, self.first) {
            return Err(Difference { location: node_label(&name), first: kind, second: nothing });
        }
        if let Some((name, kind)) = longer(&second.nodes, &first.nodes, self.second) {
            return Err(Difference { location: node_label(&name), first: nothing, second: kind });
        }
        let outputs = (first.outputs.len(), second.outputs.len());
        same_count(&format!("the number of outputs of {location}"), outputs)?;
        for (&a, &b) in first.outputs.iter().zip(&second.outputs) {
            self.read(Some(a), Some(b), &format!("an output of {location}"))?;
        }
        Ok(())
    }

    fn node(&mut self, first: &Node, second: &Node) -> Found {
        let sites = (first.site(self.first), second.site(self.second));
        let location = node_label(&sites.0.node);
        same(&location, &sites.0.operator, &sites.1.operator)?;
        if sites.0.node != sites.1.node {
            return Err(Difference {
                location: format!("the name of a {} node", shown(&first.kind)),
                first: format!("`{}`", shown(&sites.0.node)),
                second: format!("`{}`", shown(&sites.1.node)),
            });
        }
        let (a, b) = (first.operator.attributes(), second.operator.attributes());
        // For constants, only the elements are compared, not their locations.
        if a != b && &*first.kind != "Constant" {
            let (a, b) =
                differing(&a, &b).unwrap_or_else(|| (print::attributes(first), print::attributes(second)));
            return Err(Difference { location, first: a, second: b });
        }
        let inputs = (first.inputs.len(), second.inputs.len());
        same_count(&format!("the number of inputs of {location}"), inputs)?;
        for (at, (&a, &b)) in first.inputs.iter().zip(&second.inputs).enumerate() {
            self.read(a, b, &format!("input {at} of {location}"))?;
        }
        let blocks = (first.blocks.len(), second.blocks.len());
        same_count(&format!("the number of graphs in {location}"), blocks)?;
        for ((name, a), (_, b)) in first.blocks.iter().zip(&second.blocks) {
            self.block(a, b, &format!("`{}` of {location}", shown(name)))?;
        }
        let outputs = (first.outputs.len(), second.outputs.len());
        same_count(&format!("the number of outputs of {location}"), outputs)?;
        for (&a, &b) in first.outputs.iter().zip(&second.outputs) {
            if let (Some(a), Some(b)) = (a, b) {
                self.define(a, b)?;
            }
        }
        Ok(())
    }

    /// Compares two values that are defined at the same position.
    fn define(&mut self, first: ValueId, second: ValueId) -> Found {
        self.pairs.insert(first, second);
        if self.first[first].weight.is_some() && self.second[second].weight.is_some() {
            return self.constant(first, second);
        }
        self.types(first, second)
    }

    /// Compares two values that are used at the same position.
    fn read(&mut self, first: Option<ValueId>, second: Option<ValueId>, location: &str) -> Found {
        let (Some(first), Some(second)) = (first, second) else {
            let text = |id: Option<ValueId>| if id.is_some() { "present" } else { "absent" };
            return same(location, text(first), text(second));
        };
        if let Some(known) = self.pairs.get(&first) {
            let (known, found) = (&self.second[*known].name, &self.second[second].name);
            return same(
                location,
                &self.first[first].name,
                if *known == *found { &self.first[first].name } else { found },
            );
        }
        let stored = (self.first[first].weight.is_some(), self.second[second].weight.is_some());
        if stored == (true, true) {
            self.pairs.insert(first, second);
            return self.constant(first, second);
        }
        let kind = |stored: bool| if stored { "a constant" } else { "a computed value" };
        same(location, kind(stored.0), kind(stored.1))
    }

    fn types(&self, first: ValueId, second: ValueId) -> Found {
        let text = |ty: &Option<Type>| ty.as_ref().map_or("?".to_owned(), |ty| shown(&ty.to_string()));
        let location = format!("`{}`", shown(&self.first[first].name));
        same(&location, &text(&self.first[first].ty), &text(&self.second[second].ty))
    }

    fn constant(&mut self, first: ValueId, second: ValueId) -> Found {
        self.types(first, second)?;
        let (a, b) = (&self.first[first], &self.second[second]);
        same("the name of a constant", &a.name, &b.name)?;
        if let (Some(left), Some(right)) = (&a.weight, &b.weight) {
            let left = left.parts.iter().flat_map(|part| part.bytes.iter());
            let right = right.parts.iter().flat_map(|part| part.bytes.iter());
            self.weights.push(Pair { name: a.name.clone(), differs: !left.eq(right) });
        }
        self.pairs.insert(first, second);
        Ok(())
    }
}

fn node_label(name: &str) -> String {
    format!("node `{}`", shown(name))
}

fn same(location: &str, first: &str, second: &str) -> Found {
    if first == second {
        return Ok(());
    }
    Err(Difference { location: location.to_owned(), first: shown(first), second: shown(second) })
}

fn same_count(location: &str, (first, second): (usize, usize)) -> Found {
    same(location, &first.to_string(), &second.to_string())
}

/// Returns the first fields that differ, with their names.
pub(crate) fn differing(first: &Attribute, second: &Attribute) -> Option<(String, String)> {
    let (Attribute::Fields(_, first), Attribute::Fields(_, second)) = (first, second) else {
        return None;
    };
    let mut pairs = first.iter().zip(second);
    let (a, b) = pairs.find(|(a, b)| a != b)?;
    let text = |(name, field): &(&'static str, Attribute)| {
        let only = Attribute::Fields("", vec![(*name, field.clone())]);
        match print::attribute(&only) {
            text if text.is_empty() => format!("no {name}"),
            text => shown(&text),
        }
    };
    Some((text(a), text(b)))
}
