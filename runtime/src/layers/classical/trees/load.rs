//! Loading of tree ensembles.

use alloc::{string::String, vec::Vec};
use onnx_embed_kernels::fault::fail;
use onnx_embed_kernels::trees::{Forest, Indexed, Labeled, Mode, Number};

use crate::host::Scalar;
use crate::weights::Weights;

/// Names of the lists that contain the trees.
#[derive(Clone, Copy, Debug)]
pub enum Trees<'a> {
    /// Nodes that are identified by the number of their tree and their own number.
    Labeled {
        trees: &'a str,
        nodes: &'a str,
        modes: &'a str,
        features: &'a str,
        values: &'a str,
        yes: &'a str,
        no: &'a str,
        missing: Option<&'a str>,
        weight_trees: &'a str,
        weight_nodes: &'a str,
        weight_targets: &'a str,
        weights: &'a str,
    },
    /// Nodes that are identified by their index.
    Indexed {
        roots: &'a str,
        modes: &'a str,
        features: &'a str,
        values: &'a str,
        yes: &'a str,
        no: &'a str,
        yes_leaves: &'a str,
        no_leaves: &'a str,
        missing: Option<&'a str>,
        members: Option<&'a str>,
        weight_targets: &'a str,
        weights: &'a str,
    },
}

/// Weights of the leaves, and the class or target of each.
pub struct Leaves<T> {
    pub targets: Vec<i64>,
    pub weights: Vec<T>,
}

impl Trees<'_> {
    pub fn load<T: Number + Scalar>(self, source: &Weights<'_>, targets: usize) -> (Forest<T>, Leaves<T>) {
        let ints = |name| source.array::<i64>(name).into_data();
        let numbers = |name| source.array::<T>(name).into_data();
        let (name, weights, weight_targets) = match self {
            Trees::Labeled { modes, weights, weight_targets, .. }
            | Trees::Indexed { modes, weights, weight_targets, .. } => {
                (modes, numbers(weights), ints(weight_targets))
            }
        };
        let leaves = Leaves { targets: weight_targets.clone(), weights: weights.clone() };
        let forest = match self {
            Trees::Labeled {
                trees,
                nodes,
                modes,
                features,
                values,
                yes,
                no,
                missing,
                weight_trees,
                weight_nodes,
                ..
            } => Labeled {
                trees: ints(trees),
                nodes: ints(nodes),
                modes: named(source, modes),
                features: ints(features),
                values: numbers(values),
                yes: ints(yes),
                no: ints(no),
                missing: list(source, missing),
                weight_trees: ints(weight_trees),
                weight_nodes: ints(weight_nodes),
                weight_targets,
                weights,
            }
            .build(targets),
            Trees::Indexed {
                roots,
                modes,
                features,
                values,
                yes,
                no,
                yes_leaves,
                no_leaves,
                missing,
                members,
                ..
            } => Indexed {
                roots: ints(roots),
                modes: numbered(source, modes),
                features: ints(features),
                values: numbers(values),
                yes: ints(yes),
                no: ints(no),
                yes_leaves: ints(yes_leaves),
                no_leaves: ints(no_leaves),
                missing: list(source, missing),
                members: list(source, members),
                weight_targets,
                weights,
            }
            .build(targets),
        };
        match forest {
            Ok(forest) => (forest, leaves),
            Err(reason) => fail(format_args!("the tree ensemble of `{name}` {reason}")),
        }
    }
}

/// Returns the values of a list, none if the file does not have it.
pub fn list<T: Scalar>(weights: &Weights<'_>, name: Option<&str>) -> Vec<T> {
    name.map_or_else(Vec::new, |name| weights.array(name).into_data())
}

fn named(weights: &Weights<'_>, name: &str) -> Vec<Mode> {
    let mode = |text: &String| match Mode::named(text) {
        Some(mode) => mode,
        None => fail(format_args!("`{name}` contains the unknown mode {text:?}")),
    };
    weights.strings(name).data().iter().map(mode).collect()
}

fn numbered(weights: &Weights<'_>, name: &str) -> Vec<Mode> {
    let mode = |&number: &u8| match Mode::numbered(number) {
        Some(mode) => mode,
        None => fail(format_args!("`{name}` contains the unknown mode {number}")),
    };
    weights.array(name).data().iter().map(mode).collect()
}
