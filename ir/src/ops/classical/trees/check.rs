//! Checks that every path of a tree ends at a leaf.

use std::collections::BTreeMap;

use crate::attributes::{Attributes, any_of};
use crate::diagnostics::Problem;

/// Maximum number of nodes or weights that are checked at compile time, where larger trees would be slow. Loading the
/// model checks all trees.
const MAX_CHECKED_NODES: usize = 1 << 15;
/// Largest index of a feature that the kernels support.
const FEATURES: i64 = (1 << 28) - 1;
const MODES: [&str; 7] =
    ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"];

/// Returns the number of features that trees of versions 1 to 4 require. Their nodes are identified by their ids.
/// Returns 0 for trees that are too large to check.
pub fn labeled(
    a: &Attributes<'_>,
    [weight_trees, weight_nodes, weight_targets]: [&str; 3],
    sizes: [usize; 2],
    targets: usize,
) -> Result<usize, Problem> {
    if sizes.iter().any(|&size| size > MAX_CHECKED_NODES) {
        return Ok(0);
    }
    let list = |name: &str| Ok::<_, Problem>(a.ints(name)?.unwrap_or_default());
    let (trees, numbers) = (list("nodes_treeids")?, list("nodes_nodeids")?);
    let (yes, no) = (list("nodes_truenodeids")?, list("nodes_falsenodeids")?);
    let features = list("nodes_featureids")?;
    let modes = a.strings("nodes_modes")?.unwrap_or_default();
    let names: Vec<(i64, i64)> = trees.into_iter().zip(numbers).collect();
    let mut indices = BTreeMap::new();
    for (at, &(tree, number)) in names.iter().enumerate() {
        if indices.insert((tree, number), at).is_some() {
            return Err(broken(format!("node {number} of tree {tree} is defined twice")));
        }
    }
    let mut needed = 0;
    let mut ways = Vec::new();
    let nodes = names.iter().zip(&modes).zip(&features).zip(yes.iter().zip(&no));
    for (((&(tree, number), mode), &feature), (&yes, &no)) in nodes {
        let node = || format!("node {number} of tree {tree}");
        if !MODES.contains(&mode.as_str()) {
            let expected = any_of(&MODES.map(|mode| format!("`{mode}`")));
            return Err(Problem::new(format!("{} has mode `{mode}`, expected {expected}", node())));
        }
        if mode == "LEAF" {
            ways.push([None; 2]);
            continue;
        }
        let child = |child: i64| {
            let absent = || broken(format!("{} refers to missing node {child}", node()));
            indices.get(&(tree, child)).copied().ok_or_else(absent)
        };
        ways.push([Some(child(yes)?), Some(child(no)?)]);
        needed = needed.max(feature_of(feature, &node)?);
    }
    if let Some(&(tree, number)) = endless(&ways).and_then(|at| names.get(at)) {
        return Err(broken(format!("node {number} of tree {tree} is part of a cycle")));
    }
    let leaves = list(weight_trees)?.into_iter().zip(list(weight_nodes)?);
    if let Some((tree, number)) = leaves.into_iter().find(|leaf| !indices.contains_key(leaf)) {
        let message = format!("a weight refers to missing node {number} of tree {tree}");
        return Err(broken(message));
    }
    in_range(&list(weight_targets)?, targets)?;
    Ok(needed)
}

/// Returns the number of features that trees of version 5 require. Their nodes are identified by their indices. Returns
/// 0 for trees that are too large to check.
pub fn indexed(a: &Attributes<'_>, sizes: [usize; 2], targets: usize) -> Result<usize, Problem> {
    if sizes.iter().any(|&size| size > MAX_CHECKED_NODES) {
        return Ok(0);
    }
    let [count, leaves] = sizes;
    let list = |name: &str| Ok::<_, Problem>(a.ints(name)?.unwrap_or_default());
    let (yes, no) = (list("nodes_truenodeids")?, list("nodes_falsenodeids")?);
    let (yes_leaves, no_leaves) = (list("nodes_trueleafs")?, list("nodes_falseleafs")?);
    let modes = a.tensor("nodes_modes")?.and_then(|modes| modes.elements());
    let modes = modes.and_then(|modes| modes.numbers()).unwrap_or_default();
    if let Some((at, mode)) = modes.iter().enumerate().find(|(_, mode)| !(0..=6).contains(*mode)) {
        return Err(broken(format!("node {at} has mode {mode}, expected 0 to 6")));
    }
    let mut needed = 0;
    for (at, &feature) in list("nodes_featureids")?.iter().enumerate() {
        needed = needed.max(feature_of(feature, &|| format!("node {at}"))?);
    }
    let checked_index = |index: i64, count: usize| usize::try_from(index).ok().filter(|&at| at < count);
    let way = |at: usize, child: i64, leaf: i64| {
        let (what, most) = if leaf == 0 { ("node", count) } else { ("leaf", leaves) };
        let absent = || broken(format!("node {at} refers to missing {what} {child}"));
        let found = checked_index(child, most).ok_or_else(absent)?;
        Ok::<_, Problem>((leaf == 0).then_some(found))
    };
    let mut ways = Vec::new();
    let children = yes.iter().zip(&yes_leaves).zip(no.iter().zip(&no_leaves));
    for (at, ((&yes, &yes_leaf), (&no, &no_leaf))) in children.enumerate() {
        ways.push([way(at, yes, yes_leaf)?, way(at, no, no_leaf)?]);
    }
    if let Some(at) = endless(&ways) {
        return Err(broken(format!("node {at} is part of a cycle")));
    }
    let roots = list("tree_roots")?;
    if let Some(root) = roots.iter().find(|&&root| checked_index(root, count).is_none()) {
        return Err(broken(format!("`tree_roots` refers to missing node {root}")));
    }
    in_range(&list("leaf_targetids")?, targets)?;
    Ok(needed)
}

/// Returns the number of features that a node requires.
fn feature_of(feature: i64, node: &dyn Fn() -> String) -> Result<usize, Problem> {
    let found = usize::try_from(feature).ok().filter(|_| feature <= FEATURES);
    let none = || broken(format!("{} uses feature {feature}, expected 0 to {FEATURES}", node()));
    found.map(|feature| feature.saturating_add(1)).ok_or_else(none)
}

/// Checks the ids of targets. If there is a single target, its id may be any number.
fn in_range(found: &[i64], targets: usize) -> Result<(), Problem> {
    let known = |id: i64| usize::try_from(id).is_ok_and(|id| id < targets);
    match found.iter().find(|&&id| targets != 1 && !known(id)) {
        Some(id) => {
            let last = targets.saturating_sub(1);
            Err(broken(format!("a weight refers to target {id}, expected 0 to {last}")))
        }
        None => Ok(()),
    }
}

/// Returns a node of a cycle, if any. `ways` are the children of each node; leaves have none.
fn endless(ways: &[[Option<usize>; 2]]) -> Option<usize> {
    let mut parents = vec![0usize; ways.len()];
    let mut count = |child: usize, by: isize| {
        let slot = parents.get_mut(child)?;
        *slot = slot.saturating_add_signed(by);
        Some(*slot)
    };
    for &child in ways.iter().flatten().flatten() {
        count(child, 1);
    }
    let mut free: Vec<usize> = (0..ways.len()).filter(|&at| count(at, 0) == Some(0)).collect();
    let mut reached = vec![false; ways.len()];
    while let Some(at) = free.pop() {
        if let Some(reached) = reached.get_mut(at) {
            *reached = true;
        }
        for &child in ways.get(at).into_iter().flatten().flatten() {
            if count(child, -1) == Some(0) {
                free.push(child);
            }
        }
    }
    // Remaining nodes are in a cycle or reachable from one. Following parents from one of them ends in the cycle.
    let mut before = BTreeMap::new();
    let left = ways.iter().zip(&reached).enumerate();
    for (at, (ways, _)) in left.filter(|(_, (_, reached))| !**reached) {
        before.extend(ways.iter().flatten().map(|&child| (child, at)));
    }
    let mut at = reached.iter().position(|reached| !reached)?;
    for _ in 0..ways.len() {
        at = before.get(&at).copied()?;
    }
    Some(at)
}

fn broken(message: String) -> Problem {
    Problem::new(message).inconsistent()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    /// Returns the problem of a regressor in which `to` replaces `from` in the lists of the stump.
    fn refused(from: &str, to: &str) -> String {
        let text = r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (float[n, 4] x) => (y) {
            y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
                nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0],
                nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
                nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], n_targets = 2,
                target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 1],
                target_weights = [0.25, 0.75]> (x)
        }"#;
        assert!(text.contains(from), "{from}");
        let model = crate::text::model(&text.replacen(from, to, 1)).unwrap();
        let bytes = prost::Message::encode_to_vec(&model);
        let problems = crate::load_bytes(bytes.into(), &Default::default()).unwrap_err();
        problems.messages().join("; ")
    }

    #[test]
    fn broken_trees_are_refused() {
        let problems = [
            ("truenodeids = [1,", "truenodeids = [0,"),
            ("truenodeids = [1,", "truenodeids = [7,"),
            ("nodeids = [0, 1, 2]", "nodeids = [0, 1, 1]"),
            ("\"BRANCH_LEQ\"", "\"EVIL\""),
            ("featureids = [0,", "featureids = [-5,"),
            ("featureids = [0,", "featureids = [4,"),
            ("target_nodeids = [1, 2]", "target_nodeids = [1, 77]"),
            ("target_ids = [0, 1]", "target_ids = [0, 2]"),
            ("n_targets = 2", "n_targets = 1099511627776"),
        ];
        let problems = problems.map(|(from, to)| refused(from, to));
        expect![[r#"
            node 0 of tree 0 is part of a cycle
            node 0 of tree 0 refers to missing node 7
            node 1 of tree 0 is defined twice
            node 0 of tree 0 has mode `EVIL`, expected `BRANCH_LEQ`, `BRANCH_LT`, `BRANCH_GTE`, `BRANCH_GT`, `BRANCH_EQ`, `BRANCH_NEQ` or `LEAF`
            node 0 of tree 0 uses feature -5, expected 0 to 268435455
            the number of features of the input is 4, expected at least 5
            a weight refers to missing node 77 of tree 0
            a weight refers to target 2, expected 0 to 1
            `n_targets` is 1099511627776, expected 1 to 268435456"#]]
        .assert_eq(&problems.join("\n"));
    }

    #[test]
    fn broken_trees_of_version_5_are_refused() {
        let text = r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 5]> g (float[n, 4] x) => (y) {
            y = ai.onnx.ml.TreeEnsemble <tree_roots = [0], nodes_featureids = [0, 0], nodes_modes = uint8[2] {0, 1},
                nodes_splits = float[2] {0.5, 1.5}, nodes_truenodeids = [1, 0], nodes_trueleafs = [0, 1],
                nodes_falsenodeids = [0, 1], nodes_falseleafs = [1, 1], leaf_targetids = [0, 1],
                leaf_weights = float[2] {1.0, 2.0}, n_targets = 2> (x)
        }"#;
        let problem = |(from, to): (&str, &str)| {
            assert!(text.contains(from), "{from}");
            let model = crate::text::model(&text.replacen(from, to, 1)).unwrap();
            let bytes = prost::Message::encode_to_vec(&model);
            let model = crate::load_bytes(bytes.into(), &Default::default());
            model.map_or_else(|problems| problems.messages().join("; "), |_| "fits".to_owned())
        };
        let problems = [
            ("n_targets", "n_targets"),
            ("roots = [0]", "roots = [2]"),
            ("truenodeids = [1,", "truenodeids = [0,"),
            ("truenodeids = [1,", "truenodeids = [2,"),
            ("falsenodeids = [0, 1]", "falsenodeids = [0, 2]"),
            ("{0, 1}", "{0, 9}"),
            ("targetids = [0, 1]", "targetids = [0, 2]"),
            ("featureids = [0, 0]", "featureids = [0, 4]"),
        ];
        expect![[r#"
            fits
            `tree_roots` refers to missing node 2
            node 0 is part of a cycle
            node 0 refers to missing node 2
            node 1 refers to missing leaf 2
            node 1 has mode 9, expected 0 to 6
            a weight refers to target 2, expected 0 to 1
            the number of features of the input is 4, expected at least 5"#]]
        .assert_eq(&problems.map(problem).join("\n"));
    }
}
