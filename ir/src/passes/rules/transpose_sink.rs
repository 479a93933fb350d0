//! Transposes and reshapes around an elementwise node, joined.

use crate::graph::{Node, ValueId};
use crate::ops;
use crate::ops::shape::transpose::Transpose;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;

pub const RULES: &[Rule] = &[
    building("transposes around an elementwise operator", "Transpose:outer(step)", |m| {
        let node = step(m)?;
        let outer = m.axes("outer")?;
        let mut inputs = Vec::new();
        let mut transposed = None;
        for &input in &node.inputs {
            let inner = input.and_then(|id| m.maker(id)).filter(|node| &*node.kind == "Transpose");
            match (input, inner) {
                (Some(id), None) if m.tensor_of(id)?.count() != Some(1) => return Err(""),
                (_, Some(inner)) => {
                    let axes = axes(m, inner)?;
                    if transposed.get_or_insert_with(|| axes.clone()) != &axes {
                        return Err("the operands are transposed differently");
                    }
                    inputs.push(Some(moved(m, inner, &outer)?));
                }
                _ => inputs.push(input),
            }
        }
        match transposed {
            Some(_) => m.made(node.clone(), &inputs),
            None => Err(""),
        }
    })
    .shared()
    .law("an elementwise operator does not depend on the positions of its elements")
    .example("(float[A, B] x) => (float[A, B] z) { t = Transpose (x) r = Relu (t) z = Transpose (r) }"),
    building(
        "reshapes around an elementwise operator",
        "Reshape|Flatten|Squeeze|Unsqueeze:outer(step, ..)",
        |m| {
            let node = step(m)?;
            let more = node.inputs.iter().skip(1).flatten();
            let mut more = more.map(|&id| m.tensor_of(id).map(|tensor| tensor.count()));
            if !more.all(|count| count == Ok(Some(1))) {
                return Err("");
            }
            let shaped = ["Reshape", "Flatten", "Squeeze", "Unsqueeze"];
            let inner = node.input(0).and_then(|id| m.maker(id));
            let inner = inner.filter(|node| shaped.contains(&&*node.kind)).ok_or("")?;
            let x = inner.input(0).ok_or("")?;
            let sources = [Some(x), inner.input(1), m.root().input(1)];
            let sources: Vec<ValueId> = sources.into_iter().flatten().collect();
            let shape = m.result()?.shape.clone();
            let reshaped = if m.tensor_of(x)?.shape == shape { x } else { m.reshape(x, &sources)? };
            let rest = node.inputs.iter().skip(1).copied();
            let inputs: Vec<Option<ValueId>> = [Some(reshaped)].into_iter().chain(rest).collect();
            m.made(node.clone(), &inputs)
        },
    )
    .shared()
    .law("an elementwise operator does not depend on the shape of its elements")
    .example(
        "(float[N, 1, 3] x) => (float[N, 3, 1] z) <int64[1] one = {1}, int64[1] two = {2}> {
            s = Squeeze (x, one) r = Relu (s) z = Unsqueeze (r, two)
        }",
    ),
];

/// Returns the elementwise node that the root moves, if it has no other consumer.
fn step<'g>(m: &Match<'_, 'g>) -> Result<&'g Node, Miss> {
    let id = m.value("step")?;
    let node = m.maker(id).filter(|node| ops::facts(&node.kind).elementwise).ok_or("")?;
    if m.uses(id) == 1 && (node.version >= 7 || node.inputs.len() == 1) { Ok(node) } else { Err("") }
}

fn axes(m: &Match<'_, '_>, node: &Node) -> Result<Vec<usize>, Miss> {
    let rank = m.tensor_of(node.input(0).ok_or("")?)?.rank();
    let axes = node.operator_as::<Transpose>().map(|transpose| transpose.axes(rank));
    axes.and_then(Result::ok).ok_or("the axes are not a permutation")
}

/// Applies a transpose of axes `outer` to the result of the transpose `inner`, as one transpose.
fn moved(m: &mut Match<'_, '_>, inner: &Node, outer: &[usize]) -> Result<ValueId, Miss> {
    let (x, inner) = (inner.input(0).ok_or("")?, axes(m, inner)?);
    let both = outer.iter().map(|&at| inner.get(at).map(|&axis| axis as i64));
    let both = both.collect::<Option<Vec<i64>>>().ok_or("the operands have different ranks")?;
    if both.is_sorted() { Ok(x) } else { m.call("Transpose", &[("perm", Setting::Ints(both))], &[Some(x)]) }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, shown};

    #[test]
    fn transposes_and_reshapes_are_merged() {
        expect![[r#"
            transposes around an elementwise operator
              float32[B, A] t = Transpose (x)
              float32[B, A] r = Relu (t)
              float32[A, B] z = Transpose (r)
              =>
              float32[A, B] z = Relu (x)
            reshapes around an elementwise operator
              <
              int64[1] one = {1},
              int64[1] two = {2}
              >
              float32[N, 3] s = Squeeze (x, one)
              float32[N, 3] r = Relu (s)
              float32[N, 3, 1] z = Unsqueeze (r, two)
              =>
              <
              int64[3] %6 = {N, 3, 1}
              >
              float32[N, 3, 1] %7 = Reshape (x, %6)
              float32[N, 3, 1] z = Relu (%7)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn transposes_that_do_not_cancel_are_one() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[2, 2, 2] x, float[2, 2, 2] y) => (float[2, 2, 2] z) {
                s = Transpose <perm = [1, 2, 0]> (x) t = Transpose <perm = [1, 2, 0]> (y)
                a = Add (s, t) z = Transpose <perm = [1, 2, 0]> (a)
            }"#;
        expect![[r#"
            g (float32[2, 2, 2] x, float32[2, 2, 2] y) => (float32[2, 2, 2] z)
            {
                float32[2, 2, 2] %6 = Transpose <axes: [2, 0, 1]> (x)
                float32[2, 2, 2] %7 = Transpose <axes: [2, 0, 1]> (y)
                float32[2, 2, 2] z = Add (%6, %7)
            }
        "#]]
        .assert_eq(&graph(text, super::RULES).0);
    }

    #[test]
    fn operands_of_old_operators_may_be_aligned_otherwise() {
        let are_moved = |opset: i64, step: &str, outputs: &str| {
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": {opset}]>
                g (float[A, B] x, float[A, B] y) => (float[A, B] z{outputs}) {{
                    s = Transpose (x) t = Transpose (y) r = {step} z = Transpose (r)
                }}"
            );
            !graph(&text, super::RULES).1.applied.is_empty()
        };
        assert!(are_moved(21, "Add (s, t)", ""));
        assert!(are_moved(7, "Add (s, t)", ""));
        assert!(!are_moved(6, "Add (s, t)", ""));
        assert!(are_moved(6, "Relu (s)", ""));
        assert!(!are_moved(21, "Add (s, t)", ", float[B, A] r"));
    }
}
