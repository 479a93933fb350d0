//! Removes nodes that nobody needs.

use std::collections::BTreeSet;

use crate::graph::{Block, Flow, Graph, Node, Rounds, ValueId, Values};

/// Removes nodes whose results are all known or unused, and forgets outputs that nobody reads.
pub fn remove(graph: &mut Graph) {
    let mut needed = BTreeSet::new();
    sweep(&mut graph.body, &graph.values, &mut needed);
}

fn sweep(block: &mut Block, values: &Values, needed: &mut BTreeSet<ValueId>) {
    let unknown = |id: &ValueId| values[*id].known.is_none() && values[*id].weight.is_none();
    needed.extend(block.outputs.iter().copied().filter(unknown));
    let mut kept = Vec::new();
    for mut node in std::mem::take(&mut block.nodes).into_iter().rev() {
        for output in &mut node.outputs {
            *output = output.filter(|id| needed.contains(id));
        }
        if node.outputs.iter().all(Option::is_none) {
            continue;
        }
        match node.operator.flow() {
            Some(Flow::Branches) => trim_branches(&mut node),
            Some(Flow::Rounds(rounds)) => trim_rounds(&mut node, rounds, &unknown),
            None => {}
        }
        for (_, inner) in &mut node.blocks {
            sweep(inner, values, needed);
        }
        needed.extend(node.reads().into_iter().filter(unknown));
        kept.push(node);
    }
    kept.reverse();
    block.nodes = kept;
}

/// Branches give no results that nobody reads.
fn trim_branches(node: &mut Node) {
    let outputs = std::mem::take(&mut node.outputs);
    for (_, inner) in &mut node.blocks {
        let kept = inner.outputs.iter().zip(&outputs);
        let kept = kept.filter(|(_, output)| output.is_some());
        inner.outputs = kept.map(|(id, _)| *id).collect();
    }
    node.outputs = outputs.into_iter().filter(Option::is_some).collect();
}

/// Loops carry no state that nobody reads, and collect nothing of the kind.
fn trim_rounds(node: &mut Node, rounds: Rounds, unknown: &impl Fn(&ValueId) -> bool) {
    let state = rounds.state(node);
    let Some((_, inner)) = node.blocks.first_mut() else {
        return;
    };
    let results = inner.outputs.len().saturating_sub(rounds.told);
    node.outputs.resize(results, None);
    // The axes of a scan's outputs are counted with those that nobody reads.
    let collects = |at: usize, wanted: bool| at >= state && (wanted || rounds.behind > 0);
    let mut live: Vec<bool> = node
        .outputs
        .iter()
        .enumerate()
        .map(|(at, output)| output.is_some() || collects(at, false))
        .collect();
    loop {
        let roots = inner.outputs.iter().enumerate().filter(|(at, _)| {
            at.checked_sub(rounds.told)
                .is_none_or(|at| live.get(at).copied().unwrap_or(true))
        });
        let roots = roots.map(|(_, id)| *id).filter(unknown).collect();
        let reached = reached(inner, roots);
        let mut changed = false;
        for (at, live) in live.iter_mut().enumerate().take(state) {
            let given = inner.inputs.get(rounds.given + at);
            if !*live && given.is_some_and(|id| reached.contains(id)) {
                (*live, changed) = (true, true);
            }
        }
        if !changed {
            break;
        }
    }
    for at in (0..results)
        .rev()
        .filter(|&at| live.get(at) == Some(&false))
    {
        inner.outputs.remove(rounds.told + at);
        node.outputs.remove(at);
        if at < state {
            inner.inputs.remove(rounds.given + at);
            node.inputs.remove(rounds.before + at);
        }
    }
}

/// Every value that the roots are made from.
fn reached(block: &Block, roots: BTreeSet<ValueId>) -> BTreeSet<ValueId> {
    let mut reached = roots;
    for node in block.nodes.iter().rev() {
        if node.outputs.iter().flatten().any(|id| reached.contains(id)) {
            reached.extend(node.reads());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn blocks_make_nothing_that_nobody_reads() {
        check(
            r#"g (float[2] x, bool c) => (float[2] y) {
                y, z = If (c) <
                    then_branch = t () => (float[2] p, float[2] q) { p = Neg (x) q = Exp (x) },
                    else_branch = e () => (float[2] r, float[2] s) { r = Abs (x) s = Sin (x) }
                >
            }"#,
            expect![[r#"
                g (float32[2] x, host bool[] c) => (float32[2] y)
                {
                    float32[2] y = If (c)
                        then_branch () => (float32[2] p)
                        {
                            float32[2] p = Neg (x)
                        }
                        else_branch () => (float32[2] r)
                        {
                            float32[2] r = Abs (x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_state_that_only_goes_into_itself_is_dropped() {
        check(
            r#"g (float[2] x, int64 m) => (float[2] y) {
                y, z, s = Loop (m, , x, x) <body = b (int64 i, bool c, float[2] a, float[2] b)
                    => (bool c2, float[2] p, float[2] q, float[2] r) {
                    p = Neg (a)
                    q = Exp (b)
                    r = Sin (b)
                    c2 = Identity (c)
                }>
            }"#,
            expect![[r#"
                g (float32[2] x, host int64[] m) => (float32[2] y)
                {
                    float32[2] y = Loop (m, , x)
                        body (int64[] i, bool[] c, float32[2] a) => (bool[] c, float32[2] p)
                        {
                            float32[2] p = Neg (a)
                        }
                }
            "#]],
        );
    }
}
