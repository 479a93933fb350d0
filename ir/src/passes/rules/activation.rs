//! Activations that exporters write as several nodes.

use crate::dtype::DType;
use crate::ops::elementwise::unary::Shaped;
use crate::passes::rewrite::{Miss, Rule, rule};

pub const RULES: &[Rule] = &[
    rule("gelu", "x * (Erf(x / 1.4142135623730951) + 1) * 0.5", "Gelu(x)")
        .law("x · ½(1 + erf(x/√2)) is Gelu")
        .example(
            "(float[N] x) => (float[N] y)
            <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
                a = Div (x, root) b = Erf (a) c = Add (one, b) d = Mul (x, c) y = Mul (d, half)
            }",
        ),
    rule(
        "gelu by tanh",
        "x * 0.5 * (1 + Tanh(0.7978845608028654 * (x + 0.044715 * x^3)))",
        "Gelu<approximate = tanh>(x)",
    )
    .law("½x(1 + tanh(√(2/π)(x + 0.044715x³))) is the approximation of Gelu by tanh")
    .example(
        "(float[N] x) => (float[N] y) <float three = {3}, float a = {0.044715}, float b = {0.7978846},
        float one = {1}, float half = {0.5}> {
            c = Pow (x, three) d = Mul (a, c) e = Add (x, d) f = Mul (e, b) g = Tanh (f)
            h = Add (g, one) i = Mul (half, x) y = Mul (i, h)
        }",
    ),
    rule(
        "gelu by tanh of factors",
        "x * 0.5 * (1 + Tanh(0.7978845608028654 * x * (1 + 0.044715 * x^2)))",
        "Gelu<approximate = tanh>(x)",
    )
    .law("x + 0.044715x³ = x(1 + 0.044715x²)")
    .example(
        "(float[N] x) => (float[N] y) <float a = {0.044715}, float b = {0.7978846},
        float one = {1}, float half = {0.5}> {
            c = Mul (x, x) d = Mul (a, c) e = Add (d, one) p = Mul (x, b) f = Mul (p, e) g = Tanh (f)
            h = Add (g, one) i = Mul (half, x) y = Mul (i, h)
        }",
    ),
    rule(
        "gelu by tanh of products",
        "x * 0.5 * (1 + Tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
        "Gelu<approximate = tanh>(x)",
    )
    .law("x³ is x · x · x")
    .example(
        "(float[N] x) => (float[N] y)
        <float a = {0.044715}, float b = {0.7978845608028654}, float half = {0.5}, float one = {1}> {
            p = Mul (a, x) q = Mul (x, p) r = Mul (x, q) e = Add (x, r) f = Mul (b, e) g = Tanh (f)
            h = Add (one, g) i = Mul (half, h) y = Mul (x, i)
        }",
    ),
    rule("silu", "x * Sigmoid(x)", "Swish(x)")
        .law("x · σ(x) is Swish with alpha 1")
        .example("(float[N] x) => (float[N] y) { s = Sigmoid (x) y = Mul (x, s) }"),
    rule("quick gelu", "x * Sigmoid(#alpha * x)", "Swish<alpha = #alpha>(x)")
        .when(|m| finite(m.number("alpha")?))
        .law("x · σ(αx) is Swish")
        .example(
            "(float[N] x) => (float[N] y) <float a = {1.702}> {
                p = Mul (x, a) s = Sigmoid (p) y = Mul (x, s)
            }",
        ),
    rule("hard swish", "x * Clip(x + 3, 0, 6) / 6", "HardSwish(x)")
        .law("x · clip(x + 3, 0, 6) / 6 is HardSwish")
        .example(
            "(float[N] x) => (float[N] y) <float three = {3}, float zero = {0}, float six = {6}> {
                a = Add (x, three) b = Clip (a, zero, six) c = Mul (x, b) y = Div (c, six)
            }",
        ),
    rule("hard sigmoid", "Clip(x + 3, 0, 6) / 6", "HardSigmoid<alpha = 0.16666667, beta = 0.5>(x)")
        .law("clip(x + 3, 0, 6) / 6 = clip(x/6 + ½, 0, 1)")
        .example(
            "(float[N] x) => (float[N] y) <float three = {3}, float zero = {0}, float six = {6}> {
            a = Add (x, three) b = Clip (a, zero, six) y = Div (b, six)
        }",
        ),
    rule("hard swish of hard sigmoid", "x * HardSigmoid:h(x)", "HardSwish(x)")
        .when(|m| match m.operator::<Shaped>("h")?.parameters() {
            // The attribute is 1/6 in single precision.
            _ if m.result()?.dtype == DType::F64 => Err("the slope differs from 1/6 in double precision"),
            [alpha, beta] if (alpha - 1.0 / 6.0).abs() < 1e-6 && *beta == 0.5 => Ok(()),
            _ => Err("`alpha` is not 1/6, or `beta` is not 1/2"),
        })
        .law("x · clip(x/6 + ½, 0, 1) is HardSwish")
        .example(
            "(float[N] x) => (float[N] y) {
                h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul (x, h)
            }",
        ),
    rule("mish", "x * Tanh(Softplus(x))", "Mish(x)")
        .law("x · tanh(ln(1 + eˣ)) is Mish")
        .example("(float[N] x) => (float[N] y) { s = Softplus (x) t = Tanh (s) y = Mul (x, t) }"),
    rule("mish of logarithms", "x * Tanh(Log(1 + Exp(x)))", "Mish(x)")
        .law("x · tanh(ln(1 + eˣ)) is Mish; if eˣ overflows, both hyperbolic tangents are 1")
        .example(
            "(float[N] x) => (float[N] y) <float one = {1}> {
                e = Exp (x) p = Add (e, one) s = Log (p) t = Tanh (s) y = Mul (x, t)
            }",
        ),
];

fn finite(number: f64) -> Result<(), Miss> {
    if number.is_finite() { Ok(()) } else { Err("the factor is not finite") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::shown;

    #[test]
    fn activations_are_one_operator() {
        expect![[r#"
            gelu
              <
              float32[] root = {1.4142135},
              float32[] one = {1},
              float32[] half = {0.5}
              >
              float32[N] a = Div (x, root)
              float32[N] b = Erf (a)
              float32[N] c = Add (one, b)
              float32[N] d = Mul (x, c)
              float32[N] y = Mul (d, half)
              =>
              float32[N] y = Gelu (x)
            gelu by tanh
              <
              float32[] three = {3},
              float32[] a = {0.044715},
              float32[] b = {0.7978846},
              float32[] one = {1},
              float32[] half = {0.5}
              >
              float32[N] c = Pow (x, three)
              float32[N] d = Mul (a, c)
              float32[N] e = Add (x, d)
              float32[N] f = Mul (e, b)
              float32[N] g = Tanh (f)
              float32[N] h = Add (g, one)
              float32[N] i = Mul (half, x)
              float32[N] y = Mul (i, h)
              =>
              float32[N] y = Gelu (x)
            gelu by tanh of factors
              <
              float32[] a = {0.044715},
              float32[] b = {0.7978846},
              float32[] one = {1},
              float32[] half = {0.5}
              >
              float32[N] c = Mul (x, x)
              float32[N] d = Mul (a, c)
              float32[N] e = Add (d, one)
              float32[N] p = Mul (x, b)
              float32[N] f = Mul (p, e)
              float32[N] g = Tanh (f)
              float32[N] h = Add (g, one)
              float32[N] i = Mul (half, x)
              float32[N] y = Mul (i, h)
              =>
              float32[N] y = Gelu (x)
            gelu by tanh of products
              <
              float32[] a = {0.044715},
              float32[] b = {0.7978846},
              float32[] half = {0.5},
              float32[] one = {1}
              >
              float32[N] p = Mul (a, x)
              float32[N] q = Mul (x, p)
              float32[N] r = Mul (x, q)
              float32[N] e = Add (x, r)
              float32[N] f = Mul (b, e)
              float32[N] g = Tanh (f)
              float32[N] h = Add (one, g)
              float32[N] i = Mul (half, h)
              float32[N] y = Mul (x, i)
              =>
              float32[N] y = Gelu (x)
            silu
              float32[N] s = Sigmoid (x)
              float32[N] y = Mul (x, s)
              =>
              float32[N] y = Swish <function: "swish", parameters: [1.0]> (x)
            quick gelu
              <
              float32[] a = {1.702}
              >
              float32[N] p = Mul (x, a)
              float32[N] s = Sigmoid (p)
              float32[N] y = Mul (x, s)
              =>
              float32[N] y = Swish <function: "swish", parameters: [1.702]> (x)
            hard swish
              <
              float32[] three = {3},
              float32[] zero = {0},
              float32[] six = {6}
              >
              float32[N] a = Add (x, three)
              float32[N] b = Clip (a, zero, six)
              float32[N] c = Mul (x, b)
              float32[N] y = Div (c, six)
              =>
              float32[N] y = HardSwish (x)
            hard sigmoid
              <
              float32[] three = {3},
              float32[] zero = {0},
              float32[] six = {6}
              >
              float32[N] a = Add (x, three)
              float32[N] b = Clip (a, zero, six)
              float32[N] y = Div (b, six)
              =>
              float32[N] y = HardSigmoid <function: "hard_sigmoid", parameters: [0.16666667, 0.5]> (x)
            hard swish of hard sigmoid
              float32[N] h = HardSigmoid <function: "hard_sigmoid", parameters: [0.16666667, 0.5]> (x)
              float32[N] y = Mul (x, h)
              =>
              float32[N] y = HardSwish (x)
            mish
              float32[N] s = Softplus (x)
              float32[N] t = Tanh (s)
              float32[N] y = Mul (x, t)
              =>
              float32[N] y = Mish (x)
            mish of logarithms
              <
              float32[] one = {1}
              >
              float32[N] e = Exp (x)
              float32[N] p = Add (e, one)
              float32[N] s = Log (p)
              float32[N] t = Tanh (s)
              float32[N] y = Mul (x, t)
              =>
              float32[N] y = Mish (x)
        "#]]
        .assert_eq(&shown(super::RULES));
    }
}
