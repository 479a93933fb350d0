//! Gemm: products of two matrices plus a third.

use std::rc::Rc;

use super::are_factors;
use super::linear::linear_layer;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::elementwise::activation::Fused;
use crate::ops::{Operator, broadcast, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::Shape;

/// `alpha * a * b + beta * c`. Either operand may be transposed.
#[derive(Clone, Debug)]
pub struct Gemm {
    pub alpha: f32,
    pub beta: f32,
    pub transposed: [bool; 2],
    activation: Option<Fused>,
}

attributes!(struct Gemm { alpha, beta, transposed, activation });

pub(super) fn gemm(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
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

impl Gemm {
    pub fn has_activation(&self) -> bool {
        self.activation.is_some()
    }

    /// Returns `true` for a fully connected layer, if B is a weight.
    pub fn is_layer(&self) -> bool {
        self.alpha == 1.0 && self.beta == 1.0 && !self.transposed[0]
    }

    /// Returns whether B is transposed, if the product has no other option than an activation.
    pub fn transposes_weight(&self) -> Option<bool> {
        self.is_layer().then_some(self.transposed[1])
    }
}

impl Operator for Gemm {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (a, b) = (cx.tensor_of_rank(0, 2)?, cx.tensor_of_rank(1, 2)?);
        let side = |shape: &Shape, transposed: bool, outer: usize| {
            shape.get(if transposed { 1 - outer } else { outer }).cloned().unwrap_or_default()
        };
        let [left, right] = self.transposed;
        let (columns, rows) = (side(&a.shape, left, 1), side(&b.shape, right, 0));
        sizes::equal(("the right matrix", &rows, "rows"), ("the left matrix", &columns, "columns"))?;
        let shape = vec![side(&a.shape, left, 0), side(&b.shape, right, 1)];
        if cx.has(2) {
            sizes::broadcasts("the bias", &cx.tensor(2)?, &shape)?;
        }
        cx.output(0, a.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        self.product(cx)
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let rows_of_left = usize::from(self.transposed[0]);
        let is_product = rows.axis(0) == Some(rows_of_left) && rows.is_whole(1);
        (is_product && rows.broadcasts(2, 0, 2)).then(|| vec![0])
    }
}

impl Gemm {
    /// Appends an activation, unless there is one.
    pub fn followed_by(&self, activation: Fused) -> Option<Self> {
        self.activation.is_none().then(|| Gemm { activation: Some(activation), ..self.clone() })
    }

    /// Sets the factor of the bias to 1.
    pub fn with_bias(&self) -> Self {
        Gemm { beta: 1.0, ..self.clone() }
    }

    fn product(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let side = |input: usize, transposed: bool| {
            let mut shape = cx.tensor_type(input)?.shape.clone();
            if transposed {
                shape.reverse();
            }
            Ok(shape)
        };
        let [left, right] = self.transposed;
        if !are_factors(&side(0, left)?, &side(1, right)?) {
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
        let dtype = cx.tensor_type(0)?.dtype;
        let product = match dtype.kind() {
            ElementClass::Int => code!(ops::matmul::gemm_int(#a, #b, #c, #alpha, #beta, #left, #right)),
            _ => code!(ops::matmul::gemm(#a, #b, #c, #alpha, #beta, #left, #right)),
        };
        Ok(Fused::after(self.activation.as_ref(), product, dtype))
    }

    /// Returns a fully connected layer, if B is a weight and the bias has rank 1.
    fn linear(&self, cx: &mut Emit<'_, '_>) -> Result<Option<Code>, Problem> {
        let dtype = cx.tensor_type(1)?.dtype;
        if !self.is_layer() || dtype.kind() != ElementClass::Float || !cx.is_layer_constant(1) {
            return Ok(None);
        }
        let columns = cx.output_tensor(0)?.shape.get(1).cloned();
        if cx.has(2) {
            let tensor = cx.tensor_type(2)?;
            if tensor.rank() != 1 || tensor.shape.first() != columns.as_ref() {
                return Ok(None);
            }
        }
        let activation = self.activation.as_ref().map(|fused| fused.code(dtype));
        let x = cx.tensor(0)?;
        linear_layer(cx, x, self.transposed[1], None, activation).map(Some)
    }
}
