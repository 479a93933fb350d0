//! Matrix products.

use std::rc::Rc;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Operator, Row, broadcast, row};
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, Kind};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::types::{Shape, TensorType};

pub const ROWS: &[Row] = &[
    row("MatMul", &[1, 9, 13], |_| Ok(Rc::new(MatMul))),
    row("Gemm", &[1, 6, 7, 9, 11, 13], gemm),
];

#[derive(Debug)]
struct MatMul;

/// `alpha * a * b + beta * c`, either matrix transposed first.
#[derive(Debug)]
struct Gemm {
    alpha: f32,
    beta: f32,
    transposed: [bool; 2],
}

fn gemm(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 7 {
        a.ignore(&["broadcast"]);
    }
    Ok(Rc::new(Gemm {
        alpha: a.float_or("alpha", 1.0)?,
        beta: a.float_or("beta", 1.0)?,
        transposed: [a.flag("transA", false)?, a.flag("transB", false)?],
    }))
}

impl Operator for MatMul {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
        let shape = product(cx, &a, &b)?;
        cx.output(0, a.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let (a, b) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        if let (Some(weight), 2, 2.., Kind::Float) =
            (cx.weight(1), b.rank(), a.rank(), b.dtype.kind())
        {
            let hint = cx.layer_hint(1);
            let x = cx.tensor(0)?;
            let load = quote!(layers::Linear::load(weights, #weight, None));
            let layer = cx.layer(&hint, quote!(layers::Linear), load);
            return Ok(quote!(#layer.forward(#x)));
        }
        let integers = a.dtype.kind() == Kind::Int;
        if integers || a.rank() < 2 || b.rank() < 2 {
            let (left, right) = (cx.tensor(0)?, cx.tensor(1)?);
            let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
            return Ok(match integers {
                true => quote!(ops::matmul::matmul_int::<_, _, #rank>(#left, #right)),
                false => quote!(ops::matmul::matmul::<_, _, #rank>(#left, #right)),
            });
        }
        let rank = a.rank().max(b.rank());
        let (left, right) = (cx.tensor_of_rank(0, rank)?, cx.tensor_of_rank(1, rank)?);
        Ok(quote!(#left.matmul(#right)))
    }
}

impl Operator for Gemm {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (a, b) = (cx.tensor_of_rank(0, 2)?, cx.tensor_of_rank(1, 2)?);
        let side = |shape: &Shape, transposed: bool, outer: usize| {
            shape.get(if transposed { 1 - outer } else { outer }).cloned().unwrap_or_default()
        };
        let [left, right] = self.transposed;
        let shape = vec![side(&a.shape, left, 0), side(&b.shape, right, 1)];
        cx.output(0, a.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        if let Some(layer) = self.linear(cx)? {
            return Ok(layer);
        }
        let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
        let c = match cx.has(2) {
            true => {
                let c = cx.tensor_of_rank(2, 2)?;
                quote!(Some(#c))
            }
            false => quote!(None),
        };
        let [left, right] = self.transposed;
        let number = |value: f32| float_literal(f64::from(value), DType::F32);
        let (alpha, beta) = (number(self.alpha), number(self.beta));
        Ok(match cx.tensor_type(0)?.dtype.kind() {
            Kind::Int => quote!(ops::matmul::gemm_int(#a, #b, #c, #alpha, #beta, #left, #right)),
            _ => quote!(ops::matmul::gemm(#a, #b, #c, #alpha, #beta, #left, #right)),
        })
    }
}

impl Gemm {
    /// A fully connected layer, when the matrix is a weight and the bias one of rank 1.
    fn linear(&self, cx: &mut Emit<'_, '_>) -> Result<Option<TokenStream>, Problem> {
        let float = cx.tensor_type(1)?.dtype.kind() == Kind::Float;
        if self.alpha != 1.0 || self.beta != 1.0 || self.transposed[0] || !float {
            return Ok(None);
        }
        let columns = cx.output_tensor(0)?.shape.get(1).cloned();
        let bias = match cx.has(2) {
            true => {
                let held = cx.tensor_type(2)?;
                let whole = held.rank() == 1 && held.shape.first() == columns.as_ref();
                match cx.weight(2).filter(|_| whole) {
                    Some(name) => quote!(Some(#name)),
                    None => return Ok(None),
                }
            }
            false => quote!(None),
        };
        let Some(weight) = cx.weight(1) else {
            return Ok(None);
        };
        let hint = cx.layer_hint(1);
        let x = cx.tensor(0)?;
        let load = match self.transposed[1] {
            true => quote!(layers::Linear::load_transposed(weights, #weight, #bias)),
            false => quote!(layers::Linear::load(weights, #weight, #bias)),
        };
        let layer = cx.layer(&hint, quote!(layers::Linear), load);
        Ok(Some(quote!(#layer.forward(#x))))
    }
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
    let inner_a = a.shape.last().and_then(Dim::number);
    let inner_b = b.shape.get(if b.rank() > 1 { right } else { 0 }).and_then(Dim::number);
    if let (Some(x), Some(y)) = (inner_a, inner_b)
        && x != y
    {
        return Err(Problem::new(format!("the inner sizes are {x} and {y}, which must be equal")));
    }
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
