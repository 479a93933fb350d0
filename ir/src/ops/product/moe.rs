//! MoE and QMoE: mixtures of experts.

mod check;
mod packed;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::graph::Node;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};
use check::Sizes;
use packed::QMoE;

pub const ROWS: &[Row] = &[
    row("MoE", &[1], |a| Ok(Rc::new(MoE { experts: read(a)? })))
        .arity("rrrorooo", "r")
        .of(MICROSOFT)
        .noted("the host reads which experts are chosen"),
    row("QMoE", &[1], packed::read)
        .arity("rrroorooooooooooooooo", "r")
        .of(MICROSOFT)
        .noted("the host reads which experts are chosen; weights are integers of 2, 4 or 8 bits"),
];

/// What MoE and QMoE share: the choice of experts, and the function between their products.
#[derive(Clone, Debug)]
struct Experts {
    chosen: usize,
    normalize: bool,
    activation: Activation,
    /// Place of the factor of the activation, if the name of the activation implies a factor.
    fusion: Option<Fusion>,
    alpha: f32,
    beta: f32,
    limit: Option<f32>,
    limits_activation: bool,
}

attributes!(struct Experts { chosen, normalize, activation, fusion, alpha, beta, limit, limits_activation });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activation {
    Identity,
    Relu,
    Gelu,
    Silu,
    Swiglu,
    Geglu,
}

attributes!(
    enum Activation {
        Identity,
        Relu,
        Gelu,
        Silu,
        Swiglu,
        Geglu,
    }
);

/// Product that computes the factor of the activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fusion {
    /// The third.
    Third,
    /// The first, in its odd outputs.
    Odd,
    /// The first, in the second half of its outputs.
    SecondHalf,
}

attributes!(
    enum Fusion {
        Third,
        Odd,
        SecondHalf,
    }
);

/// A mixture of experts with weights of floats. Inputs are the operand, the scores of the router, and the weight and bias of
/// three products.
#[derive(Debug)]
struct MoE {
    experts: Experts,
}

attributes!(struct MoE { experts });

/// Index of the weight of each product, which its bias follows.
const WEIGHTS: [usize; 3] = [2, 4, 6];

fn read(a: &Attributes<'_>) -> Result<Experts, Problem> {
    if a.flag("use_sparse_mixer", false)? {
        return Err(Problem::expected("`use_sparse_mixer`", 1, "0"));
    }
    let activation = a.choice(
        "activation_type",
        "relu",
        &[
            ("relu", Activation::Relu),
            ("gelu", Activation::Gelu),
            ("silu", Activation::Silu),
            ("swiglu", Activation::Swiglu),
            ("identity", Activation::Identity),
            ("geglu", Activation::Geglu),
        ],
    )?;
    let fusion = a.int_or("swiglu_fusion", 0)?;
    let fusion = match (activation, fusion) {
        (Activation::Swiglu, 0) => Some(Fusion::Third),
        (Activation::Swiglu | Activation::Geglu, 1) => Some(Fusion::Odd),
        (Activation::Swiglu | Activation::Geglu, 2) => Some(Fusion::SecondHalf),
        (Activation::Swiglu, _) => return Err(Problem::expected("`swiglu_fusion`", fusion, "0, 1 or 2")),
        (Activation::Geglu, _) => return Err(Problem::expected("`swiglu_fusion`", fusion, "1 or 2")),
        _ => None,
    };
    let limits_activation = a.flag("swiglu_limit_after_activation", false)?;
    let (limit, beta) = (a.float("swiglu_limit")?, a.float_or("activation_beta", 0.0)?);
    let is_swiglu = activation == Activation::Swiglu;
    Ok(Experts {
        chosen: match a.int("k")? {
            None => 1,
            Some(_) => a.positive("k")?,
        },
        normalize: a.flag("normalize_routing_weights", false)?,
        activation,
        fusion,
        alpha: a.float_or("activation_alpha", 1.0)?,
        beta: if is_swiglu { beta } else { 0.0 },
        limit: limit.filter(|limit| is_swiglu && limit.is_finite()),
        limits_activation,
    })
}

/// Returns the multiply-adds of the products of a node, from the sizes of its inputs.
pub fn multiply_adds(node: &Node, shape: impl Fn(usize) -> Option<Vec<u64>>) -> Option<u64> {
    let (experts, has_third) = match node.operator_as::<MoE>() {
        Some(moe) => (&moe.experts, node.input(6).is_some()),
        None => (&node.operator_as::<QMoE>()?.experts, node.input(8).is_some()),
    };
    let (hidden, rows) = (*shape(0)?.last()?, *shape(1)?.first()?);
    let outputs = *shape(2)?.get(1)?;
    let inner = outputs.checked_div(u64::try_from(experts.outputs_of_first()).ok()?)?;
    let outputs = outputs.checked_add(inner)?.checked_add(if has_third { inner } else { 0 })?;
    let chosen = rows.checked_mul(u64::try_from(experts.chosen).ok()?)?;
    chosen.checked_mul(hidden)?.checked_mul(outputs)
}

impl Experts {
    /// Returns the number of outputs of the first product for each input of the second.
    fn outputs_of_first(&self) -> i64 {
        if matches!(self.fusion, Some(Fusion::Odd | Fusion::SecondHalf)) { 2 } else { 1 }
    }

    /// Generates `ops::moe::Experts { .. }`. A third product computes a factor of any activation.
    fn code(&self, has_third: bool) -> Code {
        let chosen = Literal::usize_unsuffixed(self.chosen);
        let normalize = self.normalize;
        let number = |value: f32| float_literal(f64::from(value), DType::F64);
        let activation = match self.activation {
            Activation::Identity => code!(Activation::Identity),
            Activation::Relu => code!(Activation::Relu),
            Activation::Gelu | Activation::Geglu => code!(Activation::GeluTanh),
            Activation::Silu => code!(Activation::Silu),
            Activation::Swiglu => {
                let alpha = number(self.alpha);
                code!(Activation::Swish(#alpha))
            }
        };
        let place = self.fusion.or(has_third.then_some(Fusion::Third));
        let gate = match place {
            None => code!(None),
            Some(place) => {
                let place = format_ident!("{place:?}");
                let (beta, limits_activation) = (number(self.beta), self.limits_activation);
                let limit = match self.limit {
                    Some(limit) => {
                        let limit = number(limit);
                        code!(Some(#limit))
                    }
                    None => code!(None),
                };
                code! {
                    Some(ops::moe::Gate {
                        place: ops::moe::GatePlace::#place,
                        beta: #beta,
                        limit: #limit,
                        limits_activation: #limits_activation,
                    })
                }
            }
        };
        code! {
            ops::moe::Experts {
                chosen: #chosen, normalize: #normalize, activation: #activation, gate: #gate
            }
        }
    }
}

impl Operator for MoE {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let sizes = Sizes::new(cx, &self.experts, WEIGHTS)?;
        for (product, input) in WEIGHTS.into_iter().enumerate().filter(|(_, input)| cx.has(*input)) {
            let [outputs, inputs] = sizes.of(product);
            check::shaped(cx, input, &[&sizes.experts, outputs, inputs])?;
            check::shaped(cx, input + 1, &[&sizes.experts, outputs])?;
        }
        check::output(cx)
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if !check::is_proven(cx) {
            cx.may_fail();
        }
        let (x, router) = (cx.tensor(0)?, cx.tensor(1)?);
        let has_third = cx.has(6);
        let mut projection = |input: usize| {
            let (weight, bias) = (cx.tensor(input)?, cx.optional(input + 1)?);
            Ok::<_, Problem>(code!(ops::moe::Projection { weight: #weight, bias: #bias }))
        };
        let (first, second) = (projection(2)?, projection(4)?);
        let third = if has_third {
            let third = projection(6)?;
            code!(Some(#third))
        } else {
            code!(None)
        };
        let experts = self.experts.code(has_third);
        Ok(code!(ops::moe::moe(#x, #router, None, [#first, #second], #third, #experts)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prost::Message;

    use crate::options::Options;
    use crate::testing::problems;

    #[test]
    fn weights_of_all_experts_fit() {
        problems(
            &[
                r#"(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 6] b, float[4, 8, 6] s) => (float[n, 8] y) { y = com.microsoft.MoE <k = 2> (x, r, f, b, s) }"#,
                r#"(float[n, m, 8] x, float[t, 4] r, float[4, 12, 8] f, float[4, 8, 6] s) => (float[n, m, 8] y) { y = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1> (x, r, f, , s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 8, 6] s) => (float[n, 8] y) { y = com.microsoft.MoE <k = 5> (x, r, f, , s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 8, 6] s) => (float[n, 8] y) { y = com.microsoft.MoE <k = 0> (x, r, f, , s) }"#,
                r#"(float[3, 8] x, float[2, 4] r, float[4, 6, 8] f, float[4, 8, 6] s) => (float[3, 8] y) { y = com.microsoft.MoE (x, r, f, , s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[3, 6, 8] f, float[4, 8, 6] s) => (float[n, 8] y) { y = com.microsoft.MoE (x, r, f, , s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 8, 5] s) => (float[n, 8] y) { y = com.microsoft.MoE (x, r, f, , s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 5] b, float[4, 8, 6] s) => (float[n, 8] y) { y = com.microsoft.MoE (x, r, f, b, s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[4, 7, 8] f, float[4, 8, 3] s) => (float[n, 8] y) { y = com.microsoft.MoE <activation_type = "swiglu", swiglu_fusion = 2> (x, r, f, , s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 8, 6] s) => (float[n, 8] y) { y = com.microsoft.MoE <activation_type = "swiglu"> (x, r, f, , s) }"#,
                r#"(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 8, 3] s) => (float[n, 8] y) { y = com.microsoft.MoE <activation_type = "swiglu", swiglu_fusion = 1> (x, r, f, , s, , f) }"#,
            ],
            expect![[r#"
                fine
                fine
                `k` is 5, expected at most 4, the number of experts
                `k` is 0, expected a positive integer
                `router_probs` has 2 rows, but the input has 3 rows
                input 2 is float32[3, 6, 8], expected shape [4, 6, 8]
                input 4 is float32[4, 8, 5], expected shape [4, 8, 6]
                input 3 is float32[4, 5], expected shape [4, 6]
                `fc1_experts_weights` has 7 outputs, expected a multiple of 2, the number of parts
                `fc3_experts_weights` is missing, which `swiglu_fusion` of 0 requires
                `fc3_experts_weights` is present, but the first product computes its results
            "#]],
        );
    }

    #[test]
    fn each_row_meets_the_experts_that_are_chosen_for_it() {
        let cost = |graph: &str| {
            let text = format!("<ir_version: 10, opset_import: [\"\": 21, \"com.microsoft\": 1]> g {graph}");
            let bytes = crate::text::model(&text).unwrap().encode_to_vec();
            let model = crate::load_bytes(bytes.into(), &Options::default());
            let model = model.map_err(|problems| problems.report("m")).unwrap();
            crate::inspect::cost::cost(&model.graph).multiply_adds
        };
        // 5 rows, 2 experts, 8 features; 6 + 6 or 12 + 6 outputs.
        let plain = cost(
            r#"(float[5, 8] x, float[5, 4] r, float[4, 6, 8] f, float[4, 8, 6] s) => (float[5, 8] y) { y = com.microsoft.MoE <k = 2> (x, r, f, , s) }"#,
        );
        let gated = cost(
            r#"(float[5, 8] x, float[5, 4] r, float[4, 12, 8] f, float[4, 8, 6] s) => (float[5, 8] y) { y = com.microsoft.MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1> (x, r, f, , s) }"#,
        );
        let third = cost(
            r#"(float[5, 8] x, float[5, 4] r, uint8[4, 6, 4] f, float[4, 6] g, uint8[4, 8, 3] s, float[4, 8] h) => (float[5, 8] y) { y = com.microsoft.QMoE <k = 2> (x, r, f, g, , s, h, , f, g) }"#,
        );
        assert_eq!([plain, gated, third], [960, 1440, 1440]);
    }

    #[test]
    fn attributes_have_known_values() {
        let graph = |attributes: &str| {
            format!(
                "(float[n, 8] x, float[n, 4] r, float[4, 6, 8] f, float[4, 8, 6] s) => (float[n, 8] y) \
                 {{ y = com.microsoft.MoE <{attributes}> (x, r, f, , s) }}"
            )
        };
        let graphs = [
            r#"activation_type = "relu2""#,
            r#"activation_type = "swiglu", swiglu_fusion = 3"#,
            r#"activation_type = "geglu""#,
            r#"use_sparse_mixer = 1"#,
            r#"activation_type = "silu", activation_alpha = 2.0, activation_beta = 1.0, swiglu_limit = 7.0, swiglu_fusion = 1"#,
        ]
        .map(graph);
        problems(
            &graphs.each_ref().map(String::as_str),
            expect![[r#"
            `activation_type` is `relu2`, expected `relu`, `gelu`, `silu`, `swiglu`, `identity` or `geglu`
            `swiglu_fusion` is 3, expected 0, 1 or 2
            `swiglu_fusion` is 0, expected 1 or 2
            `use_sparse_mixer` is 1, expected 0
            fine
        "#]],
        );
    }
}
