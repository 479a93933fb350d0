//! Multiply-adds of a graph and memory of its values.
//!
//! Multiply-adds are counted for convolutions, matrix products, attention and recurrent operators, which
//! are nearly all of them in a network. Elementwise operators, norms, pools, sums and transforms are not counted.

mod memory;

use std::collections::BTreeMap;

use crate::dim::{Atom, Dim, Symbol};
use crate::dtype::DType;
use crate::graph::{Block, Flow, Graph, Node, ValueId, Values};
use crate::ops;
use crate::types::{TensorType, Type};

/// Cost of one call of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of multiply-adds. A body of a loop counts once; of several branches, the most expensive one counts.
    pub multiply_adds: u64,
    /// Number of products whose operands have unknown sizes. They are not counted.
    pub uncounted: usize,
    /// Maximum number of bytes of inputs, outputs and values between nodes at one time, each in its own element type,
    /// if its memory is freed after its last use.
    pub activations: u64,
    /// Dynamic sizes, which count as 1.
    pub ones: Vec<String>,
    /// Whether the graph contains loops, whose number of iterations is not counted.
    pub loops: bool,
}

/// Computes the cost of a graph with dynamic sizes of 1.
pub fn cost(graph: &Graph) -> Cost {
    let mut cost = Cost { activations: memory::most(&graph.body, &graph.values), ..Cost::default() };
    cost.multiply_adds = block(&graph.body, &graph.values, &mut cost);
    let mut ones: Vec<String> = Vec::new();
    for &id in &graph.body.inputs {
        let tensor = graph.values[id].ty.as_ref().and_then(Type::as_tensor);
        for dim in tensor.iter().flat_map(|tensor| &tensor.shape) {
            for name in dim.symbols() {
                if !ones.iter().any(|one| **one == *name) {
                    ones.push(name.to_string());
                }
            }
        }
    }
    cost.ones = ones;
    cost
}

/// Returns the multiply-adds of a node without its blocks: `None` if sizes are unknown, 0 for operators that are not
/// counted.
pub fn multiply_adds(node: &Node, sizes: &impl Sizes) -> Option<u64> {
    let kind = node.kind.strip_prefix("com.microsoft.");
    let microsoft = kind.is_some();
    let operands = Operands { node, sizes };
    match kind.unwrap_or(&node.kind) {
        "Conv"
        | "FusedConv"
        | "NhwcConv"
        | "NhwcFusedConv"
        | "ConvInteger"
        | "DeformConv"
        | "CausalConvWithState" => operands.convolution(1),
        "QLinearConv" => operands.convolution(3),
        "ConvTranspose" => operands.elements(0)?.checked_mul(operands.filter(1)?),
        "MatMul"
        | "FusedMatMul"
        | "TransposeMatMul"
        | "Linear"
        | "FusedLinear"
        | "Gemm"
        | "FusedGemm"
        | "MatMulInteger"
        | "QLinearMatMul"
        | "QGemm"
        | "DynamicQuantizeMatMul"
        | "MatMulIntegerToFloat" => operands.product(),
        "MatMulNBits" | "MatMulBnb4" => operands.result()?.checked_mul(operands.last(0)?),
        "MoE" | "QMoE" => ops::product::moe::multiply_adds(node, |at| operands.input(at)),
        "Einsum" => operands.einsum(),
        "RNN" | "GRU" | "LSTM" | "DynamicQuantizeLSTM" => operands.recurrent(),
        "Attention" if microsoft => operands.projected(),
        "QAttention" => operands.projected(),
        "Attention" | "JoinedAttention" | "MultiHeadAttention" | "GroupQueryAttention" | "FlexAttention" => {
            operands.attention()
        }
        _ => Some(0),
    }
}

/// A source of the sizes of values.
pub trait Sizes {
    /// Returns the sizes of a tensor, `None` if one is unknown.
    fn of(&self, id: ValueId) -> Option<Vec<u64>>;
}

/// Sizes of the types, with dynamic sizes of 1.
impl Sizes for Values {
    fn of(&self, id: ValueId) -> Option<Vec<u64>> {
        let shape = &self[id].ty.as_ref()?.as_tensor()?.shape;
        shape.iter().map(at_one).collect()
    }
}

/// Returns a size with every name replaced by 1. Returns `None` if it is negative or too large.
pub fn at_one(dim: &Dim) -> Option<u64> {
    at(dim, &|_| 1)
}

/// Returns a size with every name replaced by a number. Returns `None` if it is negative or too large.
fn at(dim: &Dim, size: &impl Fn(&Symbol) -> i64) -> Option<u64> {
    u64::try_from(signed(dim, size)?).ok()
}

/// Returns the bytes of a tensor with dynamic sizes of 1. For strings, only the pointers count.
pub fn bytes(tensor: &TensorType) -> Option<u64> {
    let bits = match tensor.dtype {
        DType::String => 128,
        other => u64::from(other.bits()),
    };
    elements(tensor)?.checked_mul(bits).map(|bits| bits.div_ceil(8))
}

fn signed(dim: &Dim, size: &impl Fn(&Symbol) -> i64) -> Option<i64> {
    let mut sum = 0i64;
    for (atoms, factor) in dim.terms() {
        let mut product = factor;
        for atom in atoms {
            let atom = match atom {
                Atom::Name(name) => size(name),
                Atom::Quotient(a, b) => {
                    let (a, b) = (signed(a, size)?, signed(b, size)?);
                    a.checked_div_euclid(b)?
                }
                Atom::Min(a, b) => signed(a, size)?.min(signed(b, size)?),
                Atom::Max(a, b) => signed(a, size)?.max(signed(b, size)?),
            };
            product = product.checked_mul(atom)?;
        }
        sum = sum.checked_add(product)?;
    }
    Some(sum)
}

fn elements(tensor: &TensorType) -> Option<u64> {
    elements_at(tensor, &|_| 1)
}

/// Returns the number of elements with every name replaced by a number.
pub fn elements_at(tensor: &TensorType, size: &impl Fn(&Symbol) -> i64) -> Option<u64> {
    let sizes: Option<Vec<u64>> = tensor.shape.iter().map(|dim| at(dim, size)).collect();
    product(&sizes?)
}

fn product(sizes: &[u64]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size))
}

/// Sizes of a node's inputs and outputs.
struct Operands<'g, S> {
    node: &'g Node,
    sizes: &'g S,
}

impl<S: Sizes> Operands<'_, S> {
    fn input(&self, at: usize) -> Option<Vec<u64>> {
        self.sizes.of(self.node.input(at)?)
    }

    fn output(&self, at: usize) -> Option<Vec<u64>> {
        self.sizes.of(self.node.output(at)?)
    }

    fn elements(&self, input: usize) -> Option<u64> {
        product(&self.input(input)?)
    }

    fn result(&self) -> Option<u64> {
        product(&self.output(0)?)
    }

    fn last(&self, input: usize) -> Option<u64> {
        self.input(input)?.last().copied()
    }

    /// Returns the number of elements of one output channel of the weight, or one input channel of a transposed
    /// convolution.
    fn filter(&self, weight: usize) -> Option<u64> {
        product(self.input(weight)?.get(1..)?)
    }

    fn convolution(&self, weight: usize) -> Option<u64> {
        self.result()?.checked_mul(self.filter(weight)?)
    }

    /// Counts a sum over the common axis of both operands for each element of the result.
    fn product(&self) -> Option<u64> {
        let result = self.output(0)?;
        let inner = match (self.input(0)?.as_slice(), result.as_slice()) {
            (&[.., rows, columns], &[.., of_result, _]) => {
                // The axis that the result does not have, for operands that are transposed or not.
                let all = rows.checked_mul(columns)?;
                match of_result {
                    0 => 0,
                    kept if kept == rows => columns,
                    kept => all.checked_div(kept)?,
                }
            }
            (&[.., columns], _) => columns,
            _ => return None,
        };
        product(&result)?.checked_mul(inner)
    }

    /// Counts the product of all sizes in the equation, once for each operand after the first.
    fn einsum(&self) -> Option<u64> {
        let labels = ops::product::einsum::axes(self.node)?;
        let mut sizes: BTreeMap<char, u64> = BTreeMap::new();
        for (at, labels) in labels.iter().enumerate() {
            let shape = self.input(at)?;
            if shape.len() != labels.len() {
                return None;
            }
            for (label, size) in labels.iter().zip(shape) {
                let largest = sizes.entry(*label).or_insert(1);
                *largest = size.max(*largest);
            }
        }
        let product = sizes.values().try_fold(1u64, |all, size| all.checked_mul(*size))?;
        product.checked_mul(labels.len().saturating_sub(1) as u64)
    }

    /// Counts, for each step, the product of its input and its state with the weights of all directions.
    fn recurrent(&self) -> Option<u64> {
        let weights = self.elements(1)?.checked_add(self.elements(2)?)?;
        product(self.input(0)?.get(..2)?)?.checked_mul(weights)
    }

    /// Counts the products of all queries with all keys, and of all probabilities with values.
    fn attention(&self) -> Option<u64> {
        // Keys of earlier calls precede those of this call, and all of them are an output.
        let keys = self.output(1).or_else(|| self.input(1)).or_else(|| self.input(0))?;
        let keys = match *keys.as_slice() {
            // Packed with values, or with queries and values.
            [_, length, _, _, _] | [.., length, _] => length,
            _ => return None,
        };
        let result = self.result()?;
        result.checked_mul(2)?.checked_mul(keys)
    }

    /// Counts attention after a product with the weights of queries, keys and values.
    fn projected(&self) -> Option<u64> {
        let columns = self.last(1)?;
        let projection = self.elements(0)?.checked_mul(columns)?;
        let length = *self.input(0)?.get(1)?;
        let scores = self.result()?.checked_mul(2)?.checked_mul(length)?;
        projection.checked_add(scores)
    }
}

fn block(inner: &Block, values: &Values, cost: &mut Cost) -> u64 {
    let mut sum = 0u64;
    for node in &inner.nodes {
        match multiply_adds(node, values) {
            Some(count) => sum = sum.saturating_add(count),
            None => cost.uncounted = cost.uncounted.saturating_add(1),
        }
        let flow = node.operator.flow();
        cost.loops |= matches!(flow, Some(Flow::Iterations(_)));
        let blocks = node.blocks.iter().map(|(_, inner)| block(inner, values, cost));
        let blocks: Vec<u64> = blocks.collect();
        sum = sum.saturating_add(match flow {
            Some(Flow::Branches) => blocks.into_iter().max().unwrap_or(0),
            _ => blocks.into_iter().fold(0, u64::saturating_add),
        });
    }
    sum
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prost::Message;

    use crate::options::Options;

    fn check(graph: &str, expected: Expect) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 23, \"com.microsoft\": 1]> g {graph}");
        let bytes = crate::text::model(&text).unwrap().encode_to_vec();
        let model = crate::load_bytes(bytes.into(), &Options::default());
        let model = model.map_err(|problems| problems.report("m")).unwrap();
        expected.assert_eq(&format!("{:?}", super::cost(&model.graph)));
    }

    #[test]
    fn a_convolution_multiplies_each_result_with_a_filter() {
        // 4 * 6 * 6 results of 3 * 5 * 5 products; input and output of 4 bytes each.
        check(
            "(float[N, 3, 10, 10] x, float[4, 3, 5, 5] w) => (float[N, 4, 6, 6] y) { y = Conv (x, w) }",
            expect![[
                r#"Cost { multiply_adds: 10800, uncounted: 0, activations: 2976, ones: ["N"], loops: false }"#
            ]],
        );
    }

    #[test]
    fn groups_divide_the_channels() {
        check(
            "(float[1, 8, 6, 6] x, float[8, 1, 3, 3] w) => (float[1, 8, 4, 4] y) { y = Conv <group = 8> (x, w) }",
            expect![[
                r#"Cost { multiply_adds: 1152, uncounted: 0, activations: 1952, ones: [], loops: false }"#
            ]],
        );
    }

    #[test]
    fn a_product_sums_over_the_axis_that_vanishes() {
        check(
            "(float[5, 7] a, float[5, 3] b, float[2, 7, 3] c) => (float[7, 3] y, float[2, 7, 7] z) {
                y = Gemm <transA = 1> (a, b)
                t = Transpose <perm = [0, 2, 1]> (c)
                z = MatMul (c, t)
            }",
            expect![[
                r#"Cost { multiply_adds: 399, uncounted: 0, activations: 644, ones: [], loops: false }"#
            ]],
        );
    }

    #[test]
    fn a_recurrent_operator_walks_over_times_and_batch() {
        check(
            "(float[6, 2, 3] x, float[1, 16, 3] w, float[1, 16, 4] r) => (float[6, 1, 2, 4] y) { y = LSTM <hidden_size = 4> (x, w, r) }",
            expect![[
                r#"Cost { multiply_adds: 1344, uncounted: 0, activations: 784, ones: [], loops: false }"#
            ]],
        );
    }

    #[test]
    fn queries_meet_keys_and_probabilities_values() {
        check(
            "(float[1, 2, 5, 4] q, float[1, 2, 7, 4] k, float[1, 2, 7, 4] v) => (float[1, 2, 5, 4] y) { y = Attention (q, k, v) }",
            expect![[
                r#"Cost { multiply_adds: 560, uncounted: 0, activations: 768, ones: [], loops: false }"#
            ]],
        );
    }

    #[test]
    fn attention_of_onnx_runtime_projects_its_input_first() {
        check(
            "(float[1, 4, 8] x, float[8, 24] w, float[24] b) => (float[1, 4, 8] y) {
                y = com.microsoft.Attention <num_heads = 2> (x, w, b)
            }",
            expect![[
                r#"Cost { multiply_adds: 1024, uncounted: 0, activations: 1120, ones: [], loops: false }"#
            ]],
        );
    }

    #[test]
    fn of_an_equation_all_letters_count() {
        check(
            "(float[2, 3] a, float[3, 5] b) => (float[2, 5] y) { y = Einsum <equation = \"ij,jk->ik\"> (a, b) }",
            expect![[
                r#"Cost { multiply_adds: 30, uncounted: 0, activations: 124, ones: [], loops: false }"#
            ]],
        );
    }

    #[test]
    fn of_branches_the_costliest_counts_and_memory_is_free_behind_the_last_use() {
        check(
            "(bool c, float[4, 4] x) => (float[4, 4] y) {
                a = Exp (x)
                b = Sin (a)
                d = Cos (b)
                y = If (c) <
                    then_branch = yes () => (float[4, 4] p) { p = MatMul (d, d) },
                    else_branch = no () => (float[4, 4] q) { q = Neg (d) }
                >
            }",
            expect![[
                r#"Cost { multiply_adds: 64, uncounted: 0, activations: 193, ones: [], loops: false }"#
            ]],
        );
    }
}
