//! Bounds of elements, joined or removed.

use crate::graph::{Node, ValueId};
use crate::ops;
use crate::ops::elementwise::clip::Clip;
use crate::passes::rewrite::{Match, Miss, Rule, building, rule};

pub const RULES: &[Rule] = &[
    building("nested bounds", "Relu|Clip|Max|Min:outer(..)", |m| {
        let (x, (low, high)) = bounds(m, m.root())?;
        let inner = m.maker(x).ok_or("")?;
        let (x, (least, most)) = bounds(m, inner)?;
        if low > high || least > most {
            return Err("the lower bound exceeds the upper bound");
        }
        bounded(m, x, (least.clamp(low, high), most.clamp(low, high)))
    })
    .shared()
    .law(
        "clamp(clamp(x, l, h), a, b) = clamp(x, clamp(l, a, b), clamp(h, a, b)); \
         Relu, Max and Min have one bound",
    )
    .example(
        "(float[N] x) => (float[N] z) <float a = {0}, float b = {6}> {
            y = Min (x, b) z = Max (a, y)
        }",
    ),
    rule("already nonnegative", "Relu|Abs(p)", "p")
        .when(|m| {
            let maker = m.maker(m.value("p")?);
            if !maker.is_some_and(|node| ops::facts(&node.kind).nonnegative) {
                Err("")
            } else if !m.result()?.dtype.is_float() {
                Err("the absolute value of the smallest integer is negative")
            } else {
                Ok(())
            }
        })
        .law("|p| = max(p, 0) = p if p is never negative")
        .example("(float[N] x) => (float[N] z) { y = Sigmoid (x) z = Relu (y) }"),
];

/// Returns the value that a node clamps, and the bounds.
pub fn bounds(m: &Match<'_, '_>, node: &Node) -> Result<(ValueId, (f64, f64)), Miss> {
    let (first, second) = (node.input(0).ok_or("")?, node.input(1));
    let number = |id: ValueId| m.uniform(id);
    if !m.tensor_of(first)?.dtype.is_float() && m.tensor_of(first)?.dtype.bits() > 32 {
        return Err("64-bit integers may not be exact as floats");
    }
    if let Some(clip) = node.operator_as::<Clip>() {
        let bound = |at: usize, open: f64| match (clip.number(at, m.known(node, at).1), node.input(at)) {
            (Some(bound), _) => Ok(bound),
            (None, None) => Ok(open),
            (None, Some(_)) => Err("the bounds are known only at run time"),
        };
        return Ok((first, (bound(1, f64::NEG_INFINITY)?, bound(2, f64::INFINITY)?)));
    }
    let of_two = || match (node.inputs.len(), second.map(|second| (second, number(second), number(first)))) {
        (2, Some((_, Some(bound), _))) => Ok((first, bound)),
        (2, Some((second, _, Some(bound)))) => Ok((second, bound)),
        _ => Err(""),
    };
    Ok(match &*node.kind {
        "Relu" => (first, (0.0, f64::INFINITY)),
        "Max" => of_two().map(|(x, bound)| (x, (bound, f64::INFINITY)))?,
        "Min" => of_two().map(|(x, bound)| (x, (f64::NEG_INFINITY, bound)))?,
        _ => return Err(""),
    })
}

/// Clamps a value to bounds.
pub fn bounded(m: &mut Match<'_, '_>, x: ValueId, bounds: (f64, f64)) -> Result<ValueId, Miss> {
    let (low, high) = bounds;
    if (low, high) == (0.0, f64::INFINITY) {
        return m.call("Relu", &[], &[Some(x)]);
    }
    let low = low.is_finite().then(|| m.scalar(low)).transpose()?;
    let high = high.is_finite().then(|| m.scalar(high)).transpose()?;
    m.call("Clip", &[], &[Some(x), low, high])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, reasons, shown};
    use crate::passes::rules;

    #[test]
    fn bounds_are_merged() {
        expect![[r#"
            nested bounds
              <
              float32[] a = {0},
              float32[] b = {6}
              >
              float32[N] y = Min (x, b)
              float32[N] z = Max (a, y)
              =>
              <
              float32[] %5 = {0},
              float32[] %6 = {6}
              >
              float32[N] z = Clip (x, %5, %6)
            already nonnegative
              float32[N] y = Sigmoid (x)
              float32[N] z = Relu (y)
              =>
              float32[N] y = Sigmoid (x)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn activations_with_bounds_are_one_clip() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[N] x) => (float[N] a, float[N] b, float[N] c)
            <float low = {-1}, float high = {6}, float[1] far = {9}> {
                r = Relu (x) a = Clip (r, low, high)
                b = Relu (r)
                m = Min (r, far) c = Clip (m, high, far)
            }"#;
        expect![[r#"
            g (float32[N] x) => (float32[N] a, float32[N] b, float32[N] c)
            <
                float32[] %9 = {0},
                float32[] %10 = {6},
                float32[] %19 = {6},
                float32[] %20 = {9}
            >
            {
                float32[N] a = Clip (x, %9, %10)
                float32[N] b = Relu (x)
                float32[N] c = Clip (x, %19, %20)
            }
        "#]]
        .assert_eq(&graph(text, rules::all()).0);
    }

    #[test]
    fn absolute_values_of_integers_may_be_negative() {
        let found = |dtype: &str| {
            let nodes = "y = Abs (x) z = Relu (y)";
            reasons("already nonnegative", &format!("({dtype}[N] x) => ({dtype}[N] z) {{ {nodes} }}"))
        };
        assert_eq!(found("int32"), ["the absolute value of the smallest integer is negative"]);
        assert!(found("float").is_empty());
    }

    #[test]
    fn bounds_of_integers_are_merged() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (int32[N] x, int64[N] i) => (int32[N] z, int64[N] j)
            <int32 one = {1}, int32 six = {6}, int64 low = {1}, int64 high = {6}> {
                y = Min (x, six) z = Max (one, y)
                h = Min (i, high) j = Max (low, h)
            }"#;
        expect![[r#"
            g (int32[N] x, int64[N] i) => (int32[N] z, int64[N] j)
            <
                int64[] low = {1},
                int64[] high = {6},
                int32[] %10 = {1},
                int32[] %11 = {6}
            >
            {
                int32[N] z = Clip (x, %10, %11)
                int64[N] h = Min (i, high)
                int64[N] j = Max (low, h)
            }
        "#]]
        .assert_eq(&graph(text, rules::all()).0);
    }
}
