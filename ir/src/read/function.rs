//! Inlines calls of model-local functions.

use std::collections::BTreeSet;

use super::facts::domain;
use super::limits::MAX_NESTING;
use super::local::{Functions, Local};
use super::scope::Scope;
use super::{Reader, size};
use crate::diagnostics::{Problem, Site};
use crate::graph::Block;
use crate::ops::{self, kind};
use crate::proto::NodeProto;

impl<'a> Functions<'a> {
    /// Returns the function that a node calls. A function with the name of a built-in operator defines the operator,
    /// and is used only if the opset does not contain the operator.
    pub fn meant(&self, node: &NodeProto, scope: &Scope<'_>) -> Option<&Local<'a>> {
        let found = self.called(node)?;
        let domain = domain(&node.domain);
        let opset = scope.opset(&domain).filter(|_| node.overload.is_empty());
        match opset.and_then(|opset| ops::find(&domain, &node.op_type, opset)) {
            Some((_, Some(_))) => None,
            _ => Some(found),
        }
    }
}

impl Reader<'_> {
    /// Inlines the nodes of a function in place of a call.
    pub(super) fn call(
        &mut self,
        function: &Local<'_>,
        node: &NodeProto,
        scope: &mut Scope<'_>,
        block: &mut Block,
    ) {
        self.depth += 1;
        let inlined = if self.depth > MAX_NESTING {
            Err(size::too_deep())
        } else {
            self.inline(function, node, scope, block)
        };
        self.depth -= 1;
        if let Err(problem) = inlined {
            let function = kind(&domain(&function.proto.domain), &function.proto.name);
            self.diagnostics.push(
                problem.at(Site { operator: format!("function {function}"), node: scope.node_label(node) }),
            );
            self.poison(node, scope);
        }
    }

    fn inline(
        &mut self,
        function: &Local<'_>,
        node: &NodeProto,
        scope: &mut Scope<'_>,
        block: &mut Block,
    ) -> Result<(), Problem> {
        check(function, node)?;
        let proto = function.proto;
        let arguments = scope.resolve(&node.attribute).into_iter().collect();
        let name = if node.name.is_empty() { &proto.name } else { &node.name };
        let mut inner = scope.function(name, function, arguments);
        for (formal, actual) in proto.input.iter().zip(&node.input) {
            if let Some(id) = scope.input(actual)? {
                inner.define(formal, id);
            }
        }
        self.nodes(&proto.node, &mut inner, block);
        let mut made = Vec::new();
        for (formal, actual) in proto.output.iter().zip(&node.output) {
            match inner.value(formal) {
                _ if actual.is_empty() => {}
                Some(id) => made.push((actual, id)),
                None => {
                    return Err(Problem::new(format!(
                        "no node of the function produces its output `{formal}`"
                    ))
                    .inconsistent());
                }
            }
        }
        for (actual, id) in made {
            scope.define(actual, id);
        }
        Ok(())
    }
}

/// Checks that a call has no more inputs, outputs and attributes than the function.
fn check(function: &Local<'_>, node: &NodeProto) -> Result<(), Problem> {
    let proto = function.proto;
    let counts =
        [("inputs", node.input.len(), proto.input.len()), ("outputs", node.output.len(), proto.output.len())];
    if let Some((what, count, formal)) = counts.iter().find(|(_, count, formal)| count > formal) {
        let message = format!("the number of {what} of the node is {count}, but the function has {formal}");
        return Err(Problem::new(message).inconsistent());
    }
    let mut names = BTreeSet::new();
    if let Some(again) = node.attribute.iter().find(|attribute| !names.insert(&attribute.name)) {
        let problem = Problem::new(format!("attribute `{}` is specified twice", again.name));
        return Err(problem.inconsistent());
    }
    let mut attributes = node.attribute.iter();
    match attributes.find(|attribute| !function.attributes.contains(attribute.name.as_str())) {
        Some(attribute) => {
            let message = format!("the function has no attribute `{}`", attribute.name);
            Err(Problem::new(message).inconsistent())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn attributes_are_those_of_the_call_or_the_default() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y, float[n] z) { y = f.Leak (x) z = f.Leak <slope = 0.5> (x) }
            <domain: "f", opset_import: ["": 21]>
            Leak <slope: float = 0.25> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) }
            "#,
            expect![[r#"
                g (float32[n] x) => (float32[n] Leak/w%1, float32[n] Leak/w%2)
                {
                    float32[n] Leak/w%1 = LeakyRelu <function: "leaky_relu", parameters: [0.25]> (x)
                    float32[n] Leak/w%2 = LeakyRelu <function: "leaky_relu", parameters: [0.5]> (x)
                }
            "#]],
        );
    }

    #[test]
    fn an_attribute_left_out_has_the_default_of_the_operator() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y) { y = f.Leak (x) }
            <domain: "f", opset_import: ["": 21]>
            Leak <slope> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) }
            "#,
            expect![[r#"
                g (float32[n] x) => (float32[n] Leak/w)
                {
                    float32[n] Leak/w = LeakyRelu <function: "leaky_relu", parameters: [0.01]> (x)
                }
            "#]],
        );
    }

    #[test]
    fn attributes_pass_through_functions() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y) { [outer] y = f.Twice <slope = 0.5> (x) }
            <domain: "f", opset_import: ["": 21, "f": 1]>
            Twice <slope: float = 0.25> (v) => (w) { [first] u = f.Leak <slope: float = @slope> (v) w = f.Leak (u) }
            <domain: "f", opset_import: ["": 21]>
            Leak <slope: float = 0.125> (v) => (w) { [leak] w = LeakyRelu <alpha: float = @slope> (v) }
            "#,
            expect![[r#"
                g (float32[n] x) => (float32[n] outer/Leak/w)
                {
                    float32[n] outer/first/w = LeakyRelu <function: "leaky_relu", parameters: [0.5]> (x)
                    float32[n] outer/Leak/w = LeakyRelu <function: "leaky_relu", parameters: [0.125]> (outer/first/w)
                }
            "#]],
        );
    }

    #[test]
    fn an_input_left_out_is_left_out_inside() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[2, 2] x) => (float[2, 2] y, float[2, 2] z) { y = f.Dense (x, x) z = f.Dense (x, x, x) }
            <domain: "f", opset_import: ["": 21]>
            Dense (a, b, c) => (d) { d = Gemm (a, b, c) }
            "#,
            expect![[r#"
                g (float32[2, 2] x) => (float32[2, 2] Dense/d%1, float32[2, 2] Dense/d%2)
                {
                    float32[2, 2] Dense/d%1 = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (x, x, )
                    float32[2, 2] Dense/d%2 = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (x, x, x)
                }
            "#]],
        );
    }

    #[test]
    fn functions_are_distinguished_by_overload() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y, float[n] z) { y = f.Act:a (x) z = f.Act:b (x) }
            <domain: "f", overload: "a", opset_import: ["": 21]> Act (v) => (w) { w = Relu (v) }
            <domain: "f", overload: "b", opset_import: ["": 21]> Act (v) => (w) { w = Neg (v) }
            "#,
            expect![[r#"
                g (float32[n] x) => (float32[n] Act/w%1, float32[n] Act/w%2)
                {
                    float32[n] Act/w%1 = Relu (x)
                    float32[n] Act/w%2 = Neg (x)
                }
            "#]],
        );
    }

    #[test]
    fn an_operator_is_not_what_a_function_of_its_name_says() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21]>
            g (float[n] x) => (float[n] y) { y = Relu (x) }
            <domain: "", opset_import: ["": 21]> Relu (v) => (w) { w = Neg (v) }
            "#,
            expect![[r#"
                g (float32[n] x) => (float32[n] y)
                {
                    float32[n] y = Relu (x)
                }
            "#]],
        );
    }

    #[test]
    fn a_function_may_stand_for_an_operator_that_the_opset_lacks() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 12]>
            g (float[n] x) => (float[n] z) { y = Gelu (x) z = Unheard (y) }
            <domain: "", opset_import: ["": 12]> Gelu (v) => (w) { w = Neg (v) }
            <domain: "", opset_import: ["": 12]> Unheard (v) => (w) { w = Abs (v) }
            "#,
            expect![[r#"
                g (float32[n] x) => (float32[n] Unheard/w)
                {
                    float32[n] Gelu/w = Neg (x)
                    float32[n] Unheard/w = Abs (Gelu/w)
                }
            "#]],
        );
    }

    #[test]
    fn an_attribute_of_a_call_is_given_once() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y) { y = f.Leak <slope = 0.5, slope = 0.25> (x) }
            <domain: "f", opset_import: ["": 21]>
            Leak <slope> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) }
            "#,
            expect![[r#"
                cannot compile `model`

                  attribute `slope` is specified twice
                    at node `y` (function f.Leak)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21, f 1"#]],
        );
    }

    #[test]
    fn a_function_uses_the_versions_of_its_own() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n, 1] x) => (float[n] y, float[n] z) { y = f.Flat (x) z = f.Same (y) }
            <domain: "f", opset_import: ["": 11]> Flat (v) => (w) { w = Squeeze <axes = [1]> (v) }
            <domain: "f"> Same (v) => (w) { w = Abs (v) }
            "#,
            expect![[r#"
                g (float32[n, 1] x) => (float32[n] Flat/w, float32[n] Same/w)
                {
                    float32[n] Flat/w = Squeeze <[1]> (x)
                    float32[n] Same/w = Abs (Flat/w)
                }
            "#]],
        );
    }

    #[test]
    fn names_inside_are_not_those_outside() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x, float[n] v) => (float[n] y) { y = f.Act (x) }
            <domain: "f", opset_import: ["": 21]> Act (w) => (x) { y = Neg (w) x = Add (y, v) }
            "#,
            expect![[r#"
                cannot compile `model`

                  no node produces the input `v`
                    at node `Act/x` (Add opset 21)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21, f 1"#]],
        );
    }

    #[test]
    fn a_call_gives_no_more_than_the_function_takes() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y, float[n] z) { y = f.Act (x, x) z = f.Act <k = 1> (x) }
            <domain: "f", opset_import: ["": 21]> Act (v) => (w) { w = Relu (v) }
            "#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  the number of inputs of the node is 2, but the function has 1
                    at node `y` (function f.Act)
                    help: the file is inconsistent; export the model again

                  the function has no attribute `k`
                    at node `z` (function f.Act)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21, f 1"#]],
        );
    }
}
