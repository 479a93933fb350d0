//! Matrix products of quantized integers.

use std::rc::Rc;

use proc_macro2::Literal;

use super::{
    End, Ended, INTEGER, InputLayout, QUANTIZED, Side, check_factor, optional, right_matrix, spread, zeros,
};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::product::matmul::{are_factors, product};
use crate::ops::{Operator, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::Shape;

/// A product whose result is the accumulators, floats, or integers of another scale.
#[derive(Debug)]
pub struct MatMul {
    layout: InputLayout,
    transposed: [bool; 2],
    alpha: f32,
}

attributes!(struct MatMul { layout, transposed, alpha });

/// A product with floats that are quantized in each call.
#[derive(Debug)]
struct Dynamic;

attributes!(struct Dynamic);

pub fn matmul() -> Result<Rc<dyn Operator>, Problem> {
    read(INTEGER)
}

pub fn quantized_matmul() -> Result<Rc<dyn Operator>, Problem> {
    read(QUANTIZED)
}

pub fn to_float() -> Result<Rc<dyn Operator>, Problem> {
    read(InputLayout {
        operands: [0, 1],
        zeros: [4, 5],
        bias: None,
        end: End::Float { scales: [2, 3], bias: Some(6) },
    })
}

/// Returns the projection that QAttention starts with.
pub fn projection() -> MatMul {
    plain(InputLayout {
        operands: [0, 1],
        zeros: [6, 7],
        bias: None,
        end: End::Float { scales: [3, 4], bias: Some(2) },
    })
}

pub fn dynamic() -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Dynamic))
}

/// Reads QGemm. The result consists of floats if its scale is absent.
pub fn gemm(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let end = if a.inputs() > 8 {
        End::Quantized { scales: [1, 4, 7], zero: 8 }
    } else {
        End::Float { scales: [1, 4], bias: None }
    };
    Ok(Rc::new(MatMul {
        layout: InputLayout { bias: Some(6), end, ..QUANTIZED },
        transposed: [a.flag("transA", false)?, a.flag("transB", false)?],
        alpha: a.float_or("alpha", 1.0)?,
    }))
}

fn read(layout: InputLayout) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(plain(layout)))
}

fn plain(layout: InputLayout) -> MatMul {
    MatMul { layout, transposed: [false; 2], alpha: 1.0 }
}

impl MatMul {
    /// Returns the type and the sizes of the result.
    pub fn result(&self, cx: &mut Infer<'_>) -> Result<(DType, Shape), Problem> {
        let (mut left, mut right, result) = self.layout.types(cx)?;
        right.dtype = left.dtype;
        for (operand, transposed) in [&mut left, &mut right].into_iter().zip(self.transposed) {
            if transposed {
                operand.shape.reverse();
            }
        }
        let shape = product(cx, &left, &right)?;
        if let [.., rows, _] = left.shape.as_slice() {
            for factor in self.layout.factors(0) {
                check_factor(cx, factor, (rows, "rows"))?;
            }
        }
        if let [.., _, columns] = right.shape.as_slice() {
            for factor in self.layout.factors(1) {
                check_factor(cx, factor, (columns, "columns"))?;
            }
        }
        for bias in self.layout.biases().filter(|&bias| cx.has(bias)) {
            sizes::broadcasts("the bias", &cx.tensor(bias)?, &shape)?;
        }
        Ok((result, shape))
    }
}

impl Operator for MatMul {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (result, shape) = self.result(cx)?;
        cx.output(0, result, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let [left, other] = self.layout.operands;
        let ranks = [cx.tensor_type(left)?.burn_rank(), cx.tensor_type(other)?.burn_rank()];
        let factor = |input: usize, transposed: bool| {
            let mut shape = cx.tensor_type(input)?.shape.clone();
            if transposed {
                shape.reverse();
            }
            Ok::<Shape, Problem>(shape)
        };
        let [first, second] = self.transposed;
        if !are_factors(&factor(left, first)?, &factor(other, second)?) {
            cx.may_fail();
        }
        let sides = [Side::Before(ranks[0].saturating_sub(2)), Side::Last];
        let zeros = zeros(cx, self.layout.zeros, ranks, sides)?;
        let a = cx.tensor(left)?;
        let a = if self.transposed[0] { code!(#a.transpose()) } else { a };
        let b = right_matrix(cx, other, self.transposed[1])?;
        let rank = cx.output_tensor(0)?.burn_rank();
        let dimension = Literal::usize_unsuffixed(rank);
        let rows = Side::Before(rank.saturating_sub(2));
        let added = if self.layout.bias.is_some() { Side::Last } else { rows };
        let sides = [rows, Side::Last, added];
        let zeros = code!((#(#zeros),*));
        Ok(match self.layout.ended(cx, rank, sides, self.alpha)? {
            Ended::Sums => code! {
                ops::quantize::matmul_integer::<_, _, #dimension>(#a, #b, #zeros)
            },
            Ended::Quantized { bias, to } => code! {
                ops::quantize::qlinear_matmul(#a, #b, #zeros, #bias, #to)
            },
            Ended::Float { bias, scales, added } => code! {
                ops::quantize::matmul_to_float(#a, #b, #zeros, #bias, #scales, #added)
            },
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let [left, right] = self.layout.operands;
        let (at, rank) = (rows.axis(left)?, rows.output(0)?.rank());
        let is_matrix = rows.tensor(left)?.rank() == rank && rows.tensor(right)?.rank() == 2;
        if !is_matrix || self.transposed[0] || at.saturating_add(1) >= rank {
            return None;
        }
        let is_of_right = |input| input == right || self.layout.factors(1).any(|factor| factor == input);
        let is_alike = |input: usize| match self.layout.biases().any(|bias| bias == input) {
            true => rows.broadcasts(input, at, rank),
            // Other factors may differ from row to row.
            false => rows.is_whole(input) && (is_of_right(input) || rows.is_one(input)),
        };
        let mut others = (0..rows.inputs()).filter(|&input| input != left);
        others.all(is_alike).then(|| vec![at])
    }
}

impl Operator for Dynamic {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (a, mut b, scale) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        for (what, tensor) in [("the left operand", &a), ("the scale", &scale)] {
            if tensor.dtype != DType::F32 {
                return Err(Problem::expected(what, tensor, "float32"));
            }
        }
        if !matches!(b.dtype, DType::U8 | DType::I8) {
            return Err(Problem::expected("the right operand", b, "uint8 or int8"));
        }
        b.dtype = a.dtype;
        let shape = product(cx, &a, &b)?;
        cx.output(0, a.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.output_tensor(0)?.burn_rank();
        if !are_factors(&cx.tensor_type(0)?.shape, &cx.tensor_type(1)?.shape) {
            cx.may_fail();
        }
        let (a, b) = (cx.tensor(0)?, right_matrix(cx, 1, false)?);
        let scale = spread(cx, 2, rank, Side::Last)?;
        let tensor = cx.tensor_type(1)?.burn_rank();
        let (zero, bias) = (optional(cx, 3, tensor, Side::Last)?, optional(cx, 4, rank, Side::Last)?);
        Ok(code!(ops::quantize::matmul_dynamic(#a, #b, #scale, #zero, #bias)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn products_broadcast() {
        check(
            r#"g (uint8[n, 2, 3] a, int8[3, 4] b, uint8 z, float s, float[4] c) => (int32[x, y, w] y, uint8[x, y, w] q) { y = MatMulInteger (a, b, z) t = Identity (z) q = QLinearMatMul (a, s, z, b, s, u, s, t) u = Constant <value = int8 {0}> () }"#,
            expect![[r#"
                g (uint8[n, 2, 3] a, int8[3, 4] b, uint8[] z, float32[] s, float32[4] c) => (int32[n, 2, 4] y, uint8[n, 2, 4] q)
                <
                    int8[] u = {0}
                >
                {
                    int32[n, 2, 4] y = MatMulInteger <layout: {operands: [0, 1], zeros: [2, 3], end: Sums}, transposed: [false, false], alpha: 1.0> (a, b, z)
                    uint8[n, 2, 4] q = QLinearMatMul <layout: {operands: [0, 3], zeros: [2, 5], end: {scales: [1, 4, 6], zero: 7}}, transposed: [false, false], alpha: 1.0> (a, s, z, b, s, u, s, z)
                }
            "#]],
        );
    }

    #[test]
    fn operands_and_factors_fit() {
        problems(
            &[
                r#"(uint8[2, 3] a, int8[4, 5] b) => (int32[x, y] y) { y = MatMulInteger (a, b) }"#,
                r#"(uint8[2, 3] a, int8[3, 5] b, uint8[3] z) => (int32[x, y] y) { y = MatMulInteger (a, b, z) }"#,
                r#"(uint8[2, 3] a, int8[3, 5] b, uint8[2] z, int8[5] o) => (int32[x, y] y) { y = MatMulInteger (a, b, z, o) }"#,
                r#"(uint8[2, 3] a, int8[3, 5] b, float s, float[4] c) => (float[x, y] y) { y = com.microsoft.MatMulIntegerToFloat (a, b, s, s, , , c) }"#,
                r#"(float[2, 3] a, int8[3, 5] b, float s) => (float[x, y] y) { y = com.microsoft.DynamicQuantizeMatMul (a, b, s) }"#,
                r#"(uint8[3, 2] a, int8[3, 5] b, float s, uint8 z, int8 o) => (float[x, y] y) { y = com.microsoft.QGemm <transA = 1> (a, s, z, b, s, o) }"#,
            ],
            expect![[r#"
                the right operand has 4 rows, but the left operand has 3 columns
                input 2 has 3 elements, but the operand it belongs to has 2 rows
                fine
                the bias is float32[4], expected a shape that broadcasts to [2, 5]
                fine
                fine
            "#]],
        );
    }
}
