//! Decides which values are on the host.

mod demand;

use std::collections::{BTreeMap, BTreeSet};

use crate::dtype::{DType, ElementClass};
use crate::graph::{Block, Flow, Graph, Iterations, Node, ValueId, Values};
use crate::types::{Placement, Type};
use demand::Demand;

/// Decides the placement of every value. Strings are on the host. An input of the model is on the host if only the host
/// needs it. A node runs on the host if all its inputs except constants are on the host and its results are small or
/// needed on the host.
pub fn assign(graph: &mut Graph) {
    let demand = Demand::of(graph);
    let outputs: BTreeSet<ValueId> = graph.body.outputs.iter().copied().collect();
    for &id in &graph.body.inputs {
        let wanted = demand.host.contains(&id) && !demand.device.contains(&id);
        let tensor = matches!(graph.values[id].ty, Some(Type::Tensor(_)));
        if (tensor && wanted && !outputs.contains(&id)) || is_string(&graph.values, id) {
            graph.values[id].placement = Placement::Host;
        }
    }
    assign_block(&mut graph.body, &mut graph.values, &demand);
}

/// Maximum number of elements of results that stay on the host with the values from which they are computed. Larger
/// results do only if the host needs them.
const MAX_HOST_ELEMENTS: usize = 64;

fn assign_block(block: &mut Block, values: &mut Values, demand: &Demand) {
    for node in &mut block.nodes {
        match node.operator.flow() {
            None => {}
            Some(Flow::Branches) => {
                for (_, inner) in &mut node.blocks {
                    assign_block(inner, values, demand);
                }
                for (at, output) in node.outputs.iter().enumerate() {
                    let results = node.blocks.iter().filter_map(|(_, inner)| inner.outputs.get(at));
                    let results: Vec<ValueId> = results.copied().collect();
                    assign_result(*output, &results, values, demand);
                }
            }
            Some(Flow::Once) => {
                for (_, inner) in &mut node.blocks {
                    assign_block(inner, values, demand);
                }
            }
            Some(Flow::Iterations(iterations)) => assign_iterations(node, iterations, values, demand),
        }
        if runs_on_host(node, values, demand) {
            node.placement = Placement::Host;
            for &id in node.outputs.iter().flatten() {
                values[id].placement = Placement::Host;
            }
        }
    }
}

/// Assigns a result of control flow to the host if each block has its result on the host.
fn assign_result(output: Option<ValueId>, results: &[ValueId], values: &mut Values, demand: &Demand) {
    let Some(output) = output else { return };
    let wanted =
        demand.host.contains(&output) || results.iter().any(|&id| values[id].placement == Placement::Host);
    let tensor = matches!(values[output].ty, Some(Type::Tensor(_)));
    if tensor && wanted && results.iter().all(|&id| on_host(values, id)) {
        values[output].placement = Placement::Host;
    }
}

/// Keeps state on the host if the host needs it and an iteration that reads it there also leaves it there.
fn assign_iterations(node: &mut Node, iterations: Iterations, values: &mut Values, demand: &Demand) {
    let state = iterations.state(node);
    let inputs = node.inputs.clone();
    let outputs = node.outputs.clone();
    let Some((_, inner)) = node.blocks.first_mut() else {
        return;
    };
    let part = |list: &[ValueId], skip: usize| -> Vec<ValueId> {
        list.iter().skip(skip).take(state).copied().collect()
    };
    let (state_inputs, next) =
        (part(&inner.inputs, iterations.block_inputs), part(&inner.outputs, iterations.block_outputs));
    let wants = |(at, id): (usize, &ValueId)| {
        let initial = inputs.get(iterations.before + at).copied().flatten();
        let there = initial.is_some_and(|id| on_host(values, id));
        let made = initial.is_some_and(|id| values[id].placement == Placement::Host);
        let fits = match &values[*id].ty {
            Some(Type::Tensor(tensor)) => there || tensor.dtype.kind() != ElementClass::Float,
            _ => false,
        };
        let wanted = is_small(values, *id) && demand.host.contains(id);
        iterations.behind == 0 && fits && (made || wanted || values[*id].known.is_some())
    };
    let mut host: Vec<bool> = state_inputs.iter().enumerate().map(wants).collect();
    loop {
        for (&id, &host) in state_inputs.iter().zip(&host) {
            values[id].placement = if host { Placement::Host } else { Placement::Device };
        }
        reset(inner, values);
        assign_block(inner, values, demand);
        let mut changed = false;
        for (on_host_now, &id) in host.iter_mut().zip(&next) {
            if *on_host_now && !on_host(values, id) {
                (*on_host_now, changed) = (false, true);
            }
        }
        if !changed {
            break;
        }
    }
    for (at, output) in outputs.into_iter().enumerate() {
        match (output, host.get(at)) {
            (Some(id), Some(true)) => values[id].placement = Placement::Host,
            (Some(id), None) if iterations.behind == 0 && !demand.device.contains(&id) => {
                let result = inner.outputs.get(iterations.block_outputs + at).copied();
                assign_result(Some(id), result.as_slice(), values, demand);
            }
            _ => {}
        }
    }
}

/// Resets the placement of a block's values to the device.
fn reset(block: &mut Block, values: &mut Values) {
    for node in &mut block.nodes {
        node.placement = Placement::Device;
        for &id in node.outputs.iter().flatten() {
            values[id].placement = Placement::Device;
        }
        for (_, inner) in &mut node.blocks {
            reset(inner, values);
        }
    }
}

fn runs_on_host(node: &Node, values: &Values, demand: &Demand) -> bool {
    if node.operator.makes_host() {
        return true;
    }
    let inputs: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
    let waiting: BTreeMap<ValueId, bool> =
        inputs.iter().filter(|&&id| !values[id].is_constant()).map(|&id| (id, on_host(values, id))).collect();
    let constants_are_known = inputs.iter().all(|&id| values[id].known.is_some() || !values[id].is_stored());
    let made: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
    // Strings exist only on the host.
    if inputs.iter().chain(&made).any(|&id| is_string(values, id)) {
        return node.operator.takes_strings();
    }
    let wanted =
        made.iter().any(|id| demand.host.contains(id)) || made.iter().all(|&id| is_small(values, id));
    node.operator.runs_on_host()
        && wanted
        && !waiting.is_empty()
        && constants_are_known
        && waiting.values().all(|&host| host)
}

fn on_host(values: &Values, id: ValueId) -> bool {
    values[id].placement == Placement::Host || values[id].known.is_some() || is_string(values, id)
}

fn is_small(values: &Values, id: ValueId) -> bool {
    match &values[id].ty {
        Some(Type::Tensor(tensor)) => tensor.count().is_some_and(|count| count <= MAX_HOST_ELEMENTS),
        _ => false,
    }
}

fn is_string(values: &Values, id: ValueId) -> bool {
    matches!(&values[id].ty, Some(Type::Tensor(tensor)) if tensor.dtype == DType::String)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_counter_that_ends_a_loop_is_on_the_host() {
        check(
            r#"g (float[2] x, int64 n) => (float[2] y) {
                zero = Constant <value_int = 0> ()
                one = Constant <value_int = 1> ()
                start = Less (zero, n)
                y, k = Loop (, start, x, one) <body = b (int64 i, bool c, float[2] a, int64 j)
                    => (bool d, float[2] r, int64 j2) {
                    r = Neg (a)
                    j2 = Add (j, j)
                    d = Less (j2, n)
                }>
            }"#,
            expect![[r#"
                g (float32[2] x, host int64[] n) => (float32[2] y)
                <
                    int64[] zero = {0},
                    int64[] one = {1}
                >
                {
                    host bool[] start = Less (zero, n)
                    float32[2] y, _ = Loop (, start, x, one)
                        body (int64[] i, bool[] c, float32[2] a, host int64[] j) => (host bool[] d, float32[2] r, host int64[] j2)
                        {
                            float32[2] r = Neg (a)
                            host int64[] j2 = Add (j, j)
                            host bool[] d = Less (j2, n)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_shape_that_branches_choose_is_on_the_host() {
        check(
            r#"g (float[6] x, bool c) => (float[a, b] y) {
                s = If (c) <
                    then_branch = t () => (int64[2] p) { p = Constant <value_ints = [2, 3]> () },
                    else_branch = e () => (int64[2] q) { q = Constant <value_ints = [3, 2]> () }
                >
                y = Reshape (x, s)
            }"#,
            expect![[r#"
                g (float32[6] x, host bool[] c) => (float32[reshape_0, reshape_1] y)
                <
                    int64[2] p = {2, 3},
                    int64[2] q = {3, 2}
                >
                {
                    host int64[2] s = If (c)
                        then_branch () => (int64[2] p)
                        {
                        }
                        else_branch () => (int64[2] q)
                        {
                        }
                    float32[reshape_0, reshape_1] y = Reshape (x, s)
                }
            "#]],
        );
    }

    #[test]
    fn a_constant_that_branches_choose_for_the_device_is_there() {
        check(
            r#"g (float[2] x, bool c) => (float[2] y) {
                s = If (c) <
                    then_branch = t () => (float p) { p = Constant <value_float = 2.0> () },
                    else_branch = e () => (float q) { q = Constant <value_float = 3.0> () }
                >
                y = Mul (x, s)
            }"#,
            expect![[r#"
                g (float32[2] x, host bool[] c) => (float32[2] y)
                <
                    float32[] p = {2},
                    float32[] q = {3}
                >
                {
                    float32[] s = If (c)
                        then_branch () => (float32[] p)
                        {
                        }
                        else_branch () => (float32[] q)
                        {
                        }
                    float32[2] y = Mul (x, s)
                }
            "#]],
        );
    }

    #[test]
    fn state_is_where_it_begins_or_where_it_is_needed() {
        check(
            r#"g (float[2] x, int64 n, int64 k) => (float[2] y, int64 h3, int64 d3) {
                count = Neg (n)
                best = ArgMax <keepdims = 0> (x)
                y, h3, d3, w3 = Loop (count, , x, count, k, best) <
                    body = b (int64 i, bool c, float[2] a, int64 h, int64 d, int64 w)
                        => (bool go, float[2] a2, int64 h2, int64 d2, int64 w2) {
                        a2 = Neg (a)
                        h2 = Add (h, h)
                        d2 = Add (d, d)
                        w2 = Add (w, w)
                        go = Less (w2, count)
                    }
                >
            }"#,
            expect![[r#"
                g (float32[2] x, host int64[] n, int64[] k) => (float32[2] y, host int64[] h3, int64[] d3)
                {
                    host int64[] count = Neg (n)
                    int64[] best = ArgMax <function: "arg_max", axis: 0> (x)
                    float32[2] y, host int64[] h3, int64[] d3, _ = Loop (count, , x, count, k, best)
                        body (int64[] i, bool[] c, float32[2] a, host int64[] h, int64[] d, host int64[] w) => (host bool[] go, float32[2] a2, host int64[] h2, int64[] d2, host int64[] w2)
                        {
                            float32[2] a2 = Neg (a)
                            host int64[] h2 = Add (h, h)
                            int64[] d2 = Add (d, d)
                            host int64[] w2 = Add (w, w)
                            host bool[] go = Less (w2, count)
                        }
                }
            "#]],
        );
    }
}
