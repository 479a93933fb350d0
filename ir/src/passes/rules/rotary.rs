//! Rotary embeddings that exporters write as several nodes.

use std::rc::Rc;

use crate::graph::{Node, ValueId};
use crate::ops::attention::rotary::{JOINED, JoinedRotaryEmbedding};
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::passes::rules::slices::axis_slice::AxisSlice;

pub const RULES: &[Rule] = &[
    building(
        "rotary embedding",
        "x * cosine + Concat(Neg(b), a) * sine",
        |m| {
            let x = m.value("x")?;
            rotated(m, Some(x), false)
        },
    )
    .law("x·cos + (-b, a)·sin, where a and b are the halves of x")
    .example(
        "(float[B, 2, T, 4] x, float[1, 1, T, 4] c, float[1, 1, T, 4] s) => (float[B, 2, T, 4] y)
        <int64[1] zero = {0}, int64[1] two = {2}, int64[1] end = {9223372036854775807}, int64[1] axis = {-1}> {
            a = Slice (x, zero, two, axis) b = Slice (x, two, end, axis) n = Neg (b)
            t = Concat <axis = -1> (n, a) p = Mul (x, c) q = Mul (t, s) y = Add (p, q)
        }",
    ),
    building(
        "rotary embedding of halves",
        "Concat(a * cosine - b * sine, b * cosine + a * sine)",
        |m| rotated(m, None, false),
    )
    .law("(a·cos - b·sin, b·cos + a·sin), where a and b are the halves of x")
    .example(
        "(float[B, T, 2, 4] x, float[T, 1, 2] c, float[T, 1, 2] s) => (float[B, T, 2, 4] y)
        <int64[2] sizes = {2, 2}> {
            a, b = Split <axis = -1> (x, sizes) p = Mul (a, c) q = Mul (b, s) r = Sub (p, q)
            t = Mul (b, c) u = Mul (a, s) v = Add (t, u) y = Concat <axis = -1> (r, v)
        }",
    ),
    building(
        "interleaved rotary embedding",
        "x * cosine + Reshape|Flatten(Concat:pairs(Unsqueeze|Reshape:single(Neg(b), \
             ..), Unsqueeze|Reshape(a, ..)), ..) * sine",
        |m| {
            let x = m.value("x")?;
            rotated(m, Some(x), true)
        },
    )
    .law("x·cos + (-b, a)·sin interleaved, where a and b are the even and odd elements of x")
    .example(
        "(float[B, T, 2, 4] x, float[T, 1, 4] c, float[T, 1, 4] s) => (float[B, T, 2, 4] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] end = {9223372036854775807},
        int64[1] axis = {3}, int64[1] new = {4}, int64[4] flat = {0, 0, 0, 4}> {
            a = Slice (x, zero, end, axis, two) b = Slice (x, one, end, axis, two) n = Neg (b)
            d = Unsqueeze (n, new) e = Unsqueeze (a, new) f = Concat <axis = -1> (d, e)
            t = Reshape (f, flat) p = Mul (x, c) q = Mul (t, s) y = Add (p, q)
        }",
    ),
    building(
        "interleaved rotary embedding of pairs",
        "Reshape|Flatten(Concat:pairs(Unsqueeze|Reshape:single(a * cosine - b * sine, ..), \
         Unsqueeze|Reshape(b * cosine + a * sine, ..)), ..)",
        |m| rotated(m, None, true),
    )
    .law("(a·cos - b·sin, b·cos + a·sin) interleaved, where a and b are the even and odd elements of x")
    .example(
        "(float[B, T, 2, 4] x, float[T, 1, 2] c, float[T, 1, 2] s) => (float[B, T, 2, 4] y)
        <int64[5] pairs = {0, 0, 0, 2, 2}, int64 one = {1}, int64 zero = {0}, int64[1] new = {4},
        int64[4] flat = {0, 0, 0, 4}> {
            w = Reshape (x, pairs) a = Gather <axis = 4> (w, zero) b = Gather <axis = -1> (w, one)
            p = Mul (a, c) q = Mul (b, s) r = Sub (p, q) t = Mul (b, c) u = Mul (a, s) v = Add (t, u)
            d = Unsqueeze (r, new) e = Unsqueeze (v, new) f = Concat <axis = -1> (d, e)
            y = Reshape (f, flat)
        }",
    ),
];

fn rotated(m: &mut Match<'_, '_>, x: Option<ValueId>, interleaved: bool) -> Result<ValueId, Miss> {
    let (a, b) = (m.value("a")?, m.value("b")?);
    let found = whole(m, [a, b], interleaved).ok_or("the parts are not halves or pairs of one value")?;
    if x.is_some_and(|x| x != found) {
        return Err("the parts belong to another value");
    }
    if interleaved && !are_stacked(m) {
        return Err("the rotated elements are not interleaved");
    }
    let inputs = [found, m.value("cosine")?, m.value("sine")?].map(Some);
    let node = Node {
        kind: JOINED.into(),
        version: 1,
        operator: Rc::new(JoinedRotaryEmbedding { interleaved }),
        ..m.root().clone()
    };
    m.made(node, &inputs)
}

/// Returns `true` if the parts are stacked in pairs on a new last axis.
fn are_stacked(m: &Match<'_, '_>) -> bool {
    let last = |label: &str| {
        let output = m.node(label).ok()?.output(0)?;
        m.tensor_of(output).ok()?.shape.last()?.number()
    };
    last("single") == Some(1) && last("pairs") == Some(2)
}

/// Returns the value whose last axis consists of these halves, or of these even and odd elements.
fn whole(m: &Match<'_, '_>, parts: [ValueId; 2], interleaved: bool) -> Option<ValueId> {
    let [first, second] = [AxisSlice::of(m, parts[0])?, AxisSlice::of(m, parts[1])?];
    let shape = &m.tensor_of(first.whole).ok()?.shape;
    let (size, outer) = shape.split_last()?;
    let size = size.number()?;
    let last = |part: &AxisSlice| part.axis == outer.len();
    if first.whole != second.whole || !last(&first) || !last(&second) {
        return None;
    }
    let half = m.tensor_of(parts[0]).ok()?.shape.last()?.number()?;
    let found = [&first, &second].map(|part| (part.start, part.step, part.squeezed));
    let expected = if interleaved {
        [(0, 2, false), (1, 2, false)]
    } else {
        [(0, 1, false), (size.checked_div(2)?, 1, false)]
    };
    if found == expected && half.checked_mul(2) == Some(size) {
        return Some(first.whole);
    }
    // The pairs are on a separate axis.
    let before = m.maker(first.whole)?;
    let source = before.input(0)?;
    let (all, own) = m.tensor_of(source).ok()?.shape.split_last()?;
    let is_split =
        &*before.kind == "Reshape" && outer.split_last()?.1 == own && half.checked_mul(2) == all.number();
    let single = found == [(0, 1, true), (1, 1, true)] && size == 2;
    (interleaved && is_split && single).then_some(source)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn rotary_embeddings_are_one_operator() {
        expect![[r#"
            rotary embedding
              <
              int64[1] zero = {0},
              int64[1] two = {2},
              int64[1] end = {9223372036854775807},
              int64[1] axis = {-1}
              >
              float32[B, 2, T, 2] a = Slice (x, zero, two, axis)
              float32[B, 2, T, 2] b = Slice (x, two, end, axis)
              float32[B, 2, T, 2] n = Neg (b)
              float32[B, 2, T, 4] t = Concat <axis: -1> (n, a)
              float32[B, 2, T, 4] p = Mul (x, c)
              float32[B, 2, T, 4] q = Mul (t, s)
              float32[B, 2, T, 4] y = Add (p, q)
              =>
              float32[B, 2, T, 4] y = JoinedRotaryEmbedding (x, c, s)
            rotary embedding of halves
              <
              int64[2] sizes = {2, 2}
              >
              float32[B, T, 2, 2] a, float32[B, T, 2, 2] b = Split <axis: -1> (x, sizes)
              float32[B, T, 2, 2] p = Mul (a, c)
              float32[B, T, 2, 2] q = Mul (b, s)
              float32[B, T, 2, 2] r = Sub (p, q)
              float32[B, T, 2, 2] t = Mul (b, c)
              float32[B, T, 2, 2] u = Mul (a, s)
              float32[B, T, 2, 2] v = Add (t, u)
              float32[B, T, 2, 4] y = Concat <axis: -1> (r, v)
              =>
              float32[B, T, 2, 4] y = JoinedRotaryEmbedding (x, c, s)
            interleaved rotary embedding
              <
              int64[1] zero = {0},
              int64[1] one = {1},
              int64[1] two = {2},
              int64[1] end = {9223372036854775807},
              int64[1] axis = {3},
              int64[1] new = {4},
              int64[4] flat = {0, 0, 0, 4}
              >
              float32[B, T, 2, 2] a = Slice (x, zero, end, axis, two)
              float32[B, T, 2, 2] b = Slice (x, one, end, axis, two)
              float32[B, T, 2, 2] n = Neg (b)
              float32[B, T, 2, 2, 1] d = Unsqueeze (n, new)
              float32[B, T, 2, 2, 1] e = Unsqueeze (a, new)
              float32[B, T, 2, 2, 2] f = Concat <axis: -1> (d, e)
              float32[B, T, 2, 4] t = Reshape (f, flat)
              float32[B, T, 2, 4] p = Mul (x, c)
              float32[B, T, 2, 4] q = Mul (t, s)
              float32[B, T, 2, 4] y = Add (p, q)
              =>
              float32[B, T, 2, 4] y = JoinedRotaryEmbedding <interleaved: true> (x, c, s)
            interleaved rotary embedding of pairs
              <
              int64[5] pairs = {0, 0, 0, 2, 2},
              int64[] one = {1},
              int64[] zero = {0},
              int64[1] new = {4},
              int64[4] flat = {0, 0, 0, 4}
              >
              float32[B, T, 2, 2, 2] w = Reshape (x, pairs)
              float32[B, T, 2, 2] a = Gather <axis: 4> (w, zero)
              float32[B, T, 2, 2] b = Gather <axis: -1> (w, one)
              float32[B, T, 2, 2] p = Mul (a, c)
              float32[B, T, 2, 2] q = Mul (b, s)
              float32[B, T, 2, 2] r = Sub (p, q)
              float32[B, T, 2, 2] t = Mul (b, c)
              float32[B, T, 2, 2] u = Mul (a, s)
              float32[B, T, 2, 2] v = Add (t, u)
              float32[B, T, 2, 2, 1] d = Unsqueeze (r, new)
              float32[B, T, 2, 2, 1] e = Unsqueeze (v, new)
              float32[B, T, 2, 2, 2] f = Concat <axis: -1> (d, e)
              float32[B, T, 2, 4] y = Reshape (f, flat)
              =>
              float32[B, T, 2, 4] y = JoinedRotaryEmbedding <interleaved: true> (x, c, s)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    const NO_PARTS: &str = "the parts are not halves or pairs of one value";

    #[test]
    fn halves_are_both_of_one_value_and_in_order() {
        let reasons = |a: &str, b: &str| {
            let example = format!(
                "(float[B, 2, T, 4] x, float[B, 2, T, 4] w, float[1, 1, T, 4] c, float[1, 1, T, 4] s)
                => (float[B, 2, T, 4] y)
                <int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] end = {{4}}, int64[1] axis = {{-1}}> {{
                    a = Slice ({a}, axis) b = Slice ({b}, axis) n = Neg (b)
                    t = Concat <axis = -1> (n, a) p = Mul (x, c) q = Mul (t, s) y = Add (p, q)
                }}"
            );
            reasons("rotary embedding", &example)
        };
        assert_eq!(reasons("x, zero, two", "x, two, end"), [""; 0]);
        assert_eq!(reasons("x, zero, two", "w, two, end"), [NO_PARTS]);
        assert_eq!(reasons("x, two, end", "x, zero, two"), [NO_PARTS]);
    }

    #[test]
    fn a_part_has_no_new_axes() {
        let example = "(float[B, 2] x, float[B, 1, 2] c, float[B, 1, 2] s) => (float[B, B, 2] y)
            <int64[1, 1] zero = {0}, int64[1, 1] one = {1}> {
                a = Gather <axis = -1> (x, zero) b = Gather <axis = -1> (x, one) n = Neg (b)
                t = Concat <axis = -1> (n, a) p = Mul (x, c) q = Mul (t, s) y = Add (p, q)
            }";
        assert_eq!(reasons("rotary embedding", example), [NO_PARTS]);
    }

    #[test]
    fn pairs_that_become_halves_remain() {
        let example = "(float[B, T, 2, 4] x, float[T, 1, 2] c, float[T, 1, 2] s) => (float[B, T, 2, 4] y)
            <int64[5] pairs = {0, 0, 0, 2, 2}, int64 one = {1}, int64 zero = {0}> {
                w = Reshape (x, pairs) a = Gather <axis = -1> (w, zero) b = Gather <axis = -1> (w, one)
                p = Mul (a, c) q = Mul (b, s) r = Sub (p, q) t = Mul (b, c) u = Mul (a, s) v = Add (t, u)
                y = Concat <axis = -1> (r, v)
            }";
        assert_eq!(reasons("rotary embedding of halves", example), [NO_PARTS]);
    }

    #[test]
    fn pairs_are_adjacent_and_in_order() {
        let rule = "interleaved rotary embedding of pairs";
        let example = |split: &str, a: &str, b: &str| {
            format!(
                "(float[B, T, 2, 4] x, float[T, 1, 2] c, float[T, 1, 2] s) => (float[B, T, 2, 4] y)
                <int64[5] pairs = {{0, 0, 0, 2, 2}}, int64[2, 2] moved = {{3, 2, 1, 0}}, int64 one = {{1}}, int64 zero = {{0}},
                int64[1] new = {{4}}, int64[4] flat = {{0, 0, 0, 4}}> {{
                    w = {split} a = {a} b = {b}
                    p = Mul (a, c) q = Mul (b, s) r = Sub (p, q) t = Mul (b, c) u = Mul (a, s) v = Add (t, u)
                    d = Unsqueeze (r, new) e = Unsqueeze (v, new) f = Concat <axis = -1> (d, e)
                    y = Reshape (f, flat)
                }}"
            )
        };
        let reshape = "Reshape (x, pairs)";
        let [zero, one] = ["zero", "one"].map(|index| format!("Gather <axis = 4> (w, {index})"));
        assert_eq!(reasons(rule, &example(reshape, &zero, &one)), [""; 0]);
        assert_eq!(reasons(rule, &example(reshape, &one, &zero)), [NO_PARTS]);
        assert_eq!(reasons(rule, &example("Gather <axis = -1> (x, moved)", &zero, &one)), [NO_PARTS]);
        let split = "Reshape (x, pairs) g, h = Split <axis = -1, num_outputs = 2> (w)";
        let [first, second] = ["g", "h"].map(|part| format!("Squeeze ({part}, new)"));
        assert_eq!(reasons(rule, &example(split, &first, &second)), [""; 0]);
    }

    #[test]
    fn stacked_parts_are_interleaved() {
        let reasons = |new: i64, axis: i64| {
            let example = format!(
                "(float[B, T, 2, 4] x, float[T, 1, 4] c, float[T, 1, 4] s) => (float[B, T, 2, 4] y)
                <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] end = {{4}},
                int64[1] axis = {{3}}, int64[1] new = {{{new}}}, int64[4] flat = {{0, 0, 0, 4}}> {{
                    a = Slice (x, zero, end, axis, two) b = Slice (x, one, end, axis, two) n = Neg (b)
                    d = Unsqueeze (n, new) e = Unsqueeze (a, new) f = Concat <axis = {axis}> (d, e)
                    t = Reshape (f, flat) p = Mul (x, c) q = Mul (t, s) y = Add (p, q)
                }}"
            );
            reasons("interleaved rotary embedding", &example)
        };
        let other = "the rotated elements are not interleaved";
        assert_eq!(reasons(4, 4), [""; 0]);
        assert_eq!(reasons(4, 3), [other]);
        assert_eq!(reasons(3, 3), [other]);
    }
}
