//! QLinearAdd and related operators on quantized values.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::graph::Node;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::elementwise::activation::Fused;
use crate::ops::index::select::check_condition;
use crate::ops::quantize::affine::{self, BYTE, WIDE};
use crate::ops::shape::concat;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::Shape;

pub const ROWS: &[Row] = &[
    row("QLinearAdd", &[1], |_| elementwise("add", &PAIR)).arity("rrorroro", "r").of(MICROSOFT),
    row("QLinearMul", &[1], |_| elementwise("mul", &PAIR)).arity("rrorroro", "r").of(MICROSOFT),
    row("QLinearSigmoid", &[1], |_| elementwise("sigmoid", &ONE)).arity("rroro", "r").of(MICROSOFT),
    row("QLinearLeakyRelu", &[1], leaky_relu).arity("rroro", "r").of(MICROSOFT),
    row("QLinearWhere", &[1], |_| elementwise("choose", &CHOICE)).arity("rrrrrrrrr", "r").of(MICROSOFT),
    row("QLinearConcat", &[1], joined).arity("rr+", "r").of(MICROSOFT),
];

/// A function of the kernels on single elements.
#[derive(Debug)]
struct Elementwise {
    function: &'static str,
    layout: &'static InputLayout,
    /// Slope below 0.
    alpha: Option<f32>,
    activation: Option<Fused>,
    /// Whether it rounds like the sequence of DequantizeLinear, the function and QuantizeLinear.
    in_steps: bool,
}

attributes!(struct Elementwise { function, layout, alpha, activation, in_steps });

/// Indices of the inputs. Scale and zero point follow each operand.
#[derive(Debug)]
struct InputLayout {
    condition: Option<usize>,
    operands: &'static [usize],
    /// Index of the scale of the result, followed by its zero point.
    result: usize,
    /// Index of a float bias along the last axis.
    bias: Option<usize>,
}

attributes!(struct InputLayout { condition, operands, result, bias });

const ONE: InputLayout = InputLayout { condition: None, operands: &[0], result: 3, bias: None };

const BIASED: InputLayout = InputLayout { condition: None, operands: &[0], result: 3, bias: Some(5) };

const PAIR: InputLayout = InputLayout { condition: None, operands: &[0, 3], result: 6, bias: None };

const CHOICE: InputLayout = InputLayout { condition: Some(0), operands: &[1, 4], result: 7, bias: None };

/// Concatenation of tensors with separate scales and zero points.
#[derive(Debug)]
struct Concat {
    axis: i64,
}

attributes!(struct Concat { axis });

fn elementwise(function: &'static str, layout: &'static InputLayout) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Elementwise { function, layout, alpha: None, activation: None, in_steps: false }))
}

fn leaky_relu(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Elementwise {
        function: "leaky_relu",
        layout: &ONE,
        alpha: Some(a.float_or("alpha", 0.01)?),
        activation: None,
        in_steps: false,
    }))
}

fn joined(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Concat { axis: a.required("axis", Attributes::int)? }))
}

/// Returns the operator that computes the same integers as DequantizeLinear, a node on floats, and QuantizeLinear. The
/// node is a sum, an elementwise product, or has the fact `activation`.
pub fn between_scales(step: &Node) -> Option<Rc<dyn Operator>> {
    let (function, layout, activation) = match &*step.kind {
        "Add" => ("add", &PAIR, None),
        "Mul" => ("mul", &PAIR, None),
        _ => ("activate", &ONE, Some(activation(step)?)),
    };
    Some(Rc::new(Elementwise { function, layout, alpha: None, activation, in_steps: true }))
}

/// Returns an activation between scales. Relu is none of them: it becomes a bound of the integers.
fn activation(step: &Node) -> Option<Fused> {
    Fused::of(step).filter(|_| &*step.kind != "Relu")
}

/// [`between_scales`] for the sum with a bias, to which an optional function is applied.
pub fn biased_between_scales(step: Option<&Node>) -> Option<Rc<dyn Operator>> {
    let activation = match step {
        Some(step) => Some(activation(step)?),
        None => None,
    };
    Some(Rc::new(Elementwise {
        function: "activate_biased",
        layout: &BIASED,
        alpha: None,
        activation,
        in_steps: true,
    }))
}

/// Returns the problem of an operand and a result of different element types.
pub fn other_type(input: usize, dtype: DType, result: DType) -> Problem {
    Problem::new(format!("input {input} has type {dtype}, but the result has type {result}"))
}

impl Operator for Elementwise {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let mut shapes: Vec<Shape> = Vec::new();
        if let Some(condition) = self.layout.condition {
            let condition = cx.tensor(condition)?;
            check_condition(&condition)?;
            shapes.push(condition.shape);
        }
        let bits = if self.in_steps { WIDE } else { BYTE };
        let result = self.layout.result;
        let mut dtype = affine::check_of(cx, result, result.saturating_add(1), bits)?;
        for &operand in self.layout.operands {
            let x = affine::quantized_of(cx, operand, bits)?;
            let result = *dtype.get_or_insert(x.dtype);
            if result != x.dtype && self.activation.is_none() && self.layout.bias.is_none() {
                return Err(other_type(operand, x.dtype, result));
            }
            shapes.push(x.shape);
        }
        if let Some(bias) = self.layout.bias {
            cx.tensor(bias)?;
        }
        let shape = broadcast::shape(cx, &shapes)?;
        cx.output(0, dtype.unwrap_or(DType::U8), shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let output = cx.output_tensor(0)?.clone();
        let rank = output.burn_rank();
        let mut inputs = Vec::new();
        if let Some(condition) = self.layout.condition {
            inputs.push(cx.tensor_of_rank(condition, rank)?);
        }
        for &operand in self.layout.operands {
            inputs.push(affine::pair(cx, operand, rank)?);
        }
        if let Some(bias) = self.layout.bias {
            inputs.push(cx.tensor_of_rank(bias, 1)?);
        }
        let result = self.layout.result;
        inputs.push(affine::emit(cx, result, result + 1, output.dtype)?);
        let alpha = self.alpha.map(|alpha| float_literal(f64::from(alpha), DType::F32));
        inputs.extend(alpha);
        let activation = self.activation.as_ref();
        inputs.extend(activation.map(|activation| activation.code(DType::F32)));
        if activation.is_none() && self.layout.bias.is_some() {
            inputs.push(code!(Activation::Identity));
        }
        let function = format_ident!("{}", self.function);
        if self.in_steps {
            return Ok(code!(ops::quantize::steps::#function(#(#inputs),*)));
        }
        Ok(code!(ops::quantize::#function(#(#inputs),*)))
    }

    fn wants_host(&self, input: usize) -> bool {
        let layout = self.layout;
        ![layout.condition, layout.bias].contains(&Some(input)) && !layout.operands.contains(&input)
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let InputLayout { condition, operands, bias, .. } = *self.layout;
        let (at, rank) = (rows.axis_of_output()?, rows.output(0)?.rank());
        let broadcasts = |input: usize| {
            if operands.contains(&input) || [condition, bias].contains(&Some(input)) {
                rows.broadcasts(input, at, rank)
            } else {
                rows.is_whole(input)
            }
        };
        (0..rows.inputs()).all(broadcasts).then(|| vec![at])
    }
}

impl Operator for Concat {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let dtype = affine::check(cx, 0, 1)?.unwrap_or(DType::U8);
        let parts = (2..cx.inputs()).step_by(3).map(|at| affine::quantized(cx, at));
        let parts = parts.collect::<Result<Vec<_>, Problem>>()?;
        let shapes: Vec<&Shape> = parts.iter().map(|part| &part.shape).collect();
        let Some(first) = shapes.first() else {
            return Err(Problem::missing("input 2"));
        };
        if let Some((at, part)) = (0..).zip(&parts).find(|(_, part)| part.rank() != first.len()) {
            let (what, expected) = (format!("input {}", 2 + 3 * at), format!("rank {}", first.len()));
            return Err(Problem::expected(what, part, expected));
        }
        let axis = axis(self.axis, first.len())?;
        let shape = concat::shape(cx, &shapes, axis)?;
        cx.output(0, dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let output = cx.output_tensor(0)?.clone();
        let (rank, result) = (output.rank(), affine::emit(cx, 0, 1, output.dtype)?);
        let parts = (2..cx.inputs()).step_by(3).map(|at| affine::pair(cx, at, rank));
        let parts = parts.collect::<Result<Vec<_>, Problem>>()?;
        let axis = Literal::usize_unsuffixed(axis(self.axis, rank)?);
        Ok(code!(ops::quantize::concat(vec![#(#parts),*], #result, #axis)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input < 2 || input % 3 != 2
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (at, rank) = (rows.axis(2)?, rows.output(0)?.rank());
        let agrees = |input: usize| match input >= 2 && input % 3 == 2 {
            true => rows.axis(input) == Some(at),
            false => rows.is_whole(input),
        };
        let joined = axis(self.axis, rank).ok()?;
        ((0..rows.inputs()).all(agrees) && at != joined).then(|| vec![at])
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::graph;
    use crate::passes::rules;
    use crate::testing::check;

    #[test]
    fn integers_of_16_bits_stand_between_scales() {
        let text = r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            g (uint16[N, 2] x) => (uint16[N, 2] y, uint8[N, 2] b) <float s = {0.5}, uint16 z = {3}, uint8 o = {1}> {
                d = com.microsoft.DequantizeLinear (x, s, z)
                h = HardSigmoid (d)
                q = com.microsoft.QuantizeLinear (h, s, z)
                e = com.microsoft.DequantizeLinear (q, s, z)
                m = Mul (d, e)
                y = com.microsoft.QuantizeLinear (m, s, z)
                t = Tanh (d)
                b = QuantizeLinear (t, s, o)
            }"#;
        expect![[r#"
            g (uint16[N, 2] x) => (uint16[N, 2] y, uint8[N, 2] b)
            <
                float32[] s = {0.5},
                uint16[] z = {3},
                uint8[] o = {1}
            >
            {
                uint16[N, 2] q = com.microsoft.QLinearHardSigmoid <function: "activate", activation: {name: "HardSigmoid", parameters: [0.2, 0.5]}, in_steps: true> (x, s, z, s, z)
                uint16[N, 2] y = com.microsoft.QLinearMul <function: "mul", in_steps: true> (x, s, z, q, s, z, s, z)
                uint8[N, 2] b = com.microsoft.QLinearTanh <function: "activate", activation: {name: "Tanh"}, in_steps: true> (x, s, z, s, o)
            }
        "#]].assert_eq(&graph(text, rules::all()).0);
    }

    #[test]
    fn operands_are_broadcast() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (uint8[N, 3] a, uint8[3] b, float s, uint8 o, bool[N, 1] c) => (uint8[N, 3] y, uint8[N, 3] z, uint8[N, 6] w) {
                y = com.microsoft.QLinearAdd (a, s, , b, s, , s)
                z = com.microsoft.QLinearWhere (c, a, s, o, y, s, o, s, o)
                w = com.microsoft.QLinearConcat <axis = -1> (s, o, a, s, , y, s, )
            }
            "#,
            expect![[r#"
                main (uint8[N, 3] a, uint8[3] b, host float32[] s, host uint8[] o, bool[N, 1] c) => (uint8[N, 3] y, uint8[N, 3] z, uint8[N, 6] w)
                {
                    uint8[N, 3] y = com.microsoft.QLinearAdd <function: "add"> (a, s, , b, s, , s)
                    uint8[N, 3] z = com.microsoft.QLinearWhere <function: "choose"> (c, a, s, o, y, s, o, s, o)
                    uint8[N, 6] w = com.microsoft.QLinearConcat <axis: -1> (s, o, a, s, , y, s)
                }
            "#]],
        );
    }

    #[test]
    fn types_must_be_equal() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (uint8[N, 3] a, int8[3] b, float s, float[3] t) => (uint8[N, 3] y, uint8[N, 3] z) {
                y = com.microsoft.QLinearMul (a, s, , b, s, , s)
                z = com.microsoft.QLinearSigmoid (a, t, , s)
            }
            "#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  input 3 has type int8, but the result has type uint8
                    at node `y` (com.microsoft.QLinearMul version 1)

                  the scale in input 1 is float32[3], expected one float
                    at node `z` (com.microsoft.QLinearSigmoid version 1)

                  model: IR version 10, ai.onnx 21, com.microsoft 1"#]],
        );
    }
}
