//! Sizes of one name that need not be equal.
//!
//! Exporters use names such as `N`, `dynamic` or `unk__12` for unrelated sizes, and ONNX Runtime does not check names.
//! A model is inferred again with a name for each size of each input. If this changes only names, the sizes get
//! separate names. Sizes that the graph assumes to be equal keep one name, which is checked on entry.

mod compare;

use std::collections::{BTreeMap, BTreeSet};

use crate::dim::Symbol;
use crate::model::Model;
use crate::options::{Options, Size};
use crate::types::Type;
use compare::Comparison;

/// Names that replace those of the file, by input and axis.
type NewNames = BTreeMap<(String, usize), String>;

/// Maximum number of attempts before the names of the file are kept.
const MAX_ATTEMPTS: usize = 4;

/// Returns the model with separate names for sizes that need not be equal. `infer` returns the model for other options
/// if it has no problems.
pub fn separate(model: Model, options: &Options, infer: impl Fn(&Options) -> Option<Model>) -> Model {
    let mut classes = Classes::new(&model, options);
    for _ in 0..MAX_ATTEMPTS {
        if classes.is_one_each() {
            return model;
        }
        let names = classes.names(&model);
        let renamed = Options { names: classes.new_names(&names), ..options.clone() };
        let Some(separate) = infer(&renamed) else {
            return model;
        };
        if separate.graph.values.len() != model.graph.values.len() {
            return model;
        }
        let original: BTreeMap<Symbol, Symbol> = names
            .iter()
            .zip(&classes.all)
            .map(|(name, class)| (Symbol::from(name.as_str()), class.name.clone()))
            .collect();
        let comparison = Comparison::new(&model.graph.values, &separate.graph.values, &original);
        let mut together = Vec::new();
        comparison.block(&separate.graph.body, &mut together);
        if together.is_empty() {
            return if comparison.all_alike() { separate } else { model };
        }
        classes.join(&names, &together);
    }
    model
}

/// Returns the model with a name for each size of each input, for a model that the names of the file contradict.
pub fn separate_all(
    model: &Model,
    options: &Options,
    infer: impl Fn(&Options) -> Option<Model>,
) -> Option<Model> {
    let classes = Classes::new(model, options);
    if classes.is_one_each() {
        return None;
    }
    let names = classes.names(model);
    infer(&Options { names: classes.new_names(&names), ..options.clone() })
}

/// Sizes with one name that are assumed to be equal.
#[derive(Clone, Debug)]
struct Class {
    name: Symbol,
    /// Inputs and axes that have the size.
    axes: Vec<(String, usize)>,
}

/// Classes, those with one name in the order of their first occurrences.
#[derive(Clone, Debug)]
struct Classes {
    all: Vec<Class>,
}

impl Classes {
    /// Returns a class for each size that the file names. Names that the caller specified remain.
    fn new(model: &Model, options: &Options) -> Self {
        let mut all = Vec::new();
        let mut counts: BTreeMap<Symbol, usize> = BTreeMap::new();
        for &id in &model.graph.body.inputs {
            let value = &model.graph.values[id];
            let Some(tensor) = value.ty.as_ref().and_then(Type::as_tensor) else {
                continue;
            };
            if options.inputs.contains_key(&value.name) {
                continue;
            }
            for (axis, dim) in tensor.shape.iter().enumerate() {
                if let Some(name) = dim.name() {
                    *counts.entry(name.clone()).or_default() += 1;
                    all.push(Class { name: name.clone(), axes: vec![(value.name.clone(), axis)] });
                }
            }
        }
        let fixed = options.inputs.values().flatten();
        let fixed: BTreeSet<&str> = fixed
            .filter_map(|size| match size {
                Size::Named(name) => Some(name.as_str()),
                Size::Fixed(_) => None,
            })
            .collect();
        all.retain(|class| {
            let several = counts.get(&class.name).is_some_and(|&count| count > 1);
            several && !fixed.contains(&*class.name)
        });
        Classes { all }
    }

    fn is_one_each(&self) -> bool {
        let names: BTreeSet<&Symbol> = self.all.iter().map(|class| &class.name).collect();
        names.len() == self.all.len()
    }

    /// Returns the name of each class. The first class with a name keeps it.
    fn names(&self, model: &Model) -> Vec<String> {
        let mut used = BTreeSet::new();
        let mut counts = BTreeMap::new();
        let mut names = Vec::new();
        for class in &self.all {
            let mut name = class.name.to_string();
            let next: &mut usize = counts.entry(&class.name).or_insert(1);
            let mut count = *next;
            if count > 1 {
                name = format!("{}_{count}", class.name);
            }
            while used.contains(&name) || count > 1 && model.names.is_reserved(&name.as_str().into()) {
                count += 1;
                name = format!("{}_{count}", class.name);
            }
            *next = count;
            used.insert(name.clone());
            names.push(name);
        }
        names
    }

    fn new_names(&self, names: &[String]) -> NewNames {
        let named = self.all.iter().zip(names);
        let renamed = named.flat_map(|(class, name)| {
            let axes = class.axes.iter().cloned();
            axes.map(move |axis| (axis, name.clone()))
        });
        renamed.collect()
    }

    /// Joins the classes whose names are in one set.
    fn join(&mut self, names: &[String], together: &[BTreeSet<Symbol>]) {
        let indices = names.iter().enumerate();
        let indices: BTreeMap<&str, usize> = indices.map(|(at, name)| (name.as_str(), at)).collect();
        // The first class that each class is joined with, or the class itself.
        let mut first: Vec<usize> = (0..self.all.len()).collect();
        for group in together {
            let members = group.iter().filter_map(|name| indices.get(&**name));
            let roots: Vec<usize> = members.map(|&at| root(&mut first, at)).collect();
            let Some(&least) = roots.iter().min() else {
                continue;
            };
            for at in roots {
                first.get_mut(at).into_iter().for_each(|slot| *slot = least);
            }
        }
        let first: Vec<usize> = (0..first.len()).map(|at| root(&mut first, at)).collect();
        let mut joined: BTreeMap<usize, Class> = BTreeMap::new();
        for (class, root) in self.all.drain(..).zip(first) {
            match joined.get_mut(&root) {
                Some(joined) => joined.axes.extend(class.axes),
                None => {
                    joined.insert(root, class);
                }
            }
        }
        self.all = joined.into_values().collect();
    }
}

/// Returns the first of the classes that a class is joined with, directly or through others.
fn root(first: &mut [usize], mut at: usize) -> usize {
    while let Some(&next) = first.get(at).filter(|&&next| next != at) {
        let beyond = first.get(next).copied().unwrap_or(next);
        first.get_mut(at).into_iter().for_each(|slot| *slot = beyond);
        at = next;
    }
    at
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prost::Message;

    use crate::options::{Options, Size};

    #[track_caller]
    fn check_with(text: &str, inputs: &[(&str, &[&str])], expected: Expect) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {text}");
        let model = crate::text::model(&text).unwrap().encode_to_vec();
        let named = |names: &[&str]| names.iter().map(|name| Size::Named(name.to_string())).collect();
        let inputs = inputs.iter().map(|(name, sizes)| (name.to_string(), named(sizes)));
        let options = Options { inputs: inputs.collect(), ..Options::default() };
        let model = crate::load_bytes(model.into(), &options).unwrap();
        let graph = &model.graph;
        let ty = |id: &crate::graph::ValueId| {
            graph.values[*id].ty.as_ref().map_or(String::new(), ToString::to_string)
        };
        let list = |ids: &[crate::graph::ValueId]| ids.iter().map(ty).collect::<Vec<_>>().join(", ");
        expected.assert_eq(&format!("{} -> {}", list(&graph.body.inputs), list(&graph.body.outputs)));
    }

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        check_with(text, &[], expected);
    }

    #[test]
    fn sizes_that_never_meet_are_separate() {
        check(
            "(float[N] a, float[N, 2] b) => (float[x] y, float[x, w] z) { y = Neg (a) z = Relu (b) }",
            expect!["float32[N], float32[N_2, 2] -> float32[N], float32[N_2, 2]"],
        );
    }

    #[test]
    fn sizes_that_are_added_are_separate() {
        check(
            "(float[N] a, float[N] b) => (float[x] y, int64[1] s) { y = Concat <axis \
                 = 0> (a, b) s = Shape (y) }",
            expect!["float32[N], float32[N_2] -> float32[N_2 + N], int64[1]"],
        );
    }

    #[test]
    fn sizes_that_are_broadcast_are_equal() {
        check(
            "(float[N, M] a, float[N, M] b) => (float[x, y] y) { c = Neg (b) y = Add (a, c) }",
            expect!["float32[N, M], float32[N, M] -> float32[N, M]"],
        );
    }

    #[test]
    fn sizes_of_which_one_goes_on_are_equal() {
        check(
            "(float[T, N, 4] x, float[1, N, 3] h, float[1, 12, 4] w, float[1, 12, 3] r) => (float[a, b, c, d] y) {
                y = RNN <hidden_size = 3> (x, v, u, \"\", \"\", h)
                v = Slice (w, zero, three, one)
                u = Slice (r, zero, three, one)
                zero = Constant <value_ints = [0]> () three = Constant <value_ints = [3]> () one = Constant <value_ints = [1]> ()
            }",
            expect!["float32[T, N, 4], float32[1, N, 3], float32[1, 12, 4], float32[1, 12, \
                 3] -> float32[T, 1, N, 3]"],
        );
    }

    #[test]
    fn some_sizes_of_a_name_may_be_equal_and_others_separate() {
        check(
            "(float[N, N] a, float[N, N] b, float[N] c) => (float[x, y] y, float[z] \
                 z) { y = Add (a, b) z = Neg (c) }",
            expect!["float32[N, N_2], float32[N, N_2], float32[N_3] -> float32[N, N_2], float32[N_3]"],
        );
    }

    #[test]
    fn sizes_that_would_contradict_each_other_are_separate() {
        check(
            "(float[N] a, float[1] b, float[N, 5] w) => (float[5] y) { c = Concat \
                 <axis = 0> (a, b) y = MatMul (c, w) }",
            expect!["float32[N], float32[1], float32[N_2, 5] -> float32[5]"],
        );
    }

    #[test]
    fn names_of_the_caller_are_meant() {
        check_with(
            "(float[N] a, float[M] b) => (float[x] y, float[x] z) { y = Neg (a) z = Relu (b) }",
            &[("b", &["N"])],
            expect!["float32[N], float32[N] -> float32[N], float32[N]"],
        );
    }

    #[test]
    fn a_name_of_the_file_is_not_taken() {
        check(
            "(float[N] a, float[N] b, float[N_2] c) => (float[x] y, float[x] z, \
                 float[w] w) { y = Neg (a) z = Relu (b) w = Neg (c) }",
            expect!["float32[N], float32[N_3], float32[N_2] -> float32[N], float32[N_3], float32[N_2]"],
        );
    }
}
