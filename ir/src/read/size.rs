//! Computes the size of inlined functions before reading.

use std::collections::BTreeMap;

use super::limits::{MAX_NESTING, MAX_NODES};
use super::local::{Functions, Local};
use crate::diagnostics::Problem;
use crate::proto::{Elements, GraphProto, NodeProto};

/// Maximum number of bytes of lists and names that calls may repeat, in addition to ten times the file.
const MAX_REPEATED_BYTES: usize = 16 << 20;
/// Bytes of a node that are not counted as repeated.
const PLAIN: usize = 512;

/// Size of the nodes to read.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    nodes: usize,
    /// Number of bytes that calls repeat.
    repeated: usize,
}

struct Sizes<'f> {
    functions: &'f Functions<'f>,
    /// Sizes by function and by the number of nested calls that are still allowed.
    known: BTreeMap<(*const Local<'f>, usize), Size>,
    /// Whether calls are nested too deep.
    deep: bool,
}

/// Checks that a model is small enough to be compiled after its functions are inlined.
pub fn check(graph: &GraphProto, functions: &Functions<'_>, file: usize) -> Result<(), Problem> {
    let mut sizes = Sizes { functions, known: BTreeMap::new(), deep: false };
    let size = sizes.nodes(&graph.node, MAX_NESTING);
    if size.nodes > MAX_NODES {
        return Err(if sizes.deep { too_deep() } else { too_many() });
    }
    if size.repeated > file.saturating_mul(10).saturating_add(MAX_REPEATED_BYTES) {
        let mib = size.repeated >> 20;
        let message = format!(
            "function calls copy {mib} MiB of list attributes and input names, more than 10 times the size of the file"
        );
        return Err(Problem::new(message)
            .help("pass long lists to functions as inputs, or export the model without functions"));
    }
    Ok(())
}

pub fn too_many() -> Problem {
    Problem::new(format!("the model has more than {MAX_NODES} nodes, including those of functions"))
}

pub fn too_deep() -> Problem {
    Problem::new(format!("function calls are nested more than {MAX_NESTING} levels deep"))
}

impl<'f> Sizes<'f> {
    fn nodes(&mut self, nodes: &[NodeProto], deeper: usize) -> Size {
        let mut sum = Size::default();
        for node in nodes {
            sum.nodes = sum.nodes.saturating_add(1);
            let Some(deeper) = deeper.checked_sub(1) else {
                self.deep |= self.functions.called(node).is_some();
                continue;
            };
            if let Some(function) = self.functions.called(node) {
                sum.add(self.function(function, deeper));
                continue;
            }
            for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()) {
                sum.add(self.nodes(&graph.node, deeper));
            }
        }
        sum
    }

    fn function(&mut self, function: &'f Local<'f>, deeper: usize) -> Size {
        let key = (std::ptr::from_ref(function), deeper);
        if let Some(size) = self.known.get(&key) {
            return *size;
        }
        let nodes = &function.proto.node;
        let mut size = self.nodes(nodes, deeper);
        for node in nodes {
            let repeated = bytes(node, MAX_NESTING).saturating_sub(PLAIN);
            size.repeated = size.repeated.saturating_add(repeated);
        }
        self.known.insert(key, size);
        size
    }
}

impl Size {
    fn add(&mut self, other: Size) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.repeated = self.repeated.saturating_add(other.repeated);
    }
}

/// Estimates the memory of a node except for weights, in bytes.
fn bytes(node: &NodeProto, deeper: usize) -> usize {
    let names = node.input.iter().chain(&node.output);
    let names: usize = names.map(|name| 24 + name.len()).sum();
    let attribute = node.attribute.iter().map(|attribute| {
        let list = attribute.list.as_ref().map(|list| match &list.elements {
            Elements::Floats(floats) => floats.len() * 8,
            Elements::Ints(ints) => ints.len() * 32,
            Elements::Strings(texts) => texts.iter().map(|text| 32 + text.len()).sum(),
        });
        let text = attribute.s.as_ref().map_or(0, |text| text.len());
        let inner = attribute.g.iter().filter(|_| deeper > 0);
        let inner = inner.flat_map(|graph| &graph.node);
        let inner: usize = inner.map(|node| bytes(node, deeper - 1)).sum();
        list.unwrap_or(0) + text + inner
    });
    attribute.fold(names, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn functions_that_call_others_twice_and_twice_are_refused_at_once() {
        let mut text = String::from(
            r#"<ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y) { y = f.F0 (x) }"#,
        );
        for level in 0..20 {
            let next = level + 1;
            write!(
                text,
                r#"<domain: "f", opset_import: ["": 21, "f": 1]>
                F{level} (a) => (c) {{ b = f.F{next} (a) c = f.F{next} (b) }}"#
            )
            .unwrap();
        }
        text.push_str(r#"<domain: "f", opset_import: ["": 21]> F20 (a) => (b) { b = Neg (a) }"#);
        check(
            &text,
            expect![[r#"
                cannot compile `model`

                  the model has more than 200000 nodes, including those of functions

                  model: IR version 10, ai.onnx 21, f 1"#]],
        );
    }

    #[test]
    fn calls_do_not_repeat_long_lists_without_end() {
        let words = vec!["\"word\""; 5000].join(", ");
        let calls: String = (0..200).map(|at| format!("y{at} = f.F (x) ")).collect();
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (string[n] x) => (string[n] y0) {{ {calls} }}
            <domain: "f", opset_import: ["": 21]>
            F (a) => (b) {{ b = StringNormalizer <stopwords = [{words}]> (a) }}"#
        );
        check(
            &text,
            expect![[r#"
                cannot compile `model`

                  function calls copy 34 MiB of list attributes and input names, more than 10 times the size of the file
                    help: pass long lists to functions as inputs, or export the model without functions

                  model: IR version 10, ai.onnx 21, f 1"#]],
        );
    }

    #[test]
    fn what_a_caller_leaves_out_is_left_out_in_bodies_too() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[2, 2] x, bool c) => (float[2, 2] y) { y = f.F (c, x) }
            <domain: "f", opset_import: ["": 21]>
            F (c, a, b) => (d) {
                d = If (c) <
                    then_branch = t () => (float[2, 2] p) { p = Gemm (a, a, b) },
                    else_branch = e () => (float[2, 2] q) { q = Neg (a) }
                >
            }"#,
            expect![[r#"
                g (float32[2, 2] x, host bool[] c) => (float32[2, 2] F/d)
                {
                    float32[2, 2] F/d = If (c)
                        then_branch () => (float32[2, 2] F/p)
                        {
                            float32[2, 2] F/p = Gemm <alpha: 1.0, beta: 1.0, transposed: [false, false]> (x, x, )
                        }
                        else_branch () => (float32[2, 2] F/q)
                        {
                            float32[2, 2] F/q = Neg (x)
                        }
                }
            "#]],
        );
    }
}
