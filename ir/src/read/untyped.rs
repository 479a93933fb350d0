//! A graph whose inputs have no types yet.
//!
//! Only inference shows which sizes are equal and which are 1. A file is read once, and inference runs on the graph
//! with different choices of sizes.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::choice;
use super::declared::{self, Declaration};
use super::input::Inputs;
use crate::diagnostics::Diagnostics;
use crate::dim::{Dim, Symbol};
use crate::files::Files;
use crate::graph::{Graph, ValueId, Values};
use crate::infer;
use crate::model::{Facts, Model};
use crate::names::Names;
use crate::options::Options;
use crate::proto::ValueInfoProto;
use crate::types::Type;

/// A model that was read, without the types of its inputs.
#[derive(Debug)]
pub struct Untyped {
    pub(super) graph: Graph,
    pub(super) facts: Facts,
    pub(super) files: Rc<Files>,
    /// Names of sizes in the file.
    pub(super) names: Names,
    /// Declarations of the graph's inputs.
    pub(super) declared: Vec<ValueInfoProto>,
    /// Declarations of values that nodes compute.
    pub(super) declarations: Vec<Declaration>,
    /// Problems of parts of the file that could not be read.
    pub(super) problems: Diagnostics,
}

impl Untyped {
    /// Returns the facts about the file, the files, and problems of parts that could not be read.
    pub(crate) fn into_parts(self) -> (Facts, Rc<Files>, Diagnostics) {
        (self.facts, self.files, self.problems)
    }

    /// Returns the model with a type for every value that has no problem.
    pub fn typed(&self, options: &Options) -> (Model, Diagnostics) {
        let mut diagnostics = self.problems.clone();
        choice::check_dims(&self.declared, options, &mut diagnostics);
        let mut model = Model {
            graph: self.graph.fresh_copy(),
            facts: self.facts.clone(),
            files: self.files.clone(),
            names: self.names.clone(),
        };
        let inputs = &model.graph.body.inputs;
        let values = &mut model.graph.values;
        let mut types = Inputs { options, names: &mut model.names };
        for (&id, input) in inputs.iter().zip(&self.declared) {
            match types.input_type(input) {
                Ok(ty) => values[id].ty = Some(ty),
                Err(problem) => diagnostics.push(problem),
            }
        }
        loosen(inputs, values);
        infer::infer(&mut model.graph, &mut model.names, &mut diagnostics);
        (model, diagnostics)
    }

    /// Reports declared types that contradict those of a typed model. Sizes are compared unless some were fixed.
    pub fn contradictions(&self, model: &Model, with_sizes: bool) -> Diagnostics {
        let mut diagnostics = self.problems.clone();
        let values = &model.graph.values;
        let problems = declared::contradictions(&self.declarations, values, with_sizes);
        problems.into_iter().for_each(|problem| diagnostics.push(problem));
        diagnostics
    }
}

/// Gives sizes of items separate names, and sizes of optionals those that no tensor among the inputs has.
fn loosen(inputs: &[ValueId], values: &mut Values) {
    let tensors = inputs.iter();
    let tensors = tensors.filter_map(|&id| values[id].ty.as_ref()?.as_tensor());
    let bound = tensors.flat_map(|tensor| tensor.shape.iter().filter_map(Dim::name));
    let bound: BTreeSet<Symbol> = bound.cloned().collect();
    for &id in inputs {
        let loose = match &values[id].ty {
            None | Some(Type::Tensor(_)) => continue,
            Some(Type::Optional(item)) if item.as_tensor().is_some() => {
                Type::Optional(Box::new(item.loosened(&mut |name| bound.contains(name))))
            }
            Some(other) => other.loosened(&mut |_| false),
        };
        values[id].ty = Some(loose);
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use crate::model::Model;
    use crate::options::Options;
    use crate::read;

    fn untyped(text: &str) -> super::Untyped {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {text}");
        let model = crate::text::model(&text).unwrap().encode_to_vec();
        read::read_bytes(model.into(), &Options::default()).unwrap()
    }

    #[test]
    fn each_attempt_starts_from_what_was_read() {
        let untyped = untyped("(float[N, 2] x) => (float[M] y) <int64[1] s = {-1}> { y = Reshape (x, s) }");
        let fixed = Options { dims: [("N".to_owned(), 3)].into(), ..Options::default() };
        let types = [&fixed, &Options::default()].map(|options| {
            let (model, problems) = untyped.typed(options);
            assert!(problems.is_empty());
            let y = model.graph.body.outputs[0];
            model.graph.values[y].ty.as_ref().unwrap().to_string()
        });
        assert_eq!(types, ["float32[6]", "float32[2*N]"]);
    }

    #[test]
    fn what_one_attempt_consults_no_other_does() {
        let untyped = untyped("(float[N] x) => (float[M] y) <int64[1] s = {4}> { y = Expand (x, s) }");
        let consulted = |model: &Model| {
            let values = &model.graph.values;
            let shape = values.iter().find(|(_, value)| value.name == "s").unwrap().1;
            values.sources().is_consulted(shape.weight.as_ref().unwrap())
        };
        let (first, _) = untyped.typed(&Options::default());
        assert!(consulted(&first));
        assert!(!consulted(&Model {
            graph: untyped.graph.fresh_copy(),
            ..untyped.typed(&Options::default()).0
        }));
    }
}
