//! Products of dequantized integers, computed on integers.

use super::quantized_steps::{alone, inputs, operand, result, scaled};
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::ops::convolution::conv::Conv;
use crate::ops::product::matmul::{Gemm, MatMul};
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;
use crate::types::Known;

pub const RULES: &[Rule] = &[
    building("quantized convolution", "QuantizeLinear:q(Conv:product(x, $weight, ..), s, ..)", |m| {
        let (node, x) = (m.node("product")?, m.value("x")?);
        alone(m, node)?;
        let x = operand(m, x)?;
        let weight = channels(m, m.value("weight")?, 0)?;
        let bias = bias(m, node.input(2), x, weight)?;
        let operator = m.operator::<Conv>("product")?.of_integers();
        let operator = operator.ok_or("the product already has an activation")?;
        if node.inputs.len() > 3 {
            return Err("the product already has an addend");
        }
        let inputs = [&x[..], &weight, &result(m)?, &[bias]].concat();
        let like = Node { kind: "QLinearConv".into(), version: 10, operator, ..m.root().clone() };
        m.made(like, &inputs)
    })
    .shared()
    .law("Σ (x - z)s(w - y)t = st Σ (x - z)(w - y); the integers are summed exactly")
    .example(
        "(uint8[N, 1, 3] x) => (uint8[N, 1, 2] y)
        <float s = {0.5}, float t = {0.25}, uint8 z = {3}, int8[1, 1, 2] w = {1, 2}, int32[1] b = {1}, float u = {0.125}> {
            d = DequantizeLinear (x, s, z) v = DequantizeLinear (w, t) a = DequantizeLinear (b, u)
            c = Conv (d, v, a) y = QuantizeLinear (c, s, z)
        }",
    ),
    building("quantized matrix product", "QuantizeLinear:q(MatMul:product(a, b), s, ..)", |m| {
        alone(m, m.node("product")?)?;
        if !m.operator::<MatMul>("product")?.is_plain() {
            return Err("the product is scaled, transposed or activated");
        }
        let (a, b) = (operand(m, m.value("a")?)?, m.value("b")?);
        let last = m.tensor_of(b)?.rank().saturating_sub(1);
        let b = channels(m, b, last)?;
        let inputs = [&a[..], &b, &result(m)?].concat();
        m.call("QLinearMatMul", &[], &inputs)
    })
    .shared()
    .law("the integers are summed exactly")
    .example(
        "(uint8[N, 2] x) => (uint8[N, 2] y)
        <float s = {0.5}, float[2] t = {0.25, 1}, uint8 z = {3}, int8[2, 2] w = {1, 2, 3, 4}> {
            d = DequantizeLinear (x, s, z) v = DequantizeLinear <axis = 1> (w, t)
            c = MatMul (d, v) y = QuantizeLinear (c, s, z)
        }",
    ),
    building("quantized Gemm", "QuantizeLinear:q(Gemm:product(a, $weight, ..), s, ..)", |m| {
        let (node, gemm) = (m.node("product")?, m.operator::<Gemm>("product")?);
        alone(m, node)?;
        if gemm.beta != 1.0 || gemm.has_activation() {
            return Err("the bias is scaled, or the product already has an activation");
        }
        let a = operand(m, m.value("a")?)?;
        let weight = channels(m, m.value("weight")?, usize::from(!gemm.transposed[1]))?;
        if gemm.alpha != 1.0 && node.input(2).is_some() {
            return Err("the product is scaled");
        }
        let bias = bias(m, node.input(2), a, weight)?;
        let flag = |at: usize| Setting::Int(gemm.transposed.get(at).copied().unwrap_or(false).into());
        let settings = [
            ("transA", flag(0)),
            ("transB", flag(1)),
            ("alpha", Setting::Float(gemm.alpha)),
        ];
        let inputs = [&a[..], &weight, &[bias], &result(m)?].concat();
        m.call("com.microsoft.QGemm", &settings, &inputs)
    })
    .shared()
    .law("the integers are summed exactly")
    .example(
        "(uint8[N, 2] x) => (uint8[N, 2] y)
        <float s = {0.5}, float t = {0.25}, uint8 z = {3}, int8[2, 2] w = {1, 2, 3, 4}> {
            d = DequantizeLinear (x, s, z) v = DequantizeLinear (w, t)
            c = Gemm <transB = 1> (d, v) y = QuantizeLinear (c, s, z)
        }",
    ),
    building(
        "dequantized integer product",
        "Cast:cast(MatMulInteger:product(a, b, ..)) * scale * factor",
        |m| {
            let (node, cast) = (m.node("product")?, m.node("cast")?);
            alone(m, node)?;
            alone(m, cast)?;
            let (scale, factor) = (m.value("scale")?, m.value("factor")?);
            // The scale of the operand that is quantized at run time must be the first factor.
            if m.value_of(scale).is_constant() && !m.value_of(factor).is_constant() {
                return Err("");
            }
            let channels = m.tensor("b")?.shape.last().cloned();
            let fits = |id: ValueId| m.tensor_of(id).is_ok_and(|tensor| tensor.count() == Some(1) && tensor.rank() < 2);
            let wide = m.tensor("factor")?;
            if !fits(scale) || !(fits(factor) || wide.rank() == 1 && wide.shape.last() == channels.as_ref()) {
                return Err("the scales are not per tensor and per channel");
            }
            if m.result()?.dtype != DType::F32 {
                return Err("the result is not `float32`");
            }
            let zero = |at: usize| node.input(at);
            let inputs = [zero(0), zero(1), Some(scale), Some(factor), zero(2), zero(3)];
            m.call("com.microsoft.MatMulIntegerToFloat", &[], &inputs)
        },
    )
    .shared()
    .law("the integer sums times both scales are the dequantized product")
    .example(
        "(uint8[N, 2] x, float s) => (float[N, 2] y) <int8[2, 2] w = {1, 2, 3, 4}, float t = {0.5}, uint8 z = {3}> {
            p = MatMulInteger (x, w, z) c = Cast <to = 1> (p) f = Mul (s, t) y = Mul (c, f)
        }",
    ),
    building(
        "bias of an integer product",
        "com.microsoft.MatMulIntegerToFloat|com.microsoft.DynamicQuantizeMatMul:product(a, \
             b, c, ..) + $bias",
        |m| {
            let node = m.node("product")?;
            let bias = m.value("bias")?;
            let channels = m.tensor("b")?.shape.last().cloned();
            if m.tensor_of(bias)?.shape.as_slice() != channels.as_slice() {
                return Err("the bias is not one number for each channel");
            }
            let at = if node.kind.ends_with("ToFloat") { 6 } else { 4 };
            if node.input(at).is_some() {
                return Err("the product already has a bias");
            }
            let mut inputs = node.inputs.clone();
            inputs.resize(at, None);
            inputs.push(Some(bias));
            m.made(node.clone(), &inputs)
        },
    )
    .law("a bias is added to the dequantized product")
    .example(
        "(uint8[N, 2] x, float s) => (float[N, 2] y)
        <int8[2, 2] w = {1, 2, 3, 4}, float t = {0.5}, uint8 z = {3}, float[2] b = {1, 2}> {
            p = MatMulInteger (x, w, z) c = Cast <to = 1> (p) f = Mul (s, t) m = Mul (c, f) y = Add (m, b)
        }",
    ),
    building(
        "dynamically quantized product",
        "com.microsoft.MatMulIntegerToFloat:product(a, b, s, ..)",
        |m| {
            let (node, a) = (m.root(), m.value("a")?);
            let quantized = |at: usize, output: usize| {
                let (maker, from) = m.source(node.input(at)?)?;
                let fits = &*maker.kind == "DynamicQuantizeLinear" && from == output;
                fits.then_some(maker.input(0)?)
            };
            let (Some(x), Some(y), Some(z)) = (quantized(0, 0), quantized(2, 1), quantized(4, 2)) else {
                return Err("");
            };
            if x != y || y != z {
                return Err("");
            }
            if m.uses(a) > 1 {
                return Err("the quantized operand has other consumers");
            }
            let inputs = [Some(x), node.input(1), node.input(3), node.input(5), node.input(6)];
            m.call("com.microsoft.DynamicQuantizeMatMul", &[], &inputs)
        },
    )
    .law("floats that are quantized only for this product")
    .example(
        "(float[N, 2] x) => (float[N, 2] y) <int8[2, 2] w = {1, 2, 3, 4}, float t = {0.5}> {
            q, s, z = DynamicQuantizeLinear (x) p = MatMulInteger (q, w, z) c = Cast <to = 1> (p)
            f = Mul (s, t) y = Mul (c, f)
        }",
    ),
];

/// Returns the integers of a dequantized constant with its scale and zero point, per tensor or per index of an axis.
fn channels(m: &mut Match<'_, '_>, id: ValueId, along: usize) -> Result<[Option<ValueId>; 3], Miss> {
    let rank = m.tensor_of(id)?.rank();
    let (quantized, axis) = scaled(m, id)?;
    let scale = m.tensor_of(quantized.scale)?;
    let axis = if axis < 0 { axis.checked_add_unsigned(rank as u64) } else { Some(axis) };
    let fits = axis.and_then(|axis| usize::try_from(axis).ok()) == Some(along);
    if scale.count() == Some(1) || fits {
        inputs(m, quantized)
    } else {
        Err("the scales vary along an axis other than the channels")
    }
}

/// Returns the integers of a bias, whose scale must be that of the sums.
fn bias(
    m: &Match<'_, '_>,
    bias: Option<ValueId>,
    [_, x, _]: [Option<ValueId>; 3],
    [_, weight, _]: [Option<ValueId>; 3],
) -> Result<Option<ValueId>, Miss> {
    let Some(id) = bias else { return Ok(None) };
    let (quantized, _) = scaled(m, id).map_err(|_| "the bias is not quantized")?;
    let numbers = |id: Option<ValueId>| match id.and_then(|id| m.value_of(id).known.read()) {
        Some(Known::Floats(all)) => Ok(all.clone()),
        _ => Err("the scales are known only at run time"),
    };
    let (own, x, weight) = (numbers(Some(quantized.scale))?, numbers(x)?, numbers(weight)?);
    let x = x.first().copied().unwrap_or(0.0);
    let count = own.len().max(weight.len());
    let at = |all: &[f64], at: usize| all.get(if all.len() == 1 { 0 } else { at }).copied().unwrap_or(0.0);
    let near = |index: usize| {
        let product = x * at(&weight, index);
        (at(&own, index) - product).abs() <= product.abs() * 1e-5
    };
    let zero = quantized.zero.is_none_or(|zero| m.uniform(zero) == Some(0.0));
    if m.tensor_of(quantized.x)?.dtype == DType::I32 && zero && (0..count).all(near) {
        Ok(Some(quantized.x))
    } else {
        Err("the bias is not `int32` with the scale of the sums")
    }
}

#[cfg(test)]
mod tests;
