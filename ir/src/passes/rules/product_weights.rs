//! Operations after a product, folded into its weights.

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::convolution::conv_transpose::ConvTranspose;
use crate::ops::normalize::batch::Batch;
use crate::ops::product::matmul::{Gemm, MatMul};
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;
use std::rc::Rc;

pub const RULES: &[Rule] = &[
    building(
        "batch norm of a product",
        "BatchNormalization:norm(Conv|ConvTranspose|Gemm|MatMul|Linear:product(x, \
             $weight, ..), $scale, $shift, $mean, $variance)",
        batch_norm,
    )
    .law("(wx + b - μ)f + β = (wf)x + (b - μ)f + β with a finite f = s/√(σ² + ε), per channel")
    .example(
        "(float[N, 2, 5] x) => (float[N, 3, 4] y)
        <float[3, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3] s = {1, 2, 3},
        float[3] b = {1, 1, 2}, float[3] m = {0, 1, 0}, float[3] v = {1, 2, 1}> {
            c = Conv (x, w) y = BatchNormalization (c, s, b, m, v)
        }",
    ),
    building(
        "factor of a product",
        "Conv|ConvTranspose|Gemm|MatMul|Linear:product(x, $weight, ..) * $factor",
        factor,
    )
    .law("(wx + b)f = (wf)x + bf, with a finite f per channel")
    .example(
        "(float[N, 2] x) => (float[N, 3] y)
        <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}, float[1, 3] f = {1, 2, 3}> {
            c = Gemm <transB = 1> (x, w, b) y = Mul (f, c)
        }",
    ),
    building(
        "bias of a product",
        "Conv|ConvTranspose|Gemm|MatMul|Linear:product(x, $weight, ..) + $bias",
        bias,
    )
    .law("(wx + b) + c = wx + (b + c), with c per channel")
    .example(
        "(float[N, 4, 2] x) => (float[N, 4, 3] y)
        <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}> {
            c = MatMul (x, w) y = Add (b, c)
        }",
    ),
];

pub const NOT_SINGLE: Miss = "only single and double precision can be folded";

/// A product with weights, and the channels of its result.
struct Product<'g> {
    node: &'g Node,
    x: ValueId,
    weight: ValueId,
    bias: Option<ValueId>,
    channels: i64,
    /// The axis of the channels in the result.
    axis: usize,
    /// The shape in which a factor of each channel broadcasts to the weight.
    factor_shape: Vec<i64>,
}

impl<'g> Product<'g> {
    fn of(m: &Match<'_, 'g>) -> Result<Self, Miss> {
        let (node, weight) = (m.node("product")?, m.value("weight")?);
        let (operand, rank) = (m.tensor("weight")?, m.result()?.rank());
        let from_end = |at: usize| operand.rank().checked_sub(at);
        let (at, axis) = match &*node.kind {
            "Conv" => (Some(0), 1),
            "ConvTranspose" => match node.operator_as::<ConvTranspose>() {
                Some(ConvTranspose { groups: 1, .. }) => (Some(1), 1),
                _ => return Err("the transposed convolution has several groups"),
            },
            "Gemm" => match node.operator_as::<Gemm>() {
                Some(gemm) if gemm.alpha != 1.0 => return Err("the product is scaled"),
                Some(gemm) if gemm.beta != 1.0 && node.input(2).is_some() => {
                    return Err("the bias is scaled");
                }
                Some(gemm) => (Some(usize::from(!gemm.transposed[1])), 1),
                None => (None, 1),
            },
            _ if operand.rank() != 2 => return Err("the weight is not a matrix"),
            _ => match node.operator_as::<MatMul>() {
                Some(product) if product.is_plain() && rank > 1 => (from_end(1), rank - 1),
                _ => return Err("the product is scaled, transposed or activated, or its result is a vector"),
            },
        };
        let at = at.ok_or("the weight has too few axes")?;
        let channels = operand.shape.get(at).and_then(Dim::number);
        let channels = channels.ok_or("the number of channels is known only at run time")?;
        let mut factor_shape = vec![1; operand.rank()];
        factor_shape.get_mut(at).into_iter().for_each(|size| *size = channels);
        if node.inputs.len() > 3 {
            return Err("the product already has an addend");
        }
        let bias = node.input(2);
        if let Some(id) = bias {
            let whole = m.tensor_of(id)?.shape == [Dim::from(channels)];
            if !whole || !m.value_of(id).is_constant() {
                return Err("the bias is not constant, or not one number for each channel");
            }
        }
        Ok(Product { node, x: m.value("x")?, weight, bias, channels, axis, factor_shape })
    }

    /// Returns a constant that is added to the result or multiplied with it, as a vector. It must have an element for
    /// each channel or one for all.
    fn vector(&self, m: &mut Match<'_, '_>, id: ValueId) -> Result<ValueId, Miss> {
        let (tensor, rank) = (m.tensor_of(id)?, m.result()?.rank());
        let first = rank.checked_sub(tensor.rank()).ok_or("the constant has more axes than the result")?;
        let sizes: Option<Vec<i64>> = tensor.shape.iter().map(Dim::number).collect();
        let sizes = sizes.ok_or("the sizes of the constant are known only at run time")?;
        let along = |(at, size): (usize, &i64)| *size == 1 || first + at == self.axis;
        if !sizes.iter().enumerate().all(along) {
            return Err("the constant varies along an axis other than the channels");
        }
        match sizes.as_slice() {
            [_] => Ok(id),
            sizes => m.shaped(id, &[sizes.iter().product()]),
        }
    }

    /// Returns the product with another weight and bias, which replaces the match.
    fn with(&self, m: &mut Match<'_, '_>, weight: ValueId, bias: ValueId) -> Result<ValueId, Miss> {
        let mut node = self.node.clone();
        if let Some(gemm) = node.operator_as::<Gemm>() {
            node.operator = Rc::new(gemm.with_bias());
        }
        if &*node.kind == "MatMul" {
            node.kind = "Linear".into();
        }
        m.made(node, &[Some(self.x), Some(weight), Some(bias)])
    }

    /// Multiplies the weight by a factor of each channel, or of all.
    fn scaled(&self, m: &mut Match<'_, '_>, factor: ValueId) -> Result<ValueId, Miss> {
        m.copied(self.weight)?;
        let one = m.tensor_of(factor)?.count() == Some(1);
        let factor = if one { factor } else { m.shaped(factor, &self.factor_shape)? };
        m.call("Mul", &[], &[Some(self.weight), Some(factor)])
    }
}

fn batch_norm(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let product = Product::of(m)?;
    if product.axis != 1 {
        return Err("the channels are not axis 1");
    }
    in_single(m)?;
    let [shift, mean] = ["shift", "mean"].map(|name| m.value(name));
    let factor = norm_factor(m)?;
    let weight = product.scaled(m, factor)?;
    let bias = match product.bias {
        Some(bias) => {
            let centered = m.call("Sub", &[], &[Some(bias), Some(mean?)])?;
            let scaled = m.call("Mul", &[], &[Some(centered), Some(factor)])?;
            m.call("Add", &[], &[Some(scaled), Some(shift?)])?
        }
        None => {
            let scaled = m.call("Mul", &[], &[Some(mean?), Some(factor)])?;
            m.call("Sub", &[], &[Some(shift?), Some(scaled)])?
        }
    };
    product.with(m, weight, bias)
}

/// Returns the factor of each channel in a batch normalization called `norm`. It is finite, because variances are not
/// negative.
pub fn norm_factor(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let epsilon = m.operator::<Batch>("norm")?.inference();
    let epsilon = epsilon.ok_or("the statistics are computed from the batch")?;
    if epsilon <= 0.0 || !m.finite(m.value("scale")?) {
        return Err("the factor may be infinite");
    }
    let epsilon = m.scalar(epsilon.into())?;
    let [scale, variance] = ["scale", "variance"].map(|name| m.value(name));
    let shifted = m.call("Add", &[], &[Some(variance?), Some(epsilon)])?;
    let root = m.call("Sqrt", &[], &[Some(shifted)])?;
    m.call("Div", &[], &[Some(scale?), Some(root)])
}

fn factor(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let product = Product::of(m)?;
    in_single(m)?;
    let factor = m.value("factor")?;
    if !m.finite(factor) {
        return Err("the factor is not finite");
    }
    let factor = product.vector(m, factor)?;
    let weight = product.scaled(m, factor)?;
    match product.bias {
        Some(bias) => {
            let bias = m.call("Mul", &[], &[Some(bias), Some(factor)])?;
            product.with(m, weight, bias)
        }
        None => m.made(product.node.clone(), &[Some(product.x), Some(weight)]),
    }
}

fn bias(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let product = Product::of(m)?;
    let bias = m.value("bias")?;
    let bias = product.vector(m, bias)?;
    let bias = match product.bias {
        Some(before) => m.call("Add", &[], &[Some(before), Some(bias)])?,
        None if m.tensor_of(bias)?.shape == [Dim::from(product.channels)] => bias,
        None => {
            let sizes = m.integers(vec![product.channels.into()]);
            m.call("Expand", &[], &[Some(bias), Some(sizes)])?
        }
    };
    product.with(m, product.weight, bias)
}

/// Fails for half precision: weights would be rounded again, and products of two such numbers may overflow.
pub fn in_single(m: &Match<'_, '_>) -> Result<(), Miss> {
    let dtype = m.result()?.dtype;
    let same = |name: &str| m.tensor(name).is_ok_and(|tensor| tensor.dtype == dtype);
    let others = ["scale", "shift", "mean", "variance", "factor", "offset"];
    let present = others.into_iter().filter(|name| m.value(name).is_ok());
    if dtype.is_float() && dtype.bits() >= 32 && present.into_iter().all(same) {
        Ok(())
    } else {
        Err(NOT_SINGLE)
    }
}

impl Match<'_, '_> {
    /// Reshapes a value.
    pub fn shaped(&mut self, id: ValueId, sizes: &[i64]) -> Result<ValueId, Miss> {
        let attributes: &[(&str, Setting)] = &[];
        let sizes = self.integers(sizes.iter().map(|&size| size.into()).collect());
        self.call("Reshape", attributes, &[Some(id), Some(sizes)])
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown, trained};
    use crate::passes::rules;

    #[test]
    fn trained_parameters_are_not_folded() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N, 2, 5] x) => (float[N, 3, 4] y)
            <float[3, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3] s = {1, 2, 3},
            float[3] b = {1, 1, 2}, float[3] m = {0, 1, 0}, float[3] v = {1, 2, 1}> {
                c = Conv (x, w)
                y = BatchNormalization (c, s, b, m, v)
            }"#;
        let (graph, report) = trained(text, rules::all());
        assert!(graph.contains("BatchNormalization"), "{graph}");
        let reasons: Vec<&str> = report.missed.iter().map(|event| event.reason).collect();
        let reason = "trained parameters cannot be folded";
        assert_eq!(reasons, [reason]);
    }

    #[test]
    fn operators_after_a_product_are_folded_into_its_weights() {
        expect![[r#"
            batch norm of a product
              <
              float32[3, 2, 2] w = {.. 48 bytes},
              float32[3] s = {1, 2, 3},
              float32[3] b = {1, 1, 2},
              float32[3] m = {0, 1, 0},
              float32[3] v = {1, 2, 1}
              >
              float32[N, 3, 4] c = Conv <window: {padding: Explicit}, groups: 1> (x, w)
              float32[N, 3, 4] y = BatchNormalization <epsilon: 1e-5> (c, s, b, m, v)
              =>
              <
              float32[3, 2, 2] w = {.. 48 bytes},
              float32[3] s = {1, 2, 3},
              float32[3] b = {1, 1, 2},
              float32[3] m = {0, 1, 0},
              float32[3] v = {1, 2, 1},
              float32[3, 2, 2] %14 = Mul (w, Reshape (Div (s, Sqrt (Add (v, {0.00001}))), {3, 1, 1})),
              float32[3] %16 = Sub (b, Mul (m, Div (s, Sqrt (Add (v, {0.00001})))))
              >
              float32[N, 3, 4] y = Conv <window: {padding: Explicit}, groups: 1> (x, %14, %16)
            factor of a product
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              float32[3] b = {1, 2, 3},
              float32[1, 3] f = {1, 2, 3}
              >
              float32[N, 3] c = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, true]> (x, w, b)
              float32[N, 3] y = Mul (f, c)
              =>
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              float32[3] b = {1, 2, 3},
              float32[1, 3] f = {1, 2, 3},
              float32[3, 2] %10 = Mul (w, Reshape (Reshape (f, {3}), {3, 1})),
              float32[3] %11 = Mul (b, Reshape (f, {3}))
              >
              float32[N, 3] y = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, true]> (x, %10, %11)
            bias of a product
              <
              float32[2, 3] w = {1, 2, 3, 4, 5, 6},
              float32[3] b = {1, 2, 3}
              >
              float32[N, 4, 3] c = MatMul (x, w)
              float32[N, 4, 3] y = Add (b, c)
              =>
              <
              float32[2, 3] w = {1, 2, 3, 4, 5, 6},
              float32[3] b = {1, 2, 3}
              >
              float32[N, 4, 3] y = Linear (x, w, b)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn infinite_factors_remain() {
        let product = |factor: &str| {
            let constants = format!("<float[2, 1] w = {{1, -1}}, float[1] f = {{{factor}}}>");
            let nodes = "{ p = MatMul (x, w) y = Mul (p, f) }";
            reasons("factor of a product", &format!("(float[N, 2] x) => (float[N, 1] y) {constants} {nodes}"))
        };
        assert_eq!(product("inf"), ["the factor is not finite"]);
        assert!(product("2").is_empty());
        let norm = |scale: &str, epsilon: &str| {
            let constants = format!(
                "<float[1, 1, 1] w = {{1}}, float[1] s = {{{scale}}}, float[1] b = {{1}}, float[1] m = {{0}}, \
                 float[1] v = {{0}}>"
            );
            let norm = format!("BatchNormalization <epsilon = {epsilon}> (c, s, b, m, v)");
            let nodes = format!("{{ c = Conv (x, w) y = {norm} }}");
            reasons(
                "batch norm of a product",
                &format!("(float[N, 1, 5] x) => (float[N, 1, 5] y) {constants} {nodes}"),
            )
        };
        let reason = ["the factor may be infinite"];
        assert_eq!([norm("inf", "1.0"), norm("1", "0.0")], [reason, reason]);
        assert!(norm("1", "1.0").is_empty());
    }

    #[test]
    fn other_products_remain() {
        let found = |rule: &str, inputs: &str, result: &str, constants: &str, nodes: &str| {
            reasons(rule, &format!("({inputs}) => ({result} y) <{constants}> {{ {nodes} }}"))
        };
        let matrix = "float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[3] f = {1, 2, 3}";
        assert_eq!(
            found("bias of a product", "float[2] x", "float[3]", matrix, "p = MatMul (x, w) y = Add (p, f)"),
            ["the product is scaled, transposed or activated, or its result is a vector"]
        );
        let reason = ["the bias is not constant, or not one number for each channel"];
        let gemm = "p = Gemm (x, w, b) y = Mul (p, f)";
        assert_eq!(
            found("factor of a product", "float[N, 2] x, float[3] b", "float[N, 3]", matrix, gemm),
            reason
        );
        let biased = format!("{matrix}, float[1] b = {{1}}");
        assert_eq!(found("factor of a product", "float[N, 2] x", "float[N, 3]", &biased, gemm), reason);
        for dtype in ["float16", "int32"] {
            let constants = format!("{dtype}[2, 3] w = {{1, 2, 3, 4, 5, 6}}, {dtype}[3] f = {{1, 2, 3}}");
            let (x, y) = (format!("{dtype}[N, 2] x"), format!("{dtype}[N, 3]"));
            let nodes = "p = MatMul (x, w) y = Mul (p, f)";
            assert_eq!(found("factor of a product", &x, &y, &constants, nodes), [super::NOT_SINGLE]);
        }
    }

    #[test]
    fn statistics_of_another_type_remain() {
        let text = "(float[N, 1, 5] x) => (float[N, 1, 5] y)
            <float[1, 1, 1] w = {2}, float[1] s = {1}, float[1] b = {1}, double[1] m = {0}, double[1] v = {1}> {
                c = Conv (x, w) y = BatchNormalization (c, s, b, m, v)
            }";
        assert_eq!(reasons("batch norm of a product", text), [super::NOT_SINGLE]);
    }
}
