//! Writes out gradients by the rules of differentiation.
//!
//! A gradient specifies a part of its graph: the nodes that compute `y` from `xs` and `zs`. If its inputs are other
//! values, the nodes of that part are repeated for them. Then the rule of each node, from `y` back to `xs`, computes
//! the derivatives with respect to the node's inputs (`rules`).

mod rules;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Reader;
use super::facts::NEWEST_OPSET;
use super::limits::MAX_NODES;
use super::order::reads;
use super::scope::Scope;
use crate::attributes::Attributes;
use crate::diagnostics::{Problem, Site};
use crate::graph::Block;
use crate::ops::kind;
use crate::ops::{DERIVATIVES, Named, TRAINING};
use crate::proto::NodeProto;
use writing::Writing;

/// A node of the graph, or one that is written for a gradient.
#[derive(Clone, Debug)]
struct GradientNode {
    node: NodeProto,
    /// Whether a rule wrote the node, in the newest opset.
    by_rule: bool,
}

pub(super) fn is_gradient(node: &NodeProto) -> bool {
    node.op_type == "Gradient" && node.domain == TRAINING
}

/// Returns the value that is differentiated, which must be computed before.
pub(super) fn target(node: &NodeProto) -> Option<&str> {
    let mut attributes = node.attribute.iter().filter(|_| is_gradient(node));
    let y = attributes.find(|attribute| attribute.name == "y")?;
    std::str::from_utf8(y.s.as_deref()?).ok()
}

impl Reader<'_> {
    /// Reads nodes in their order, and writes out gradients.
    pub(super) fn with_gradients(&mut self, nodes: &[&NodeProto], scope: &mut Scope<'_>, block: &mut Block) {
        let mut steps: Vec<GradientNode> = Vec::new();
        for &node in nodes {
            if !is_gradient(node) {
                self.node(node, scope, block);
                let (node, by_rule) = (node.clone(), false);
                steps.push(GradientNode { node, by_rule });
                continue;
            }
            // The problem was reported with the last node that is allowed.
            if self.nodes > MAX_NODES {
                self.poison(node, scope);
                continue;
            }
            match self.derivative(node, &steps, scope) {
                Ok(written) => {
                    for step in &written {
                        self.step(step, scope, block);
                    }
                    steps.extend(written);
                }
                Err(problem) => {
                    self.diagnostics.push(
                        problem.at(Site {
                            operator: kind(TRAINING, &node.op_type),
                            node: scope.node_label(node),
                        }),
                    );
                    self.poison(node, scope);
                }
            }
        }
    }

    fn step(&mut self, step: &GradientNode, scope: &mut Scope<'_>, block: &mut Block) {
        if !step.by_rule {
            return self.node(&step.node, scope, block);
        }
        let opsets = [(String::new(), NEWEST_OPSET), (DERIVATIVES.to_owned(), 1)];
        let before = scope.put_opsets(Rc::new(opsets.into()));
        self.node(&step.node, scope, block);
        scope.set_opsets(before);
    }

    /// Returns the nodes that replace a gradient, after the nodes before it.
    fn derivative(
        &mut self,
        node: &NodeProto,
        before: &[GradientNode],
        scope: &Scope<'_>,
    ) -> Result<Vec<GradientNode>, Problem> {
        let key = (TRAINING.to_owned(), node.op_type.clone());
        let count = self.facts.operators.entry(key).or_default();
        (count.nodes, count.supported) = (count.nodes.saturating_add(1), true);
        let list = scope.resolve(&node.attribute);
        let attributes = Attributes::new(list, self.files, 1);
        let Named { xs, zs, y } = Named::read(&attributes)?;
        attributes.finish()?;
        let names: Vec<&String> = xs.iter().chain(&zs).collect();
        if names.len() != node.input.len() || node.output.len() > xs.len() {
            return Err(Problem::new(format!(
                "the numbers of inputs and outputs are {} and {}, expected {}, one for each of `xs` and `zs`, and at most \
                 {}, one for each of `xs`",
                node.input.len(),
                node.output.len(),
                names.len(),
                xs.len()
            ))
            .inconsistent());
        }
        let inputs: BTreeSet<&str> = names.iter().map(|name| name.as_str()).collect();
        let part = part(&y, &inputs, before);
        let makes_y = part.iter().any(|step| step.node.output.contains(&y));
        if !inputs.contains(y.as_str()) && !makes_y {
            return Err(Problem::new(format!("no node of the graph produces `{y}`"))
                .help("move the `Gradient` node to the graph that produces its `y`"));
        }
        let Some(first) = node.output.iter().find(|name| !name.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut writing = Writing::new(first);
        let same = names.iter().zip(&node.input).all(|(&name, input)| name == input);
        let mut renamed: BTreeMap<String, String> = BTreeMap::new();
        for (&name, input) in names.iter().zip(&node.input).filter(|_| !same) {
            renamed.insert(name.clone(), writing.same(input));
        }
        let mut varies = inputs;
        let mut active: BTreeSet<&str> = xs.iter().map(String::as_str).collect();
        let mut path: Vec<(GradientNode, Vec<bool>)> = Vec::new();
        for step in part {
            if !spread(&step.node, &mut varies) {
                continue;
            }
            let inputs = step.node.input.iter();
            let wanted = inputs.map(|name| active.contains(name.as_str())).collect();
            let step_active = spread(&step.node, &mut active);
            let step = if same { step.clone() } else { writing.repeat(step, &mut renamed)? };
            if step_active {
                path.push((step, wanted));
            }
        }
        let new = |name: &String| renamed.get(name).unwrap_or(name).clone();
        let mut slopes = BTreeMap::new();
        let seed = writing.filled(1, new(&y))?;
        slopes.insert(new(&y), seed);
        for (step, wanted) in path.iter().rev() {
            writing.back(step, wanted, scope, &mut slopes)?;
        }
        for (x, output) in xs.iter().zip(&node.output) {
            if output.is_empty() {
                continue;
            }
            let slope = match slopes.get(&new(x)) {
                Some(slope) => slope.clone(),
                None => writing.filled(0, new(x))?,
            };
            writing.push("Identity", vec![slope], output.clone());
        }
        Ok(writing.steps())
    }
}

/// Returns the nodes that compute `y` from the inputs, in order.
fn part<'s>(y: &'s str, inputs: &BTreeSet<&str>, before: &'s [GradientNode]) -> Vec<&'s GradientNode> {
    let mut makers = BTreeMap::new();
    for (at, step) in before.iter().enumerate() {
        let outputs = step.node.output.iter().filter(|name| !name.is_empty());
        makers.extend(outputs.map(|name| (name.as_str(), at)));
    }
    let mut found = BTreeSet::new();
    let mut waiting = vec![y];
    while let Some(name) = waiting.pop() {
        let maker = makers.get(name).filter(|_| !inputs.contains(name));
        if let Some((&at, step)) = maker.and_then(|at| Some((at, before.get(*at)?)))
            && found.insert(at)
        {
            waiting.extend(reads(&step.node, 0));
        }
    }
    found.into_iter().filter_map(|at| before.get(at)).collect()
}

/// Returns `true` if a node uses one of these values, and adds its outputs to them.
fn spread<'s>(node: &'s NodeProto, values: &mut BTreeSet<&'s str>) -> bool {
    let reached = reads(node, 0).iter().any(|name| values.contains(name));
    if reached {
        let outputs = node.output.iter().filter(|name| !name.is_empty());
        values.extend(outputs.map(String::as_str));
    }
    reached
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    const HEAD: &str = r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview.training": 1]>"#;

    #[test]
    fn rules_are_applied_back_from_y() {
        check(
            &format!(
                "{HEAD} g (float[n, 3] x, float[3] w) => (float[n, 3] dx, float[3] dw) {{
                    p = Mul (x, w) y = Tanh (p)
                    dx, dw = ai.onnx.preview.training.Gradient <xs = [\"x\", \"w\"], y = \"y\"> (x, w)
                }}"
            ),
            expect![[r#"
                g (float32[n, 3] x, float32[3] w) => (float32[n, 3] dx/d0.8, float32[3] dx/d1.10)
                <
                    float32[] dx/n.1 = {1},
                    int64[2] dx/s.2 = {n, 3}
                >
                {
                    float32[n, 3] p = Mul (x, w)
                    float32[n, 3] y = Tanh (p)
                    float32[n, 3] dx/filled.3 = Expand (dx/n.1, dx/s.2)
                    float32[n, 3] dx/s.4 = Mul (y, y)
                    float32[n, 3] dx/t.5 = Mul (dx/filled.3, dx/s.4)
                    float32[n, 3] dx/d0.6 = Sub (dx/filled.3, dx/t.5)
                    float32[n, 3] dx/a.7 = Mul (dx/d0.6, w)
                    float32[n, 3] dx/d0.8 = onnx-embed.derivatives.SumTo (dx/a.7, x)
                    float32[n, 3] dx/b.9 = Mul (dx/d0.6, x)
                    float32[3] dx/d1.10 = onnx-embed.derivatives.SumTo (dx/b.9, w)
                }
            "#]],
        );
    }

    #[test]
    fn other_inputs_repeat_the_nodes() {
        check(
            &format!(
                "{HEAD} g (float[n] x, float[m] z) => (float[n] y, float[m] dx) {{
                    y = Sin (x)
                    dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (z)
                }}"
            ),
            expect![[r#"
                g (float32[n] x, float32[m] z) => (float32[n] y, float32[m] dx/d0.7)
                <
                    float32[] dx/n.3 = {1},
                    int64[1] dx/s.4 = {m}
                >
                {
                    float32[n] y = Sin (x)
                    float32[m] dx/filled.5 = Expand (dx/n.3, dx/s.4)
                    float32[m] dx/c.6 = Cos (z)
                    float32[m] dx/d0.7 = Mul (dx/filled.5, dx/c.6)
                }
            "#]],
        );
    }

    #[test]
    fn matrices_are_transposed_and_vectors_are_rows() {
        check(
            &format!(
                "{HEAD} g (float[3] a, float[n, 3, 2] b) => (float[3] da, float[n, 3, 2] db) {{
                    y = MatMul (a, b)
                    da, db = ai.onnx.preview.training.Gradient <xs = [\"a\", \"b\"], y = \"y\"> (a, b)
                }}"
            ),
            expect![[r#"
                g (float32[3] a, float32[n, 3, 2] b) => (float32[3] da/d0.31, float32[n, 3, 2] da/d1.34)
                <
                    float32[] da/n.1 = {1},
                    int64[2] da/s.2 = {n, 2},
                    int64[1] da/shape_a.8 = {3},
                    int64[2] da/rows.14 = {1, 3},
                    int64[3] da/shape_b.15 = {n, 3, 2},
                    int64[3] da/columns.21 = {n, 3, 2},
                    int64[3] da/whole.25 = {n, 1, 2}
                >
                {
                    float32[n, 2] da/filled.3 = Expand (da/n.1, da/s.2)
                    float32[1, 3] da/a.22 = Reshape <allow_zero: true> (a, da/rows.14)
                    float32[n, 3, 2] da/b.23 = Reshape <allow_zero: true> (b, da/columns.21)
                    float32[n, 1, 2] da/g.26 = Reshape <allow_zero: true> (da/filled.3, da/whole.25)
                    float32[3, 1] da/transposed_a.27 = Einsum <inputs: [['.', 'i', 'j']], output: ['.', 'j', 'i']> (da/a.22)
                    float32[n, 2, 3] da/transposed_b.28 = Einsum <inputs: [['.', 'i', 'j']], output: ['.', 'j', 'i']> (da/b.23)
                    float32[n, 1, 3] da/all_a.29 = MatMul (da/g.26, da/transposed_b.28)
                    float32[1, 3] da/sum_a.30 = onnx-embed.derivatives.SumTo (da/all_a.29, da/a.22)
                    float32[3] da/d0.31 = Reshape <allow_zero: true> (da/sum_a.30, da/shape_a.8)
                    float32[n, 3, 2] da/all_b.32 = MatMul (da/transposed_a.27, da/g.26)
                    float32[n, 3, 2] da/sum_b.33 = onnx-embed.derivatives.SumTo (da/all_b.32, da/b.23)
                    float32[n, 3, 2] da/d1.34 = Reshape <allow_zero: true> (da/sum_b.33, da/shape_b.15)
                }
            "#]],
        );
    }

    #[test]
    fn an_operator_without_a_rule_is_named() {
        check(
            &format!(
                "{HEAD} g (float[n] x) => (float[n] dx) {{
                    s = Acos (x) y = Neg (s)
                    dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x)
                }}"
            ),
            expect![[r#"
                cannot compile `model`

                  the derivative of `Acos` is not supported
                    at node `dx` (ai.onnx.preview.training.Gradient)
                    help: export the derivative as operators, or remove the gradient

                  model: IR version 10, ai.onnx 21, ai.onnx.preview.training 1"#]],
        );
    }

    #[test]
    fn what_is_differentiated_stands_in_the_same_graph() {
        check(
            &format!(
                "{HEAD} g (float[n] x) => (float[n] dx) {{
                    dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x)
                }}"
            ),
            expect![[r#"
                cannot compile `model`

                  no node of the graph produces `y`
                    at node `dx` (ai.onnx.preview.training.Gradient)
                    help: move the `Gradient` node to the graph that produces its `y`

                  model: IR version 10, ai.onnx 21, ai.onnx.preview.training 1"#]],
        );
    }
}
