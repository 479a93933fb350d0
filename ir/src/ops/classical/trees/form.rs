//! Lists that store trees.

use quote::format_ident;

use super::super::super::classical::{missing, name, optional_name, required};
use crate::attributes::{Attributes, Kept, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::rust::{Code, code};

/// The lists that store trees, and how they identify nodes.
#[derive(Debug)]
pub struct Form {
    /// A variant of the layers' `Trees`.
    variant: &'static str,
    lists: Vec<(&'static str, Kept)>,
    optional: Vec<(&'static str, Option<Kept>)>,
}

attributes!(struct Form { variant, lists, optional });

/// Reads the lists of versions 1 to 4; the last parameters name the lists of the leaves' weights.
pub fn labelled(
    a: &Attributes<'_>,
    [trees, nodes, targets]: [&str; 3],
    weights: [&str; 2],
) -> Result<Form, Problem> {
    a.ignore(&["nodes_hitrates", "nodes_hitrates_as_tensor"]);
    let one = |names: [&str; 2]| either(a, names)?.ok_or_else(|| missing(names[0]));
    let form = Form {
        variant: "Labelled",
        lists: vec![
            ("trees", required(a, "nodes_treeids")?),
            ("nodes", required(a, "nodes_nodeids")?),
            ("modes", required(a, "nodes_modes")?),
            ("features", required(a, "nodes_featureids")?),
            ("values", one(["nodes_values", "nodes_values_as_tensor"])?),
            ("yes", required(a, "nodes_truenodeids")?),
            ("no", required(a, "nodes_falsenodeids")?),
            ("weight_trees", required(a, trees)?),
            ("weight_nodes", required(a, nodes)?),
            ("weight_targets", required(a, targets)?),
            ("weights", one(weights)?),
        ],
        optional: vec![("missing", a.keep("nodes_missing_value_tracks_true")?)],
    };
    form.check()
}

/// Reads the lists of version 5.
pub fn indexed(a: &Attributes<'_>) -> Result<Form, Problem> {
    a.ignore(&["nodes_hitrates"]);
    let form = Form {
        variant: "Indexed",
        lists: vec![
            ("roots", required(a, "tree_roots")?),
            ("modes", required(a, "nodes_modes")?),
            ("features", required(a, "nodes_featureids")?),
            ("values", required(a, "nodes_splits")?),
            ("yes", required(a, "nodes_truenodeids")?),
            ("no", required(a, "nodes_falsenodeids")?),
            ("yes_leaves", required(a, "nodes_trueleafs")?),
            ("no_leaves", required(a, "nodes_falseleafs")?),
            ("weight_targets", required(a, "leaf_targetids")?),
            ("weights", required(a, "leaf_weights")?),
        ],
        optional: vec![
            ("missing", a.keep("nodes_missing_value_tracks_true")?),
            ("members", a.keep("membership_values")?),
        ],
    };
    form.check()
}

/// Reads a list from the attribute of floats or of a tensor.
pub fn either(a: &Attributes<'_>, [list, tensor]: [&str; 2]) -> Result<Option<Kept>, Problem> {
    let some = |kept: Option<Kept>| kept.filter(|kept| kept.count > 0);
    let (list, tensor) = (some(a.keep(list)?), some(a.keep(tensor)?));
    Ok(list.or(tensor))
}

impl Form {
    /// Checks that the lists of nodes have equal lengths, and those of weights.
    fn check(self) -> Result<Form, Problem> {
        let optional = self.optional.iter();
        let optional = optional.filter_map(|&(name, list)| list.map(|list| (name, list)));
        let all = || self.lists.iter().copied().chain(optional.clone());
        let length = |of: &str| {
            let mut lists = self.lists.iter();
            lists.find(|(name, _)| *name == of).map(|(_, list)| list.count)
        };
        for (name, list) in all().filter(|(name, _)| !["roots", "members"].contains(name)) {
            let (kind, expected) = if name.starts_with("weight") {
                ("weights", length("weights"))
            } else {
                ("nodes", length("modes"))
            };
            if Some(list.count) != expected {
                let message = format!("the lists of {kind} are of different lengths: `{name}`");
                let help = "the file is inconsistent; export the model again";
                return Err(Problem::new(message).help(help));
            }
        }
        Ok(self)
    }

    /// Returns the numbers of nodes and of weights.
    pub fn sizes(&self) -> [usize; 2] {
        ["modes", "weights"].map(|of| {
            let mut lists = self.lists.iter();
            let found = lists.find(|(name, _)| *name == of);
            found.map_or(0, |(_, list)| list.count)
        })
    }

    pub fn is_double(&self) -> bool {
        self.lists.iter().any(|(_, list)| list.dtype == DType::F64)
    }

    pub fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let mut fields = Vec::new();
        for &(field, list) in &self.lists {
            let (field, name) = (format_ident!("{field}"), name(cx, list)?);
            fields.push(code!(#field: #name));
        }
        for &(field, list) in &self.optional {
            let (field, name) = (format_ident!("{field}"), optional_name(cx, list)?);
            fields.push(code!(#field: #name));
        }
        let variant = format_ident!("{}", self.variant);
        Ok(code!(layers::Trees::#variant { #(#fields),* }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn lists_of_nodes_and_of_weights_are_of_one_length() {
        problems(
            &[
                r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[n, 4] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], n_targets = 2, target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 1], target_weights = [0.25, 0.75]> (x) }"#,
                r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[n, 4] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0], nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], n_targets = 2, target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 1], target_weights = [0.25, 0.75]> (x) }"#,
                r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[n, 4] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0, 0], nodes_falsenodeids = [2, 0, 0], n_targets = 2, target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 1], target_weights = [0.25, 0.75]> (x) }"#,
                r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[n, 4] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], n_targets = 2, target_treeids = [0, 0], target_nodeids = [1], target_ids = [0, 1], target_weights = [0.25, 0.75]> (x) }"#,
                r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[n, 4] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], n_targets = 2, target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 1], target_weights = [0.25]> (x) }"#,
                r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[n, 4] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], n_targets = 2, target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 1], target_weight = [0.25, 0.75]> (x) }"#,
            ],
            expect![[r#"
                fine
                the lists of nodes are of different lengths: `features`
                the lists of nodes are of different lengths: `yes`
                the lists of weights are of different lengths: `weight_nodes`
                the lists of weights are of different lengths: `weight_trees`
                attribute `target_weights` is missing
            "#]],
        );
    }
}
