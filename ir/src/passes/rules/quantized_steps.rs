//! Operators between dequantization and quantization, computed on integers.

use super::bounds::bounds;
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::ops::normalize::softmax::Softmax;
use crate::ops::quantize::Linear;
use crate::ops::quantize::qlinear::between_scales;
use crate::ops::quantize::qlinear_pool::global_between_scales;
use crate::ops::quantize::qlinear_softmax::softmax_between_scales;
use crate::ops::shape::concat::Concat;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;
use crate::types::Known;

pub const RULES: &[Rule] = &[
    building("requantization", "QuantizeLinear:q(DequantizeLinear:d(x, s, ..), s, ..)", |m| {
        same_scale(m)?;
        m.value("x")
    })
    .shared()
    .law("(q - z)s/s + z rounds to q")
    .example(
        "(uint8[N] x) => (uint8[N] y) <float s = {0.5}, uint8 z = {3}, uint8 one = {1}> {
            d = DequantizeLinear (x, s, z) q = QuantizeLinear (d, s, z) y = BitwiseXor (q, one)
        }",
    ),
    building(
        "quantized data movement",
        "QuantizeLinear:q(Reshape|Flatten|Squeeze|Unsqueeze|Transpose|Slice|Gather|Expand|Tile\
         |DepthToSpace|SpaceToDepth|MaxPool:move(DequantizeLinear:d(x, s, ..), ..), s, ..)",
        |m| {
            same_scale(m)?;
            if m.tensor("s")?.count() != Some(1) {
                return Err("the scale is not per tensor");
            }
            let node = m.node("move")?;
            alone(m, node)?;
            let inputs = replaced(node, m.value("x")?);
            m.made(node.clone(), &inputs)
        },
    )
    .shared()
    .law("moved elements keep their scale, and so does the maximum of several")
    .example(
        "(uint8[N, 2] x) => (uint8[2, N] y) <float s = {0.5}, uint8 z = {3}> {
            d = DequantizeLinear (x, s, z) t = Transpose (d) y = QuantizeLinear (t, s, z)
        }",
    ),
    building("bounds before quantization", "QuantizeLinear:q(Relu|Clip|Max|Min:bound(..), s, ..)", |m| {
        let node = m.node("bound")?;
        alone(m, node)?;
        let dtype = m.result()?.dtype;
        let (least, most) = integers(dtype).ok_or("")?;
        let (x, (low, high)) = bounds(m, node)?;
        let [low, high] = [low, high].map(|bound| quantized(m, bound));
        let (low, high) = (low?, high?);
        let inputs = replaced(m.root(), x);
        let quantized = m.made(m.root().clone(), &inputs)?;
        if (low, high) == (least, most) {
            return Ok(quantized);
        }
        if m.maker(x).is_none_or(|node| &*node.kind != "DequantizeLinear") {
            return Err("NaN may be quantized to another integer");
        }
        let low = (low > least).then(|| m.scalar(low)).transpose()?;
        let high = (high < most).then(|| m.scalar(high)).transpose()?;
        m.call("Clip", &[], &[Some(quantized), low, high])
    })
    .shared()
    .law("quantization is monotonic, so bounds of the floats become bounds of the integers")
    .example(
        "(float[N] x) => (uint8[N] y) <float s = {0.5}, uint8 z = {0}> {
            r = Relu (x) y = QuantizeLinear (r, s, z)
        }",
    ),
    building(
        "quantized operator",
        "QuantizeLinear|com.microsoft.QuantizeLinear:q(Add|Mul|[activation]|Softmax|GlobalAveragePool:step(..), s, ..)",
        |m| {
            let node = m.node("step")?;
            let operands = operands(m, node, 0)?;
            let result = result(m)?;
            let operator = match &*node.kind {
                "GlobalAveragePool" => Some(global_between_scales()),
                "Softmax" => {
                    let rank = m.result()?.rank();
                    let softmax = m.operator::<Softmax>("step")?;
                    softmax.is_along_last(rank).then(softmax_between_scales)
                }
                _ => between_scales(node),
            };
            let operator = operator.ok_or("the operator has no quantized version")?;
            let name = node.kind.trim_start_matches("com.microsoft.");
            let kind = format!("com.microsoft.QLinear{name}").into();
            let like = Node { kind, version: 1, operator, ..m.root().clone() };
            m.made(like, &[operands, result].concat())
        },
    )
    .shared()
    .law("one quantized operator, which rounds like the three operators")
    .example(
        "(uint8[N] a, uint8[N] b) => (uint8[N] y) <float s = {0.5}, float t = {0.25}, uint8 z = {3}> {
            c = DequantizeLinear (a, s, z) d = DequantizeLinear (b, t, z)
            e = Add (c, d) y = QuantizeLinear (e, t, z)
        }",
    ),
    building(
        "quantized concatenation",
        "QuantizeLinear|com.microsoft.QuantizeLinear:q(Concat:step(..), s, ..)",
        |m| {
            let node = m.node("step")?;
            let operands = operands(m, node, 0)?;
            let rank = m.result()?.rank();
            let axis = m.operator::<Concat>("step")?.along(rank).ok_or("the axis is out of range")?;
            let axis = Setting::Int(i64::try_from(axis).unwrap_or(0));
            let inputs = [result(m)?, operands].concat();
            m.call("com.microsoft.QLinearConcat", &[("axis", axis)], &inputs)
        },
    )
    .shared()
    .law("inputs with different scales are concatenated in the scale of the result")
    .example(
        "(uint8[N] a, uint8[N] b) => (uint8[M] y) <float s = {0.5}, float t = {0.25}, uint8 z = {3}> {
            c = DequantizeLinear (a, s, z) d = DequantizeLinear (b, t, z)
            e = Concat <axis = 0> (c, d) y = QuantizeLinear (e, t, z)
        }",
    ),
    building(
        "quantized selection",
        "QuantizeLinear|com.microsoft.QuantizeLinear:q(Where:step(c, x, y), s, ..)",
        |m| {
            let node = m.node("step")?;
            let condition = vec![Some(m.value("c")?)];
            let inputs = [condition, operands(m, node, 1)?, result(m)?].concat();
            m.call("com.microsoft.QLinearWhere", &[], &inputs)
        },
    )
    .shared()
    .law("elements with different scales are selected in the scale of the result")
    .example(
        "(bool[N] c, uint8[N] a, uint8[N] b) => (uint8[N] y)
        <float s = {0.5}, float t = {0.25}, uint8 z = {3}> {
            d = DequantizeLinear (a, s, z) e = DequantizeLinear (b, t, z)
            f = Where (c, d, e) y = QuantizeLinear (f, t, z)
        }",
    ),
];

/// Quantized values.
#[derive(Clone, Copy)]
pub struct Scaled {
    pub x: ValueId,
    pub scale: ValueId,
    pub zero: Option<ValueId>,
}

/// Returns the integers from which a value is dequantized when the model is loaded or runs, and the axis of the scales.
pub fn scaled(m: &Match<'_, '_>, id: ValueId) -> Result<(Scaled, i64), Miss> {
    let maker = m.value_of(id).maker.clone();
    let node = maker.as_deref().or(m.maker(id)).ok_or("")?;
    let linear = node.operator_as::<Linear>().filter(|linear| linear.is_back() && linear.block() == 0);
    let (Some(linear), Some(x), Some(scale)) = (linear, node.input(0), node.input(1)) else {
        return Err("");
    };
    if m.tensor_of(id)?.dtype != DType::F32 {
        return Err("the dequantized values are not `float32`");
    }
    Ok((Scaled { x, scale, zero: node.input(2) }, linear.axis()))
}

/// Returns the integers from which a value is dequantized with one scale, the scale and the zero point.
pub fn operand(m: &mut Match<'_, '_>, id: ValueId) -> Result<[Option<ValueId>; 3], Miss> {
    let (quantized, _) = scaled(m, id)?;
    one(m, quantized.scale)?;
    inputs(m, quantized)
}

/// Returns integers, scale and zero point as inputs of an operator on integers. A missing zero point is added.
pub fn inputs(m: &mut Match<'_, '_>, quantized: Scaled) -> Result<[Option<ValueId>; 3], Miss> {
    if m.tensor_of(quantized.scale)?.dtype != DType::F32 {
        return Err("the scale is not `float32`");
    }
    let zero = match quantized.zero {
        Some(zero) => zero,
        None => {
            let dtype = m.tensor_of(quantized.x)?.dtype;
            m.constant(dtype, Vec::new(), Known::Ints(vec![0.into()]))
        }
    };
    Ok([Some(quantized.x), Some(quantized.scale), Some(zero)])
}

/// Returns the scale and the zero point of the result.
pub fn result(m: &mut Match<'_, '_>) -> Result<Vec<Option<ValueId>>, Miss> {
    let q = m.node("q")?;
    let (x, scale) = (q.output(0).ok_or("")?, m.value("s")?);
    one(m, scale)?;
    let [_, scale, zero] = inputs(m, Scaled { x, scale, zero: q.input(2) })?;
    Ok(vec![scale, zero])
}

/// Fails if the result of an intermediate node has other consumers.
pub fn alone(m: &Match<'_, '_>, node: &Node) -> Result<(), Miss> {
    match node.output(0).map(|id| m.uses(id)) {
        Some(1) => Ok(()),
        _ => Err("an intermediate value has other consumers"),
    }
}

fn one(m: &Match<'_, '_>, scale: ValueId) -> Result<(), Miss> {
    let is_one = m.tensor_of(scale)?.count() == Some(1);
    if is_one { Ok(()) } else { Err("the scale is not per tensor") }
}

/// Returns the integers of a node's operands from index `first` on, with their scales and zero points.
fn operands(m: &mut Match<'_, '_>, node: &Node, first: usize) -> Result<Vec<Option<ValueId>>, Miss> {
    alone(m, node)?;
    let mut all = Vec::new();
    for &id in node.inputs.iter().skip(first).flatten() {
        all.extend(operand(m, id)?);
    }
    Ok(all)
}

/// Returns the inputs of a node with another first input.
fn replaced(node: &Node, first: ValueId) -> Vec<Option<ValueId>> {
    let rest = node.inputs.iter().skip(1).copied();
    [Some(first)].into_iter().chain(rest).collect()
}

/// Fails unless integers are dequantized and quantized with the same scale, which must not be extremely small or large.
fn same_scale(m: &mut Match<'_, '_>) -> Result<(), Miss> {
    let (q, d) = (m.operator::<Linear>("q")?, m.operator::<Linear>("d")?);
    let zero = |label| m.node(label).map(|node| node.input(2));
    if q.axis() != d.axis() || q.block() != d.block() || zero("q")? != zero("d")? {
        return Err("the zero points, axes or block sizes differ");
    }
    let (scale, x) = (m.tensor("s")?, m.tensor("x")?);
    let between = m.node("d")?.output(0).ok_or("the node has no output")?;
    let single = scale.dtype == DType::F32 && m.tensor_of(between)?.dtype == DType::F32;
    let exact = single && x.dtype.is_int() && x.dtype.bits() <= 16;
    let usual = |scale: &f64| (1e-30..1e30).contains(scale);
    match m.value_of(m.value("s")?).known.read() {
        Some(Known::Floats(all)) if exact && all.iter().all(usual) => Ok(()),
        _ => Err("the scale is not constant, or may not restore the integers exactly"),
    }
}

/// Returns the smallest and the largest integer of a type.
fn integers(dtype: DType) -> Option<(f64, f64)> {
    let bits = i32::try_from(dtype.bits()).ok()?;
    let count = 2f64.powi(bits);
    match (dtype.is_int() && bits <= 16, dtype.is_signed()) {
        (true, true) => Some((-count / 2.0, count / 2.0 - 1.0)),
        (true, false) => Some((0.0, count - 1.0)),
        _ => None,
    }
}

/// Quantizes a number with the scale of the result.
fn quantized(m: &Match<'_, '_>, number: f64) -> Result<f64, Miss> {
    let (q, dtype) = (m.node("q")?, m.result()?.dtype);
    let scale = m.uniform(m.value("s")?).filter(|scale| *scale > 0.0);
    let scale = scale.ok_or("the scale is not a positive constant")?;
    let zero = match q.input(2) {
        Some(zero) => m.uniform(zero).ok_or("the zero point is not constant")?,
        None => 0.0,
    };
    let (least, most) = integers(dtype).ok_or("")?;
    let quotient = f64::from(number as f32 / scale as f32);
    Ok((quotient.round_ties_even() + zero).clamp(least, most))
}

#[cfg(test)]
mod tests;
