//! Operators without effect.

use crate::ops::train::dropout::Dropout;
use crate::passes::rewrite::{Match, Miss, Rule, building, rule};

pub const RULES: &[Rule] = &[
    rule("add zero", "x + #zero", "x")
        .when(|m| {
            let zero = m.number("zero")?;
            if zero != 0.0 {
                Err("")
            } else if zero.is_sign_negative() || !m.result()?.dtype.is_float() {
                Ok(())
            } else {
                Err("adding 0 changes -0 to 0")
            }
        })
        .law("x - 0 = x + -0 = x; x + 0 = x except for -0 + 0 = 0")
        .example("(float[N] x) => (float[N] z) <float[1] c = {0}> { y = Sub (x, c) z = Abs (y) }"),
    building("zero before an exponential", "Exp|Sigmoid|Softmax|LogSoftmax|Cos:f(x + 0)", |m| {
        let (node, x) = (m.root(), m.value("x")?);
        m.made(node.clone(), &[Some(x)])
    })
    .law("e⁰ = e⁻⁰ and cos(0) = cos(-0), so the sign of a zero does not matter")
    .example("(float[N] x) => (float[N] z) <float[1] c = {0}> { y = Add (c, x) z = Softmax (y) }"),
    rule("multiply by one", "x * 1", "x")
        .law("x · 1 = x / 1 = x")
        .example("(int64[N] x) => (int64[N] z) <int64 c = {1}> { y = Div (x, c) z = Neg (y) }"),
    rule("power of one", "Pow(x, 1)", "x")
        .law("x¹ = x")
        .example("(float[N] x) => (float[N] z) <float c = {1}> { y = Pow (x, c) z = Exp (y) }"),
    rule("and true", "And(x, 1)", "x")
        .law("x ∧ true = x")
        .example("(bool[N] x) => (bool[N] z) <bool c = {1}> { y = And (x, c) z = Not (y) }"),
    rule("or false", "Or(x, 0)", "x")
        .law("x ∨ false = x")
        .example("(bool[N] x) => (bool[N] z) <bool c = {0}> { y = Or (c, x) z = Not (y) }"),
    rule("equal operands", "Max|Min|And|Or(x, x)", "x")
        .law("max(x, x) = x, even for NaN; the same for min, ∧ and ∨")
        .example("(float[N] x) => (float[N] z) { y = Max (x, x) z = Exp (y) }"),
    rule("single operand", "Max|Min|Sum|Mean|Concat(x)", "x")
        .law("the result of a single operand is the operand")
        .example("(float[N] x) => (float[N] z) { y = Concat <axis = 0> (x) z = Exp (y) }"),
    rule("cast to own type", "Cast(x)", "x")
        .law("a cast to the type of the input changes nothing")
        .example("(float[N] x) => (float[N] z) { y = Cast <to = 1> (x) z = Exp (y) }"),
    rule("same shape", "Reshape|Flatten|Squeeze|Unsqueeze|Expand(x, ..)", "x")
        .law("the input has the elements and the shape of the result; the comparison of types includes sizes")
        .example(
            "(float[N, 2] x) => (float[N, 2] z) {
                s = Shape (x)
                y = Reshape (x, s)
                z = Exp (y)
            }",
        ),
    rule("identity transpose", "Transpose:t(x)", "x")
        .when(axes_stay)
        .law("a transpose that keeps the order of the axes changes nothing")
        .example("(float[2, 2] x) => (float[2, 2] z) { y = Transpose <perm = [0, 1]> (x) z = Exp (y) }"),
    rule("slice of all", "Slice:s(x, ..)", "x")
        .when(steps_forward)
        .law("a slice with positive steps that keeps the sizes keeps every element")
        .example(
            "(float[N, 2] x) => (float[N, 2] z)
            <int64[1] start = {0}, int64[1] end = {9223372036854775807}, int64[1] axis = {1}> {
                y = Slice (x, start, end, axis)
                z = Exp (y)
            }",
        ),
    rule("pad of nothing", "Pad:p(x, $pads, ..)", "x")
        .when(|m| match m.uniform(m.value("pads")?) {
            Some(0.0) => Ok(()),
            _ => Err(""),
        })
        .law("a pad of 0 on every side changes nothing")
        .example(
            "(float[N, 2] x) => (float[N, 2] z) <int64[4] pads = {0, 0, 0, 0}> {
                y = Pad (x, pads)
                z = Exp (y)
            }",
        ),
    rule("tile of one", "Tile(x, 1)", "x").law("repeating each axis once changes nothing").example(
        "(float[N, 2] x) => (float[N, 2] z) <int64[2] once = {1, 1}> {
                y = Tile (x, once)
                z = Exp (y)
            }",
    ),
    rule("reduce one element", "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd(x, ..)", "x")
        .law("the reduction of one element is that element; if no size changes, the reduced axes have size 1")
        .example(
            "(float[N, 1] x) => (float[N, 1] z) <int64[1] axes = {1}> {
            y = ReduceMax (x, axes)
            z = Exp (y)
        }",
        ),
    rule("dropout at inference", "Dropout:d(x, ..)", "x")
        .when(|m| {
            let node = m.node("d")?;
            let known = |at| node.input(at).and_then(|id| m.value_of(id).known.read());
            if m.operator::<Dropout>("d")?.is_off(node, known(1), known(2)) {
                Ok(())
            } else {
                Err("the dropout is, or may be, in training mode")
            }
        })
        .law("outside training, dropout changes nothing")
        .example("(float[N] x) => (float[N] z) { y = Dropout (x) z = Exp (y) }"),
    rule("negative of negative", "Neg(Neg(x))", "x")
        .shared()
        .law("-(-x) = x")
        .example("(float[N] x) => (float[N] z) { y = Neg (x) w = Neg (y) z = Exp (w) }"),
    rule("not of not", "Not(Not(x))", "x")
        .shared()
        .law("¬¬x = x")
        .example("(bool[N] x) => (bool[N] z) { y = Not (x) w = Not (y) z = And (w, w) }"),
    rule("abs of negative", "Abs(Neg(x))", "Abs(x)")
        .shared()
        .law("|-x| = |x|")
        .example("(float[N] x) => (float[N] z) { y = Neg (x) z = Abs (y) }"),
    rule("sign twice", "Sign(Sign(x))", "Sign(x)")
        .shared()
        .law("sign(sign(x)) = sign(x)")
        .example("(float[N] x) => (float[N] z) { y = Sign (x) z = Sign (y) }"),
    rule("already rounded", "Floor|Ceil|Round(r)", "r")
        .when(|m| {
            let maker = m.maker(m.value("r")?);
            if maker.is_some_and(|node| ["Floor", "Ceil", "Round"].contains(&&*node.kind)) {
                Ok(())
            } else {
                Err("")
            }
        })
        .law("⌊r⌋ = ⌈r⌉ = r if r is an integer")
        .example("(float[N] x) => (float[N] z) { y = Floor (x) z = Ceil (y) }"),
];

fn axes_stay(m: &mut Match<'_, '_>) -> Result<(), Miss> {
    let axes = m.axes("t")?;
    if axes.is_sorted() { Ok(()) } else { Err("") }
}

fn steps_forward(m: &mut Match<'_, '_>) -> Result<(), Miss> {
    let node = m.node("s")?;
    match (node.input(4), m.ints(node, 4)) {
        (None, _) => Ok(()),
        (_, Some(steps)) if steps.iter().all(|step| step.is_positive()) => Ok(()),
        _ => Err("a step is negative, or known only at run time"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn operators_without_effect_are_removed() {
        expect![[r#"
            add zero
              <
              float32[1] c = {0}
              >
              float32[N] y = Sub (x, c)
              float32[N] z = Abs (y)
              =>
              float32[N] z = Abs (x)
            zero before an exponential
              <
              float32[1] c = {0}
              >
              float32[N] y = Add (c, x)
              float32[N] z = Softmax <function: "softmax", axis: -1> (y)
              =>
              float32[N] z = Softmax <function: "softmax", axis: -1> (x)
            multiply by one
              <
              int64[] c = {1}
              >
              int64[N] y = Div (x, c)
              int64[N] z = Neg (y)
              =>
              int64[N] z = Neg (x)
            power of one
              <
              float32[] c = {1}
              >
              float32[N] y = Pow (x, c)
              float32[N] z = Exp (y)
              =>
              float32[N] z = Exp (x)
            and true
              <
              bool[] c = {true}
              >
              bool[N] y = And (x, c)
              bool[N] z = Not (y)
              =>
              bool[N] z = Not (x)
            or false
              <
              bool[] c = {false}
              >
              bool[N] y = Or (c, x)
              bool[N] z = Not (y)
              =>
              bool[N] z = Not (x)
            equal operands
              float32[N] y = Max (x, x)
              float32[N] z = Exp (y)
              =>
              float32[N] z = Exp (x)
            single operand
              float32[N] y = Concat <axis: 0> (x)
              float32[N] z = Exp (y)
              =>
              float32[N] z = Exp (x)
            cast to own type
              float32[N] y = Cast <to: F32, saturate: true, toward: "Up"> (x)
              float32[N] z = Exp (y)
              =>
              float32[N] z = Exp (x)
            same shape
              <
              int64[2] s = {N, 2}
              >
              float32[N, 2] y = Reshape (x, s)
              float32[N, 2] z = Exp (y)
              =>
              float32[N, 2] z = Exp (x)
            identity transpose
              float32[2, 2] y = Transpose <axes: [0, 1]> (x)
              float32[2, 2] z = Exp (y)
              =>
              float32[2, 2] z = Exp (x)
            slice of all
              <
              int64[1] start = {0},
              int64[1] end = {9223372036854775807},
              int64[1] axis = {1}
              >
              float32[N, 2] y = Slice (x, start, end, axis)
              float32[N, 2] z = Exp (y)
              =>
              float32[N, 2] z = Exp (x)
            pad of nothing
              <
              int64[4] pads = {0, 0, 0, 0}
              >
              float32[N, 2] y = Pad <mode: Constant> (x, pads)
              float32[N, 2] z = Exp (y)
              =>
              float32[N, 2] z = Exp (x)
            tile of one
              <
              int64[2] once = {1, 1}
              >
              float32[N, 2] y = Tile (x, once)
              float32[N, 2] z = Exp (y)
              =>
              float32[N, 2] z = Exp (x)
            reduce one element
              <
              int64[1] axes = {1}
              >
              float32[N, 1] y = ReduceMax <keep: true> (x, axes)
              float32[N, 1] z = Exp (y)
              =>
              float32[N, 1] z = Exp (x)
            dropout at inference
              float32[N] y = Dropout (x)
              float32[N] z = Exp (y)
              =>
              float32[N] z = Exp (x)
            negative of negative
              float32[N] y = Neg (x)
              float32[N] w = Neg (y)
              float32[N] z = Exp (w)
              =>
              float32[N] z = Exp (x)
            not of not
              bool[N] y = Not (x)
              bool[N] w = Not (y)
              bool[N] z = And (w, w)
              =>
            abs of negative
              float32[N] y = Neg (x)
              float32[N] z = Abs (y)
              =>
              float32[N] z = Abs (x)
            sign twice
              float32[N] y = Sign (x)
              float32[N] z = Sign (y)
              =>
              float32[N] z = Sign (x)
            already rounded
              float32[N] y = Floor (x)
              float32[N] z = Ceil (y)
              =>
              float32[N] y = Floor (x)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn reversals_remain() {
        let found = |start: i64, end: i64, step: i64| {
            let constants = format!(
                "<int64[1] start = {{{start}}}, int64[1] end = {{{end}}}, int64[1] axis = {{0}}, int64[1] step = {{{step}}}>"
            );
            let nodes = "{ y = Slice (x, start, end, axis, step) z = Exp (y) }";
            reasons("slice of all", &format!("(float[4] x) => (float[4] z) {constants} {nodes}"))
        };
        assert_eq!(found(3, -9, -1), ["a step is negative, or known only at run time"]);
        assert!(found(0, 9, 1).is_empty());
    }
}
