//! Nodes around attention: scale factors, splits into heads and concatenations.

use std::rc::Rc;

use super::operands::{permutation, together};
use crate::graph::{Node, ValueId};
use crate::ops::attention::dot_product::Attention;
use crate::ops::attention::joined::{JoinedAttention, MASKS};
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[
    building("factors of attention", "JoinedAttention:a(q, k, v, ..)", |m| {
        let mut operator = m.operator::<JoinedAttention>("a")?.clone();
        let mut inputs = m.node("a")?.inputs.clone();
        let mut changed = false;
        for input in inputs.iter_mut().take(2) {
            let Some((x, factor)) = input.and_then(|id| unscaled(m, id, MAX_TRACED_NODES)) else {
                continue;
            };
            (*input, operator.scale, changed) = (Some(x), operator.scale * factor, true);
        }
        if changed { super::made(m, operator, &inputs) } else { Err("") }
    })
    .law("(aq)(bk)ᵀ = ab·qkᵀ for finite a and b; moving elements does not change their factor")
    .example(
        "(float[B, Q, 8] q, float[B, 2, K, 4] k, float[B, 2, K, 4] v)
        => (float[B, 2, Q, 4] y) <float half = {0.5}, int64[4] heads = {0, 0, 2, 4}> {
            r = Reshape (q, heads) h = Mul (r, half) s = Transpose <perm = [0, 2, 1, 3]> (h)
            t = Transpose <perm = [0, 1, 3, 2]> (k) u = Mul (t, half) p = MatMul (s, u)
            c = Softmax <axis = -1> (p) y = MatMul (c, v)
        }",
    ),
    building(
        "shared heads of attention",
        "JoinedAttention:a(q, Reshape(Expand(k, ..), ..), Reshape(Expand(v, ..), ..), ..)",
        |m| {
            let [Some(key), Some(value)] = [m.node("a")?.input(1), m.node("a")?.input(2)] else {
                return Err("an operand is missing");
            };
            let mut inputs = m.node("a")?.inputs.clone();
            for (input, (name, id)) in inputs.iter_mut().skip(1).zip([("k", key), ("v", value)]) {
                *input = Some(alone(m, m.value(name)?, id)?);
            }
            let operator = m.operator::<JoinedAttention>("a")?.clone();
            super::made(m, operator, &inputs)
        },
    )
    .law("a head of keys and values that is repeated n times serves n heads of queries")
    .example(
        "(float[B, 4, Q, 8] q, float[B, 2, K, 8] k, float[B, 2, K, 8] v) => (float[B, 4, Q, 8] y)
        <int64[1] axis = {2}, int64[5] twice = {1, 1, 2, 1, 1}, int64[4] s = {0, 4, -1, 8}> {
            ku = Unsqueeze (k, axis) ke = Expand (ku, twice) kr = Reshape (ke, s)
            vu = Unsqueeze (v, axis) ve = Expand (vu, twice) vr = Reshape (ve, s)
            t = Transpose <perm = [0, 1, 3, 2]> (kr) p = MatMul (q, t) c = Softmax <axis = -1> (p)
            y = MatMul (c, vr)
        }",
    ),
    building("heads of operands", "JoinedAttention:a(q, k, v, ..)", |m| {
        let mut operator = m.operator::<JoinedAttention>("a")?.clone();
        let mut inputs = m.node("a")?.inputs.clone();
        let mut changed = false;
        for (at, input) in inputs.iter_mut().enumerate().take(MASKS) {
            let Some((x, heads)) = input.and_then(|id| together(m, id)) else {
                continue;
            };
            let counted = match at {
                0 => &mut operator.query_heads,
                _ => &mut operator.key_heads,
            };
            if counted.is_none_or(|counted| counted == heads) {
                (*counted, *input, changed) = (Some(heads), Some(x), true);
            }
        }
        if changed { super::made(m, operator, &inputs) } else { Err("") }
    })
    .law("attention can read operands with their heads packed in the last axis")
    .example(
        "(float[B, Q, 8] q, float[B, 2, K, 4] k, float[B, 2, K, 4] v)
        => (float[B, 2, Q, 4] y) <int64[4] heads = {0, 0, 2, 4}> {
            r = Reshape (q, heads) s = Transpose <perm = [0, 2, 1, 3]> (r)
            t = Transpose <perm = [0, 1, 3, 2]> (k) p = MatMul (s, t)
            c = Softmax <axis = -1> (p) y = MatMul (c, v)
        }",
    ),
    building("heads of a result", "Reshape:r(Transpose:t(JoinedAttention:a(q, k, v, ..)), ..)", |m| {
        let operator = m.operator::<JoinedAttention>("a")?.clone();
        let transposed = m.node("t")?.output(0).ok_or("the node has no output")?;
        let shape = m.tensor_of(transposed)?.shape.clone();
        if operator.packed || permutation(m, m.node("t")?, 4) != Some(vec![0, 2, 1, 3]) {
            return Err("the transpose does not swap heads and length");
        }
        let inputs = m.node("a")?.inputs.clone();
        let y = super::made(m, JoinedAttention { packed: true, ..operator }, &inputs)?;
        if m.tensor_of(y)?.shape == m.result()?.shape {
            return Ok(y);
        }
        let [batch, length, heads, size] = shape.as_slice() else {
            return Err("the transpose does not have rank 4");
        };
        // The operator may return new names of sizes: the shape is compared with the original one.
        let hidden = heads.mul(size).ok_or("the sizes are known only at run time")?;
        if m.tensor_of(y)?.shape != [batch.clone(), length.clone(), hidden] {
            return Err("the sizes are known only at run time");
        }
        m.reshape(y, &inputs.into_iter().flatten().collect::<Vec<_>>())
    })
    .law("attention can pack the heads of its result in the last axis")
    .example(
        "(float[B, 2, Q, 4] q, float[B, 2, 4, K] k, float[B, 2, K, 4] v)
        => (float[B, Q, 8] y) <int64[3] side = {0, 0, 8}> {
            p = MatMul (q, k) c = Softmax <axis = -1> (p) s = MatMul (c, v)
            t = Transpose <perm = [0, 2, 1, 3]> (s) y = Reshape (t, side)
        }",
    ),
    building("heads of an Attention node", "Reshape(Transpose:t(Attention:a(q, k, v, ..)), ..)", |m| {
        let node = m.node("a")?;
        let mut inputs = node.inputs.clone();
        let mut counts = Vec::new();
        for input in inputs.iter_mut().take(MASKS) {
            let (x, heads) =
                input.and_then(|id| together(m, id)).ok_or("an operand is not split into heads")?;
            *input = Some(x);
            counts.push(heads);
        }
        let [query, key, value] = counts.as_slice() else {
            return Err("an operand is missing");
        };
        if key != value {
            return Err("keys and values have different numbers of heads");
        }
        if permutation(m, m.node("t")?, 4) != Some(vec![0, 2, 1, 3]) {
            return Err("the transpose does not swap heads and length");
        }
        let operator = Rc::new(m.operator::<Attention>("a")?.packed(*query, *key));
        let y = m.made(Node { operator, ..node.clone() }, &inputs)?;
        if m.tensor_of(y)?.shape == m.result()?.shape {
            Ok(y)
        } else {
            m.reshape(y, &inputs.into_iter().flatten().collect::<Vec<_>>())
        }
    })
    .law("Attention accepts and returns heads packed in the last axis")
    .example(
        "(float[B, T, 24] x) => (float[B, T, 8] y) <int64[5] heads = {0, 0, 3, 2, 4},
        int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[3] side = {0, 0, 8}> {
            r = Reshape (x, heads) p = Transpose <perm = [2, 0, 3, 1, 4]> (r)
            q = Gather (p, zero) k = Gather (p, one) v = Gather (p, two)
            a = Attention <is_causal = 1> (q, k, v) t = Transpose <perm = [0, 2, 1, 3]> (a)
            y = Reshape (t, side)
        }",
    ),
];

/// Maximum number of nodes between a factor and the attention.
const MAX_TRACED_NODES: usize = 8;

/// Returns a value without the factor that is applied before its elements are moved, and the factor.
fn unscaled(m: &mut Match<'_, '_>, id: ValueId, left: usize) -> Option<(ValueId, f64)> {
    let node = m.maker(id).filter(|_| m.uses(id) == 1)?;
    let left = left.checked_sub(1)?;
    match &*node.kind {
        "Mul" | "Div" if node.version >= 7 => {
            let (a, b) = node.input(0).zip(node.input(1))?;
            let (x, factor) = match (&*node.kind, m.uniform(a), m.uniform(b)) {
                ("Mul", None, Some(number)) => (a, number),
                ("Mul", Some(number), None) => (b, number),
                ("Div", None, Some(number)) => (a, 1.0 / number),
                _ => return None,
            };
            // The elements of a sum times infinity may be infinities of different signs.
            (factor.is_finite() && m.value_of(x).ty == m.value_of(id).ty).then_some((x, factor))
        }
        "Transpose"
        | "Reshape"
        | "Squeeze"
        | "Unsqueeze"
        | "Flatten"
        | "Expand"
        | "RotaryEmbedding"
        | "JoinedRotaryEmbedding" => {
            let (x, factor) = unscaled(m, node.input(0)?, left)?;
            let rest = node.inputs.iter().skip(1).copied();
            let inputs: Vec<_> = std::iter::once(Some(x)).chain(rest).collect();
            Some((m.made(node.clone(), &inputs).ok()?, factor))
        }
        _ => None,
    }
}

/// Returns the original heads of a value whose heads are repeated.
fn alone(m: &mut Match<'_, '_>, x: ValueId, repeated: ValueId) -> Result<ValueId, Miss> {
    let [batch, heads, one, length, size] = m.tensor_of(x)?.shape.as_slice() else {
        return Err("an expanded operand does not have rank 5");
    };
    let expanded = m.maker(repeated).and_then(|node| node.input(0)).ok_or("an operand is missing")?;
    let [.., times, _, _] = m.tensor_of(expanded)?.shape.as_slice() else {
        return Err("an expanded operand does not have rank 5");
    };
    let all = heads.mul(times).ok_or("the number of heads is known only at run time")?;
    let wide = [batch, heads, times, length, size].map(Clone::clone);
    let whole = [batch.clone(), all, length.clone(), size.clone()];
    let shapes = [m.tensor_of(expanded)?.shape.as_slice(), m.tensor_of(repeated)?.shape.as_slice()];
    if !one.is(1) || shapes != [wide.as_slice(), whole.as_slice()] {
        return Err("an axis other than the heads is repeated");
    }
    let shape = [batch, heads, length, size].map(Clone::clone);
    let sizes = m.sizes(&shape, &[x])?;
    m.call("Reshape", &[], &[Some(x), Some(sizes)])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{after, graph, shown};
    use crate::passes::rules;

    #[test]
    fn heads_are_part_of_attention() {
        expect![[r#"
            factors of attention
              <
              float32[] half = {0.5},
              int64[4] heads = {0, 0, 2, 4}
              >
              float32[B, Q, 2, 4] r = Reshape (q, heads)
              float32[B, Q, 2, 4] h = Mul (r, half)
              float32[B, 2, Q, 4] s = Transpose <axes: [0, 2, 1, 3]> (h)
              float32[B, 2, 4, K] t = Transpose <axes: [0, 1, 3, 2]> (k)
              float32[B, 2, 4, K] u = Mul (t, half)
              float32[B, 2, Q, K] p = MatMul (s, u)
              float32[B, 2, Q, K] c = Softmax <function: "softmax", axis: -1> (p)
              float32[B, 2, Q, 4] y = MatMul (c, v)
              =>
              float32[B, 2, Q, 4] y = JoinedAttention <query_heads: 2, scale: 0.25> (q, k, v)
            shared heads of attention
              <
              int64[1] axis = {2},
              int64[5] twice = {1, 1, 2, 1, 1},
              int64[4] s = {0, 4, -1, 8}
              >
              float32[B, 2, 1, K, 8] ku = Unsqueeze (k, axis)
              float32[B, 2, 2, K, 8] ke = Expand (ku, twice)
              float32[B, 4, K, 8] kr = Reshape (ke, s)
              float32[B, 2, 1, K, 8] vu = Unsqueeze (v, axis)
              float32[B, 2, 2, K, 8] ve = Expand (vu, twice)
              float32[B, 4, K, 8] vr = Reshape (ve, s)
              float32[B, 4, 8, K] t = Transpose <axes: [0, 1, 3, 2]> (kr)
              float32[B, 4, Q, K] p = MatMul (q, t)
              float32[B, 4, Q, K] c = Softmax <function: "softmax", axis: -1> (p)
              float32[B, 4, Q, 8] y = MatMul (c, vr)
              =>
              float32[B, 4, Q, 8] y = JoinedAttention <scale: 1.0> (q, k, v)
            heads of operands
              <
              int64[4] heads = {0, 0, 2, 4}
              >
              float32[B, Q, 2, 4] r = Reshape (q, heads)
              float32[B, 2, Q, 4] s = Transpose <axes: [0, 2, 1, 3]> (r)
              float32[B, 2, 4, K] t = Transpose <axes: [0, 1, 3, 2]> (k)
              float32[B, 2, Q, K] p = MatMul (s, t)
              float32[B, 2, Q, K] c = Softmax <function: "softmax", axis: -1> (p)
              float32[B, 2, Q, 4] y = MatMul (c, v)
              =>
              float32[B, 2, Q, 4] y = JoinedAttention <query_heads: 2, scale: 1.0> (q, k, v)
            heads of a result
              <
              int64[3] side = {0, 0, 8}
              >
              float32[B, 2, Q, K] p = MatMul (q, k)
              float32[B, 2, Q, K] c = Softmax <function: "softmax", axis: -1> (p)
              float32[B, 2, Q, 4] s = MatMul (c, v)
              float32[B, Q, 2, 4] t = Transpose <axes: [0, 2, 1, 3]> (s)
              float32[B, Q, 8] y = Reshape (t, side)
              =>
              float32[B, 2, K, 4] %9 = Transpose <axes: [0, 1, 3, 2]> (k)
              float32[B, Q, 8] y = JoinedAttention <packed: true, scale: 1.0> (q, %9, v)
            heads of an Attention node
              <
              int64[5] heads = {0, 0, 3, 2, 4},
              int64[] zero = {0},
              int64[] one = {1},
              int64[] two = {2},
              int64[3] side = {0, 0, 8}
              >
              float32[B, T, 3, 2, 4] r = Reshape (x, heads)
              float32[3, B, 2, T, 4] p = Transpose <axes: [2, 0, 3, 1, 4]> (r)
              float32[B, 2, T, 4] q = Gather <axis: 0> (p, zero)
              float32[B, 2, T, 4] k = Gather <axis: 0> (p, one)
              float32[B, 2, T, 4] v = Gather <axis: 0> (p, two)
              float32[B, 2, T, 4] a = Attention <causal: true, softcap: 0.0, shown: "Products", windows: [none, none], short_masks: true> (q, k, v)
              float32[B, T, 2, 4] t = Transpose <axes: [0, 2, 1, 3]> (a)
              float32[B, T, 8] y = Reshape (t, side)
              =>
              <
              int64[1] %14 = {0},
              int64[1] %15 = {8},
              int64[1] %16 = {-1},
              int64[1] %18 = {8},
              int64[1] %19 = {16},
              int64[1] %20 = {-1},
              int64[1] %22 = {16},
              int64[1] %23 = {24},
              int64[1] %24 = {-1}
              >
              float32[B, T, 8] %17 = Slice (x, %14, %15, %16)
              float32[B, T, 8] %21 = Slice (x, %18, %19, %20)
              float32[B, T, 8] %25 = Slice (x, %22, %23, %24)
              float32[B, T, 8] y = Attention <query_heads: 2, key_heads: 2, causal: true, softcap: 0.0, shown: "Products", windows: [none, none], short_masks: true> (%17, %21, %25)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn infinite_factors_remain() {
        for (factor, remains) in [("inf", true), ("0.5", false)] {
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": 25]>
                g (float[B, 2, Q, 4] q, float[B, 2, 4, K] k, float[B, 2, K, 4] v) => (float[B, 2, Q, 4] y)
                <float f = {{{factor}}}> {{
                    h = Mul (q, f) p = MatMul (h, k) c = Softmax <axis = -1> (p) y = MatMul (c, v)
                }}"
            );
            let (graph, _) = graph(&text, rules::all());
            assert!(graph.contains("JoinedAttention"), "{graph}");
            assert_eq!(graph.contains(" = Mul ("), remains, "{graph}");
        }
    }

    #[test]
    fn batches_are_not_repeated_as_heads() {
        expect![[r#"
            float32[1, 2, 1, K, 8] ku = Unsqueeze (k, axis)
            float32[3, 2, 2, K, 8] ke = Expand (ku, twice)
            float32[3, 4, K, 8] kr = Reshape (ke, s)
            float32[1, 2, 1, K, 8] vu = Unsqueeze (v, axis)
            float32[3, 2, 2, K, 8] ve = Expand (vu, twice)
            float32[3, 4, K, 8] vr = Reshape (ve, s)
            float32[3, 4, Q, 8] y = JoinedAttention <scale: 1.0> (q, kr, vr)
            an axis other than the heads is repeated

            float32[1, 2, 1, K, 8] ku = Unsqueeze (k, axis)
            float32[3, 2, 1, K, 8] ke = Expand (ku, twice)
            float32[1, 6, K, 8] kr = Reshape (ke, s)
            float32[1, 2, 1, K, 8] vu = Unsqueeze (v, axis)
            float32[3, 2, 1, K, 8] ve = Expand (vu, twice)
            float32[1, 6, K, 8] vr = Reshape (ve, s)
            float32[1, 6, Q, 8] y = JoinedAttention <scale: 1.0> (q, kr, vr)
            an axis other than the heads is repeated

        "#]]
        .assert_eq(&after(
            "shared heads of attention",
            &[
                "(float[3, 4, Q, 8] q, float[1, 2, K, 8] k, float[1, 2, K, 8] v) => (float[3, 4, Q, 8] y)
                <int64[1] axis = {2}, int64[5] twice = {3, 2, 2, 1, 1}, int64[4] s = {3, 4, -1, 8}> {
                    ku = Unsqueeze (k, axis) ke = Expand (ku, twice) kr = Reshape (ke, s) vu = Unsqueeze (v, axis)
                    ve = Expand (vu, twice) vr = Reshape (ve, s) t = Transpose <perm = [0, 1, 3, 2]> (kr)
                    p = MatMul (q, t) c = Softmax <axis = -1> (p) y = MatMul (c, vr)
                }",
                "(float[1, 6, Q, 8] q, float[1, 2, K, 8] k, float[1, 2, K, 8] v) => (float[1, 6, Q, 8] y)
                <int64[1] axis = {2}, int64[5] twice = {3, 2, 1, 1, 1}, int64[4] s = {1, 6, -1, 8}> {
                    ku = Unsqueeze (k, axis) ke = Expand (ku, twice) kr = Reshape (ke, s) vu = Unsqueeze (v, axis)
                    ve = Expand (vu, twice) vr = Reshape (ve, s) t = Transpose <perm = [0, 1, 3, 2]> (kr)
                    p = MatMul (q, t) c = Softmax <axis = -1> (p) y = MatMul (c, vr)
                }",
            ],
        ));
    }
}
