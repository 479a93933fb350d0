//! Nodes that use the initializers of a graph.

use std::collections::BTreeMap;

use crate::proto::{AttributeProto, GraphProto, NodeProto};

/// An input of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// Index of the node, if it is in the graph itself.
    pub node: Option<usize>,
    /// The axis of the output channels, if the input is the weight of a product or convolution, or a table of rows.
    pub axis: Option<usize>,
    /// Whether the node is the product itself.
    pub is_product: bool,
}

/// Returns the uses of each value of a graph that is not the result of a node.
pub(super) fn uses(graph: &GraphProto) -> BTreeMap<&str, Vec<Use>> {
    let mut uses = BTreeMap::new();
    let ranks: BTreeMap<&str, usize> =
        graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor.dims.len())).collect();
    add(graph, &ranks, true, &mut uses);
    for output in &graph.output {
        let other = Use { node: None, axis: None, is_product: false };
        uses.entry(output.name.as_str()).or_default().push(other);
    }
    uses
}

fn add<'g>(
    graph: &'g GraphProto,
    ranks: &BTreeMap<&str, usize>,
    is_outer: bool,
    uses: &mut BTreeMap<&'g str, Vec<Use>>,
) {
    for (at, node) in graph.node.iter().enumerate() {
        for (input, name) in node.input.iter().enumerate() {
            let Some(&rank) = ranks.get(name.as_str()) else {
                continue;
            };
            let axis = channels(node, input, rank).or_else(|| transposed(graph, node, rank));
            let axis = axis.filter(|&axis| axis < rank);
            let is_product = is_product(node) && input == 1;
            let node = is_outer.then_some(at);
            uses.entry(name.as_str()).or_default().push(Use { node, axis, is_product });
        }
        for AttributeProto { g, graphs, .. } in &node.attribute {
            g.as_deref().into_iter().chain(graphs).for_each(|graph| add(graph, ranks, false, uses));
        }
    }
}

/// Returns true for operators of the standard.
fn is_standard(node: &NodeProto) -> bool {
    ["", "ai.onnx"].contains(&node.domain.as_str())
}

fn is_product(node: &NodeProto) -> bool {
    is_standard(node) && ["MatMul", "Gemm"].contains(&node.op_type.as_str())
}

/// Returns the integer attribute of a node, 0 if it is absent.
pub(super) fn int(node: &NodeProto, name: &str) -> i64 {
    let attribute = node.attribute.iter().find(|attribute| attribute.name == name);
    attribute.and_then(|attribute| attribute.i).unwrap_or_default()
}

/// Returns the axis of the output channels of a weight.
fn channels(node: &NodeProto, input: usize, rank: usize) -> Option<usize> {
    if !is_standard(node) || rank < 2 {
        return None;
    }
    match (node.op_type.as_str(), input) {
        ("MatMul", 1) => rank.checked_sub(1),
        ("Gemm", 1) => Some(usize::from(int(node, "transB") == 0)),
        ("Conv", 1) => Some(0),
        ("ConvTranspose", 1) => Some(1),
        ("Gather", 0) if rank == 2 && int(node, "axis") == 0 => Some(0),
        _ => None,
    }
}

/// Returns the axis of the output channels of a matrix that is transposed before a product.
fn transposed(graph: &GraphProto, node: &NodeProto, rank: usize) -> Option<usize> {
    if !is_standard(node) || node.op_type != "Transpose" || rank != 2 {
        return None;
    }
    let perm = node.attribute.iter().find(|attribute| attribute.name == "perm");
    let perm = perm.map_or(&[1, 0][..], AttributeProto::ints);
    let name = node.output.first()?;
    let product = graph.node.iter().find(|other| is_product(other) && other.input.get(1) == Some(name))?;
    let axis = channels(product, 1, rank)?;
    usize::try_from(*perm.get(axis)?).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(nodes: &str, expected: Expect) {
        let graph = crate::text::graph(&format!(
            "g (float[n, 2] x) => (float[n, m] y) <float[2, 3] w = {{1, 2, 3, 4, 5, 6}}> {{ {nodes} }}"
        ));
        let graph = graph.unwrap();
        let uses = uses(&graph);
        let all = uses.get("w").map(Vec::as_slice).unwrap_or_default();
        let text: Vec<String> = all
            .iter()
            .map(|Use { node, axis, is_product }| format!("{node:?} {axis:?} {is_product}"))
            .collect();
        expected.assert_eq(&text.join("; "));
    }

    #[test]
    fn weights_have_an_axis_of_channels() {
        check("y = MatMul (x, w)", expect!["Some(0) Some(1) true"]);
        check("y = Gemm <transB = 1> (x, w)", expect!["Some(0) Some(0) true"]);
        check("y = Gemm (x, w)", expect!["Some(0) Some(1) true"]);
        check("y = Conv (x, w)", expect!["Some(0) Some(0) false"]);
        check("y = MatMul (w, x)", expect!["Some(0) None false"]);
        check("y = acme.MatMul (x, w)", expect!["Some(0) None false"]);
        check("t = Transpose (w) y = MatMul (x, t)", expect!["Some(0) Some(0) false"]);
        check("t = Transpose <perm = [0, 1]> (w) y = MatMul (x, t)", expect!["Some(0) Some(1) false"]);
        check("t = Transpose (w) y = Add (x, t)", expect!["Some(0) None false"]);
        check("y = Gather (w, i)", expect!["Some(0) Some(0) false"]);
        check("y = Gather <axis = 1> (w, i)", expect!["Some(0) None false"]);
    }

    #[test]
    fn nested_graphs_use_outer_weights() {
        check(
            "y = If (c) <then_branch = t () => (float[n, 3] p) { p = MatMul (x, w) }, \
             else_branch = e () => (float[n, 3] q) { q = Gemm (x, w) }>",
            expect!["None Some(1) true; None Some(1) true"],
        );
    }
}
