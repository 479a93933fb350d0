//! Matrix products.

mod gemm;
mod linear;

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal, lifted};
use crate::infer::Infer;
use crate::ops::elementwise::activation::Fused;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

pub use gemm::Gemm;
use gemm::gemm;
use linear::linear_layer;

pub const ROWS: &[Row] = &[
    row("MatMul", &[1, 9, 13], |_| Ok(Rc::new(MatMul::default()))).hoisted().half().arity("rr", "r"),
    row("FusedMatMul", &[1], matmul).half().arity("rr", "r").of(MICROSOFT),
    row("TransposeMatMul", &[1], matmul).half().arity("rr", "r").of(MICROSOFT),
    row("Gemm", &[1, 6, 7, 9, 11, 13], gemm).half().arity("rro", "r").before(&[(11, "rrr", "r")]),
    row("FusedGemm", &[1], gemm).half().arity("rro", "r").of(MICROSOFT),
];

/// Operators that only rules create: a product with a bias, and one with an activation.
pub const WRITTEN: &[Row] = &[
    row("Linear", &[1], matmul).hoisted().half(),
    row("FusedLinear", &[1], matmul).hoisted().half().arity("rroo", "r"),
];

/// `alpha * a * b` of transposed operands. Input 2 is a bias, and input 3 is added before the activation.
#[derive(Clone, Debug, Default)]
pub struct MatMul {
    transposed: [Transposed; 2],
    alpha: Option<f32>,
    activation: Option<Fused>,
}

attributes!(struct MatMul { transposed, alpha, activation });

/// Transposition of an operand. Vectors are never transposed.
#[derive(Clone, Copy, Debug, Default)]
struct Transposed {
    /// Whether the first axis moves after the other batch axes, and becomes the rows.
    batch: bool,
    /// Whether rows and columns are exchanged.
    matrix: bool,
}

attributes!(struct Transposed { batch, matrix });

fn matmul(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let transposed = |batch: &str, matrix: &str| -> Result<Transposed, Problem> {
        Ok(Transposed { batch: a.flag(batch, false)?, matrix: a.flag(matrix, false)? })
    };
    Ok(Rc::new(MatMul {
        transposed: [transposed("transBatchA", "transA")?, transposed("transBatchB", "transB")?],
        alpha: a.float("alpha")?.filter(|&alpha| alpha != 1.0),
        activation: None,
    }))
}

impl Operator for MatMul {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let [left, right] = self.transposed;
        let (a, b) = (left.of(cx.tensor(0)?), right.of(cx.tensor(1)?));
        let shape = product(cx, &a, &b)?;
        if cx.has(3) {
            sizes::shaped("the addend", &cx.tensor(3)?, &shape)?;
        }
        cx.output(0, a.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if self.alpha.is_none()
            && let Some(layer) = self.layer(cx)?
        {
            return Ok(layer);
        }
        let mut product = self.product(cx)?;
        if let Some(alpha) = self.alpha {
            let alpha = float_literal(f64::from(alpha), DType::F32);
            product = code!(#product.mul_scalar(#alpha));
        }
        if cx.has(3) {
            let sum = cx.tensor(3)?;
            product = code!(#product.add(#sum));
        }
        let dtype = cx.tensor_type(0)?.dtype;
        Ok(Fused::after(self.activation.as_ref(), product, dtype))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        if self.transposed.iter().any(|operand| operand.batch) {
            return None;
        }
        let ranks = [rows.tensor(0)?.rank(), rows.tensor(1)?.rank()];
        let rank = rows.output(0)?.rank();
        // The rows of a product of matrices, or one of the axes of their batch.
        let own = match (rows.axis(0)?, rows.axis(1)) {
            (at, None) if rows.is_whole(1) && ranks[0] == rank && ranks[1] <= 2 => {
                let summed =
                    if self.transposed[0].matrix { rank.checked_sub(2) } else { rank.checked_sub(1) };
                let transposed = self.transposed[0].matrix && at.saturating_add(2) >= rank;
                (Some(at) != summed && !transposed).then_some(at)
            }
            (left, Some(right)) if left == right && ranks == [rank; 2] => {
                (left.saturating_add(2) < rank).then_some(left)
            }
            _ => None,
        }?;
        let has_bias = rows.is_whole(2) && rows.broadcasts(2, own, rank);
        (has_bias && rows.broadcasts(3, own, rank)).then(|| vec![own])
    }
}

impl MatMul {
    /// Appends an activation, unless there is one.
    pub fn followed_by(&self, activation: Fused) -> Option<Self> {
        self.activation.is_none().then(|| MatMul { activation: Some(activation), ..self.clone() })
    }

    /// Exchanges rows and columns of an operand.
    pub fn with_transposed(&self, operand: usize) -> Option<Self> {
        let mut product = self.clone();
        let axes = product.transposed.get_mut(operand).filter(|axes| !axes.batch)?;
        axes.matrix = !axes.matrix;
        Some(product)
    }

    /// Multiplies the product by a number, unless it is scaled or has an activation.
    pub fn times(&self, alpha: f32) -> Option<Self> {
        let plain = self.alpha.is_none() && self.activation.is_none();
        plain.then(|| MatMul { alpha: Some(alpha).filter(|&alpha| alpha != 1.0), ..self.clone() })
    }

    /// Returns `true` for a fully connected layer without activation, if B is a weight.
    pub fn is_layer(&self) -> bool {
        let [_, right] = self.transposed;
        self.alpha.is_none() && self.activation.is_none() && !right.batch
    }

    /// Returns whether B is transposed, if the product has no other option than an activation.
    pub fn transposes_weight(&self) -> Option<bool> {
        let [left, right] = self.transposed;
        (self.alpha.is_none() && !left.batch && !left.matrix && !right.batch).then_some(right.matrix)
    }

    /// Returns `true` if the product has no transposition, factor and activation.
    pub fn is_plain(&self) -> bool {
        self.alpha.is_none()
            && self.activation.is_none()
            && self.transposed.iter().all(|axes| !axes.batch && !axes.matrix)
    }

    /// Returns the factor and whether each operand is transposed, if the product has no other options.
    pub fn scaled(&self) -> Option<(f64, [bool; 2])> {
        let plain = self.activation.is_none() && self.transposed.iter().all(|axes| !axes.batch);
        let alpha = self.alpha.map_or(1.0, f64::from);
        plain.then_some((alpha, self.transposed.map(|axes| axes.matrix)))
    }

    /// Returns a fully connected layer with its epilogue, if B is a weight.
    fn layer(&self, cx: &mut Emit<'_, '_>) -> Result<Option<Code>, Problem> {
        let [left, right] = self.transposed;
        let (a, b) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let (2, 2.., ElementClass::Float, false) = (b.rank(), a.rank(), b.dtype.kind(), right.batch) else {
            return Ok(None);
        };
        let vector = !cx.has(2) || cx.tensor_type(2)?.rank() == 1;
        if !vector || !cx.is_layer_constant(1) {
            return Ok(None);
        }
        self.check(cx, &a, &b)?;
        let activation = self.activation.as_ref().map(|fused| fused.code(a.dtype));
        let x = left.written(cx.tensor(0)?, a.rank());
        let sum = if cx.has(3) { Some(cx.tensor(3)?) } else { None };
        linear_layer(cx, x, right.matrix, sum, activation).map(Some)
    }

    /// Marks the node as fallible if sizes may contradict each other.
    fn check(&self, cx: &mut Emit<'_, '_>, a: &TensorType, b: &TensorType) -> Result<(), Problem> {
        let [left, right] = self.transposed;
        let fits = are_factors(&left.of(a.clone()).shape, &right.of(b.clone()).shape);
        if !fits || cx.has(3) && cx.tensor_type(3)?.shape != cx.output_tensor(0)?.shape {
            cx.may_fail();
        }
        Ok(())
    }

    /// Returns the product with its bias, if any.
    fn product(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (a, b) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        self.check(cx, &a, &b)?;
        let product = self.multiplied(cx, &a, &b)?;
        if !cx.has(2) {
            return Ok(product);
        }
        let bias = cx.tensor_of_rank(2, cx.output_tensor(0)?.burn_rank())?;
        Ok(code!(#product.add(#bias)))
    }

    fn multiplied(&self, cx: &mut Emit<'_, '_>, a: &TensorType, b: &TensorType) -> Result<Code, Problem> {
        let [left, right] = self.transposed;
        let integers = a.dtype.kind() == ElementClass::Int;
        if integers || a.rank() < 2 || b.rank() < 2 {
            let a = left.written(cx.tensor(0)?, a.rank());
            let b = right.written(cx.tensor(1)?, b.rank());
            let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
            return Ok(if integers {
                code!(ops::matmul::matmul_int::<_, _, #rank>(#a, #b))
            } else {
                code!(ops::matmul::matmul::<_, _, #rank>(#a, #b))
            });
        }
        let rank = a.rank().max(b.rank());
        let (a, b) = (left.operand(cx, 0, rank)?, right.operand(cx, 1, rank)?);
        Ok(code!(ops::matmul::product(#a, #b)))
    }
}

impl Transposed {
    /// Returns the order of the axes, or `None` if it is unchanged.
    fn axes(self, rank: usize) -> Option<Vec<usize>> {
        let (true, Some(rows), Some(last)) =
            (self.batch || self.matrix, rank.checked_sub(2), rank.checked_sub(1))
        else {
            return None;
        };
        let mut axes: Vec<usize> = (0..rank).collect();
        if let (true, Some(outer)) = (self.batch, axes.get_mut(..last)) {
            outer.rotate_left(1);
        }
        if self.matrix {
            axes.swap(rows, last);
        }
        Some(axes)
    }

    /// Returns the input with leading axes of size 1 up to `rank`.
    fn operand(self, cx: &mut Emit<'_, '_>, input: usize, rank: usize) -> Result<Code, Problem> {
        let operand = cx.tensor_type(input)?.clone();
        let x = self.written(cx.tensor(input)?, operand.rank());
        Ok(lifted(x, &self.of(operand), rank))
    }

    fn of(self, x: TensorType) -> TensorType {
        match self.axes(x.rank()) {
            Some(axes) => {
                TensorType { shape: axes.iter().filter_map(|&at| x.shape.get(at).cloned()).collect(), ..x }
            }
            None => x,
        }
    }

    fn written(self, x: Code, rank: usize) -> Code {
        match self.axes(rank) {
            Some(axes) => {
                let axes = axes.into_iter().map(Literal::usize_unsuffixed);
                code!(#x.permute([#(#axes),*]))
            }
            None => x,
        }
    }
}

/// Returns `true` if matrices of these sizes have a product in every run.
pub fn are_factors(a: &Shape, b: &Shape) -> bool {
    let inner = [a.last(), b.get(b.len().saturating_sub(2))];
    let batch = |shape: &Shape| -> Shape {
        let axes = shape.len().saturating_sub(2);
        shape.iter().take(axes).cloned().collect()
    };
    let (left, right) = (batch(a), batch(b));
    inner.first() == inner.last() && broadcast::agree(&[&left, &right])
}

/// Returns the shape of a matrix product. Leading axes are broadcast, and vectors lose their axis.
pub fn product(cx: &mut Infer<'_>, a: &TensorType, b: &TensorType) -> Result<Shape, Problem> {
    if a.rank() == 0 || b.rank() == 0 {
        return Err(Problem::new(format!("the operands are {a} and {b}, expected rank 1 or more")));
    }
    sizes::same_type(("the right operand", b), ("the left operand", a))?;
    let (left, right) = (a.rank().saturating_sub(2), b.rank().saturating_sub(2));
    let columns = a.shape.last().cloned().unwrap_or_default();
    let rows = b.shape.get(if b.rank() > 1 { right } else { 0 }).cloned().unwrap_or_default();
    sizes::equal(("the right operand", &rows, "rows"), ("the left operand", &columns, "columns"))?;
    let leading = |shape: &Shape, count: usize| shape.iter().take(count).cloned().collect();
    let shapes = [leading(&a.shape, left), leading(&b.shape, right)];
    let mut shape = broadcast::shape(cx, &shapes)?;
    if a.rank() > 1 {
        shape.extend(a.shape.get(left).cloned());
    }
    if b.rank() > 1 {
        shape.extend(b.shape.last().cloned());
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn operands_must_fit() {
        problems(
            &[
                r#"(float[4, 8] a, float[7, 5] b) => (float[4, 5] y) { y = Gemm (a, b) }"#,
                r#"(float[8, 4] a, float[5, 7] b) => (float[4, 5] y) { y = Gemm <transA = 1, transB = 1> (a, b) }"#,
                r#"(float[n, 8] a, float[8, 5] b, float[4] c) => (float[n, 5] y) { y = Gemm (a, b, c) }"#,
                r#"(float[2, 8] a, float[8, 5] b, float[3, 5] c) => (float[2, 5] y) { y = Gemm (a, b, c) }"#,
                r#"(float[n, 8] a, float[8, 5] b, float[m, 1] c) => (float[n, 5] y) { y = Gemm (a, b, c) }"#,
                r#"(float[n, 8] a, float[7, 5] b) => (float[n, 5] y) { y = MatMul (a, b) }"#,
                r#"(float[n] a, float[1] b) => (float y) { c = Concat <axis = 0> (a, b) y = MatMul (c, a) }"#,
                r#"(float[n] a, float[1] b, float[m, 5] w) => (float[5] y) { c = Concat <axis = 0> (a, b) y = MatMul (c, w) }"#,
            ],
            expect![[r#"
                the right matrix has 7 rows, but the left matrix has 8 columns
                the right matrix has 7 rows, but the left matrix has 8 columns
                the bias is float32[4], expected a shape that broadcasts to [n, 5]
                the bias is float32[3, 5], expected a shape that broadcasts to [2, 5]
                fine
                the right operand has 7 rows, but the left operand has 8 columns
                the right operand has n rows, but the left operand has n + 1 columns
                fine
            "#]],
        );
    }
}
