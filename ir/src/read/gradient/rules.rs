//! Rules for the derivative of each operator.
//!
//! A rule is text in ONNX's own syntax, of the newest opset. It reads the inputs `x0`, `x1` and so on, the output `y`,
//! and `dy`, the derivative with respect to the output. It computes `d0`, `d1` and so on, the derivatives with respect
//! to the inputs. Those that it does not compute are zero.

mod with_attributes;

use crate::attributes::NamedAttribute;
use crate::diagnostics::Problem;
use crate::ops::DERIVATIVES;
use crate::proto::{AttributeProto, NodeProto};

/// The rule of an operator.
pub struct Rule {
    domain: &'static str,
    name: &'static str,
    /// Attributes that the rule uses, or that do not affect the derivative.
    attributes: &'static [&'static str],
    text: Text,
}

enum Text {
    Same(&'static str),
    Made(fn(&Call<'_>) -> Result<String, Problem>),
}

/// The node to which a rule is applied.
pub struct Call<'a> {
    node: &'a NodeProto,
    attributes: Vec<NamedAttribute<'a>>,
    opset: i64,
}

const fn rule(name: &'static str, text: &'static str) -> Rule {
    Rule { domain: "", name, attributes: &[], text: Text::Same(text) }
}

const fn made(
    name: &'static str,
    attributes: &'static [&'static str],
    text: fn(&Call<'_>) -> Result<String, Problem>,
) -> Rule {
    Rule { domain: "", name, attributes, text: Text::Made(text) }
}

const RULES: &[Rule] = &[
    // Binary operators.
    rule("Add", "d0 = SumTo (dy, x0) d1 = SumTo (dy, x1)"),
    rule("Sub", "d0 = SumTo (dy, x0) n = Neg (dy) d1 = SumTo (n, x1)"),
    rule("Mul", "a = Mul (dy, x1) d0 = SumTo (a, x0) b = Mul (dy, x0) d1 = SumTo (b, x1)"),
    rule("Div", "a = Div (dy, x1) d0 = SumTo (a, x0) q = Mul (a, y) b = Neg (q) d1 = SumTo (b, x1)"),
    // The derivative of `x ** 0` is zero even if `x` is 0, and so is that of `0 ** x`.
    rule(
        "Pow",
        "p = CastLike (x1, x0) zero = Number <value = \"0.0\"> (x0) one = Number <value = \"1.0\"> (x0)
         less = Sub (p, one) power = Pow (x0, less) slope = Mul (p, power)
         constant = Equal (p, zero) a = Where (constant, zero, slope)
         b = Mul (dy, a) d0 = SumTo (b, x0)
         nothing = Equal (x0, zero) log = Log (x0) logs = Where (nothing, zero, log)
         c = Mul (y, logs) e = Mul (dy, c) f = CastLike (e, x1) d1 = SumTo (f, x1)",
    ),
    made("Sum", &[], with_attributes::sum),
    made("Mean", &[], with_attributes::mean),
    rule(
        "Where",
        "zero = Number <value = \"0.0\"> (dy) a = Where (x0, dy, zero) d1 = SumTo (a, x1)
         b = Where (x0, zero, dy) d2 = SumTo (b, x2)",
    ),
    // Unary operators.
    rule("Identity", "d0 = Identity (dy)"),
    rule("CastLike", "d0 = CastLike (dy, x0)"),
    made("Cast", &["to", "saturate", "round_mode"], with_attributes::cast),
    rule("Neg", "d0 = Neg (dy)"),
    rule("Reciprocal", "s = Mul (y, y) t = Mul (dy, s) d0 = Neg (t)"),
    rule("Exp", "d0 = Mul (dy, y)"),
    rule("Log", "d0 = Div (dy, x0)"),
    rule("Sqrt", "t = Add (y, y) d0 = Div (dy, t)"),
    rule("Tanh", "s = Mul (y, y) t = Mul (dy, s) d0 = Sub (dy, t)"),
    rule("Sigmoid", "s = Mul (dy, y) t = Mul (s, y) d0 = Sub (s, t)"),
    rule("Softplus", "s = Sigmoid (x0) d0 = Mul (dy, s)"),
    rule("Relu", "zero = Number <value = \"0.0\"> (x0) up = Greater (x0, zero) d0 = Where (up, dy, zero)"),
    made("LeakyRelu", &["alpha"], with_attributes::leaky_relu),
    rule("Abs", "s = Sign (x0) d0 = Mul (dy, s)"),
    rule("Sin", "c = Cos (x0) d0 = Mul (dy, c)"),
    rule("Cos", "s = Sin (x0) n = Neg (s) d0 = Mul (dy, n)"),
    rule("Sinh", "c = Cosh (x0) d0 = Mul (dy, c)"),
    rule("Cosh", "s = Sinh (x0) d0 = Mul (dy, s)"),
    rule("Tan", "s = Mul (y, y) t = Mul (dy, s) d0 = Add (dy, t)"),
    rule("Atan", "s = Mul (x0, x0) one = Number <value = \"1.0\"> (x0) t = Add (s, one) d0 = Div (dy, t)"),
    // 2 / sqrt(pi) exp(-x x).
    rule(
        "Erf",
        "s = Mul (x0, x0) n = Neg (s) e = Exp (n) c = Number <value = \"1.1283791670955126\"> (x0)
         t = Mul (e, c) d0 = Mul (dy, t)",
    ),
    rule("Sign", ""),
    rule("Floor", ""),
    rule("Ceil", ""),
    rule("Round", ""),
    // Operators on matrices.
    rule("MatMul", with_attributes::MATMUL),
    made("Gemm", &["alpha", "beta", "transA", "transB"], with_attributes::gemm),
    made("Einsum", &["equation"], with_attributes::einsum),
    // Operators along axes.
    made("ReduceSum", with_attributes::REDUCED, with_attributes::reduce_sum),
    made("ReduceMean", with_attributes::REDUCED, with_attributes::reduce_mean),
    made("Softmax", &["axis"], with_attributes::softmax),
    made("LogSoftmax", &["axis"], with_attributes::log_softmax),
    // Operators on shapes.
    Rule { attributes: &["allowzero"], ..rule("Reshape", with_attributes::RESHAPED) },
    Rule { attributes: &["axis"], ..rule("Flatten", with_attributes::RESHAPED) },
    Rule { attributes: &["axes"], ..rule("Squeeze", with_attributes::RESHAPED) },
    Rule { attributes: &["axes"], ..rule("Unsqueeze", with_attributes::RESHAPED) },
    made("Transpose", &["perm"], with_attributes::transpose),
    rule("Expand", "d0 = SumTo (dy, x0)"),
    Rule { domain: DERIVATIVES, attributes: &["value"], ..rule("Number", "") },
    Rule { domain: DERIVATIVES, ..rule("SumTo", "s = Shape (x0) d0 = Expand (dy, s)") },
];

/// Returns the rule of an operator, if any.
pub fn find(domain: &str, name: &str) -> Option<&'static Rule> {
    let mut rules = RULES.iter();
    rules.find(|rule| rule.domain == domain && rule.name == name)
}

impl Rule {
    /// Returns the text for a node.
    pub fn text(&self, call: &Call<'_>) -> Result<String, Problem> {
        let unknown = |attribute: &&NamedAttribute<'_>| !self.attributes.contains(&attribute.0);
        if let Some((attribute, _)) = call.attributes.iter().find(unknown) {
            return Err(Problem::new(format!(
                "the derivative of `{}` does not support attribute `{attribute}`",
                self.name
            )));
        }
        match self.text {
            Text::Same(text) => Ok(text.to_owned()),
            Text::Made(text) => text(call),
        }
    }
}

impl<'a> Call<'a> {
    pub fn new(node: &'a NodeProto, attributes: Vec<NamedAttribute<'a>>, opset: i64) -> Self {
        Call { node, attributes, opset }
    }

    fn inputs(&self) -> usize {
        self.node.input.len()
    }

    /// Returns `true` if the node has this input.
    fn has(&self, input: usize) -> bool {
        self.node.input.get(input).is_some_and(|name| !name.is_empty())
    }

    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        let mut attributes = self.attributes.iter();
        attributes.find(|attribute| attribute.0 == name).map(|attribute| attribute.1)
    }

    fn int(&self, name: &str, default: i64) -> i64 {
        let entry = self.attribute(name);
        entry.map_or(default, |attribute| attribute.i.unwrap_or_default())
    }

    fn float(&self, name: &str, default: f32) -> f32 {
        let entry = self.attribute(name);
        entry.map_or(default, |attribute| attribute.f.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_read_what_they_are_given_or_make() {
        for rule in RULES {
            let Text::Same(text) = rule.text else {
                continue;
            };
            let graph = crate::text::graph(&format!("g () => () {{ {text} }}"));
            let mut known = vec!["dy", "y", "x0", "x1", "x2"];
            let nodes = graph.unwrap().node;
            for node in &nodes {
                let unknown = node.input.iter().find(|name| !known.contains(&name.as_str()));
                assert_eq!(unknown, None, "{}", rule.name);
                known.extend(node.output.iter().map(String::as_str));
            }
        }
    }
}
