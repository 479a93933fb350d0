//! Computes equal expressions once.

use std::collections::HashMap;
use std::rc::Rc;

use super::flow::{Renamed, resolved};
use crate::attributes::{Attribute, Described};
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::types::Type;

/// Merges nodes that compute the same from the same inputs, and equal small constants. Random operators are not merged.
pub fn share(graph: &mut Graph) {
    let mut body = std::mem::take(&mut graph.body);
    let mut renamed = Renamed::new();
    let mut constants = HashMap::new();
    block(&mut body, &graph.values, &mut constants, &mut renamed);
    graph.body = body;
}

/// Properties by which nodes are compared.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    kind: Rc<str>,
    operator: Attribute,
    inputs: Vec<Option<ValueId>>,
    outputs: Vec<bool>,
}

/// Constants by their type and elements.
type Constants = HashMap<(Attribute, Attribute), ValueId>;

fn block(block: &mut Block, values: &Values, constants: &mut Constants, renamed: &mut Renamed) {
    let mut made: HashMap<Key, Vec<Option<ValueId>>> = HashMap::new();
    for mut node in std::mem::take(&mut block.nodes) {
        for input in node.inputs.iter_mut().flatten() {
            *input = constant(resolved(*input, renamed), values, constants);
        }
        for (_, inner) in &mut node.blocks {
            self::block(inner, values, constants, renamed);
        }
        if !node.operator.is_pure() || !node.blocks.is_empty() {
            block.nodes.push(node);
            continue;
        }
        let key = key(&node);
        match made.get(&key) {
            Some(outputs) if same_types(outputs, &node.outputs, values) => {
                let pairs = node.outputs.iter().flatten().zip(outputs.iter().flatten());
                renamed.extend(pairs.map(|(&own, &shared)| (own, shared)));
            }
            _ => {
                made.insert(key, node.outputs.clone());
                block.nodes.push(node);
            }
        }
    }
    for output in &mut block.outputs {
        *output = resolved(*output, renamed);
    }
}

fn key(node: &Node) -> Key {
    Key {
        kind: node.kind.clone(),
        operator: node.operator.attributes(),
        inputs: node.inputs.clone(),
        outputs: node.outputs.iter().map(Option::is_some).collect(),
    }
}

/// Compares the types of results: sizes that are known only at run time have a different name for each node.
fn same_types(a: &[Option<ValueId>], b: &[Option<ValueId>], values: &Values) -> bool {
    let ty = |id: &Option<ValueId>| id.and_then(|id| values[id].ty.clone());
    a.iter().map(ty).eq(b.iter().map(ty))
}

/// Maximum number of elements of constants that are compared. The elements of larger constants of a file are unknown.
const COMPARED: usize = 2048;

/// Returns the first constant with the same type and elements.
fn constant(id: ValueId, values: &Values, constants: &mut Constants) -> ValueId {
    let value = &values[id];
    let (Some(known), Some(Type::Tensor(ty))) = (value.known.peek(), &value.ty) else {
        return id;
    };
    // Parameters are distinguished by their names, except for single numbers.
    let distinct = value.parameter && known.len() > 1;
    if known.len() > COMPARED || distinct {
        return id;
    }
    let key = (ty.attributes(), known.attributes());
    let first = *constants.entry(key).or_insert(id);
    if first != id {
        // Code that uses one constant for both depends on the elements of both.
        value.known.read();
        values[first].known.read();
    }
    first
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::graph;

    fn check(text: &str, expected: expect_test::Expect) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {text}");
        expected.assert_eq(&graph(&text, []).0);
    }

    #[test]
    fn equal_nodes_are_one_and_constants_too() {
        check(
            r#"g (float[N] x) => (float[N] y) <float a = {2}, float b = {2}> {
                p = Mul (x, a)
                q = Mul (x, b)
                r = Exp (p)
                s = Exp (q)
                y = Sub (r, s)
            }"#,
            expect![[r#"
                g (float32[N] x) => (float32[N] y)
                <
                    float32[] a = {2}
                >
                {
                    float32[N] p = Mul (x, a)
                    float32[N] r = Exp (p)
                    float32[N] y = Sub (r, r)
                }
            "#]],
        );
    }

    #[test]
    fn random_numbers_and_sizes_of_the_run_are_others_each_time() {
        check(
            r#"g (float[N] x) => (float[2] a, float[2] b, int64[1, k] c, int64[1, k2] d) {
                a = RandomNormal <shape = [2]> ()
                b = RandomNormal <shape = [2]> ()
                c = NonZero (x)
                d = NonZero (x)
            }"#,
            expect![[r#"
                g (float32[N] x) => (float32[2] a, float32[2] b, int64[1, nonzero] c, int64[1, nonzero_2] d)
                {
                    float32[2] a = RandomNormal <function: "normal", numbers: [0.0, 1.0], dtype: F32, shape: [2]> ()
                    float32[2] b = RandomNormal <function: "normal", numbers: [0.0, 1.0], dtype: F32, shape: [2]> ()
                    int64[1, nonzero] c = NonZero (x)
                    int64[1, nonzero_2] d = NonZero (x)
                }
            "#]],
        );
    }

    #[test]
    fn constants_are_compared_up_to_a_number_of_elements() {
        for (count, are_one) in [(2048, true), (2049, false)] {
            let elements = vec!["7"; count].join(", ");
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": 21]>
                g (int64[{count}] x) => (int64[{count}] y)
                <int64[{count}] a = {{{elements}}}, int64[{count}] b = {{{elements}}}> {{
                    p = Mul (x, a) y = Mul (p, b)
                }}"
            );
            assert_eq!(!graph(&text, []).0.contains(" b = "), are_one, "{count}");
        }
    }

    #[test]
    fn parameters_of_one_number_are_one() {
        check(
            "g (float[N] x) => (float[N] y)
            <float[1] a = {2}, float[1] b = {2}, float[2] c = {3, 4}, float[2] d = {3, 4}> {
                p = Mul (x, a) q = Mul (x, b) r = Mul (p, c) s = Mul (q, d) y = Sub (r, s)
            }",
            expect![[r#"
                g (float32[N] x) => (float32[2] y)
                <
                    float32[1] a = {2},
                    float32[2] c = {3, 4},
                    float32[2] d = {3, 4}
                >
                {
                    float32[N] p = Mul (x, a)
                    float32[2] r = Mul (p, c)
                    float32[2] s = Mul (p, d)
                    float32[2] y = Sub (r, s)
                }
            "#]],
        );
    }
}
