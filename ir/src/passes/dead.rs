//! Removes nodes whose results are unused.

use std::collections::{BTreeMap, BTreeSet};

use crate::dim::{Dim, Symbol};
use crate::graph::{Block, Flow, Graph, Iterations, Node, ValueId, Values};
use crate::types::{Known, Type};

/// Removes nodes whose results are all known or unused, and unused outputs. A value whose shape determines a size
/// remains while a computation needs the size.
pub fn remove(graph: &mut Graph) {
    let mut cx = Context { values: &graph.values, origins: BTreeMap::new() };
    cx.note(&graph.body);
    cx.sweep(&mut graph.body, &mut BTreeSet::new());
}

struct Context<'g> {
    values: &'g Values,
    /// The first value whose shape contains a size on its own.
    origins: BTreeMap<Symbol, ValueId>,
}

impl Context<'_> {
    fn note(&mut self, block: &Block) {
        block.inputs.iter().for_each(|&id| self.note_value(id));
        for node in &block.nodes {
            node.blocks.iter().for_each(|(_, inner)| self.note(inner));
            let outputs = node.outputs.iter().flatten();
            outputs.for_each(|&id| self.note_value(id));
        }
    }

    fn note_value(&mut self, id: ValueId) {
        if let Some(Type::Tensor(tensor)) = &self.values[id].ty {
            for symbol in tensor.shape.iter().filter_map(Dim::name) {
                self.origins.entry(symbol.clone()).or_insert(id);
            }
        }
    }

    /// Returns the value itself or, if it is known, the values that determine the sizes in it.
    fn needs(&self, id: ValueId) -> Vec<ValueId> {
        let value = &self.values[id];
        match value.known.peek() {
            Some(Known::Ints(dims)) if value.weight.is_none() => self.tellers(dims),
            Some(_) => Vec::new(),
            None if value.is_stored() || value.is_nothing() => Vec::new(),
            None => vec![id],
        }
    }

    /// Returns the inputs of a node and the values that determine the sizes in the shapes of its results.
    fn reads(&self, node: &Node) -> Vec<ValueId> {
        let mut reads: Vec<ValueId> = node.reads();
        reads = reads.into_iter().flat_map(|id| self.needs(id)).collect();
        for &id in node.outputs.iter().flatten() {
            if let Some(Type::Tensor(tensor)) = &self.values[id].ty {
                let sums = tensor.shape.iter().filter(|dim| dim.name().is_none());
                reads.extend(self.tellers(&sums.cloned().collect::<Vec<_>>()));
            }
        }
        reads
    }

    fn tellers(&self, dims: &[Dim]) -> Vec<ValueId> {
        let symbols = dims.iter().flat_map(Dim::symbols);
        let origins = symbols.filter_map(|symbol| self.origins.get(&symbol));
        origins.copied().collect()
    }

    fn sweep(&self, block: &mut Block, needed: &mut BTreeSet<ValueId>) {
        needed.extend(block.outputs.iter().flat_map(|&id| self.needs(id)));
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
                Some(Flow::Iterations(iterations)) => self.trim_iterations(&mut node, iterations),
                Some(Flow::Once) | None => {}
            }
            for (_, inner) in &mut node.blocks {
                self.sweep(inner, needed);
            }
            needed.extend(self.reads(&node));
            kept.push(node);
        }
        kept.reverse();
        block.nodes = kept;
    }

    /// Removes unused state and collected results of loops.
    fn trim_iterations(&self, node: &mut Node, iterations: Iterations) {
        let state = iterations.state(node);
        let Some((_, inner)) = node.blocks.first_mut() else {
            return;
        };
        let results = inner.outputs.len().saturating_sub(iterations.block_outputs);
        node.outputs.resize(results, None);
        // The axes attribute of a scan has an entry for each output, used or not.
        let counted = |at: usize| at >= state && iterations.behind > 0;
        let outputs = node.outputs.iter().enumerate();
        let live = outputs.map(|(at, output)| output.is_some() || counted(at));
        let mut live: Vec<bool> = live.collect();
        let roots = inner.outputs.iter().enumerate().filter(|(at, _)| {
            let result = at.checked_sub(iterations.block_outputs);
            result.is_none_or(|at| live.get(at).copied().unwrap_or(true))
        });
        let roots = roots.flat_map(|(_, &id)| self.needs(id)).collect();
        self.revive(inner, iterations, roots, live.get_mut(..state).unwrap_or_default());
        iterations.retain(node, |result| live.get(result) != Some(&false));
    }

    /// Marks the states that the roots depend on, in any iteration.
    fn revive(&self, block: &Block, iterations: Iterations, roots: Vec<ValueId>, live: &mut [bool]) {
        let states = block.inputs.iter().skip(iterations.block_inputs).take(live.len());
        let states: BTreeMap<ValueId, usize> = states.copied().zip(0..).collect();
        let mut makers = BTreeMap::new();
        for (at, node) in block.nodes.iter().enumerate() {
            makers.extend(node.outputs.iter().flatten().map(|&id| (id, at)));
        }
        let (mut reached, mut open) = (BTreeSet::new(), roots);
        let mut read = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !reached.insert(id) {
                continue;
            }
            let state = states.get(&id).copied();
            if let Some(live) = state.and_then(|at| live.get_mut(at)) {
                let next = state.and_then(|at| block.outputs.get(iterations.block_outputs + at));
                open.extend(next.into_iter().flat_map(|&id| self.needs(id)));
                *live = true;
            }
            if let Some(at) = makers.get(&id).filter(|&&at| read.insert(at)) {
                let node = block.nodes.get(*at);
                open.extend(node.into_iter().flat_map(|node| self.reads(node)));
            }
        }
    }
}

/// Removes unused results of branches.
fn trim_branches(node: &mut Node) {
    let outputs = std::mem::take(&mut node.outputs);
    for (_, inner) in &mut node.blocks {
        let kept = inner.outputs.iter().zip(&outputs);
        let kept = kept.filter(|(_, output)| output.is_some());
        inner.outputs = kept.map(|(id, _)| *id).collect();
    }
    node.outputs = outputs.into_iter().filter(Option::is_some).collect();
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

    #[test]
    fn what_tells_a_size_stays() {
        check(
            r#"g (float[2] x) => (float[k] y) {
                z = NonZero (x)
                s = Shape (z)
                last = Constant <value_ints = [1]> ()
                k = Gather (s, last)
                y = Expand (x, k)
                unused = NonZero (y)
            }"#,
            expect![[r#"
                g (float32[2] x) => (float32[2] y)
                <
                    int64[1] k = {nonzero}
                >
                {
                    int64[1, nonzero] z = NonZero (x)
                    float32[2] y = Expand (x, k)
                }
            "#]],
        );
    }

    #[test]
    fn a_state_of_which_only_the_size_counts_stays() {
        check(
            r#"g (float[n] x, int64 m) => (int64[r, 1] y) {
                z, y = Loop (m, , x) <body = b (int64 i, bool c, float[p] a)
                    => (bool c2, float[q] b, int64[1] s) {
                    b = Concat <axis = 0> (a, x)
                    s = Shape (a)
                    c2 = Identity (c)
                }>
            }"#,
            expect![[r#"
                g (float32[n] x, host int64[] m) => (int64[iterations, 1] y)
                <
                    int64[1] s = {state}
                >
                {
                    _, int64[iterations, 1] y = Loop (m, , x)
                        body (int64[] i, bool[] c, float32[state] a) => (bool[] c, float32[state + n] b, int64[1] s)
                        {
                            float32[state + n] b = Concat <axis: 0> (a, x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_state_on_which_a_live_one_depends_stays() {
        check(
            r#"g (float[2] x, int64 m) => (float[r, 2] y) {
                p, q, y = Loop (m, , x, x) <body = b (int64 i, bool c, float[2] a, float[2] b)
                    => (bool c2, float[2] a2, float[2] b2, float[2] r) {
                    a2 = Neg (a)
                    b2 = Add (b, a)
                    r = Exp (b)
                    c2 = Identity (c)
                }>
            }"#,
            expect![[r#"
                g (float32[2] x, host int64[] m) => (float32[iterations, 2] y)
                {
                    _, _, float32[iterations, 2] y = Loop (m, , x, x)
                        body (int64[] i, bool[] c, float32[2] a, float32[2] b) => (bool[] c, float32[2] a2, float32[2] b2, float32[2] r)
                        {
                            float32[2] a2 = Neg (a)
                            float32[2] b2 = Add (b, a)
                            float32[2] r = Exp (b)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn results_of_scans_keep_their_axes() {
        check(
            r#"g (float[n, 2] x) => (float[2, n] y) {
                u, y = Scan <num_scan_inputs = 1, scan_output_axes = [0, 1], body = b (float[2] a)
                    => (float[2] b, float[2] c) {
                    b = Neg (a)
                    c = Exp (a)
                }> (x)
            }"#,
            expect![[r#"
                g (float32[n, 2] x) => (float32[2, n] y)
                {
                    _, float32[2, n] y = Scan <slices: 1, inputs: [[], []], outputs: [[0, 1], []], flow: {before: 0, behind: 1, block_inputs: 0, block_outputs: 0}> (x)
                        body (float32[2] a) => (float32[2] b, float32[2] c)
                        {
                            float32[2] b = Neg (a)
                            float32[2] c = Exp (a)
                        }
                }
            "#]],
        );
    }
}
