//! Transposes and factors of operands, as attributes of products.

use std::rc::Rc;

use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::ops::elementwise::unary::rounded;
use crate::ops::product::matmul::{Gemm, MatMul};
use crate::ops::shape::transpose::Transpose;
use crate::passes::rewrite::{Match, Rule, building};

pub const RULES: &[Rule] = &[
    building(
        "product of a transpose",
        "MatMul|com.microsoft.FusedMatMul|Linear|FusedLinear:product(..)",
        |m| {
            let (node, mut product) = (m.root(), m.operator::<MatMul>("product")?.clone());
            let mut inputs = node.inputs.clone();
            for operand in 0..2 {
                let before = inputs.get(operand).copied().flatten().and_then(|id| transposed(m, id));
                if let Some((x, slot)) = before.zip(inputs.get_mut(operand))
                    && let Some(transposed) = product.with_transposed(operand)
                {
                    (*slot, product) = (Some(x), transposed);
                }
            }
            if inputs == node.inputs {
                return Err("");
            }
            let kind = match &*node.kind {
                "MatMul" => "com.microsoft.FusedMatMul".into(),
                _ => node.kind.clone(),
            };
            m.made(Node { kind, operator: Rc::new(product), ..node.clone() }, &inputs)
        },
    )
    .last()
    .law("a product can read an operand as its transpose")
    .example(
        "(float[N, 2, 3] x, float[N, 2, 4] y) => (float[N, 3, 4] z) { t = Transpose \
         <perm = [0, 2, 1]> (x) z = MatMul (t, y) }",
    ),
    building("Gemm of a transpose", "Gemm|com.microsoft.FusedGemm:product(..)", |m| {
        let (node, mut gemm) = (m.root(), m.operator::<Gemm>("product")?.clone());
        let mut inputs = node.inputs.clone();
        for (slot, is_transposed) in inputs.iter_mut().zip(&mut gemm.transposed) {
            if let Some(x) = slot.and_then(|id| transposed(m, id)) {
                (*slot, *is_transposed) = (Some(x), !*is_transposed);
            }
        }
        if inputs == node.inputs {
            Err("")
        } else {
            m.made(Node { operator: Rc::new(gemm), ..node.clone() }, &inputs)
        }
    })
    .last()
    .law("a product can read an operand as its transpose")
    .example(
        "(float[2, N] x, float[2, 4] y) => (float[N, 4] z) { t = Transpose (x) z = Gemm \
         (t, y) }",
    ),
    building("scale of a matrix product", "MatMul|com.microsoft.FusedMatMul:product(a, b) * #alpha", |m| {
        let (node, number) = (m.node("product")?, m.number("alpha")?);
        let (alpha, dtype) = (number as f32, m.result()?.dtype);
        let exact = f64::from(alpha) == number && rounded(number, dtype) == number;
        if !alpha.is_finite() {
            return Err("the factor is not finite");
        }
        if !(dtype == DType::F32 || exact && dtype.is_float()) {
            return Err("the factor would be rounded again");
        }
        let product = m.operator::<MatMul>("product")?.times(alpha);
        let product = product.ok_or("the product already has a factor or an activation")?;
        let like =
            Node { kind: "com.microsoft.FusedMatMul".into(), operator: Rc::new(product), ..node.clone() };
        m.made(like, &node.inputs)
    })
    .last()
    .law("a product can multiply its result by a number")
    .example(
        "(float[N, 2] x, float[2, 4] y) => (float[N, 4] z) <float c = {8}> { p = \
             MatMul (x, y) z = Div (p, c) }",
    ),
];

/// Returns the input of a transpose that exchanges only rows and columns, if it has no other consumer.
fn transposed(m: &Match<'_, '_>, id: ValueId) -> Option<ValueId> {
    let node = m.maker(id)?;
    let rank = m.tensor_of(id).ok()?.rank();
    let axes = node.operator_as::<Transpose>()?.axes(rank).ok()?;
    let mut plain: Vec<usize> = (0..rank).collect();
    plain.swap(rank.checked_sub(2)?, rank - 1);
    (axes == plain && m.uses(id) == 1).then(|| node.input(0))?
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, shown};
    use crate::passes::rules;

    #[test]
    fn products_transpose_and_scale() {
        expect![[r#"
            product of a transpose
              float32[N, 3, 2] t = Transpose <axes: [0, 2, 1]> (x)
              float32[N, 3, 4] z = MatMul (t, y)
              =>
              float32[N, 3, 4] z = com.microsoft.FusedMatMul <transposed: [{matrix: true}, {}]> (x, y)
            Gemm of a transpose
              float32[N, 2] t = Transpose (x)
              float32[N, 4] z = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (t, y)
              =>
              float32[N, 4] z = Gemm <alpha: 1.0, beta: 1.0, transposed: [true, false]> (x, y)
            scale of a matrix product
              <
              float32[] c = {8}
              >
              float32[N, 4] p = MatMul (x, y)
              float32[N, 4] z = Div (p, c)
              =>
              float32[N, 4] z = com.microsoft.FusedMatMul <alpha: 0.125> (x, y)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn half_precision_is_scaled_only_by_exact_factors() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float16[2, 3] x, float16[3, 2] y, int32[2, 2] i) => (float16[2, 2] z, float16[2, 2] w, int32[2, 2] k)
            <float16 three = {16896}, float16 four = {17408}, int32 two = {2}> {
                p = MatMul (x, y) z = Div (p, three) m = Neg (x) r = MatMul (m, y)
                w = Div (r, four) j = MatMul (i, i) k = Mul (j, two)
            }"#;
        expect![[r#"
            g (float16[2, 3] x, float16[3, 2] y, int32[2, 2] i) => (float16[2, 2] z, float16[2, 2] w, int32[2, 2] k)
            <
                float16[] three = {3},
                int32[] two = {2}
            >
            {
                float16[2, 2] p = MatMul (x, y)
                float16[2, 2] z = Div (p, three)
                float16[2, 3] m = Neg (x)
                float16[2, 2] w = com.microsoft.FusedMatMul <alpha: 0.25> (m, y)
                int32[2, 2] j = MatMul (i, i)
                int32[2, 2] k = Mul (j, two)
            }
        "#]].assert_eq(&graph(text, rules::all()).0);
    }

    #[test]
    fn transposes_of_batches_remain() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[2, 2, 2] x, float[2, 2, 2] y) => (float[2, 2, 2] z, float[2, 2, 2] u, float[2, 2, 2] v) {
                t = Transpose <perm = [1, 0, 2]> (x) z = MatMul (t, y)
                u = Transpose <perm = [0, 2, 1]> (y) v = MatMul (x, u)
            }"#;
        expect![[r#"
            g (float32[2, 2, 2] x, float32[2, 2, 2] y) => (float32[2, 2, 2] z, float32[2, 2, 2] u, float32[2, 2, 2] v)
            {
                float32[2, 2, 2] t = Transpose <axes: [1, 0, 2]> (x)
                float32[2, 2, 2] z = MatMul (t, y)
                float32[2, 2, 2] u = Transpose <axes: [0, 2, 1]> (y)
                float32[2, 2, 2] v = MatMul (x, u)
            }
        "#]].assert_eq(&graph(text, rules::all()).0);
    }
}
