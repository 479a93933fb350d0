//! Products of a sequence's elements with one weight, joined.

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::index::gather::Gather;
use crate::ops::product::matmul::Gemm;
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[
    building(
        "products of sequence elements",
        "MatMul|Linear:product(Gather:take(x, at), $weight, ..)",
        |m| {
            all_products(m)?;
            let (node, x, weight) = (m.root().clone(), m.value("x")?, m.value("weight")?);
            if m.tensor_of(weight)?.rank() != 2 {
                return Err("the weight is not a matrix");
            }
            let mut inputs = node.inputs.clone();
            if let Some(first) = inputs.first_mut() {
                *first = Some(x);
            }
            let all = m.made(node, &inputs)?;
            taken(m, all)
        },
    )
    .law("x[i] w = (x w)[i]: the weight is read once for all elements")
    .example(
        "(float[2, N, 3] x) => (float[N, 2] y, float[N, 2] z)
        <float[3, 2] w = {1, 2, 3, 4, 5, 6}, int64 i = {0}, int64 j = {1}> {
            a = Gather <axis = 0> (x, i) y = MatMul (a, w) b = Gather <axis = 0> (x, j) z = MatMul (b, w)
        }",
    ),
    building("layers of sequence elements", "Gemm:product(Gather:take(x, at), $weight, ..)", |m| {
        all_products(m)?;
        let (node, x) = (m.root().clone(), m.value("x")?);
        let inner = size(m, x, 2)?;
        if inner.fixed().is_none_or(|terms| terms == 0) {
            return Err("the depth of the product is 0 or known only at run time");
        }
        let bias = node.input(2);
        let bias = bias.map(|id| m.tensor_of(id)).transpose()?;
        let rows = bias.is_some_and(|bias| bias.rank() == 2 && !bias.shape[0].is(1));
        if !m.operator::<Gemm>("product")?.is_layer() || rows {
            return Err("the product is not a fully connected layer");
        }
        let mut shape = m.tensor_of(x)?.shape.clone();
        let flat = m.integers(vec![Dim::from(-1), inner]);
        let flat = m.call("Reshape", &[], &[Some(x), Some(flat)])?;
        let mut inputs = node.inputs.clone();
        if let Some(first) = inputs.first_mut() {
            *first = Some(flat);
        }
        let all = m.made(node, &inputs)?;
        let outputs = m.result()?.shape.last().cloned();
        shape.splice(2.., outputs);
        let sizes = m.sizes(&shape, &[x])?;
        let all = m.call("Reshape", &[], &[Some(all), Some(sizes)])?;
        taken(m, all)
    })
    .law("x[i] w + b = (x w + b)[i]: the weight is read once for all elements")
    .example(
        "(float[2, N, 3] x) => (float[N, 2] y, float[N, 2] z)
        <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] c = {1, 2}, int64 i = {0}, int64 j = {1}> {
            a = Gather <axis = 0> (x, i) y = Gemm (a, w, c) b = Gather <axis = 0> (x, j) z = Gemm (b, w, c)
        }",
    ),
];

/// Fails unless all elements have this product. They must be gathered along an axis before the last.
fn all_products(m: &Match<'_, '_>) -> Result<(), Miss> {
    let (x, weight) = (m.value("x")?, m.value("weight")?);
    let rank = m.tensor_of(x)?.rank();
    let axis = m.operator::<Gather>("take")?.along(rank);
    let axis = axis.filter(|axis| axis + 1 < rank);
    let axis = axis.ok_or("the elements are gathered along the last axis")?;
    if m.tensor("at")?.rank() != 0 {
        return Err("the index is not a scalar");
    }
    let count = size(m, x, axis)?.fixed().ok_or("the number of elements is known only at run time")?;
    if count < 2 || m.uses(x) < count || m.uses(weight) < count {
        return Err("not all elements have this product");
    }
    Ok(())
}

fn size(m: &Match<'_, '_>, x: ValueId, axis: usize) -> Result<Dim, Miss> {
    m.tensor_of(x)?.shape.get(axis).cloned().ok_or("the input has too few axes")
}

/// Gathers the element from the product of the sequence.
fn taken(m: &mut Match<'_, '_>, all: ValueId) -> Result<ValueId, Miss> {
    let take: Node = m.node("take")?.clone();
    let at = take.input(1);
    m.made(take, &[Some(all), at])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn sequences_have_one_product() {
        expect![[r#"
            products of sequence elements
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              int64[] i = {0},
              int64[] j = {1}
              >
              float32[N, 3] a = Gather <axis: 0> (x, i)
              float32[N, 2] y = MatMul (a, w)
              float32[N, 3] b = Gather <axis: 0> (x, j)
              float32[N, 2] z = MatMul (b, w)
              =>
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              int64[] i = {0},
              int64[] j = {1}
              >
              float32[2, N, 2] %8 = MatMul (x, w)
              float32[N, 2] y = Gather <axis: 0> (%8, i)
              float32[2, N, 2] %10 = MatMul (x, w)
              float32[N, 2] z = Gather <axis: 0> (%10, j)
            layers of sequence elements
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              float32[2] c = {1, 2},
              int64[] i = {0},
              int64[] j = {1}
              >
              float32[N, 3] a = Gather <axis: 0> (x, i)
              float32[N, 2] y = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (a, w, c)
              float32[N, 3] b = Gather <axis: 0> (x, j)
              float32[N, 2] z = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (b, w, c)
              =>
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              float32[2] c = {1, 2},
              int64[] i = {0},
              int64[] j = {1},
              int64[2] %9 = {-1, 3},
              int64[3] %12 = {2, N, 2},
              int64[2] %15 = {-1, 3},
              int64[3] %18 = {2, N, 2}
              >
              float32[2*N, 3] %10 = Reshape (x, %9)
              float32[2*N, 2] %11 = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (%10, w, c)
              float32[2, N, 2] %13 = Reshape (%11, %12)
              float32[N, 2] y = Gather <axis: 0> (%13, i)
              float32[2*N, 3] %16 = Reshape (x, %15)
              float32[2*N, 2] %17 = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (%16, w, c)
              float32[2, N, 2] %19 = Reshape (%17, %18)
              float32[N, 2] z = Gather <axis: 0> (%19, j)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn elements_with_other_products_remain() {
        let constants =
            "<float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64 i = {0}, int64 j = {1}, int64 k = {2}>";
        let outputs = "(float[N, 3] y, float[N, 3] z, float[N, 3] t)";
        let found = |x: &str, nodes: &str| {
            let text = format!("(float{x} x, float[N, 3] u) => {outputs} {constants} {{ {nodes} }}");
            reasons("products of sequence elements", &text)
        };
        let reason = "not all elements have this product";
        let nodes = "a = Gather (x, i) y = MatMul (a, w) z = MatMul (u, w) t = Neg (u)";
        assert_eq!(found("[2, N, 3]", nodes), [reason]);
        assert_eq!(found("[1, N, 3]", nodes), [reason]);
        let nodes = "a = Gather (x, i) y = MatMul (a, w) z = Gather (x, j) t = Neg (u)";
        assert_eq!(found("[2, N, 3]", nodes), [reason]);
        let nodes =
            "a = Gather <axis = 2> (x, i) y = MatMul (a, w) b = Gather <axis = 2> (x, j) z = MatMul (b, w)
            c = Gather <axis = 2> (x, k) t = MatMul (c, w)";
        assert_eq!(found("[N, 3, 3]", nodes), ["the elements are gathered along the last axis"; 3]);
    }
}
