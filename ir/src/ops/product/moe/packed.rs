//! QMoE: mixtures of experts with packed weights.

use std::rc::Rc;

use proc_macro2::Literal;

use super::Experts;
use super::check::{self, Sizes};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::ops::product::matmul_nbits::flat;
use crate::rust::{Code, code};

/// A mixture of experts with packed weights. Inputs are the operand, the scores of the router, the weight, scales and bias of
/// three products, the zero points of each, and what replaces the weights of the experts.
#[derive(Debug)]
pub(super) struct QMoE {
    pub(super) experts: Experts,
    /// Number of bits of the weights of each product.
    bits: [i64; 3],
    /// Number of inputs in a block; absent if all inputs of an output share a scale.
    block: Option<i64>,
}

attributes!(struct QMoE { experts, bits, block });

/// Index of the weight of each product, followed by its scales and its bias.
const WEIGHTS: [usize; 3] = [2, 5, 8];
/// Index of the zero points of the first product.
const ZEROS: usize = 11;
/// Index of the elements that replace the weights of experts.
const MIXING: usize = 14;

pub(super) fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    // Operands are never rounded to 8 bits.
    a.ignore(&["accuracy_level"]);
    let kind = a.string_or("quant_type", "int")?;
    if kind != "int" {
        return Err(Problem::expected("`quant_type`", format_args!("`{kind}`"), "`int`"));
    }
    let prepacked = a.int_or("weights_prepacked", -1)?;
    if ![-1, 0].contains(&prepacked) {
        return Err(Problem::expected("`weights_prepacked`", prepacked, "-1 or 0")
            .help("export the model without prepacked weights"));
    }
    let bits = |name: &str, default: i64| match a.int_or(name, default)? {
        bits @ (2 | 4 | 8) => Ok(bits),
        bits => Err(Problem::expected(format_args!("`{name}`"), bits, "2, 4 or 8")),
    };
    let all = bits("expert_weight_bits", 4)?;
    let bits = [
        bits("fc1_expert_weight_bits", all)?,
        bits("fc2_expert_weight_bits", all)?,
        bits("fc3_expert_weight_bits", all)?,
    ];
    let block = a.int_or("block_size", 0)?;
    if block != 0 && (block < 16 || block & (block - 1) != 0 || block >= 1 << 31) {
        return Err(Problem::expected("`block_size`", block, "0 or a power of two of at least 16"));
    }
    Ok(Rc::new(QMoE { experts: super::read(a)?, bits, block: (block != 0).then_some(block) }))
}

/// Returns the products with the indices of their weights.
fn products(has_third: bool) -> impl Iterator<Item = (usize, usize)> {
    WEIGHTS.into_iter().enumerate().take(if has_third { 3 } else { 2 })
}

/// A product with packed weights.
struct Packed {
    experts: usize,
    outputs: usize,
    inputs: usize,
    bits: usize,
    block: usize,
}

impl QMoE {
    /// Returns the layout of a product, whose sizes are those of its weight.
    fn packed(&self, product: usize, weight: &[Dim], inputs: Option<&Dim>) -> Result<Packed, Problem> {
        let unknown = || {
            Problem::new("the sizes of the weights are unknown at compile time")
                .help("fix the sizes with `dims(..)` or `inputs(..)`")
                .about(Topic::Shape)
        };
        let [experts, outputs, _] = weight else {
            return Err(unknown());
        };
        let size = |dim: Option<&Dim>| dim.and_then(Dim::fixed).ok_or_else(unknown);
        let bits = self.bits.get(product).and_then(|&bits| usize::try_from(bits).ok());
        let inputs = size(inputs)?;
        Ok(Packed {
            experts: size(Some(experts))?,
            outputs: size(Some(outputs))?,
            inputs,
            bits: bits.unwrap_or_default(),
            block: self.block.and_then(|block| usize::try_from(block).ok()).unwrap_or(inputs),
        })
    }

    /// Checks the weight, scales, zero points and bias of a product.
    fn check(&self, cx: &Infer<'_>, sizes: &Sizes, product: usize, input: usize) -> Result<(), Problem> {
        let [outputs, inputs] = sizes.of(product);
        let weight = cx.tensor_of_rank(input, 3)?;
        let packed = self.packed(product, &weight.shape, Some(inputs))?;
        let dim = |size: usize| Dim::from(i64::try_from(size).unwrap_or(i64::MAX));
        let bytes = |count: usize| dim(count.saturating_mul(packed.bits).div_ceil(8));
        let row = packed.inputs.saturating_mul(packed.bits);
        if row % 8 != 0 || packed.inputs == 0 || packed.block == 0 || packed.inputs % packed.block != 0 {
            let expected = match self.block {
                Some(block) => format!("a multiple of {block}, the size of a block"),
                None => format!("whole bytes of weights of {} bits", packed.bits),
            };
            return Err(Problem::expected(
                format_args!("the number of inputs of input {input}"),
                packed.inputs,
                expected,
            ));
        }
        let groups = packed.inputs / packed.block;
        check::shaped(cx, input, &[&sizes.experts, outputs, &bytes(packed.inputs)])?;
        if !cx.has(input + 1) {
            return Err(Problem::new(format!("the scales of input {input} are missing")));
        }
        let zeros = ZEROS + product;
        if self.block.is_some() {
            check::shaped(cx, input + 1, &[&sizes.experts, outputs, &dim(groups)])?;
            check::shaped(cx, zeros, &[&sizes.experts, outputs, &bytes(groups)])?;
        } else {
            check::shaped(cx, input + 1, &[&sizes.experts, outputs])?;
            check::shaped(cx, zeros, &[&sizes.experts, &bytes(packed.outputs)])?;
        }
        check::shaped(cx, input + 2, &[&sizes.experts, outputs])
    }

    /// Returns the field that contains the weights, if they are weights of the model.
    fn layer(&self, cx: &mut Emit<'_, '_>) -> Result<Option<Code>, Problem> {
        if cx.is_training() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for (product, input) in products(cx.has(8)) {
            let Some((bytes, scales)) = cx.weight(input).zip(cx.weight(input + 1)) else {
                return Ok(None);
            };
            let mut names = Vec::new();
            for input in [ZEROS + product, input + 2] {
                names.push(match cx.has(input) {
                    false => code!(None),
                    true => match cx.weight(input) {
                        Some(name) => code!(Some(#name)),
                        None => return Ok(None),
                    },
                });
            }
            let (zeros, bias) = (names.first(), names.last());
            let (experts, blocks) = self.layout(cx, product, input)?;
            let whole = self.block.is_none();
            all.push(code! {
                layers::PackedExperts {
                    bytes: #bytes,
                    scales: #scales,
                    zeros: #zeros,
                    bias: #bias,
                    experts: #experts,
                    blocks: #blocks,
                    whole: #whole,
                }
            });
        }
        let hint = cx.layer_hint(2);
        let load = match all.as_slice() {
            [first, second] => code!(layers::QMoE::load(weights, [#first, #second], None)),
            [first, second, third] => {
                code!(layers::QMoE::load(weights, [#first, #second], Some(#third)))
            }
            _ => return Ok(None),
        };
        Ok(Some(cx.layer(&hint, code!(layers::QMoE), load)))
    }

    /// Generates the number of experts, and `ops::quantize::Blocks { .. }` of the weight of one.
    fn layout(&self, cx: &Emit<'_, '_>, product: usize, input: usize) -> Result<(Literal, Code), Problem> {
        let inner = |dims: &[Dim]| match (product, self.experts.outputs_of_first()) {
            (1, 1) => dims.get(1).cloned(),
            (1, parts) => dims.get(1).and_then(|size| size.div(&Dim::from(parts))),
            _ => None,
        };
        let inputs = match product {
            1 => inner(&cx.tensor_type(2)?.shape),
            _ => cx.tensor_type(0)?.shape.last().cloned(),
        };
        let weight = cx.tensor_type(input)?.shape.clone();
        let packed = self.packed(product, &weight, inputs.as_ref())?;
        let experts = Literal::usize_unsuffixed(packed.experts);
        let [inputs, outputs, bits, size] =
            [packed.inputs, packed.outputs, packed.bits, packed.block].map(Literal::usize_unsuffixed);
        let blocks = code! {
            ops::quantize::Blocks { inputs: #inputs, outputs: #outputs, bits: #bits, size: #size }
        };
        Ok((experts, blocks))
    }
}

impl Operator for QMoE {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let sizes = Sizes::new(cx, &self.experts, WEIGHTS)?;
        if let Some(input) = (MIXING + 1..cx.inputs()).find(|&input| cx.has(input)) {
            return Err(Problem::new(format!("input {input} is present, expected none for integer weights")));
        }
        for (product, input) in products(cx.has(8)) {
            self.check(cx, &sizes, product, input)?;
        }
        if cx.has(MIXING) {
            let router = cx.tensor(1)?;
            let shape: Vec<&Dim> = router.shape.iter().collect();
            check::shaped(cx, MIXING, &shape)?;
        }
        check::output(cx)
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if !check::is_proven(cx) {
            cx.may_fail();
        }
        let has_third = cx.has(8);
        let experts = self.experts.code(has_third);
        if let Some(layer) = self.layer(cx)? {
            let (x, router, mixing) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(MIXING)?);
            return Ok(code!(#layer.forward(#x, #router, #mixing, #experts)));
        }
        let (x, router, mixing) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(MIXING)?);
        let mut projections = Vec::new();
        for (product, input) in products(cx.has(8)) {
            let (count, blocks) = self.layout(cx, product, input)?;
            let (bytes, scales) = (flat(cx, input)?, flat(cx, input + 1)?);
            let zeros = match cx.has(ZEROS + product) {
                true => {
                    let zeros = flat(cx, ZEROS + product)?;
                    code!(Some(#zeros))
                }
                false => code!(None),
            };
            let (bias, whole) = (cx.optional(input + 2)?, self.block.is_none());
            projections.push(code! {
                ops::moe::Projection::packed(#bytes, #scales, #zeros, #bias, #blocks, #count, #whole)
            });
        }
        Ok(match projections.as_slice() {
            [first, second, third] => code! {
                ops::moe::moe(#x, #router, #mixing, [#first, #second], Some(#third), #experts)
            },
            [first, second] => {
                code!(ops::moe::moe(#x, #router, #mixing, [#first, #second], None, #experts))
            }
            _ => return Err(Problem::new("a weight of the experts is missing")),
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn packed_weights_fit() {
        let graph = |attributes: &str, bytes: &str, scales: &str, more: &str| {
            format!(
                "(float[n, 32] x, float[n, 4] r, uint8[4, 64, {bytes}] f, float[4, 64{scales}] s, \
                 uint8[4, 32, 32] g, float[4, 32{t}] t, uint8[4, 32] z) => (float[n, 32] y) \
                 {{ y = com.microsoft.QMoE <{attributes}> (x, r, f, s, , g, t, , {more}) }}",
                t = if scales.is_empty() { "" } else { ", 4" }
            )
        };
        let graphs = [
            graph("k = 2", "16", "", ""),
            graph("block_size = 16", "16", ", 2", ""),
            graph("expert_weight_bits = 8, fc2_expert_weight_bits = 4", "32", "", ""),
            graph("expert_weight_bits = 8", "32", "", ""),
            graph("block_size = 16", "16", "", ""),
            graph("block_size = 64", "16", ", 2", ""),
            graph("k = 2", "16", "", ", , , z"),
            graph("k = 2", "16", "", ", , , , z"),
            graph("expert_weight_bits = 3", "16", "", ""),
            graph("block_size = 24", "16", ", 2", ""),
            graph("weights_prepacked = 1", "16", "", ""),
            graph(r#"quant_type = "fp8""#, "16", "", ""),
            graph("accuracy_level = 4, weights_prepacked = 0", "16", "", ""),
        ];
        problems(
            &graphs.each_ref().map(String::as_str),
            expect![[r#"
            fine
            fine
            fine
            input 5 is uint8[4, 32, 32], expected shape [4, 32, 64]
            input 3 is float32[4, 64], expected shape [4, 64, 2]
            the number of inputs of input 2 is 32, expected a multiple of 64, the size of a block
            fine
            input 12 is uint8[4, 32], expected shape [4, 16]
            `expert_weight_bits` is 3, expected 2, 4 or 8
            `block_size` is 24, expected 0 or a power of two of at least 16
            `weights_prepacked` is 1, expected -1 or 0
            `quant_type` is `fp8`, expected `int`
            fine
        "#]],
        );
    }

    #[test]
    fn scales_are_present_and_float_factors_absent() {
        problems(
            &[
                r#"(float[n, 32] x, float[n, 4] r, uint8[4, 64, 16] f, uint8[4, 32, 32] g, float[4, 32] t) => (float[n, 32] y) { y = com.microsoft.QMoE (x, r, f, , , g, t) }"#,
                r#"(float[n, 32] x, float[n, 4] r, uint8[4, 64, 16] f, float[4, 64] s, uint8[4, 32, 32] g, float[4, 32] t, float[4] e) => (float[n, 32] y) { y = com.microsoft.QMoE (x, r, f, s, , g, t, , , , , , , , , e) }"#,
                r#"(float[n, 32] x, float[n, 4] r, uint8[4, 64, 16] f, float[4, 64] s, uint8[4, 32, 32] g, float[4, 32] t, float[n, 3] e) => (float[n, 32] y) { y = com.microsoft.QMoE (x, r, f, s, , g, t, , , , , , , , e) }"#,
            ],
            expect![[r#"
                the scales of input 2 are missing
                input 15 is present, expected none for integer weights
                input 14 is float32[n, 3], expected shape [n, 4]
            "#]],
        );
    }
}
