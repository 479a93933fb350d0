//! Expands and selections that the next operator's broadcasting replaces.

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::shape::slice::{Slice, Span};
use crate::passes::rewrite::{Match, Miss, Rule, building, rule};
use crate::proto::Setting;
use crate::types::Known;

pub const RULES: &[Rule] = &[
    building(
        "expand before a broadcast",
        "Add|Sub|Mul|Div|Pow|Mod|Max|Min|Mean|Sum|PRelu|Equal|Less|Greater|LessOrEqual|GreaterOrEqual\
         |And|Or|Xor|Where|BitwiseAnd|BitwiseOr|BitwiseXor:step(..)",
        without_expand,
    )
    .shared()
    .law("the operator broadcasts its operands")
    .example(
        "(float[N, 1] x, float[N, 3] y) => (float[N, 3] z) {
            s = Shape (y) e = Expand (x, s) z = Sub (y, e)
        }",
    ),
    building("cast of repeated elements", "Cast:cast(Expand(x, s))", |m| {
        let node = m.node("cast")?.clone();
        let x = m.value("x")?;
        let converted = m.made(node, &[Some(x)])?;
        let sizes = m.value("s")?;
        m.call("Expand", &[], &[Some(converted), Some(sizes)])
    })
    .shared()
    .law("a cast converts each element alone")
    .example(
        "(int64[N, 1] x, float[N, 3] y) => (float[N, 3] z) {
            s = Shape (y) e = Expand (x, s) z = Cast <to = 1> (e)
        }",
    ),
    rule("negated condition", "Where(Not(c), x, y)", "Where(c, y, x)")
        .shared()
        .law("where(¬c, x, y) = where(c, y, x)")
        .example(
            "(bool[N] c, float[N] x, float y) => (float[N] z) { n = Not (c) z = Where \
             (n, x, y) }",
        ),
    building("constant condition", "Where:choice(c, x, y)", |m| {
        let (x, y) = (m.value("x")?, m.value("y")?);
        let chosen = match m.uniform(m.value("c")?) {
            _ if x == y => x,
            Some(1.0) => x,
            Some(0.0) => y,
            _ => return Err(""),
        };
        if m.tensor_of(chosen)?.shape == m.result()?.shape {
            return Ok(chosen);
        }
        let shape = m.result()?.shape.clone();
        let sources: Vec<ValueId> = m.root().inputs.iter().flatten().copied().collect();
        let sizes = m.sizes(&shape, &sources)?;
        m.call("Expand", &[], &[Some(chosen), Some(sizes)])
    })
    .law("where(true, x, y) = x and where(false, x, y) = y")
    .example(
        "(float[N] x, float[N] y) => (float[N] z) <bool[1] c = {1}> { w = Where (c, \
             x, y) z = Exp (w) }",
    ),
    building("index of size 1", "Squeeze|Unsqueeze|Reshape|Flatten:outer(Gather:take(x, $i), ..)", |m| {
        let index = m.value("i")?;
        let operand = m.tensor("i")?.clone();
        let shape = match operand.shape.as_slice() {
            [] => vec![Dim::from(1)],
            [size] if size.is(1) => Vec::new(),
            _ => return Err(""),
        };
        let known = m.value_of(index).known.read().cloned().ok_or("")?;
        let index = m.constant(operand.dtype, shape, known);
        m.made(m.node("take")?.clone(), &[Some(m.value("x")?), Some(index)])
    })
    .law("x[i..i + 1] is x[i] with an axis of size 1")
    .example(
        "(float[N, 4] x) => (float[N] z) <int64[1] i = {2}, int64[1] axis = {1}> {
            y = Gather <axis = 1> (x, i) z = Squeeze (y, axis)
        }",
    ),
    building("slice of size 1", "Squeeze|Reshape|Flatten:outer(Slice:cut(x, ..), ..)", element)
        .law("x[i..i + 1] without its axis of size 1 is x[i]")
        .example(
            "(float[N, 4] x) => (float[N] z) <int64[1] i = {2}, int64[1] j = {3}, int64[1] axis = {1}> {
            y = Slice (x, i, j, axis) z = Squeeze (y, axis)
        }",
        ),
];

fn without_expand(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let (node, shape) = (m.root(), m.result()?.shape.clone());
    if node.version < 7 {
        return Err("");
    }
    let mut inputs = node.inputs.clone();
    for at in 0..inputs.len() {
        let expand = inputs.get(at).copied().flatten().and_then(|id| m.maker(id));
        let Some(from) = expand.filter(|node| expands(m, node)).and_then(|node| node.input(0)) else {
            continue;
        };
        let mut less = inputs.clone();
        less.splice(at..=at, [Some(from)]);
        if covers(m, &less, &shape) {
            inputs = less;
        }
    }
    if inputs == node.inputs { Err("") } else { m.made(node.clone(), &inputs) }
}

/// Returns `true` if a node repeats only axes of size 1.
fn expands(m: &Match<'_, '_>, node: &Node) -> bool {
    let shape = |id: Option<ValueId>| id.and_then(|id| m.tensor_of(id).ok()).map(|tensor| &tensor.shape);
    match (&*node.kind, shape(node.input(0)), shape(node.output(0))) {
        ("Expand", ..) => true,
        ("Tile", Some(from), Some(to)) => from.iter().zip(to).all(|(from, to)| from == to || from.is(1)),
        _ => false,
    }
}

/// Returns `true` if operands broadcast to a shape, and each size of it is the size of an operand.
fn covers(m: &Match<'_, '_>, inputs: &[Option<ValueId>], shape: &[Dim]) -> bool {
    let shapes = inputs.iter().flatten().map(|&id| m.tensor_of(id).map(|tensor| tensor.shape.as_slice()));
    let Ok(shapes) = shapes.collect::<Result<Vec<&[Dim]>, Miss>>() else {
        return false;
    };
    (1..=shape.len()).all(|from_end| {
        let at = |shape: &[Dim]| Some(shape.get(shape.len().checked_sub(from_end)?)?.clone());
        shapes.iter().any(|other| at(other).is_some() && at(other) == at(shape))
    })
}

/// Replaces a slice of one element by the element.
fn element(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let (x, node) = (m.value("x")?, m.node("cut")?);
    let shape = m.tensor("x")?.shape.clone();
    let cut = m.operator::<Slice>("cut")?.spans(|at| m.known(node, at), &shape).ok_or("")?;
    let cut: Vec<(usize, &Span)> = cut
        .iter()
        .enumerate()
        .filter(|(axis, span)| shape.get(*axis).is_none_or(|size| **span != Span::whole(size)))
        .collect();
    let [(axis, span)] = cut.as_slice() else {
        return Err("");
    };
    let mut rest = shape.clone();
    rest.remove(*axis);
    let start = span.start.number().filter(|_| span.length.is(1)).ok_or("")?;
    if rest != m.result()?.shape {
        return Err("");
    }
    let axis = Setting::Int(i64::try_from(*axis).unwrap_or(0));
    let index = m.constant(crate::dtype::DType::I64, Vec::new(), Known::Ints(vec![start.into()]));
    m.call("Gather", &[("axis", axis)], &[Some(x), Some(index)])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, shown};
    use crate::passes::rules;

    #[test]
    fn redundant_expands_and_selections_are_removed() {
        expect![[r#"
            expand before a broadcast
              <
              int64[2] s = {N, 3}
              >
              float32[N, 3] e = Expand (x, s)
              float32[N, 3] z = Sub (y, e)
              =>
              float32[N, 3] z = Sub (y, x)
            cast of repeated elements
              <
              int64[2] s = {N, 3}
              >
              int64[N, 3] e = Expand (x, s)
              float32[N, 3] z = Cast <to: F32, saturate: true, toward: "Up"> (e)
              =>
              <
              int64[2] s = {N, 3}
              >
              float32[N, 1] %5 = Cast <to: F32, saturate: true, toward: "Up"> (x)
              float32[N, 3] z = Expand (%5, s)
            negated condition
              bool[N] n = Not (c)
              float32[N] z = Where (n, x, y)
              =>
              float32[N] z = Where (c, y, x)
            constant condition
              <
              bool[1] c = {true}
              >
              float32[N] w = Where (c, x, y)
              float32[N] z = Exp (w)
              =>
              float32[N] z = Exp (x)
            index of size 1
              <
              int64[1] i = {2},
              int64[1] axis = {1}
              >
              float32[N, 1] y = Gather <axis: 1> (x, i)
              float32[N] z = Squeeze (y, axis)
              =>
              <
              int64[] %5 = {2}
              >
              float32[N] z = Gather <axis: 1> (x, %5)
            slice of size 1
              <
              int64[1] i = {2},
              int64[1] j = {3},
              int64[1] axis = {1}
              >
              float32[N, 1] y = Slice (x, i, j, axis)
              float32[N] z = Squeeze (y, axis)
              =>
              <
              int64[] %6 = {2}
              >
              float32[N] z = Gather <axis: 1> (x, %6)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn expands_remain_that_give_a_size() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[1, 1] x, float[N, 1] y, float[N, 3] w) => (float[N, 3] z) {
                s = Shape (w) e = Expand (x, s) f = Expand (y, s) z = Sub (e, f)
            }"#;
        expect![[r#"
            g (float32[1, 1] x, float32[N, 1] y, float32[N, 3] w) => (float32[N, 3] z)
            <
                int64[2] s = {N, 3}
            >
            {
                float32[N, 3] f = Expand (y, s)
                float32[N, 3] z = Sub (x, f)
            }
        "#]]
        .assert_eq(&graph(text, rules::all()).0);
    }

    #[test]
    fn tiles_of_one_element_are_removed() {
        let text = r#"<ir_version: 4, opset_import: ["": 8]>
            g (float[N, 1] x, float[N, 2] w, float[N, 3] y, float[N, 6] z) => (float[N, 3] u, float[N, 6] v)
            <int64[2] r = {1, 3}> { a = Tile (x, r) u = Add (a, y) b = Tile (w, r) v = Add (b, z) }"#;
        expect![[r#"
            g (float32[N, 1] x, float32[N, 2] w, float32[N, 3] y, float32[N, 6] z) => (float32[N, 3] u, float32[N, 6] v)
            <
                int64[2] r = {1, 3}
            >
            {
                float32[N, 3] u = Add (x, y)
                float32[N, 6] b = Tile (w, r)
                float32[N, 6] v = Add (b, z)
            }
        "#]].assert_eq(&graph(text, rules::all()).0);
    }
}
