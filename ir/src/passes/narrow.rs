//! Splits sums and comparisons of very many operands.

use std::rc::Rc;

use crate::graph::{Block, Graph, Node, Value, Values};
use crate::infer;
use crate::names::Names;
use crate::ops::{Operator, fold};

/// Maximum number of operands of a node: rustc processes nested expressions by recursion.
const MAX_OPERANDS: usize = 64;

/// Writes `Sum(a, b, c, ..)` as `Sum(Sum(a, b, ..), ..)`, which adds in the same order.
pub fn narrow(graph: &mut Graph, names: &mut Names) {
    let mut body = std::mem::take(&mut graph.body);
    block(&mut body, &mut graph.values, names);
    graph.body = body;
}

fn block(block: &mut Block, values: &mut Values, names: &mut Names) {
    for mut node in std::mem::take(&mut block.nodes) {
        for (_, inner) in &mut node.blocks {
            self::block(inner, values, names);
        }
        if node.inputs.len() > MAX_OPERANDS
            && let Some(partial) = fold(&*node.operator)
        {
            block.nodes.extend(parts(&mut node, &partial, values, names));
        }
        block.nodes.push(node);
    }
}

/// Returns nodes that combine the first operands of a node. The node uses their result instead.
fn parts(node: &mut Node, partial: &Rc<dyn Operator>, values: &mut Values, names: &mut Names) -> Vec<Node> {
    let mut operands = std::mem::take(&mut node.inputs).into_iter();
    let kind = match &*node.kind {
        "Mean" => "Sum".into(),
        _ => node.kind.clone(),
    };
    let (mut parts, mut made) = (Vec::new(), None);
    while made.is_none() || operands.len() >= MAX_OPERANDS {
        let mut inputs: Vec<_> = made.into_iter().collect();
        let more = MAX_OPERANDS.saturating_sub(inputs.len());
        inputs.extend(operands.by_ref().take(more));
        let part = Node {
            kind: kind.clone(),
            operator: partial.clone(),
            outputs: vec![Some(values.push(Value::default()))],
            inputs,
            ..node.clone()
        };
        // Types that could be inferred for the whole node can be inferred for a part.
        let _ = infer::node(&part, values, names);
        made = part.outputs.first().copied();
        parts.push(part);
    }
    node.inputs = made.into_iter().chain(operands).collect();
    parts
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::options::Options;
    use crate::testing::{check, file};

    /// Returns the number of operands of each node that a sum becomes.
    fn operands(sum: usize) -> Vec<usize> {
        let all = vec!["x"; sum].join(", ");
        let header = r#"<ir_version: 10, opset_import: ["": 21]>"#;
        let text = format!("{header} g (float[n] x) => (float[n] y) {{ y = Sum ({all}) }}");
        let options = Options { simplify: false, ..Options::default() };
        let model = crate::load_bytes(file(&text).into(), &options).unwrap();
        model.graph.body.nodes.iter().map(|node| node.inputs.len()).collect()
    }

    #[test]
    fn sums_have_at_most_64_operands() {
        assert_eq!(operands(64), [64]);
        assert_eq!(operands(65), [64, 2]);
        assert_eq!(operands(127), [64, 64]);
        assert_eq!(operands(128), [64, 64, 2]);
    }

    #[test]
    fn wide_means_are_sums_of_sums() {
        let operands = (0..130).map(|at| if at % 2 == 0 { "x" } else { "y" });
        let operands = operands.collect::<Vec<_>>().join(", ");
        let text = format!("g (float[n] x, float[1] y) => (float[n] z) {{ z = Mean ({operands}) }}");
        check(
            &text,
            expect![[r#"
                g (float32[n] x, float32[1] y) => (float32[n] z)
                {
                    float32[n] %3 = Sum (x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y)
                    float32[n] %4 = Sum (%3, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x)
                    float32[n] z = Mean <mean: 130> (%4, y, x, y)
                }
            "#]],
        );
    }
}
