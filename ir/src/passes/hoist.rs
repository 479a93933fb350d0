//! Moves computations on weights to the time of loading.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::dtype::ElementClass;
use crate::graph::{Block, Graph, Node, Value, ValueId, Values};
use crate::ops;
use crate::types::{Known, Type};

/// Removes nodes whose inputs are all constants; their results become constants. During training, values computed from
/// parameters remain in the graph, because their gradients need the computation.
pub fn hoist(graph: &mut Graph) {
    let mut readers = BTreeMap::new();
    count(&graph.body, &graph.values, &mut readers);
    readers.retain(|_, count| *count > 1);
    let mut body = std::mem::take(&mut graph.body);
    let values = graph.values.iter();
    let own = values.filter_map(|(_, value)| stands_for_itself(value));
    let mut total = own.fold(0, usize::saturating_add);
    let training = graph.training;
    block(&mut body, &mut graph.values, training, &readers, &mut total);
    graph.body = body;
}

/// Counts the uses of each large weight.
fn count(block: &Block, values: &Values, readers: &mut BTreeMap<ValueId, usize>) {
    for node in &block.nodes {
        let inputs = node.inputs.iter().flatten();
        for &id in inputs.filter(|&&id| is_large(&values[id])) {
            *readers.entry(id).or_default() += 1;
        }
        let blocks = node.blocks.iter();
        blocks.for_each(|(_, inner)| count(inner, values, readers));
    }
}

fn is_large(value: &Value) -> bool {
    value.parameter && value.known.is_none()
}

/// A result may have `MAX_GROWTH` times the elements of its inputs plus `FREE_ELEMENTS`, because it is in memory as long as the
/// model. The same limit holds for all constants of the file together, so that results of results do not grow without
/// end.
const MAX_GROWTH: usize = 4;
const FREE_ELEMENTS: usize = 1 << 18;
/// Maximum number of elements of a `ConstantOfShape`, which would otherwise be filled in each call.
const MAX_FILLED_ELEMENTS: usize = 1 << 27;
const FILL: &str = "ConstantOfShape";

fn block(
    block: &mut Block,
    values: &mut Values,
    training: bool,
    readers: &BTreeMap<ValueId, usize>,
    total: &mut usize,
) {
    for mut node in std::mem::take(&mut block.nodes) {
        for (_, inner) in &mut node.blocks {
            self::block(inner, values, training, readers, total);
        }
        let mut inputs = node.inputs.iter().flatten();
        let stays = if training {
            inputs.any(|&id| values[id].parameter)
        } else {
            // The transposed weight would be in memory in addition to the weight.
            &*node.kind == "Transpose" && inputs.any(|id| readers.contains_key(id))
        };
        match stored(&node, values, *total).filter(|_| !stays) {
            Some(output) => {
                values[output].maker = Some(Rc::new(node));
                let more = stands_for_itself(&values[output]);
                *total = total.saturating_add(more.unwrap_or_default());
            }
            None => block.nodes.push(node),
        }
    }
}

/// Returns the number of elements of a constant that is not computed from others.
fn stands_for_itself(value: &Value) -> Option<usize> {
    let filled = value.maker.as_ref().is_some_and(|node| &*node.kind == FILL);
    let tensor = value.ty.as_ref().and_then(Type::as_tensor);
    tensor.filter(|_| filled || value.weight.is_some())?.count()
}

/// Returns the only result of a node, if it can be computed when the model is loaded. `total` is the number of elements
/// of all constants of the file.
fn stored(node: &Node, values: &Values, total: usize) -> Option<ValueId> {
    let output = node.output(0)?;
    let alone = node.outputs.iter().skip(1).all(Option::is_none);
    let ty = tensor(values, output)?;
    let constant = |(at, id): (usize, &Option<ValueId>)| {
        let Some(id) = id else { return true };
        let value = &values[*id];
        let known = value.known.peek().is_some_and(Known::is_concrete);
        value.is_constant() && (known || !node.operator.wants_host(at)) && tensor(values, *id).is_some()
    };
    if !ops::facts(&node.kind).hoisted || !alone || !node.inputs.iter().enumerate().all(constant) {
        return None;
    }
    let inputs = node.inputs.iter().flatten();
    let from = inputs.filter_map(|&id| tensor(values, id)?.0);
    let from = from.fold(0usize, usize::saturating_add);
    let most = match &*node.kind {
        FILL => MAX_FILLED_ELEMENTS,
        _ => from.min(total).saturating_mul(MAX_GROWTH).saturating_add(FREE_ELEMENTS),
    };
    ty.0.is_some_and(|count| count <= most).then_some(output)
}

/// Returns the number of elements of a tensor that may be on the device, `None` inside if it is unknown.
fn tensor(values: &Values, id: ValueId) -> Option<(Option<usize>,)> {
    match &values[id].ty {
        Some(Type::Tensor(ty))
            if !matches!(ty.dtype.kind(), ElementClass::String | ElementClass::Complex) =>
        {
            Some((ty.count(),))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, trained};

    #[test]
    fn what_weights_determine_is_a_constant() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
                e = Exp (w)
                t = Transpose (e)
                y = MatMul (x, t)
            }"#;
        expect![[r#"
            g (float32[N, 2] x) => (float32[N, 2] y)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                float32[2, 2] t = Transpose (Exp (w))
            >
            {
                float32[N, 2] y = MatMul (x, t)
            }
        "#]]
        .assert_eq(&graph(text, []).0);
    }

    #[test]
    fn what_trained_weights_determine_is_computed_at_each_call() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float two = {2}> {
                t = Transpose (w)
                e = Exp (two)
                s = Mul (t, e)
                y = MatMul (x, s)
            }"#;
        expect![[r#"
            g (float32[N, 2] x) => (float32[N, 2] y)
            <
                float32[2, 2] w = {.. 16 bytes},
                float32[] two = {2},
                float32[] e = Exp (two)
            >
            {
                float32[2, 2] t = Transpose (w)
                float32[2, 2] s = Mul (t, e)
                float32[N, 2] y = MatMul (x, s)
            }
        "#]]
        .assert_eq(&trained(text, []).0);
    }

    /// Returns the graph of a transposed weight with this number of columns.
    fn transposed(columns: usize, more: &str) -> String {
        let numbers = vec!["1"; 2 * columns].join(", ");
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[N, {columns}] x) => (float[N, 2] y, z) <float[2, {columns}] w = {{{numbers}}}> {{
                t = Transpose (w)
                y = MatMul (x, t)
                {more}
            }}"
        );
        graph(&text, []).0
    }

    #[test]
    fn a_weight_is_not_in_memory_in_two_forms() {
        let read = "z = Add (x, w)";
        let shown = [transposed(4000, "z = Neg (x)"), transposed(4000, read), transposed(2, read)];
        expect![[r#"
            g (float32[N, 4000] x) => (float32[N, 2] y, float32[N, 4000] z)
            <
                float32[2, 4000] w = {.. 32000 bytes},
                float32[4000, 2] t = Transpose (w)
            >
            {
                float32[N, 2] y = MatMul (x, t)
                float32[N, 4000] z = Neg (x)
            }
            g (float32[N, 4000] x) => (float32[N, 2] y, float32[2, 4000] z)
            <
                float32[2, 4000] w = {.. 32000 bytes}
            >
            {
                float32[4000, 2] t = Transpose (w)
                float32[N, 2] y = MatMul (x, t)
                float32[2, 4000] z = Add (x, w)
            }
            g (float32[N, 2] x) => (float32[N, 2] y, float32[2, 2] z)
            <
                float32[2, 2] w = {1, 1, 1, 1},
                float32[2, 2] t = {1, 1, 1, 1}
            >
            {
                float32[N, 2] y = MatMul (x, t)
                float32[2, 2] z = Add (x, w)
            }
        "#]]
        .assert_eq(&shown.concat());
    }

    #[test]
    fn what_is_computed_from_weights_may_be_in_memory_in_two_forms() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N, 2] x) => (float[N, 2] y, float[2, 2] z) <float[2, 2] w = {1, 2, 3, 4}> {
                e = Exp (w)
                t = Transpose (e)
                y = MatMul (x, t)
                z = Add (x, e)
            }"#;
        expect![[r#"
            g (float32[N, 2] x) => (float32[N, 2] y, float32[2, 2] z)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                float32[2, 2] e = Exp (w),
                float32[2, 2] t = Transpose (Exp (w))
            >
            {
                float32[N, 2] y = MatMul (x, t)
                float32[2, 2] z = Add (x, e)
            }
        "#]]
        .assert_eq(&graph(text, []).0);
    }

    #[test]
    fn constants_grow_to_a_limit() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float x) => (a, b, c)
            <float[4, 1] w = {1, 2, 3, 4}, int64[2] most = {4, 65542}, int64[2] more = {4, 65543}, int64[2] twice = {1, 2}> {
                most_of_w = Expand (w, most)
                a = Add (x, most_of_w)
                more_of_w = Expand (w, more)
                b = Add (x, more_of_w)
                again = Tile (most_of_w, twice)
                c = Add (x, again)
            }"#;
        expect![[r#"
            g (float32[] x) => (float32[4, 65542] a, float32[4, 65543] b, float32[4, 131084] c)
            <
                float32[4, 1] w = {1, 2, 3, 4},
                int64[2] most = {4, 65542},
                int64[2] more = {4, 65543},
                int64[2] twice = {1, 2},
                float32[4, 65542] most_of_w = Expand (w, most)
            >
            {
                float32[4, 65542] a = Add (x, most_of_w)
                float32[4, 65543] more_of_w = Expand (w, more)
                float32[4, 65543] b = Add (x, more_of_w)
                float32[4, 131084] again = Tile (most_of_w, twice)
                float32[4, 131084] c = Add (x, again)
            }
        "#]]
        .assert_eq(&graph(text, []).0);
    }

    #[test]
    fn what_is_made_of_filled_constants_may_grow_with_them() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float x) => (y) <int64[2] many = {1048576, 1}, int64[2] four = {1, 4}> {
                zeros = ConstantOfShape (many)
                wide = Expand (zeros, four)
                y = Add (x, wide)
            }"#;
        expect![[r#"
            g (float32[] x) => (float32[1048576, 4] y)
            <
                int64[2] many = {1048576, 1},
                int64[2] four = {1, 4},
                float32[1048576, 4] wide = Expand (ConstantOfShape (many), four)
            >
            {
                float32[1048576, 4] y = Add (x, wide)
            }
        "#]]
        .assert_eq(&graph(text, []).0);
    }
}
