//! Steps on each part of a value, made steps on the value.

use super::around::STEPS;
use super::pieces::cut::{along, piece, together};
use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;

pub const RULES: &[Rule] = &[building("steps on parts", "Concat:join(..)", |m| {
    let (axis, rank) = (along(m, m.root())?, m.result()?.rank());
    let steps = steps(m)?;
    let first = steps.first().ok_or("")?;
    let mut inputs = Vec::new();
    let mut whole = false;
    for at in 0..first.inputs.len() {
        if steps.iter().all(|step| step.input(at).is_none()) {
            inputs.push(None);
            continue;
        }
        let operands = steps.iter().map(|step| step.input(at).ok_or(""));
        let operands = operands.collect::<Result<Vec<ValueId>, Miss>>()?;
        if let [one, rest @ ..] = operands.as_slice()
            && rest.iter().all(|other| other == one)
            && same_everywhere(m, *one, axis, rank)
        {
            inputs.push(Some(*one));
            continue;
        }
        for (operand, step) in operands.iter().zip(&steps) {
            let made = step.output(0).ok_or("")?;
            if m.tensor_of(*operand)?.shape != m.tensor_of(made)?.shape {
                return Err("a part of an operand stretches");
            }
        }
        whole |= are_whole(m, &operands, axis);
        let all: Vec<Option<ValueId>> = operands.into_iter().map(Some).collect();
        let axis = Setting::Int(i64::try_from(axis).unwrap_or(0));
        inputs.push(Some(m.call("Concat", &[("axis", axis)], &all)?));
    }
    match whole {
        true => m.made((*first).clone(), &inputs),
        false => Err(""),
    }
})
.law("[f(a), f(b)] = f([a, b]) for a step f on each element, a and b being all of a value")
.example(
    "(float[N, 8] x) => (float[N, 8] z) {
            a, b = Split <axis = 1, num_outputs = 2> (x) c = Tanh (a) d = Tanh (b)
            z = Concat <axis = 1> (c, d)
        }",
)];

/// Operators on each element that are none of the arithmetic ones.
const TESTS: &[&str] = &["IsInf", "IsNaN", "Where"];

/// The equal steps whose results a join takes and nobody else.
fn steps<'g>(m: &Match<'_, 'g>) -> Result<Vec<&'g Node>, Miss> {
    let mut all: Vec<&'g Node> = Vec::new();
    for &id in m.root().inputs.iter().flatten() {
        let node = m.maker(id).filter(|_| m.uses(id) == 1).ok_or("")?;
        let known = STEPS.contains(&&*node.kind) || TESTS.contains(&&*node.kind);
        let equal = all.first().is_none_or(|first| {
            first.kind == node.kind
                && first.version == node.version
                && first.inputs.len() == node.inputs.len()
        });
        // Once operands were stretched another way.
        let old = node.version < 7 && node.inputs.len() > 1;
        if !known || !equal || old {
            return Err("");
        }
        all.push(node);
    }
    let written = |node: &&Node| format!("{:?}", node.operator);
    let first = all.first().map(written);
    match all.len() > 1 && all.iter().all(|node| Some(written(node)) == first) {
        true => Ok(all),
        false => Err(""),
    }
}

/// Whether a value is the same for each place along an axis of the results.
fn same_everywhere(m: &Match<'_, '_>, id: ValueId, axis: usize, rank: usize) -> bool {
    m.tensor_of(id).is_ok_and(|held| {
        let missing = rank.saturating_sub(held.rank());
        let size = axis.checked_sub(missing).and_then(|at| held.shape.get(at));
        held.rank() <= rank && size.is_none_or(|size: &Dim| size.is(1))
    })
}

/// Whether values are what one value was cut into.
fn are_whole(m: &Match<'_, '_>, parts: &[ValueId], axis: usize) -> bool {
    let mut pieces = parts.iter().map(|&id| piece(m, id).ok());
    let first = pieces.next().flatten();
    let all = pieces.try_fold(first, |all, next| {
        Some(Some(together(&all?, &next?, axis)?))
    });
    all.flatten().is_some()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, shown};
    use crate::passes::rules;

    #[test]
    fn steps_are_made_once() {
        expect![[r#"
            steps on parts
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
    fn columns_that_are_filled_one_by_one_are_filled_at_once() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N, 3] x) => (float[N, 3] y) <float[1] zero = {0}> {
                a, b, c = Split <axis = 1, num_outputs = 3> (x)
                p = IsNaN (a) q = IsNaN (b) r = IsNaN (c)
                u = Where (p, zero, a) v = Where (q, zero, b) w = Where (r, zero, c)
                y = Concat <axis = -1> (u, v, w)
            }"#;
        expect![[r#"
            g (float32[N, 3] x) => (float32[N, 3] y)
            <
                float32[1] zero = {0}
            >
            {
                bool[N, 3] %12 = IsNaN (x)
                float32[N, 3] y = Where (%12, zero, x)
            }
        "#]]
        .assert_eq(&graph(text, rules::all()).0);
    }
}
