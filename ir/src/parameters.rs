//! Decides which constants are parameters.

use std::collections::{BTreeMap, BTreeSet};

use crate::elements::Elements;
use crate::graph::{Block, Graph, Node, ValueId, Values};

/// Decides which initializers are parameters: floats of rank 1 or more, unless shapes or control flow are computed from
/// them, or they are the factor of both operands of a product. If weights are not final, their elements become unknown.
pub fn find(graph: &mut Graph, final_weights: bool) {
    let mut cx = Steering { values: &graph.values, constants: BTreeSet::new(), steering: BTreeSet::new() };
    cx.note(&graph.body);
    cx.trace(&graph.body);
    let mut steering = cx.steering;
    steering.extend(shared_factors(&graph.body, &graph.values));
    let parameters = graph.values.iter().filter(|(_, value)| value.parameter);
    let parameters: Vec<ValueId> = parameters.map(|(id, _)| id).collect();
    for id in parameters {
        let value = &mut graph.values[id];
        value.parameter = !steering.contains(&id);
        if value.parameter && !final_weights {
            value.known = Elements::default();
        }
    }
}

/// Returns constants of one element by which both operands of a matrix product are multiplied: the square root of the scale of
/// attention, which an exporter stores with rank 1.
fn shared_factors(block: &Block, values: &Values) -> BTreeSet<ValueId> {
    let makers: BTreeMap<ValueId, &Node> =
        block.nodes.iter().filter_map(|node| Some((node.output(0)?, node))).collect();
    let is_single = |id: &ValueId| {
        values[*id].weight.as_ref().is_some_and(|weight| weight.sizes.iter().all(|&size| size == 1))
    };
    let factors = |id: ValueId| {
        let mul = makers.get(&id).filter(|node| &*node.kind == "Mul");
        mul.into_iter().flat_map(|node| &node.inputs).flatten().copied().filter(is_single).collect::<Vec<_>>()
    };
    let mut found = BTreeSet::new();
    for node in &block.nodes {
        node.blocks.iter().for_each(|(_, inner)| found.extend(shared_factors(inner, values)));
        if let ("MatMul", [Some(a), Some(b)]) = (&*node.kind, node.inputs.as_slice()) {
            let others = factors(*b);
            found.extend(factors(*a).into_iter().filter(|id| others.contains(id)));
        }
    }
    found
}

struct Steering<'g> {
    values: &'g Values,
    /// Values that depend only on constants and the sizes of values.
    constants: BTreeSet<ValueId>,
    /// Those from which shapes or control flow are computed.
    steering: BTreeSet<ValueId>,
}

impl Steering<'_> {
    fn note(&mut self, block: &Block) {
        for node in &block.nodes {
            node.blocks.iter().for_each(|(_, inner)| self.note(inner));
            let sizes = matches!(&*node.kind, "Shape" | "Size");
            let mut inputs = node.inputs.iter().flatten();
            if node.blocks.is_empty() && (sizes || inputs.all(|&id| self.is_constant(id))) {
                self.constants.extend(node.outputs.iter().flatten());
            }
        }
    }

    fn is_constant(&self, id: ValueId) -> bool {
        self.values[id].is_constant() || self.constants.contains(&id)
    }

    fn trace(&mut self, block: &Block) {
        for node in block.nodes.iter().rev() {
            node.blocks.iter().for_each(|(_, inner)| self.trace(inner));
            let steers = self.steers(node);
            for (at, id) in node.inputs.iter().enumerate() {
                let Some(id) = *id else { continue };
                if self.is_constant(id) && (steers || node.operator.wants_host(at)) {
                    self.steering.insert(id);
                }
            }
        }
    }

    /// Returns `true` if shapes or control flow are computed from the results of a node on constants.
    fn steers(&self, node: &Node) -> bool {
        let mut outputs = node.outputs.iter().flatten();
        outputs.any(|id| self.steering.contains(id)) && !matches!(&*node.kind, "Shape" | "Size")
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use crate::options::{Options, Weights};

    /// Returns the names of the parameters of a graph whose weights are in a file.
    fn parameters(graph: &str) -> Vec<String> {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {graph}");
        let bytes = crate::text::model(&text).unwrap().encode_to_vec();
        let options = Options { weights: Weights::File, ..Options::default() };
        let model = crate::load_bytes(bytes.into(), &options).unwrap();
        let all = model.graph.values.iter().filter(|(_, value)| value.parameter);
        all.map(|(_, value)| value.name.clone()).collect()
    }

    #[test]
    fn a_factor_of_both_operands_of_a_product_is_no_parameter() {
        let graph = |second: &str| {
            format!(
                "g (float[n, 2] x, float[2, n] z) => (float[n, n] y) <float[1] c = {{2}}, float[1] d = {{3}}> {{
                    a = Mul (x, c) b = Mul ({second}, z) y = MatMul (a, b)
                }}"
            )
        };
        assert_eq!(parameters(&graph("c")), ["d"]);
        assert_eq!(parameters(&graph("d")), ["c", "d"]);
    }
}
