//! Names that a file defines more than once.

use std::collections::BTreeMap;

use super::facts::domain;
use super::limits::MAX_NESTING;
use crate::diagnostics::Problem;
use crate::ops::kind;
use crate::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto};

/// Maximum number of problems that are reported.
const MAX_REPORTED: usize = 100;

/// Definition of a value.
#[derive(Clone, Copy)]
enum Giver<'a> {
    Input,
    Initializer(&'a TensorProto),
    Sparse,
    Node(&'a NodeProto),
}

/// Definitions of a graph so far.
type Named<'a> = BTreeMap<&'a str, Giver<'a>>;

/// Reports names of a model with two definitions: programs differ in the one that they use.
pub fn find(model: &ModelProto) -> Vec<Problem> {
    let mut check = Check::default();
    check.opsets(&model.opset_import, "");
    check.functions(&model.functions);
    if let Some(graph) = &model.graph {
        check.graph(graph, 0);
    }
    check.problems
}

#[derive(Default)]
struct Check {
    problems: Vec<Problem>,
}

impl Check {
    fn opsets(&mut self, imports: &[OperatorSetIdProto], importer: &str) {
        let mut versions = BTreeMap::new();
        for import in imports {
            let version = import.version.unwrap_or(1);
            let first = *versions.entry(domain(&import.domain)).or_insert(version);
            if first != version {
                let name = match domain(&import.domain).as_str() {
                    "" => "ai.onnx".to_owned(),
                    name => name.to_owned(),
                };
                self.refuse(format!(
                    "domain `{name}` is imported twice{importer}, with versions {first} and {version}"
                ));
            }
        }
    }

    fn functions(&mut self, functions: &[FunctionProto]) {
        let mut indices = BTreeMap::new();
        for (at, function) in functions.iter().enumerate() {
            let name = kind(&domain(&function.domain), &function.name);
            let first = *indices.entry((name.clone(), &function.overload)).or_insert(at);
            if first != at {
                self.refuse(format!("functions {first} and {at} of the file are both named `{name}`"));
            }
            let importer = format!(" by function `{name}`");
            self.opsets(&function.opset_import, &importer);
            let mut named = Named::new();
            for input in &function.input {
                if named.insert(input, Giver::Input).is_some() {
                    self.refuse(format!("two inputs of function `{name}` are named `{input}`"));
                }
            }
            self.nodes(&function.node, named, 0);
        }
    }

    /// Checks a graph inside `depth` others. Its values may hide theirs.
    fn graph(&mut self, graph: &GraphProto, depth: usize) {
        let mut named = Named::new();
        for (what, values) in [("input", &graph.input), ("output", &graph.output)] {
            if let Some(at) = values.iter().position(|value| value.name.is_empty()) {
                let name = &graph.name;
                self.refuse(format!("{what} {at} of graph `{name}` has no name"));
            }
        }
        for input in graph.input.iter().filter(|input| !input.name.is_empty()) {
            if named.insert(&input.name, Giver::Input).is_some() {
                let name = &input.name;
                self.refuse(match depth {
                    0 => format!("two inputs are named `{name}`"),
                    _ => {
                        let graph = &graph.name;
                        format!("two inputs of graph `{graph}` are named `{name}`")
                    }
                });
            }
        }
        let sparse = graph.sparse_initializer.iter();
        let sparse = sparse.filter_map(|tensor| tensor.values.as_ref());
        let sparse = sparse.map(|values| (&values.name, Giver::Sparse));
        let dense = graph.initializer.iter();
        let dense = dense.map(|tensor| (&tensor.name, Giver::Initializer(tensor)));
        for (name, giver) in dense.chain(sparse).filter(|(name, _)| !name.is_empty()) {
            match named.insert(name, giver) {
                None | Some(Giver::Input) => {}
                Some(first) if same(first, giver) => {}
                Some(first) => self.refuse(both(name, first, giver)),
            }
        }
        self.nodes(&graph.node, named, depth);
    }

    fn nodes<'a>(&mut self, nodes: &'a [NodeProto], mut named: Named<'a>, depth: usize) {
        for node in nodes {
            for name in node.output.iter().filter(|name| !name.is_empty()) {
                let giver = Giver::Node(node);
                if let Some(first) = named.insert(name, giver) {
                    self.refuse(both(name, first, giver));
                }
            }
            let graphs = node.attribute.iter().filter_map(|attribute| attribute.g.as_deref());
            graphs.filter(|_| depth < MAX_NESTING).for_each(|graph| self.graph(graph, depth + 1));
        }
    }

    fn refuse(&mut self, message: String) {
        if self.problems.len() < MAX_REPORTED {
            self.problems.push(Problem::new(message).inconsistent());
        }
    }
}

/// Returns `true` for equal initializers: some exporters write a tensor once for each use.
fn same(first: Giver<'_>, second: Giver<'_>) -> bool {
    match (first, second) {
        (Giver::Initializer(first), Giver::Initializer(second)) => first == second,
        _ => false,
    }
}

fn both(name: &str, first: Giver<'_>, second: Giver<'_>) -> String {
    let (first, second) = (shown(first), shown(second));
    if first == second {
        format!("value `{name}` is defined twice, both times by {first}")
    } else {
        format!("value `{name}` is defined twice, by {first} and by {second}")
    }
}

fn shown(giver: Giver<'_>) -> String {
    match giver {
        Giver::Input => "an input".to_owned(),
        Giver::Initializer(_) => "an initializer".to_owned(),
        Giver::Sparse => "a sparse initializer".to_owned(),
        Giver::Node(node) => {
            let kind = kind(&domain(&node.domain), &node.op_type);
            if node.name.is_empty() {
                format!("a node ({kind})")
            } else {
                format!("node `{}` ({kind})", node.name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_value_is_given_once() {
        check(
            "
            g (float[2] x, float[2] z) => (float[2] y, float[2] t)
            <float[2] v = {1, 2}, float[2] w = {1, 2}, int64[2] w = {3, 4}>
            {
                [first] a = Relu (x)
                [second] a = Neg (x)
                v = Abs (x)
                z = Exp (x)
                y, y = Dropout (a)
                t = Add (v, w)
            }
            ",
            expect![[r#"
                cannot compile `model`: 6 problems

                  value `w` is defined twice, both times by an initializer
                    help: the file is inconsistent; export the model again

                  value `a` is defined twice, by node `first` (Relu) and by node `second` (Neg)
                    help: the file is inconsistent; export the model again

                  value `v` is defined twice, by an initializer and by a node (Abs)
                    help: the file is inconsistent; export the model again

                  value `z` is defined twice, by an input and by a node (Exp)
                    help: the file is inconsistent; export the model again

                  value `y` is defined twice, both times by a node (Dropout)
                    help: the file is inconsistent; export the model again

                  input 1 has type int64, but input 0 has type float32
                    at node `t` (Add version 14)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn two_inputs_have_two_names() {
        check(
            "g (float[2] x, float[2] x) => (float[2] y) { y = Relu (x) }",
            expect![[r#"
                cannot compile `model`

                  two inputs are named `x`
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn an_initializer_may_be_written_twice() {
        check(
            "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] w = {1, \
                 2}> { y = Add (x, w) }",
            expect![[r#"
                g (float32[2] x) => (float32[2] y)
                <
                    float32[2] w%1 = {1, 2}
                >
                {
                    float32[2] y = Add (x, w%1)
                }
            "#]],
        );
    }

    #[test]
    fn a_body_gives_each_of_its_values_once() {
        check(
            "
            g (int64 m, float[2] x) => (float[2] y, float[2] z) {
                y, z = Loop (m, , x, x) <body = b (int64 i, bool c, float[2] q, float[2] q) => (bool c, float[2] r, float[2] i) {
                    r = Neg (q)
                    i = Abs (q)
                }>
            }
            ",
            expect![[r#"
                cannot compile `model`: 2 problems

                  two inputs of graph `b` are named `q`
                    help: the file is inconsistent; export the model again

                  value `i` is defined twice, by an input and by a node (Abs)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn values_of_a_body_may_hide_values_around_it() {
        check(
            "
            g (int64 m, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
                y = Loop (m, , x) <body = b (int64 i, bool c, float[2] x) => (bool c, float[2] r) <float[2] w = {3, 4}> {
                    r = Add (x, w)
                }>
            }
            ",
            expect![[r#"
                g (host int64[] m, float32[2] x%2) => (float32[2] y)
                <
                    float32[2] w%3 = {3, 4}
                >
                {
                    float32[2] y = Loop (m, , x%2)
                        body (int64[] i, bool[] c, float32[2] x%6) => (bool[] c, float32[2] r)
                        {
                            float32[2] r = Add (x%6, w%3)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn functions_and_versions_are_named_once() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1, "ai.onnx": 7, "f": 1]>
            g (float[n] x) => (float[n] y) { y = f.Act (x) }
            <domain: "f", opset_import: ["": 21]> Act (v) => (w) { w = Relu (v) }
            <domain: "f", opset_import: ["": 21, "": 7]> Act (v) => (v) { v = Neg (v) }
            "#,
            expect![[r#"
                cannot compile `model`: 5 problems

                  domain `ai.onnx` is imported twice, with versions 21 and 7
                    help: the file is inconsistent; export the model again

                  functions 0 and 1 of the file are both named `f.Act`
                    help: the file is inconsistent; export the model again

                  domain `ai.onnx` is imported twice by function `f.Act`, with versions 21 and 7
                    help: the file is inconsistent; export the model again

                  value `v` is defined twice, by an input and by a node (Neg)
                    help: the file is inconsistent; export the model again

                  the graph has a cycle: `v` depends on itself
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 7, f 1"#]],
        );
    }
}
