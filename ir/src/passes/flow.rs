//! Removes copies, known branches and constant loop state.

use std::collections::{BTreeMap, BTreeSet};

use crate::elements::Elements;
use crate::graph::{Block, Flow, Graph, Iterations, Node, ValueId, Values};

/// Values that replace others.
pub type Renamed = BTreeMap<ValueId, ValueId>;

/// Removes copies, replaces nodes with a known condition by their branch, and replaces loop state that no iteration
/// changes by its initial value.
pub fn simplify(graph: &mut Graph) {
    let mut body = std::mem::take(&mut graph.body);
    let copied = graph.values.iter().filter_map(|(_, value)| value.copy_of);
    let copied: BTreeSet<ValueId> = copied.collect();
    unpack(&mut body, &graph.values, &copied);
    block(&mut body, &graph.values, &mut Renamed::new());
    graph.body = body;
}

/// Gives operators the items of known sequences as inputs, and makes items that are used on their own outputs.
fn unpack(block: &mut Block, values: &Values, copied: &BTreeSet<ValueId>) {
    let mut nodes = Vec::new();
    for mut node in std::mem::take(&mut block.nodes) {
        for (_, inner) in &mut node.blocks {
            unpack(inner, values, copied);
        }
        let parts = |id: Option<ValueId>| id.and_then(|id| values[id].parts.clone());
        let unpacks = node.operator.unpacks();
        let (input_parts, output_parts) =
            if unpacks { (parts(node.input(0)), parts(node.output(0))) } else { (None, None) };
        if let Some(parts) = input_parts {
            node.inputs = parts.into_iter().map(Some).collect();
        }
        let Some(parts) = output_parts.filter(|parts| parts.iter().any(|id| copied.contains(id))) else {
            nodes.push(node);
            continue;
        };
        let parts: Vec<Option<ValueId>> = parts.into_iter().map(Some).collect();
        let whole = Node {
            kind: "SequenceConstruct".into(),
            operator: crate::ops::construct(),
            inputs: parts.clone(),
            outputs: std::mem::replace(&mut node.outputs, parts),
            ..node.clone()
        };
        nodes.extend([node, whole]);
    }
    block.nodes = nodes;
}

fn block(block: &mut Block, values: &Values, renamed: &mut Renamed) {
    let mut nodes = Vec::new();
    for mut node in std::mem::take(&mut block.nodes) {
        for input in node.inputs.iter_mut().flatten() {
            *input = resolved(*input, renamed);
        }
        if let (Some(from), Some(to)) = (copied(&node, values), node.output(0)) {
            renamed.insert(to, resolved(from, renamed));
            continue;
        }
        let condition = node.input(0).map(|id| &values[id].known);
        match node.operator.flow() {
            Some(Flow::Branches) => {
                if let Some(name) = Flow::known_branch(condition.and_then(Elements::read)) {
                    nodes.extend(branch(node, name, values, renamed));
                    continue;
                }
            }
            Some(Flow::Iterations(iterations)) if !iterations.batched => {
                hoist(&mut node, iterations, values, renamed);
            }
            _ => {}
        }
        for (_, inner) in &mut node.blocks {
            self::block(inner, values, renamed);
        }
        nodes.push(node);
    }
    block.nodes = nodes;
    for output in &mut block.outputs {
        *output = resolved(*output, renamed);
    }
}

/// Returns the nodes of a branch. Its outputs replace those of the node.
fn branch(node: Node, name: &str, values: &Values, renamed: &mut Renamed) -> Vec<Node> {
    let mut blocks = node.blocks.into_iter();
    let Some((_, mut inner)) = blocks.find(|(block, _)| block == name) else {
        return Vec::new();
    };
    block(&mut inner, values, renamed);
    for (output, inner) in node.outputs.iter().zip(&inner.outputs) {
        renamed.extend(output.map(|output| (output, *inner)));
    }
    inner.nodes
}

/// Removes state that every iteration returns unchanged.
fn hoist(node: &mut Node, iterations: Iterations, values: &Values, renamed: &mut Renamed) {
    let state = iterations.state(node);
    let Some((_, inner)) = node.blocks.first_mut() else {
        return;
    };
    let copies = inner.nodes.iter();
    let copies = copies.filter_map(|node| node.output(0).zip(copied(node, values)));
    let copies: Renamed = copies.collect();
    let mut unchanged = BTreeSet::new();
    for at in 0..state {
        let state_input = inner.inputs.get(iterations.block_inputs + at).copied();
        let next = inner.outputs.get(iterations.block_outputs + at).copied();
        let initial = node.inputs.get(iterations.before + at).copied().flatten();
        let (Some(state_input), Some(next), Some(initial)) = (state_input, next, initial) else {
            continue;
        };
        if resolved(next, &copies) != state_input {
            continue;
        }
        unchanged.insert(at);
        renamed.insert(state_input, initial);
        let output = node.outputs.get(at).copied().flatten();
        renamed.extend(output.map(|output| (output, initial)));
    }
    iterations.retain(node, |result| !unchanged.contains(&result));
}

/// Returns the original value, if the node's result is a copy.
fn copied(node: &Node, values: &Values) -> Option<ValueId> {
    node.output(0).and_then(|id| values[id].copy_of)
}

/// Returns the value that replaces `id`.
pub fn resolved(mut id: ValueId, renamed: &Renamed) -> ValueId {
    while let Some(&next) = renamed.get(&id) {
        id = next;
    }
    id
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_known_branch_stands_where_its_node_stood() {
        check(
            r#"g (float[2] x) => (float[2] z) {
                c = Constant <value = bool {1}> ()
                y = If (c) <
                    then_branch = t () => (float[2] p) { p = Neg (x) },
                    else_branch = e () => (float[1, 2] q) { q = Reshape (x, x) }
                >
                z = Abs (y)
            }"#,
            expect![[r#"
                g (float32[2] x) => (float32[2] z)
                {
                    float32[2] p = Neg (x)
                    float32[2] z = Abs (p)
                }
            "#]],
        );
    }

    #[test]
    fn what_no_iteration_changes_is_read_from_outside() {
        check(
            r#"g (float[2] x, float[2] w, int64 m) => (float[2] y, float[2] v) {
                y, v = Loop (m, , x, w) <body = b (int64 i, bool c, float[2] a, float[2] u)
                    => (bool c2, float[2] r, float[2] u2) {
                    r = Mul (a, u)
                    c2 = Identity (c)
                    u2 = Identity (u)
                }>
            }"#,
            expect![[r#"
                g (float32[2] x, float32[2] w, host int64[] m) => (float32[2] y, float32[2] w)
                {
                    float32[2] y = Loop (m, , x)
                        body (int64[] i, bool[] c, float32[2] a) => (bool[] c, float32[2] r)
                        {
                            float32[2] r = Mul (a, w)
                        }
                }
            "#]],
        );
    }
}
