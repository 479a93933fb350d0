//! Lists that store trees.

use quote::format_ident;

use super::super::super::classical::{name, optional_name};
use crate::attributes::{Attributes, Kept, attributes, missing};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::ops::sizes;
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

/// A list of the layers' `Trees` and the attributes that may contain it.
type Source<'a> = (&'static str, &'a [&'a str]);

/// Reads the lists of versions 1 to 4; the last parameters name the lists of the leaves' weights.
pub fn labeled(
    a: &Attributes<'_>,
    [trees, nodes, targets]: [&str; 3],
    weights: [&str; 2],
) -> Result<Form, Problem> {
    a.ignore(&["nodes_hitrates", "nodes_hitrates_as_tensor"]);
    let lists: [Source<'_>; 11] = [
        ("trees", &["nodes_treeids"]),
        ("nodes", &["nodes_nodeids"]),
        ("modes", &["nodes_modes"]),
        ("features", &["nodes_featureids"]),
        ("values", &["nodes_values", "nodes_values_as_tensor"]),
        ("yes", &["nodes_truenodeids"]),
        ("no", &["nodes_falsenodeids"]),
        ("weight_trees", &[trees]),
        ("weight_nodes", &[nodes]),
        ("weight_targets", &[targets]),
        ("weights", &weights),
    ];
    Form::read(a, "Labeled", &lists, &[("missing", "nodes_missing_value_tracks_true")])
}

/// Reads the lists of version 5.
pub fn indexed(a: &Attributes<'_>) -> Result<Form, Problem> {
    a.ignore(&["nodes_hitrates"]);
    let lists: [Source<'_>; 10] = [
        ("roots", &["tree_roots"]),
        ("modes", &["nodes_modes"]),
        ("features", &["nodes_featureids"]),
        ("values", &["nodes_splits"]),
        ("yes", &["nodes_truenodeids"]),
        ("no", &["nodes_falsenodeids"]),
        ("yes_leaves", &["nodes_trueleafs"]),
        ("no_leaves", &["nodes_falseleafs"]),
        ("weight_targets", &["leaf_targetids"]),
        ("weights", &["leaf_weights"]),
    ];
    let optional = [("missing", "nodes_missing_value_tracks_true"), ("members", "membership_values")];
    Form::read(a, "Indexed", &lists, &optional)
}

/// Reads the first list that is not empty: an attribute of floats, or of a tensor.
pub fn list(a: &Attributes<'_>, names: &[&str]) -> Result<Option<Kept>, Problem> {
    let mut found = None;
    for name in names {
        let list = a.keep(name)?.filter(|list| list.count > 0);
        found = found.or(list);
    }
    Ok(found)
}

impl Form {
    /// Reads the lists, and checks that the lists of nodes have equal lengths, and those of weights.
    fn read(
        a: &Attributes<'_>,
        variant: &'static str,
        sources: &[Source<'_>],
        optional_sources: &[(&'static str, &str)],
    ) -> Result<Form, Problem> {
        let (mut lists, mut optional) = (Vec::new(), Vec::new());
        let mut named = Vec::new();
        for &(field, names) in sources {
            let name = names.first().copied().unwrap_or_default();
            let list = list(a, names)?.ok_or_else(|| missing(name))?;
            lists.push((field, list));
            named.push((field, name, list.count));
        }
        for &(field, name) in optional_sources {
            let list = a.keep(name)?;
            optional.push((field, list));
            named.extend(list.map(|list| (field, name, list.count)));
        }
        let form = Form { variant, lists, optional };
        let [nodes, weights] = form.sizes();
        for (field, name, count) in named {
            let expected = match field {
                "roots" | "members" => continue,
                _ if field.starts_with("weight") => weights,
                _ => nodes,
            };
            sizes::length(&format!("`{name}`"), count, expected).map_err(Problem::inconsistent)?;
        }
        Ok(form)
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
                `nodes_featureids` has 2 elements, expected 3
                `nodes_truenodeids` has 4 elements, expected 3
                `target_nodeids` has 1 element, expected 2
                `target_treeids` has 2 elements, expected 1
                attribute `target_weights` is missing
            "#]],
        );
    }
}
