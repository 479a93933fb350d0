//! Sorts nodes so that they can be computed.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::MAX_NESTING;
use super::scope::Scope;
use super::{Reader, gradient};
use crate::diagnostics::Problem;
use crate::proto::{GraphProto, NodeProto};

/// Maximum number of values of a cycle that are listed.
const MAX_LISTED_VALUES: usize = 4;

impl Reader<'_> {
    /// Sorts nodes so that values are computed before their use, as old files do not require it. Values of a cycle are
    /// reported and defined without a type.
    pub(super) fn in_order<'n>(
        &mut self,
        nodes: &'n [NodeProto],
        scope: &mut Scope<'_>,
    ) -> Vec<&'n NodeProto> {
        let makers = makers(nodes);
        let mut waiting: Vec<usize> = Vec::new();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let mut count = 0usize;
            for name in reads(node, 0).into_iter().chain(gradient::target(node)) {
                if let Some(&maker) = makers.get(name)
                    && let Some(users) = users.get_mut(maker)
                {
                    users.push(at);
                    count += 1;
                }
            }
            waiting.push(count);
        }
        let ready = waiting.iter().enumerate().filter(|(_, count)| **count == 0);
        let mut ready: BTreeSet<usize> = ready.map(|(at, _)| at).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(at) = ready.pop_first() {
            order.extend(nodes.get(at));
            for &user in users.get(at).into_iter().flatten() {
                if let Some(count) = waiting.get_mut(user) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(user);
                    }
                }
            }
        }
        if order.len() < nodes.len() {
            let left = nodes.iter().zip(&waiting);
            let left: Vec<&NodeProto> = left.filter(|entry| *entry.1 > 0).map(|entry| entry.0).collect();
            self.diagnostics.push(cycle(&left));
            left.iter().for_each(|node| self.poison(node, scope));
        }
        order
    }
}

/// Returns the index of the node that produces each value.
fn makers(nodes: &[NodeProto]) -> BTreeMap<&str, usize> {
    let nodes = nodes.iter().enumerate();
    let outputs = nodes.flat_map(|(at, node)| node.output.iter().map(move |name| (name, at)));
    let named = outputs.filter(|(name, _)| !name.is_empty());
    named.map(|(name, at)| (name.as_str(), at)).collect()
}

/// Reports a cycle of the nodes that could not be sorted.
fn cycle(left: &[&NodeProto]) -> Problem {
    let outputs = left.iter().enumerate();
    let outputs = outputs.flat_map(|(at, node)| node.output.iter().map(move |name| (name, at)));
    let makers: BTreeMap<&str, usize> = outputs.map(|(name, at)| (name.as_str(), at)).collect();
    // Each remaining node uses a value that another remaining node produces.
    let needed = |at: usize| {
        let node = left.get(at)?;
        let mut reads = reads(node, 0).into_iter().chain(gradient::target(node));
        reads.find_map(|name| Some((*makers.get(name)?, name)))
    };
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut indices = BTreeMap::new();
    let mut next = needed(0);
    while let Some((maker, name)) = next {
        if let Some(&start) = indices.get(&maker) {
            path.drain(..start);
            break;
        }
        indices.insert(maker, path.len());
        path.push((maker, name));
        next = needed(maker);
    }
    let names: Vec<&str> = path.iter().map(|step| step.1).collect();
    let listed = match names.as_slice() {
        [only] => format!("`{only}` depends on itself"),
        names if names.len() <= MAX_LISTED_VALUES => {
            let after = names.iter().cycle().skip(1);
            let pairs = names.iter().zip(after);
            let pairs = pairs.map(|(name, needed)| format!("`{name}` depends on `{needed}`"));
            pairs.collect::<Vec<_>>().join(", ")
        }
        names => {
            let first = names.first().copied().unwrap_or_default();
            format!("`{first}` depends on itself through {} nodes", names.len())
        }
    };
    Problem::new(format!("the graph has a cycle: {listed}")).inconsistent()
}

/// Returns the names from outside that a node and its nested graphs use.
pub(super) fn reads(node: &NodeProto, depth: usize) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).collect();
    if depth < MAX_NESTING {
        for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()) {
            let own = own(graph);
            let inner = graph.node.iter().flat_map(|node| reads(node, depth + 1));
            let outputs = graph.output.iter().map(|output| output.name.as_str());
            names.extend(inner.chain(outputs).filter(|name| !own.contains(name)));
        }
    }
    names
}

/// Returns the names of the values that a graph defines.
fn own(graph: &GraphProto) -> BTreeSet<&str> {
    let inputs = graph.input.iter().map(|input| input.name.as_str());
    let constants = graph.initializer.iter().map(|tensor| tensor.name.as_str());
    let sparse = graph.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
    let sparse = sparse.map(|values| values.name.as_str());
    let made = graph.node.iter().flat_map(|node| &node.output).map(String::as_str);
    inputs.chain(constants).chain(sparse).chain(made).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn nodes_may_stand_in_any_order() {
        check(
            "g (float[n] x) => (float[n] y) { y = Neg (b) b = Abs (a) a = Relu (x) }",
            expect![[r#"
                g (float32[n] x) => (float32[n] y)
                {
                    float32[n] a = Relu (x)
                    float32[n] b = Abs (a)
                    float32[n] y = Neg (b)
                }
            "#]],
        );
    }

    #[test]
    fn nodes_may_share_a_name() {
        check(
            "g (float[n] x) => (float[n] y) { [n] a = Relu (x) [n] y = Neg (a) }",
            expect![[r#"
                g (float32[n] x) => (float32[n] y)
                {
                    float32[n] a = Relu (x)
                    float32[n] y = Neg (a)
                }
            "#]],
        );
    }

    #[test]
    fn what_a_body_takes_from_outside_is_made_before() {
        check(
            "
            g (float[n] x, bool c) => (float[n] y) {
                y = If (c) <then_branch = t () => (float[n] a) { a = Neg (late) }, else_branch = e () => (float[n] b) { b = Neg (x) }>
                late = Relu (x)
            }
            ",
            expect![[r#"
                g (float32[n] x, host bool[] c) => (float32[n] y)
                {
                    float32[n] late = Relu (x)
                    float32[n] y = If (c)
                        then_branch () => (float32[n] a)
                        {
                            float32[n] a = Neg (late)
                        }
                        else_branch () => (float32[n] b)
                        {
                            float32[n] b = Neg (x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_name_of_a_body_is_not_the_one_outside() {
        check(
            "
            g (float[n] x, bool c) => (float[n] y) {
                y = If (c) <
                    then_branch = t () => (float[n] a) { late = Abs (x) a = Neg (late) },
                    else_branch = e () => (float[n] b) { b = Neg (x) }
                >
                late = Relu (y)
            }
            ",
            expect![[r#"
                g (float32[n] x, host bool[] c) => (float32[n] y)
                {
                    float32[n] y = If (c)
                        then_branch () => (float32[n] a)
                        {
                            float32[n] late%2 = Abs (x)
                            float32[n] a = Neg (late%2)
                        }
                        else_branch () => (float32[n] b)
                        {
                            float32[n] b = Neg (x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn both_branches_may_use_the_same_names() {
        check(
            "
            g (float[n] x, bool c) => (float[n] y) {
                y = If (c) <then_branch = t () => (float[n] a) { a = Neg (x) }, else_branch = e () => (float[n] a) { a = Abs (x) }>
            }
            ",
            expect![[r#"
                g (float32[n] x, host bool[] c) => (float32[n] y)
                {
                    float32[n] y = If (c)
                        then_branch () => (float32[n] a%2)
                        {
                            float32[n] a%2 = Neg (x)
                        }
                        else_branch () => (float32[n] a%3)
                        {
                            float32[n] a%3 = Abs (x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_cycle_is_shown_with_its_values() {
        check(
            "g (float[n] x) => (float[n] y) { a = Add (x, c) b = Relu (a) c = Neg (b) \
                 y = Abs (c) }",
            expect![[r#"
                cannot compile `model`

                  the graph has a cycle: `c` depends on `b`, `b` depends on `a`, `a` depends on `c`
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn a_node_may_not_use_its_own_output() {
        check(
            "g (float[n] x) => (float[n] y) { y = Add (x, y) }",
            expect![[r#"
                cannot compile `model`

                  the graph has a cycle: `y` depends on itself
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
