//! Elementwise nodes before a concatenation, applied after it.

use super::slices::cut::{Piece, along, cut, pieces, together};
use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;

pub const RULES: &[Rule] = &[building("elementwise operators on slices", "Concat:join(..)", |m| {
    let axis = along(m, m.root())?;
    let mut inputs = Vec::new();
    for run in runs(m, axis) {
        let made = match run.as_slice() {
            [_, _, ..] => joined(m, &run, axis)?,
            _ => run.first().and_then(|step| step.made),
        };
        inputs.push(made);
    }
    match inputs.as_slice() {
        all if all.len() == m.root().inputs.len() => Err(""),
        [Some(whole)] => Ok(*whole),
        all => m.made(m.root().clone(), all),
    }
})
.law("[f(a), f(b)] = f([a, b]) for an elementwise f; a and b are adjacent slices of one value")
.example(
    "(float[N, 8] x) => (float[N, 8] z) {
            a, b = Split <axis = 1, num_outputs = 2> (x) c = Tanh (a) d = Tanh (b)
            z = Concat <axis = 1> (c, d)
        }",
)];

/// An input of a concatenation.
struct ConcatInput<'g> {
    made: Option<ValueId>,
    /// Elementwise producer of the input, if it has no other consumer.
    node: Option<&'g Node>,
    /// For each operand of the node, the piece of another value that it equals.
    parts: Vec<Option<Piece>>,
}

/// Groups the inputs of a concatenation. Equal nodes on adjacent pieces of a value form a group.
fn runs<'g>(m: &Match<'_, 'g>, axis: usize) -> Vec<Vec<ConcatInput<'g>>> {
    let nodes: Vec<Option<&'g Node>> = m.root().inputs.iter().map(|id| step(m, *id)).collect();
    let operands = |at: usize| nodes.iter().map(move |node| node.and_then(|node| node.input(at)));
    let most = nodes.iter().flatten().map(|node| node.inputs.len()).max().unwrap_or(0);
    let parts = (0..most).map(|at| pieces(m, &operands(at).collect::<Vec<_>>()));
    let parts: Vec<Vec<Option<Piece>>> = parts.collect();
    let mut runs: Vec<Vec<ConcatInput<'g>>> = Vec::new();
    for (index, (made, node)) in m.root().inputs.iter().zip(&nodes).enumerate() {
        let parts = parts.iter().map(|parts| parts.get(index).cloned().flatten()).collect();
        let next = ConcatInput { made: *made, node: *node, parts };
        let last = runs.last_mut();
        match last.filter(|run| run.last().is_some_and(|last| last.precedes(&next, axis))) {
            Some(run) => run.push(next),
            None => runs.push(vec![next]),
        }
    }
    runs
}

/// Returns the elementwise producer of a value, if the value has no other consumer.
fn step<'g>(m: &Match<'_, 'g>, id: Option<ValueId>) -> Option<&'g Node> {
    let node = id.filter(|id| m.uses(*id) == 1).and_then(|id| m.maker(id))?;
    // Old versions broadcast operands in another way.
    let old = node.version < 7 && node.inputs.len() > 1;
    (ops::facts(&node.kind).elementwise && !old).then_some(node)
}

impl ConcatInput<'_> {
    /// Returns `true` if the next node is equal and computes the piece after that of this node.
    fn precedes(&self, next: &Self, axis: usize) -> bool {
        let (Some(a), Some(b)) = (self.node, next.node) else {
            return false;
        };
        let mut parts = self.parts.iter().zip(&next.parts);
        parts.any(|pair| matches!(pair, (Some(a), Some(b)) if together(a, b, axis).is_some()))
            && (&a.kind, a.version, a.inputs.len()) == (&b.kind, b.version, b.inputs.len())
            && a.operator.attributes() == b.operator.attributes()
    }
}

/// Returns one node that replaces the nodes of a group.
fn joined(m: &mut Match<'_, '_>, run: &[ConcatInput<'_>], axis: usize) -> Result<Option<ValueId>, Miss> {
    let (rank, first) = (m.result()?.rank(), run.first().and_then(|step| step.node).ok_or("")?);
    let mut inputs = Vec::new();
    for at in 0..first.inputs.len() {
        let operands = run.iter().map(|step| step.node.and_then(|node| node.input(at)));
        let operands: Vec<Option<ValueId>> = operands.collect();
        let one = operands.first().copied().flatten();
        let same = operands.iter().all(|other| *other == one);
        if same && one.is_none_or(|one| same_everywhere(m, one, axis, rank)) {
            inputs.push(one);
            continue;
        }
        for (operand, step) in operands.iter().zip(run) {
            let (operand, made) = (operand.ok_or("")?, step.made.ok_or("")?);
            if m.tensor_of(operand)?.shape != m.tensor_of(made)?.shape {
                return Err("an operand is broadcast");
            }
        }
        let mut parts = run.iter().map(|step| step.parts.get(at).cloned().flatten());
        let start = parts.next().flatten();
        let part = parts.try_fold(start, |all, next| Some(together(&all?, &next?, axis)));
        inputs.push(Some(match part.flatten() {
            Some(part) => cut(m, &part)?,
            None => {
                let axis = Setting::Int(i64::try_from(axis).unwrap_or(0));
                m.call("Concat", &[("axis", axis)], &operands)?
            }
        }));
    }
    m.made(first.clone(), &inputs).map(Some)
}

/// Returns `true` if a value is the same for all indices along an axis of the results.
fn same_everywhere(m: &Match<'_, '_>, id: ValueId, axis: usize, rank: usize) -> bool {
    m.tensor_of(id).is_ok_and(|tensor| {
        let missing = rank.saturating_sub(tensor.rank());
        let size = axis.checked_sub(missing).and_then(|at| tensor.shape.get(at));
        size.is_none_or(|size: &Dim| size.is(1))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, shown};
    use crate::passes::rules;

    #[test]
    fn equal_operators_on_slices_are_merged() {
        expect![[r#"
            elementwise operators on slices
              float32[N, 4] a, float32[N, 4] b = Split <axis: 1, uneven: true> (x)
              float32[N, 4] c = Tanh (a)
              float32[N, 4] d = Tanh (b)
              float32[N, 8] z = Concat <axis: 1> (c, d)
              =>
              float32[N, 8] z = Tanh (x)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn operators_on_adjacent_columns_are_merged() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N, 4] x) => (float[N, 4] y) <float[1] zero = {0}> {
                a, b, c, d = Split <axis = 1, num_outputs = 4> (x)
                e = Neg (a) p = IsNaN (b) q = IsNaN (c) r = IsNaN (d)
                u = Where (p, zero, b) v = Where (q, zero, c) w = Where (r, zero, d)
                y = Concat <axis = -1> (e, u, v, w)
            }"#;
        expect![[r#"
            g (float32[N, 4] x) => (float32[N, 4] y)
            <
                float32[1] zero = {0},
                int64[1] %15 = {1},
                int64[1] %16 = {4},
                int64[1] %17 = {1},
                int64[1] %21 = {1},
                int64[1] %22 = {4},
                int64[1] %23 = {1}
            >
            {
                float32[N, 1] a, _, _, _ = Split <axis: 1, uneven: true> (x)
                float32[N, 1] e = Neg (a)
                float32[N, 3] %24 = Slice (x, %21, %22, %23)
                bool[N, 3] %14 = IsNaN (%24)
                float32[N, 3] %18 = Slice (x, %15, %16, %17)
                float32[N, 3] %19 = Where (%14, zero, %18)
                float32[N, 4] y = Concat <axis: -1> (e, %19)
            }
        "#]]
        .assert_eq(&graph(text, rules::all()).0);
    }

    #[test]
    fn only_equal_elementwise_operators_are_merged() {
        let kinds = |opset: u32, split: &str, nodes: &str| {
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": {opset}]>
                g (float[N, 8] x, float[N, 1] f, float[N, 4] o) => (float[N, 8] z) {{
                    a, b = Split <axis = 1, {split}> (x) {nodes} z = Concat <axis = 1> (c, d)
                }}"
            );
            let (graph, _) = graph(&text, rules::all());
            let kinds = graph.lines().filter_map(|line| line.split_once(" = ")?.1.split(' ').next());
            kinds.collect::<Vec<_>>().join(" ")
        };
        let new = |nodes: &str| kinds(21, "num_outputs = 2", nodes);
        let old = |opset: u32, nodes: &str| kinds(opset, "split = [4, 4]", nodes);
        assert_eq!(new("c = Tanh (a) d = Sigmoid (b)"), "Split Tanh Sigmoid Concat");
        assert_eq!(new("c = Softmax (a) d = Softmax (b)"), "Split Softmax Softmax Concat");
        assert_eq!(new("c = Tanh (b) d = Tanh (a)"), "Split Tanh Tanh Concat");
        assert_eq!(new("c = Max (a, f) d = Max (b, f)"), "Max");
        assert_eq!(new("c = Max (a, o) d = Max (b, o)"), "Concat Max");
        assert_eq!(old(8, "c = Tanh (a) d = Tanh (b)"), "Tanh");
        assert_eq!(old(8, "c = Add (a, f) d = Add (b, f)"), "Add");
        assert_eq!(
            old(6, "c = Add <axis = 0, broadcast = 1> (a, f) d = Add <axis = 0, broadcast = 1> (b, f)"),
            "Split Add Add Concat"
        );
    }
}
