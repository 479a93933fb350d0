//! Pieces of graphs: rules' examples, common operators, any operator.

use onnx_embed_ir::ops;
use onnx_embed_ir::proto::GraphProto;

use crate::fragment::{examples, parse};
use crate::random::Random;

/// All pieces that graphs may consist of.
pub struct Pieces {
    examples: Vec<GraphProto>,
    common: Vec<GraphProto>,
    operators: Vec<&'static str>,
}

const UNARY: [&str; 16] = [
    "Exp",
    "Neg",
    "Abs",
    "Relu",
    "Sigmoid",
    "Tanh",
    "Erf",
    "Softplus",
    "Floor",
    "Sqrt",
    "Softmax",
    "Reciprocal",
    "Identity",
    "Transpose",
    "Flatten",
    "Sign",
];

const BINARY: [&str; 7] = ["Add", "Sub", "Mul", "Div", "Max", "Min", "MatMul"];

const COMMON: &[&str] = &[
    "(float[N] x) => (float y) <float c = {0.5}> { y = Mul (x, c) }",
    "(float[N] x) => (float y) <float c = {2}> { y = Div (x, c) }",
    "(float[N] x) => (float y) <float c = {1}> { y = Add (c, x) }",
    "(float[N] x) => (float y) <float c = {2}> { y = Pow (x, c) }",
    "(float[N, 4] x) => (float y) <float[4] c = {1, -2, 0.5, 3}> { y = Mul (x, c) }",
    "(float[N, 4] x) => (float y) <float[4] c = {1, -2, 0.5, 3}> { y = Add (x, c) }",
    "(float[N, 4] x) => (float y) <float[4, 3] w = {1, 2, 3, 4, 5, 6, -1, -2, 0.5, 1, 0, 2}> {
        y = MatMul (x, w)
    }",
    "(float[N, 3] x) => (float y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, -1}> {
        y = Gemm <transB = 1> (x, w, b)
    }",
    "(float[N, 2, M] x) => (float y) <float[2, 2, 1] w = {1, 2, -3, 4}, float[2] b = {1, 2}> {
        y = Conv (x, w, b)
    }",
    "(float[N, 3, M] x) => (float y) <float[3, 1, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
        y = Conv <group = 3, pads = [1, 1]> (x, w)
    }",
    "(float[N, 3] x) => (float y) <int64[1] axes = {-1}> { y = ReduceMean (x, axes) }",
    "(float[N, 3] x) => (float y) <int64[1] axes = {0}> { y = ReduceSum <keepdims = 0> (x, axes) }",
    "(float[N, 3] x) => (float y) <int64[2] s = {0, -1}> { y = Reshape (x, s) }",
    "(float[N, 3] x) => (float y) { s = Shape (x) y = Reshape (x, s) }",
    "(float[N, 3] x) => (float y) <int64[1] axes = {1}> { y = Unsqueeze (x, axes) }",
    "(float[N, 1] x) => (float y) <int64[1] axes = {1}> { y = Squeeze (x, axes) }",
    "(float[N, 3] x) => (float y) <int64[1] a = {1}, int64[1] b = {3}, int64[1] c = {-1}> {
        y = Slice (x, a, b, c)
    }",
    "(float[N, 3] x) => (float y) <int64[2] i = {1, 0}> { y = Gather <axis = 1> (x, i) }",
    "(float[N, 3] x, float[N, 3] z) => (float y) { y = Concat <axis = -1> (x, z) }",
    "(float[N, 4] x) => (float y, float z) { y, z = Split <axis = -1, num_outputs = 2> (x) }",
    "(float[N, 3] x) => (float y) <int64[4] pads = {0, 1, 0, 2}> { y = Pad (x, pads) }",
    "(float[N, 3] x) => (float y) <float a = {-1}, float b = {2}> { y = Clip (x, a, b) }",
    "(float[N, 3] x) => (int64 y) { y = Cast <to = 7> (x) }",
    "(float[N, 3] x) => (double y) { y = Cast <to = 11> (x) }",
    "(int64[N] x) => (float y) { y = Cast <to = 1> (x) }",
    "(int64[N] x) => (int64 y) <int64 c = {2}> { y = Mul (x, c) }",
    "(int64[N] x) => (int64 y) <int64 c = {3}> { y = Div (x, c) }",
    "(bool[N] x) => (bool y) { y = Not (x) }",
    "(bool[N] x, bool[N] z) => (bool y) { y = And (x, z) }",
    "(float[N] x) => (bool y) <float c = {0}> { y = Greater (x, c) }",
    "(bool[N] b, float[N] x, float[N] z) => (float y) { y = Where (b, x, z) }",
    "(double[N] x) => (double y) <double c = {3}> { y = Mul (x, c) }",
];

impl Pieces {
    pub fn all() -> Self {
        let unary = UNARY.map(|kind| format!("(float[N, 3] x) => (float y) {{ y = {kind} (x) }}"));
        let binary =
            BINARY.map(|kind| format!("(float[N, N] x, float[N, N] z) => (float y) {{ y = {kind} (x, z) }}"));
        let texts = COMMON.iter().map(|text| (*text).to_owned());
        let texts = texts.chain(unary).chain(binary);
        let rows = ops::all().filter(|row| row.domain.is_empty());
        Pieces {
            examples: examples(),
            common: texts.map(|text| parse(&text)).collect(),
            operators: rows.map(|row| row.name).collect(),
        }
    }

    /// Returns the number of rules.
    pub fn rules(&self) -> usize {
        self.examples.len()
    }

    /// Returns the example of a rule. An index after the last rule starts again with the first.
    pub fn example(&self, at: usize) -> &GraphProto {
        &self.examples[at % self.examples.len()]
    }

    /// Returns the example of a random rule.
    pub fn any_example(&self, random: &mut Random) -> GraphProto {
        random.pick(&self.examples).clone()
    }

    /// Returns a random operator in a common form.
    pub fn common(&self, random: &mut Random) -> GraphProto {
        random.pick(&self.common).clone()
    }

    /// Returns a random operator of the standard. Its inputs have one type, which few operators accept.
    pub fn operator(&self, random: &mut Random) -> GraphProto {
        let dtype = if random.chance(85) { "float" } else { "int64" };
        let names = &["a", "b"][..1 + random.below(2)];
        let inputs: Vec<String> = names.iter().map(|name| format!("{dtype}[N, 3] {name}")).collect();
        let kind = random.pick(&self.operators);
        parse(&format!("({}) => (y) {{ y = {kind} ({}) }}", inputs.join(", "), names.join(", ")))
    }
}
