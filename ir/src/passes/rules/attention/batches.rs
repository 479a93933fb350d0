//! Heads that exporters merge with batches.

use std::num::NonZeroUsize;

use super::made;
use super::operands::permutation;
use crate::dim::Dim;
use crate::graph::ValueId;
use crate::ops::attention::heads::dim;
use crate::ops::attention::joined::{JoinedAttention, MASKS};
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;

pub const RULES: &[Rule] = &[
    building(
        "heads merged with batches",
        "Reshape:r(JoinedAttention:a(Reshape(q, ..), Reshape(k, ..), Reshape(v, ..), ..), ..)",
        |m| {
            let operands = [m.value("q")?, m.value("k")?, m.value("v")?];
            let [batch, heads, _, _] = m.result()?.shape.as_slice() else {
                return Err("the result does not have rank 4");
            };
            let (batch, heads) = (batch.clone(), heads.clone());
            let mut inputs = m.node("a")?.inputs.clone();
            inputs.truncate(MASKS);
            for (input, id) in inputs.iter_mut().zip(operands) {
                let [own @ .., _, _] = m.tensor_of(id)?.shape.as_slice() else {
                    return Err("an operand has fewer than two axes");
                };
                if own != [batch.clone(), heads.clone()] || !same_end(m, id, *input) {
                    return Err("an operand does not have the batches and heads of the result");
                }
                *input = Some(id);
            }
            let (operator, masks) = with_heads(m, [&batch, &heads])?;
            inputs.extend(masks);
            let operator = JoinedAttention { query_heads: None, key_heads: None, packed: false, ..operator };
            made(m, operator, &inputs)
        },
    )
    .law("[B·H, L, S] is [B, H, L, S] with merged batches and heads")
    .example(
        "(float[B, 2, 3, 4] q, float[B, 2, 5, 4] k, float[B, 2, 5, 4] v) => (float[B, 2, 3, 4] z)
        <int64[3] s = {-1, 3, 4}, int64[3] t = {-1, 5, 4}, int64[4] u = {-1, 2, 3, 4}> {
            a = Reshape (q, s) b = Reshape (k, t) c = Reshape (v, t)
            d = Transpose <perm = [0, 2, 1]> (b) p = MatMul (a, d) e = Softmax <axis = -1> (p)
            y = MatMul (e, c) z = Reshape (y, u)
        }",
    ),
    building(
        "heads of sequence-first attention",
        "Reshape:r(Transpose:t(JoinedAttention:a(Transpose:q(Reshape(x, ..)), Transpose:k(Reshape(y, ..)), \
         Transpose:v(Reshape(z, ..)), ..)), ..)",
        sequence_first,
    )
    .law("[L, B·H, S] is [L, B, H·S] in another shape, with the heads packed in the last axis")
    .example(
        "(float[5, B, 8] q, float[6, B, 8] k, float[6, B, 8] v) => (float[5, B, 8] z)
        <int64[3] s = {5, -1, 4}, int64[3] t = {6, -1, 4}, int64[3] u = {5, -1, 8}> {
            a = Reshape (q, s) b = Reshape (k, t) c = Reshape (v, t)
            d = Transpose <perm = [1, 0, 2]> (a) e = Transpose <perm = [1, 2, 0]> (b)
            f = Transpose <perm = [1, 0, 2]> (c) p = MatMul (d, e) g = Softmax <axis = -1> (p)
            y = MatMul (g, f) h = Transpose <perm = [1, 0, 2]> (y) z = Reshape (h, u)
        }",
    ),
];

/// Returns `true` if the last two sizes of two values are equal.
fn same_end(m: &Match<'_, '_>, a: ValueId, b: Option<ValueId>) -> bool {
    let end = |id: ValueId| {
        let tensor = m.tensor_of(id).ok()?;
        Some(tensor.shape.iter().rev().take(2).cloned().collect::<Vec<_>>())
    };
    b.is_some_and(|b| end(a).is_some() && end(a) == end(b))
}

/// Returns the operator with these heads instead of one head per batch, and its masks.
fn with_heads(
    m: &mut Match<'_, '_>,
    [batch, heads]: [&Dim; 2],
) -> Result<(JoinedAttention, Vec<Option<ValueId>>), Miss> {
    let operator = m.operator::<JoinedAttention>("a")?.clone();
    if (operator.query_heads, operator.key_heads) != (Some(1), Some(1)) {
        return Err("the attention already has heads");
    }
    if operator.result_sizes.is_some() {
        return Err("the masks determine the sizes of the result");
    }
    let mut masks = Vec::new();
    for id in m.node("a")?.inputs.iter().skip(MASKS).flatten() {
        masks.push(Some(match m.tensor_of(*id)?.shape.as_slice() {
            [all, one, rows, keys] if !all.is(1) => {
                if (one.is(1), batch.mul(heads).as_ref()) != (true, Some(all)) {
                    return Err("the batch axes of a mask do not match those of the scores");
                }
                let shape = [batch, heads, rows, keys].map(Clone::clone);
                let sizes = m.sizes(&shape, &[*id])?;
                m.call("Reshape", &[], &[Some(*id), Some(sizes)])?
            }
            _ => *id,
        }));
    }
    let operator = JoinedAttention { query_heads: heads.fixed(), key_heads: heads.fixed(), ..operator };
    Ok((operator, masks))
}

fn sequence_first(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let (x, transposed) = (m.value("x")?, vec![1, 0, 2]);
    for label in ["q", "k", "v", "t"] {
        if permutation(m, m.node(label)?, 3) != Some(transposed.clone()) {
            return Err("a transpose does not swap the length and the batch");
        }
    }
    let [_, batch, hidden] = m.tensor_of(x)?.shape.as_slice() else {
        return Err("an operand does not have rank 3");
    };
    let (batch, hidden) = (batch.clone(), hidden.clone());
    let inner = m.node("q")?.input(0).ok_or("an operand is missing")?;
    let size = m.tensor_of(inner)?.shape.last().cloned().unwrap_or_default();
    let heads = hidden.div_exact(&size).and_then(|heads| heads.fixed());
    let heads = heads.and_then(NonZeroUsize::new).ok_or("the number of heads is known only at run time")?;
    let count = dim(heads.get());
    let (operator, masks) = with_heads(m, [&batch, &count])?;
    let mut inputs = m.node("a")?.inputs.clone();
    let perm = [("perm", Setting::Ints(vec![1, 0, 2]))];
    inputs.truncate(MASKS);
    for (input, (label, name)) in inputs.iter_mut().zip([("q", "x"), ("k", "y"), ("v", "z")]) {
        let (inner, x) = (m.node(label)?.input(0), m.value(name)?);
        let inner = inner.ok_or("an operand is missing")?;
        let [length, all, size] = m.tensor_of(inner)?.shape.as_slice() else {
            return Err("an operand does not have rank 3");
        };
        if batch.mul(&count).as_ref() != Some(all) {
            return Err("the operands have different batches and heads");
        }
        let hidden = size.mul(&count).ok_or("the sizes are known only at run time")?;
        let shape = [length.clone(), batch.clone(), hidden];
        let sizes = m.sizes(&shape, &[x])?;
        let split = m.call("Reshape", &[], &[Some(x), Some(sizes)])?;
        *input = Some(m.call("Transpose", &perm, &[Some(split)])?);
    }
    inputs.extend(masks);
    let y = made(m, operator, &inputs)?;
    let y = m.call("Transpose", &perm, &[Some(y)])?;
    if m.tensor_of(y)?.shape == m.result()?.shape { Ok(y) } else { m.reshape(y, &[x]) }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{after, shown};

    #[test]
    fn heads_are_separated_from_batches() {
        expect![[r#"
            heads merged with batches
              <
              int64[3] s = {-1, 3, 4},
              int64[3] t = {-1, 5, 4},
              int64[4] u = {-1, 2, 3, 4}
              >
              float32[2*B, 3, 4] a = Reshape (q, s)
              float32[2*B, 5, 4] b = Reshape (k, t)
              float32[2*B, 5, 4] c = Reshape (v, t)
              float32[2*B, 4, 5] d = Transpose <axes: [0, 2, 1]> (b)
              float32[2*B, 3, 5] p = MatMul (a, d)
              float32[2*B, 3, 5] e = Softmax <function: "softmax", axis: -1> (p)
              float32[2*B, 3, 4] y = MatMul (e, c)
              float32[B, 2, 3, 4] z = Reshape (y, u)
              =>
              float32[B, 2, 3, 4] z = JoinedAttention <scale: 1.0> (q, k, v)
            heads of sequence-first attention
              <
              int64[3] s = {5, -1, 4},
              int64[3] t = {6, -1, 4},
              int64[3] u = {5, -1, 8}
              >
              float32[5, 2*B, 4] a = Reshape (q, s)
              float32[6, 2*B, 4] b = Reshape (k, t)
              float32[6, 2*B, 4] c = Reshape (v, t)
              float32[2*B, 5, 4] d = Transpose <axes: [1, 0, 2]> (a)
              float32[2*B, 4, 6] e = Transpose <axes: [1, 2, 0]> (b)
              float32[2*B, 6, 4] f = Transpose <axes: [1, 0, 2]> (c)
              float32[2*B, 5, 6] p = MatMul (d, e)
              float32[2*B, 5, 6] g = Softmax <function: "softmax", axis: -1> (p)
              float32[2*B, 5, 4] y = MatMul (g, f)
              float32[5, 2*B, 4] h = Transpose <axes: [1, 0, 2]> (y)
              float32[5, B, 8] z = Reshape (h, u)
              =>
              float32[B, 5, 8] %22 = Transpose <axes: [1, 0, 2]> (q)
              float32[B, 6, 8] %25 = Transpose <axes: [1, 0, 2]> (k)
              float32[B, 6, 8] %28 = Transpose <axes: [1, 0, 2]> (v)
              float32[B, 5, 8] %29 = JoinedAttention <query_heads: 2, key_heads: 2, packed: true, scale: 1.0> (%22, %25, %28)
              float32[5, B, 8] z = Transpose <axes: [1, 0, 2]> (%29)
        "#]].assert_eq(&shown(super::RULES));
    }

    #[test]
    fn masks_have_the_heads_of_merged_batches() {
        expect![[r#"
            float32[B, 2, 3, 4] z = JoinedAttention <scale: 1.0, fills: [none]> (q, k, v, n)

        "#]]
        .assert_eq(&after("heads merged with batches", &[
            "(float[B, 2, 3, 4] q, float[B, 2, 5, 4] k, float[B, 2, 5, 4] v, float[B, 2, 1, 5] n) => (float[B, 2, 3, 4] z)
            <int64[3] s = {-1, 3, 4}, int64[3] t = {-1, 5, 4}, int64[4] u = {-1, 2, 3, 4}, int64[3] w = {-1, 1, 5}> {
                a = Reshape (q, s) b = Reshape (k, t) c = Reshape (v, t) d = Transpose <perm = [0, 2, 1]> (b)
                p = MatMul (a, d) o = Reshape (n, w) x = Add (p, o) e = Softmax (x) y = MatMul (e, c)
                z = Reshape (y, u)
            }",
        ]));
    }

    #[test]
    fn operands_that_were_reshaped_otherwise_remain() {
        expect![[r#"
            float32[2*B, 3, 4] a = Reshape (q, s)
            float32[2*B, floor((2*B*E*L) / (8*B)), 4] b = Reshape (k, t)
            float32[2*B, M, 4] c = Reshape (v, t)
            float32[2*B, 3, 4] y = JoinedAttention <query_heads: 1, key_heads: 1, packed: true, scale: 1.0> (a, b, c)
            float32[B, 2, 3, 4] z = Reshape (y, u)
            an operand does not have the batches and heads of the result

        "#]]
        .assert_eq(&after("heads merged with batches", &[
            "(float[B, 2, 3, 4] q, float[B, 2, L, E] k, float[B, 2, M, 4] v) => (float[B, 2, 3, 4] z)
            <int64[3] s = {-1, 3, 4}, int64[1] two = {2}, int64[1] minus = {-1}, int64[1] four = {4}, int64[4] u = {-1, 2, 3, 4}> {
                bs = Shape <start = 0, end = 1> (q) b2 = Mul (bs, two) t = Concat <axis = 0> (b2, minus, four)
                a = Reshape (q, s) b = Reshape (k, t) c = Reshape (v, t) d = Transpose <perm = [0, 2, 1]> (b)
                p = MatMul (a, d) e = Softmax (p) y = MatMul (e, c) z = Reshape (y, u)
            }",
        ]));
    }
}
