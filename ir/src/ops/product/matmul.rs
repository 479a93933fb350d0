//! Matrix products.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::{DType, Kind};
use crate::emit::{Emit, float_literal, lifted, whole};
use crate::infer::Infer;
use crate::ops::elementwise::activation::Fused;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

pub const ROWS: &[Row] = &[
    row("MatMul", &[1, 9, 13], |_| Ok(Rc::new(MatMul::default())))
        .hoisted()
        .arity(2, 1),
    row("FusedMatMul", &[1], matmul).arity(2, 1).of(MICROSOFT),
    row("TransposeMatMul", &[1], matmul)
        .arity(2, 1)
        .of(MICROSOFT),
    row("Gemm", &[1, 6, 7, 9, 11, 13], gemm).arity(3, 1),
    row("FusedGemm", &[1], gemm).arity(3, 1).of(MICROSOFT),
];

/// Operators that rules alone write: a product with a bias, and with an activation.
pub const WRITTEN: &[Row] = &[
    row("Linear", &[1], matmul).hoisted(),
    row("FusedLinear", &[1], matmul).hoisted(),
];

/// `alpha * a * b`, the axes of either exchanged first; input 2 is a bias.
#[derive(Clone, Debug, Default)]
pub struct MatMul {
    turned: [Turn; 2],
    alpha: Option<f32>,
    activation: Option<Fused>,
}

attributes!(struct MatMul { turned, alpha, activation });

/// How the axes of an operand are exchanged; those of a vector never are.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// The first axis goes behind those of the batch, and becomes the rows.
    batch: bool,
    /// Rows become columns.
    matrix: bool,
}

attributes!(struct Turn { batch, matrix });

/// `alpha * a * b + beta * c`, either matrix transposed first.
#[derive(Clone, Debug)]
pub struct Gemm {
    pub alpha: f32,
    pub beta: f32,
    pub transposed: [bool; 2],
    activation: Option<Fused>,
}

attributes!(struct Gemm { alpha, beta, transposed, activation });

fn matmul(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let turn = |batch: &str, matrix: &str| -> Result<Turn, Problem> {
        Ok(Turn {
            batch: a.flag(batch, false)?,
            matrix: a.flag(matrix, false)?,
        })
    };
    Ok(Rc::new(MatMul {
        turned: [
            turn("transBatchA", "transA")?,
            turn("transBatchB", "transB")?,
        ],
        alpha: a.float("alpha")?.filter(|&alpha| alpha != 1.0),
        activation: None,
    }))
}

fn gemm(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 7 {
        a.ignore(&["broadcast"]);
    }
    Ok(Rc::new(Gemm {
        alpha: a.float_or("alpha", 1.0)?,
        beta: a.float_or("beta", 1.0)?,
        transposed: [a.flag("transA", false)?, a.flag("transB", false)?],
        activation: Fused::of_gemm(a)?,
    }))
}

impl Operator for MatMul {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let [left, right] = self.turned;
        let (a, b) = (left.of(cx.tensor(0)?), right.of(cx.tensor(1)?));
        let shape = product(cx, &a, &b)?;
        cx.output(0, a.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let mut product = self.product(cx)?;
        if let Some(alpha) = self.alpha {
            let alpha = float_literal(f64::from(alpha), DType::F32);
            product = code!(#product.mul_scalar(#alpha));
        }
        let dtype = cx.tensor_type(0)?.dtype;
        Ok(Fused::after(self.activation.as_ref(), product, dtype))
    }
}

impl MatMul {
    /// With an activation behind it, when it has none.
    pub fn followed_by(&self, activation: Fused) -> Option<Self> {
        self.activation.is_none().then(|| MatMul {
            activation: Some(activation),
            ..self.clone()
        })
    }

    /// With the rows and columns of an operand exchanged once more.
    pub fn turned(&self, operand: usize) -> Option<Self> {
        let mut product = self.clone();
        let turn = product.turned.get_mut(operand).filter(|turn| !turn.batch)?;
        turn.matrix = !turn.matrix;
        Some(product)
    }

    /// Times a number, when it is neither scaled nor followed by an activation.
    pub fn times(&self, alpha: f32) -> Option<Self> {
        let plain = self.alpha.is_none() && self.activation.is_none();
        plain.then(|| MatMul {
            alpha: Some(alpha).filter(|&alpha| alpha != 1.0),
            ..self.clone()
        })
    }

    /// Whether nothing is exchanged or scaled, and no activation follows.
    pub fn is_plain(&self) -> bool {
        self.alpha.is_none()
            && self.activation.is_none()
            && self.turned.iter().all(|turn| !turn.batch && !turn.matrix)
    }

    /// The factor and whether either operand is transposed, when there is nothing else to it.
    pub fn scaled(&self) -> Option<(f64, [bool; 2])> {
        let plain = self.activation.is_none() && self.turned.iter().all(|turn| !turn.batch);
        let alpha = self.alpha.map_or(1.0, f64::from);
        plain.then_some((alpha, self.turned.map(|turn| turn.matrix)))
    }

    /// The product with its bias, when it has one.
    fn product(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let [left, right] = self.turned;
        let (a, b) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        if !are_factors(&left.of(a.clone()).shape, &right.of(b.clone()).shape) {
            cx.may_fail();
        }
        let linear = (b.rank(), a.rank(), b.dtype.kind(), right.batch);
        if let (2, 2.., Kind::Float, false) = linear
            && let Some(layer) = linear_layer(cx, right.matrix)?
        {
            let x = left.written(cx.tensor(0)?, a.rank());
            return Ok(code!(#layer.forward(#x)));
        }
        let vector = !cx.has(2) || cx.tensor_type(2)?.rank() == 1;
        if let ((2, 2.., Kind::Float, false), true, true) = (linear, cx.is_weight(1), vector) {
            let x = left.written(cx.tensor(0)?, a.rank());
            let (mut weight, bias) = (cx.tensor(1)?, cx.optional(2)?);
            if right.matrix {
                weight = code!(#weight.transpose());
            }
            return Ok(code!(ops::matmul::linear(#x, #weight, #bias)));
        }
        let product = self.multiplied(cx, &a, &b)?;
        if !cx.has(2) {
            return Ok(product);
        }
        let bias = cx.tensor_of_rank(2, cx.output_tensor(0)?.burn_rank())?;
        Ok(code!(#product.add(#bias)))
    }

    fn multiplied(
        &self,
        cx: &mut Emit<'_, '_>,
        a: &TensorType,
        b: &TensorType,
    ) -> Result<Code, Problem> {
        let [left, right] = self.turned;
        let integers = a.dtype.kind() == Kind::Int;
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

impl Turn {
    /// Which axis stands at each place, or `None` when each keeps its own.
    fn axes(self, rank: usize) -> Option<Vec<usize>> {
        let (true, Some(rows), Some(last)) = (
            self.batch || self.matrix,
            rank.checked_sub(2),
            rank.checked_sub(1),
        ) else {
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

    /// The input with leading axes of size 1 up to `rank`.
    fn operand(self, cx: &mut Emit<'_, '_>, input: usize, rank: usize) -> Result<Code, Problem> {
        let held = cx.tensor_type(input)?.clone();
        let x = self.written(cx.tensor(input)?, held.rank());
        Ok(lifted(x, &self.of(held), rank))
    }

    fn of(self, x: TensorType) -> TensorType {
        match self.axes(x.rank()) {
            Some(axes) => TensorType {
                shape: axes
                    .iter()
                    .filter_map(|&at| x.shape.get(at).cloned())
                    .collect(),
                ..x
            },
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

impl Gemm {
    pub fn has_activation(&self) -> bool {
        self.activation.is_some()
    }
}

impl Operator for Gemm {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (a, b) = (cx.tensor_of_rank(0, 2)?, cx.tensor_of_rank(1, 2)?);
        let side = |shape: &Shape, transposed: bool, outer: usize| {
            shape
                .get(if transposed { 1 - outer } else { outer })
                .cloned()
                .unwrap_or_default()
        };
        let [left, right] = self.transposed;
        let (columns, rows) = (side(&a.shape, left, 1), side(&b.shape, right, 0));
        sizes::equal(
            ("the right matrix", &rows, "rows"),
            ("the left one", &columns, "columns"),
        )?;
        let shape = vec![side(&a.shape, left, 0), side(&b.shape, right, 1)];
        if cx.has(2) {
            sizes::broadcasts("the bias", &cx.tensor(2)?, &shape)?;
        }
        cx.output(0, a.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let product = self.product(cx)?;
        let dtype = cx.tensor_type(0)?.dtype;
        Ok(Fused::after(self.activation.as_ref(), product, dtype))
    }
}

impl Gemm {
    /// With an activation behind it, when it has none.
    pub fn followed_by(&self, activation: Fused) -> Option<Self> {
        self.activation.is_none().then(|| Gemm {
            activation: Some(activation),
            ..self.clone()
        })
    }

    /// With a bias that is added as it is.
    pub fn with_bias(&self) -> Self {
        Gemm {
            beta: 1.0,
            ..self.clone()
        }
    }

    fn product(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let turned = |input: usize, transposed: bool| {
            let mut shape = cx.tensor_type(input)?.shape.clone();
            if transposed {
                shape.reverse();
            }
            Ok(shape)
        };
        let [left, right] = self.transposed;
        if !are_factors(&turned(0, left)?, &turned(1, right)?) {
            cx.may_fail();
        }
        if let Some(layer) = self.linear(cx)? {
            return Ok(layer);
        }
        let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
        let c = if cx.has(2) {
            let (c, y) = (&cx.tensor_type(2)?.shape, &cx.output_tensor(0)?.shape);
            if !broadcast::agree(&[c, y]) {
                cx.may_fail();
            }
            let c = cx.tensor_of_rank(2, 2)?;
            code!(Some(#c))
        } else {
            code!(None)
        };
        let [left, right] = self.transposed;
        let number = |value: f32| float_literal(f64::from(value), DType::F32);
        let (alpha, beta) = (number(self.alpha), number(self.beta));
        Ok(match cx.tensor_type(0)?.dtype.kind() {
            Kind::Int => code!(ops::matmul::gemm_int(#a, #b, #c, #alpha, #beta, #left, #right)),
            _ => code!(ops::matmul::gemm(#a, #b, #c, #alpha, #beta, #left, #right)),
        })
    }

    /// A fully connected layer, when the matrix is a weight and the bias one of rank 1.
    fn linear(&self, cx: &mut Emit<'_, '_>) -> Result<Option<Code>, Problem> {
        let float = cx.tensor_type(1)?.dtype.kind() == Kind::Float;
        if self.alpha != 1.0 || self.beta != 1.0 || self.transposed[0] || !float {
            return Ok(None);
        }
        let columns = cx.output_tensor(0)?.shape.get(1).cloned();
        if cx.has(2) {
            let held = cx.tensor_type(2)?;
            if held.rank() != 1 || held.shape.first() != columns.as_ref() {
                return Ok(None);
            }
        }
        let Some(layer) = linear_layer(cx, self.transposed[1])? else {
            return Ok(None);
        };
        let x = cx.tensor(0)?;
        Ok(Some(code!(#layer.forward(#x))))
    }
}

/// Whether matrices of these sizes are known to have a product, whatever the run.
fn are_factors(a: &Shape, b: &Shape) -> bool {
    let inner = [a.last(), b.get(b.len().saturating_sub(2))];
    let batch = |shape: &Shape| -> Shape {
        let axes = shape.len().saturating_sub(2);
        shape.iter().take(axes).cloned().collect()
    };
    let (left, right) = (batch(a), batch(b));
    inner.first() == inner.last() && broadcast::agree(&[&left, &right])
}

/// The field of a fully connected layer with the matrix of input 1, `[inputs, outputs]` or turned,
/// and the bias of input 2, if they are stored.
fn linear_layer(cx: &mut Emit<'_, '_>, turned: bool) -> Result<Option<Code>, Problem> {
    if !cx.is_stored(1) || cx.has(2) && !cx.is_stored(2) {
        return Ok(None);
    }
    let hint = cx.layer_hint(1);
    let bias = if cx.has(2) {
        cx.weight(2).map(|name| code!(Some(#name)))
    } else {
        Some(code!(None))
    };
    let named = [("weight", 1), ("bias", 2)];
    let held: &[_] = match (cx.weight(1), &bias) {
        (Some(_), Some(_)) => &named,
        _ => &[],
    };
    let load = match (cx.weight(1), bias, turned) {
        (Some(weight), Some(bias), true) => {
            code!(layers::Linear::load_transposed(weights, #weight, #bias))
        }
        (Some(weight), Some(bias), false) => code!(layers::Linear::load(weights, #weight, #bias)),
        (.., turned) => {
            let (weight, bias) = (cx.loaded(1)?, cx.loaded_optional(2)?);
            if turned {
                let weight = whole(weight);
                code!(layers::Linear::new(#weight.transpose(), #bias))
            } else {
                code!(layers::Linear::new(#weight, #bias))
            }
        }
    };
    Ok(Some(cx.layer_of(&hint, code!(layers::Linear), load, held)))
}

/// The shape of a matrix product; leading axes are broadcast, vectors lose their axis.
pub fn product(cx: &mut Infer<'_>, a: &TensorType, b: &TensorType) -> Result<Shape, Problem> {
    if a.rank() == 0 || b.rank() == 0 {
        return Err(Problem::new("a matrix product has no scalar operands"));
    }
    if a.dtype != b.dtype {
        return Err(Problem::new(format!(
            "the operands are of types {} and {}, which must be equal",
            a.dtype, b.dtype
        )));
    }
    let (left, right) = (a.rank().saturating_sub(2), b.rank().saturating_sub(2));
    let columns = a.shape.last().cloned().unwrap_or_default();
    let rows = b
        .shape
        .get(if b.rank() > 1 { right } else { 0 })
        .cloned()
        .unwrap_or_default();
    sizes::equal(
        ("the right operand", &rows, "rows"),
        ("the left one", &columns, "columns"),
    )?;
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
                the right matrix has 7 rows, but the left one has 8 columns
                the right matrix has 7 rows, but the left one has 8 columns
                the bias is float32[4], which does not broadcast to [n, 5]
                the bias is float32[3, 5], which does not broadcast to [2, 5]
                fine
                the right operand has 7 rows, but the left one has 8 columns
                the right operand has n rows, but the left one has n + 1 columns
                fine
            "#]],
        );
    }
}
