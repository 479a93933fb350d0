//! Replaces the outputs of a graph by chosen values.

use std::collections::{BTreeMap, BTreeSet};

use super::{gradient, order};
use crate::diagnostics::Problem;
use crate::files::distance;
use crate::options::Outputs;
use crate::proto::{GraphProto, ValueInfoProto};

/// Replaces the outputs by the values that the caller names, and removes nodes that none of them needs and inputs that
/// only such nodes use.
pub(super) fn choose(graph: &mut GraphProto, outputs: &Outputs) -> Vec<Problem> {
    if outputs.names.is_empty() {
        return Vec::new();
    }
    let values = values(graph);
    let missing = outputs.names.iter().filter(|name| !values.contains(*name));
    let problems: Vec<Problem> = missing.map(|name| unknown(graph, name, &values)).collect();
    if !problems.is_empty() {
        return problems;
    }
    let mut chosen: Vec<ValueInfoProto> = outputs.names.iter().map(|name| declared(graph, name)).collect();
    if outputs.rest {
        let rest = graph.output.iter();
        let rest = rest.filter(|output| !outputs.names.contains(&output.name));
        chosen.extend(rest.cloned());
        graph.output = chosen;
    } else {
        graph.output = chosen;
        cut(graph);
    }
    problems
}

/// Returns the names of the values of a graph, except those inside its nodes.
fn values(graph: &GraphProto) -> BTreeSet<String> {
    let inputs = graph.input.iter().map(|input| &input.name);
    let constants = graph.initializer.iter().map(|tensor| &tensor.name);
    let sparse = graph.sparse_initializer.iter();
    let sparse = sparse.filter_map(|tensor| Some(&tensor.values.as_ref()?.name));
    let made = graph.node.iter().flat_map(|node| &node.output);
    let names = inputs.chain(constants).chain(sparse).chain(made);
    names.filter(|name| !name.is_empty()).cloned().collect()
}

/// Returns the declaration of a value.
fn declared(graph: &GraphProto, name: &str) -> ValueInfoProto {
    let all = graph.output.iter().chain(&graph.value_info);
    let mut all = all.chain(&graph.input);
    let found = all.find(|value| value.name == name).cloned();
    found.unwrap_or_else(|| ValueInfoProto { name: name.to_owned(), ..ValueInfoProto::default() })
}

/// Removes nodes that no output needs, and inputs that only these nodes use.
fn cut(graph: &mut GraphProto) {
    let mut makers = BTreeMap::new();
    for (at, node) in graph.node.iter().enumerate() {
        makers.extend(node.output.iter().map(|name| (name.as_str(), at)));
    }
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let outputs = graph.output.iter().map(|output| output.name.as_str());
    let mut open: Vec<&str> = outputs.collect();
    while let Some(name) = open.pop() {
        if !needed.insert(name) {
            continue;
        }
        let maker = makers.get(name).filter(|at| kept.insert(**at));
        if let Some(node) = maker.and_then(|at| graph.node.get(*at)) {
            open.extend(order::reads(node, 0).into_iter().chain(gradient::target(node)));
        }
    }
    let nodes = graph.node.iter().enumerate();
    let gone = nodes.filter(|(at, _)| !kept.contains(at));
    let gone: BTreeSet<&str> = gone.flat_map(|(_, node)| order::reads(node, 0)).collect();
    let inputs = graph.input.iter();
    let inputs = inputs.map(|input| {
        let name = input.name.as_str();
        needed.contains(name) || !gone.contains(name)
    });
    let mut inputs = inputs.collect::<Vec<bool>>().into_iter();
    let mut nodes = (0..graph.node.len()).map(|at| kept.contains(&at)).collect::<Vec<_>>().into_iter();
    graph.input.retain(|_| inputs.next().unwrap_or(true));
    graph.node.retain(|_| nodes.next().unwrap_or(true));
}

fn unknown(graph: &GraphProto, name: &str, values: &BTreeSet<String>) -> Problem {
    let mut nested = graph.node.iter().flat_map(|node| &node.attribute);
    let is_nested = nested.any(|attribute| attribute.g.as_deref().is_some_and(|inner| makes(inner, name, 0)));
    if is_nested {
        let message =
            format!("value `{name}` is inside a branch or a loop, expected a value of the main graph");
        let help = "use an output of the enclosing node; `#[onnx(trace)]` shows the values inside";
        return Problem::new(message).help(help).choice(name);
    }
    let lists = "run `cargo onnx-embed inspect --values` to list all values";
    let help = match near(name, values) {
        Some(near) => format!("did you mean `{near}`? {lists}"),
        None => lists.to_owned(),
    };
    let message = format!("the model has no value `{name}`");
    Problem::new(message).help(help).choice(name)
}

/// Returns `true` if a node of the graph, or of nested graphs, has an output with this name.
fn makes(graph: &GraphProto, name: &str, depth: usize) -> bool {
    graph.node.iter().any(|node| {
        let mut inner = node.attribute.iter().filter_map(|attribute| attribute.g.as_deref());
        node.output.iter().any(|output| output == name)
            || depth < super::limits::MAX_NESTING && inner.any(|inner| makes(inner, name, depth + 1))
    })
}

/// Returns the value with the most similar name, else one whose name contains it.
fn near<'v>(name: &str, values: &'v BTreeSet<String>) -> Option<&'v String> {
    let lower = name.to_lowercase();
    let far = |value: &&String| distance(&value.to_lowercase(), &lower);
    let near = values.iter().min_by_key(far)?;
    let limit = (name.chars().count() / 4).max(1);
    if far(&near) <= limit {
        return Some(near);
    }
    values.iter().find(|value| value.to_lowercase().contains(&lower))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prost::Message;

    use crate::options::{Options, Outputs};
    use crate::print;

    const CHAIN: &str = "g (float[n] x, float[n] z) => (float[n] y) {
        a = Neg (x) b = Abs (a) y = Add (b, z) }";

    fn check(text: &str, names: &[&str], rest: bool, expected: Expect) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {text}");
        let model = crate::text::model(&text).unwrap().encode_to_vec();
        let options = Options {
            outputs: Outputs { names: names.iter().map(|name| (*name).to_owned()).collect(), rest },
            simplify: false,
            ..Options::default()
        };
        expected.assert_eq(&match crate::load_bytes(model.into(), &options) {
            Ok(model) => print::graph(&model.graph),
            Err(problems) => problems.report("model"),
        });
    }

    #[test]
    fn what_stands_behind_an_output_is_cut_with_its_inputs() {
        check(
            CHAIN,
            &["b"],
            false,
            expect![[r#"
            g (float32[n] x) => (float32[n] b)
            {
                float32[n] a = Neg (x)
                float32[n] b = Abs (a)
            }
        "#]],
        );
    }

    #[test]
    fn outputs_come_in_the_order_of_their_names_before_those_of_the_file() {
        check(
            CHAIN,
            &["b", "a"],
            true,
            expect![[r#"
            g (float32[n] x, float32[n] z) => (float32[n] b, float32[n] a, float32[n] y)
            {
                float32[n] a = Neg (x)
                float32[n] b = Abs (a)
                float32[n] y = Add (b, z)
            }
        "#]],
        );
        check(
            CHAIN,
            &["y", "a"],
            true,
            expect![[r#"
            g (float32[n] x, float32[n] z) => (float32[n] y, float32[n] a)
            {
                float32[n] a = Neg (x)
                float32[n] b = Abs (a)
                float32[n] y = Add (b, z)
            }
        "#]],
        );
    }

    #[test]
    fn what_cannot_be_compiled_does_not_matter_behind_the_outputs() {
        check(
            "g (float[n] x) => (float[n] y) { a = Neg (x) b = Unknown (a) y = Abs (b) }",
            &["a"],
            false,
            expect![[r#"
                g (float32[n] x) => (float32[n] a)
                {
                    float32[n] a = Neg (x)
                }
            "#]],
        );
    }

    #[test]
    fn inputs_that_no_node_reads_stay() {
        check(
            "g (float[n] x, float[n] unused) => (float[n] y) { a = Neg (x) y = Abs (a) }",
            &["a"],
            false,
            expect![[r#"
                g (float32[n] x, float32[n_2] unused) => (float32[n] a)
                {
                    float32[n] a = Neg (x)
                }
            "#]],
        );
    }

    #[test]
    fn what_branches_read_is_needed() {
        check(
            "g (float[n] x, bool c) => (float[n] z) {
                a = Neg (x)
                y = If (c) <then_branch = t () => (float[n] p) { p = Abs (a) }, else_branch = e () => (float[n] q) { q = Exp (x) }>
                z = Sin (y)
            }",
            &["y"],
            false,
            expect![[r#"
                g (float32[n] x, host bool[] c) => (float32[n] y)
                {
                    float32[n] a = Neg (x)
                    float32[n] y = If (c)
                        then_branch () => (float32[n] p)
                        {
                            float32[n] p = Abs (a)
                        }
                        else_branch () => (float32[n] q)
                        {
                            float32[n] q = Exp (x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn names_that_are_no_values_are_reported() {
        let long = "g (float[n] x) => (float[n] y) { \"/conv/Relu_output_0\" = Relu (x) y = Abs (\"/conv/Relu_output_0\") }";
        check(
            long,
            &["/conv/Relu_output"],
            false,
            expect![[r#"
                cannot compile `model`

                  the model has no value `/conv/Relu_output`
                    help: did you mean `/conv/Relu_output_0`? run `cargo onnx-embed inspect --values` to list all values

                  model: IR version 10, ai.onnx 21"#]],
        );
        check(
            long,
            &["Relu_output_0", "nothing"],
            false,
            expect![[r#"
                cannot compile `model`: 2 problems

                  the model has no value `Relu_output_0`
                    help: did you mean `/conv/Relu_output_0`? run `cargo onnx-embed inspect --values` to list all values

                  the model has no value `nothing`
                    help: run `cargo onnx-embed inspect --values` to list all values

                  model: IR version 10, ai.onnx 21"#]],
        );
        check(
            "g (float[n] x, bool c) => (float[n] y) {
                y = If (c) <then_branch = t () => (float[n] p) { p = Abs (x) }, else_branch = e () => (float[n] q) { q = Exp (x) }>
            }",
            &["p"],
            false,
            expect![[r#"
                cannot compile `model`

                  value `p` is inside a branch or a loop, expected a value of the main graph
                    help: use an output of the enclosing node; `#[onnx(trace)]` shows the values inside

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
