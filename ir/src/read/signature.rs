//! Reads the main graph, its inputs and outputs.

use std::collections::BTreeSet;

use super::Reader;
use super::input::{MAX_TYPE_DEPTH, is_name};
use super::scope::Scope;
use crate::diagnostics::Problem;
use crate::dim::Symbol;
use crate::graph::{Block, ValueId};
use crate::options::Options;
use crate::proto::{DimensionValue, GraphProto, TypeProto, TypeValue, ValueInfoProto};

impl Reader<'_> {
    /// Reads the graph that the model computes.
    pub(super) fn main(&mut self, graph: &GraphProto, scope: &mut Scope<'_>, options: &Options) -> Block {
        let mut block = Block::default();
        self.check_inputs(graph, options);
        self.initializers(graph, scope);
        for ty in graph.input.iter().filter_map(|input| input.r#type.as_ref()) {
            self.reserve_names(ty, 0);
        }
        let mut seen = BTreeSet::new();
        for input in &graph.input {
            if self.gives_up() {
                break;
            }
            if !seen.insert(input.name.as_str()) {
                continue;
            }
            // An input with an initializer is a constant that the exporter listed, too, unless the caller specifies its
            // shape.
            let constant = scope.value(&input.name).is_some();
            if constant && !options.inputs.contains_key(&input.name) {
                self.constant_declaration(input, scope);
                continue;
            }
            let id = self.define(&input.name, scope);
            block.inputs.push(id);
            self.declared.push(input.clone());
        }
        self.nodes(&graph.node, scope, &mut block);
        block.outputs = self.outputs(graph, scope);
        if graph.output.is_empty() {
            let problem = Problem::new("the graph has no outputs");
            self.diagnostics.push(problem.help("export the model again with its outputs"));
        }
        self.name_outputs(graph, &block.outputs);
        self.declarations(graph, scope);
        block
    }

    /// Records the declared names of outputs, as outputs may also be inputs, constants or listed twice.
    fn name_outputs(&mut self, graph: &GraphProto, outputs: &[ValueId]) {
        self.facts.outputs =
            graph.output.iter().zip(outputs).map(|(output, _)| output.name.clone()).collect();
        self.facts.ranks = graph.output.iter().map(declared_rank).collect();
    }

    /// Reserves the names of sizes before unnamed sizes get new names.
    fn reserve_names(&mut self, ty: &TypeProto, depth: usize) {
        let inner = match &ty.value {
            _ if depth > MAX_TYPE_DEPTH => None,
            Some(TypeValue::Sequence(container)) => container.elem_type.as_deref(),
            Some(TypeValue::Optional(container)) => container.elem_type.as_deref(),
            Some(TypeValue::Map(container)) => container.value_type.as_deref(),
            Some(TypeValue::Tensor(tensor)) => {
                for dim in tensor.shape.iter().flat_map(|shape| &shape.dim) {
                    if let Some(DimensionValue::Name(name)) = &dim.value
                        && is_name(name)
                    {
                        self.names.reserve(&Symbol::from(name.as_str()));
                    }
                }
                None
            }
            _ => None,
        };
        if let Some(inner) = inner {
            self.reserve_names(inner, depth + 1);
        }
    }
}

fn declared_rank(output: &ValueInfoProto) -> Option<usize> {
    match output.r#type.as_ref()?.value.as_ref()? {
        TypeValue::Tensor(tensor) => Some(tensor.shape.as_ref()?.dim.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn sizes_of_one_name_are_equal() {
        check(
            "g (float[n, 2] a, float[n, 2] b) => (float[n, 2] c) { c = Add (a, b) }",
            expect![[r#"
                g (float32[n, 2] a, float32[n, 2] b) => (float32[n, 2] c)
                {
                    float32[n, 2] c = Add (a, b)
                }
            "#]],
        );
    }

    #[test]
    fn an_input_with_an_initializer_is_a_constant() {
        check(
            "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }",
            expect![[r#"
                g (float32[2] x) => (float32[2] y)
                <
                    float32[2] w = {1, 2}
                >
                {
                    float32[2] y = Add (x, w)
                }
            "#]],
        );
    }

    #[test]
    fn outputs_may_be_inputs_and_constants() {
        check(
            "g (float[2] x) => (float[2] x, float[2] w) <float[2] w = {1, 2}> { }",
            expect![[r#"
                g (float32[2] x) => (float32[2] x, float32[2] w)
                <
                    float32[2] w = {1, 2}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn what_outputs_declare_is_not_believed() {
        check(
            "g (float[2] x) => (float[7, 7] y) { y = Relu (x) }",
            expect![[r#"
                g (float32[2] x) => (float32[2] y)
                {
                    float32[2] y = Relu (x)
                }
            "#]],
        );
    }

    #[test]
    fn an_output_that_nobody_makes_is_named() {
        check(
            "g (float[2] x) => (float[2] y) { z = Relu (x) }",
            expect![[r#"
                cannot compile `model`

                  no node produces the output `y`
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn something_must_be_computed() {
        check(
            "g (float[2] x) => () { y = Relu (x) }",
            expect![[r#"
                cannot compile `model`

                  the graph has no outputs
                    help: export the model again with its outputs

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn an_output_may_be_listed_twice() {
        check(
            "g (float[2] x) => (float[2] y, float[2] y) { y = Relu (x) }",
            expect![[r#"
                g (float32[2] x) => (float32[2] y, float32[2] y)
                {
                    float32[2] y = Relu (x)
                }
            "#]],
        );
    }
}
