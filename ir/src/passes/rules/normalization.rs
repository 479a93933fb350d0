//! Normalizations that exporters write as several nodes.

use crate::dtype::{DType, ElementClass};
use crate::ops::normalize::layer::Layer;
use crate::ops::reduce::reduction::Reduction;
use crate::passes::rewrite::{Match, Miss, Rule, building, rule};
use crate::proto::Setting;

pub const RULES: &[Rule] = &[
    rule(
        "layer norm",
        "(x - ReduceMean:mean(x, ..)) / Sqrt(ReduceMean:variance((x - ReduceMean(x, \
             ..))^2, ..) + #epsilon)",
        "LayerNormalization<axis = @axis, epsilon = #epsilon>(x, 1)",
    )
    .when(|m| {
        over_last_axes(m, "mean")?;
        over_last_axes(m, "variance")
    })
    .law("(x - E x) / √(E (x - E x)² + ε) over the last axes")
    .example(
        "(float[N, 4] x) => (float[N, 4] y)
        <int64[1] axes = {-1}, float two = {2}, float e = {0.00001}> {
            m = ReduceMean (x, axes) d = Sub (x, m) s = Pow (d, two) v = ReduceMean (s, axes)
            p = Add (v, e) r = Sqrt (p) y = Div (d, r)
        }",
    ),
    rule(
        "layer norm as batch norm",
        "x * (1 / Sqrt(ReduceMean|GlobalAveragePool:variance((x - ReduceMean|GlobalAveragePool(x, ..))^2, ..) + #epsilon) * $scale) \
         + ($bias - ReduceMean|GlobalAveragePool:mean(x, ..) \
         * (1 / Sqrt(ReduceMean|GlobalAveragePool((x - ReduceMean|GlobalAveragePool(x, ..))^2, ..) + #epsilon) * $scale))",
        "LayerNormalization<axis = @axis, epsilon = #epsilon>(x, $scale, $bias)",
    )
    .when(|m| {
        if m.number("epsilon")? <= 0.0 {
            return Err("epsilon is not positive, so a variance of 0 makes both terms infinite");
        }
        if !m.finite(m.value("scale")?) {
            return Err("an infinite scale makes both terms infinite");
        }
        over_last_axes(m, "mean")?;
        over_last_axes(m, "variance")
    })
    .law("xr + (β - μr) = γ(x - μ)/√(σ² + ε) + β with r = γ/√(σ² + ε)")
    .example(
        "(float[N, 3, 2] x) => (float[N, 3, 2] y) <float e = {0.00001}, float[2] g = {1, 2}, float[2] b = {3, 4}> {
            m = GlobalAveragePool (x) d = Sub (x, m) s = Mul (d, d) v = GlobalAveragePool (s)
            p = Add (v, e) q = Sqrt (p) i = Reciprocal (q) r = Mul (i, g) a = Mul (m, r) c = Sub (b, a)
            f = Mul (x, r) y = Add (f, c)
        }",
    ),
    rule(
        "rms norm",
        "x / Sqrt(ReduceMean:square(x^2, ..) + #epsilon)",
        "RMSNormalization<axis = @axis, epsilon = #epsilon>(x, 1)",
    )
    .when(|m| over_last_axes(m, "square"))
    .law("x / √(E x² + ε) over the last axes")
    .example(
        "(float[N, 4] x) => (float[N, 4] y)
        <int64[1] axes = {-1}, float two = {2}, float e = {0.00001}> {
            s = Pow (x, two) v = ReduceMean (s, axes) p = Add (v, e) r = Sqrt (p)
            i = Reciprocal (r) y = Mul (x, i)
        }",
    ),
    rule(
        "rms norm between casts",
        "Cast(RMSNormalization:n(Cast(x), 1))",
        "RMSNormalization<axis = @axis, epsilon = @epsilon>(x, 1)",
    )
    .when(|m| {
        in_half_precision(m)?;
        keep(m)
    })
    .law("a norm of 16-bit floats computes its statistics in single precision without casts")
    .example(
        "(float16[N, 4] x) => (float16[N, 4] y)
        <int64[1] axes = {-1}, float two = {2}, float e = {0.00001}> {
            f = Cast <to = 1> (x) s = Pow (f, two) v = ReduceMean (s, axes) p = Add (v, e)
            r = Sqrt (p) n = Div (f, r) y = Cast <to = 10> (n)
        }",
    ),
    building("layer norm between casts", "Cast(LayerNormalization:n(Cast(x), $scale, ..))", |m| {
        in_half_precision(m)?;
        let (node, scale) = (m.node("n")?, m.value("scale")?);
        let all_ones = m.uniform(scale) == Some(1.0) && node.input(2).is_none();
        if !all_ones {
            return Err("the norm has a scale or a bias in single precision");
        }
        keep(m)?;
        let (x, one) = (m.value("x")?, m.scalar(1.0)?);
        let settings = m.settings(&["axis", "epsilon"]);
        m.call("LayerNormalization", &settings, &[Some(x), Some(one)])
    })
    .law("a norm of 16-bit floats computes its statistics in single precision without casts")
    .example(
        "(float16[N, 4] x) => (float16[N, 4] y) <float[1] one = {1}> {
            f = Cast <to = 1> (x) n = LayerNormalization (f, one) y = Cast <to = 10> (n)
        }",
    ),
    building("scale of a norm", "LayerNormalization|RMSNormalization:n(x, 1) * $scale", |m| {
        keep(m)?;
        let (node, x, scale) = (m.node("n")?, m.value("x")?, m.value("scale")?);
        let settings = m.settings(&["axis", "epsilon"]);
        m.call(&node.kind, &settings, &[Some(x), Some(scale)])
    })
    .law("(n·1)·s = n·s")
    .example(
        "(float[N, 2] x) => (float[N, 2] y) <float one = {1}, float[2] s = {3, 4}> {
            n = LayerNormalization (x, one) y = Mul (n, s)
        }",
    ),
    building("bias of a norm", "LayerNormalization:n(x, s) + $bias", |m| {
        keep(m)?;
        let (x, scale, bias) = (m.value("x")?, m.value("s")?, m.value("bias")?);
        let settings = m.settings(&["axis", "epsilon"]);
        m.call("LayerNormalization", &settings, &[Some(x), Some(scale), Some(bias)])
    })
    .law("n·s + b, of a norm without a bias")
    .example(
        "(float[N, 2] x) => (float[N, 2] y) <float[2] s = {3, 4}, float[2] b = {1, 2}> {
            n = LayerNormalization (x, s) y = Add (n, b)
        }",
    ),
];

/// Sets `@axis` to the first of the axes of a reduction. They must be the last ones of its input and be kept with size
/// 1.
fn over_last_axes(m: &mut Match<'_, '_>, label: &'static str) -> Result<(), Miss> {
    if m.result()?.dtype == DType::F16 {
        return Err("squares in half precision may overflow");
    }
    let node = m.node(label)?;
    let input = node.input(0).ok_or("the node has no input")?;
    let (rank, axes) = (m.tensor_of(input)?.rank(), m.ints(node, 1));
    let second = node.input(1).and_then(|id| m.value_of(id).ty.as_ref()?.as_tensor());
    let axes = match &*node.kind {
        // Over the spatial axes.
        "GlobalAveragePool" => (2..rank).collect(),
        _ => {
            let reduction = m.operator::<Reduction>(label)?;
            if !reduction.keeps() {
                return Err("the reduced axes are removed");
            }
            let axes = reduction.axes(axes, second, rank).ok().flatten();
            axes.ok_or("the axes are known only at run time")?
        }
    };
    let first = *axes.first().ok_or("no axes are reduced")?;
    if !axes.iter().copied().eq(first..rank) {
        return Err("the reduced axes are not the last ones");
    }
    let axis = match axes.len() {
        1 => -1,
        _ => i64::try_from(first).unwrap_or(-1),
    };
    m.set("axis", Setting::Int(axis));
    Ok(())
}

/// Sets `@axis` and `@epsilon` to those of the norm.
fn keep(m: &mut Match<'_, '_>) -> Result<(), Miss> {
    let layer = m.operator::<Layer>("n")?;
    m.set("axis", Setting::Int(layer.axis));
    m.set("epsilon", Setting::Float(layer.epsilon));
    Ok(())
}

/// Fails unless input and result have 16 bits and the norm between them is computed in single precision.
fn in_half_precision(m: &mut Match<'_, '_>) -> Result<(), Miss> {
    let (from, to) = (m.tensor("x")?.dtype, m.result()?.dtype);
    let inside = m.node("n")?.output(0).ok_or("the node has no output")?;
    let inside = m.tensor_of(inside)?.dtype;
    if from == to && to.kind() == ElementClass::Float && to.bits() == 16 && inside.bits() == 32 {
        Ok(())
    } else {
        Err("the casts are not from 16 to 32 bits and back")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn norms_are_one_operator() {
        expect![[r#"
            layer norm
              <
              int64[1] axes = {-1},
              float32[] two = {2},
              float32[] e = {0.00001}
              >
              float32[N, 1] m = ReduceMean <keep: true> (x, axes)
              float32[N, 4] d = Sub (x, m)
              float32[N, 4] s = Pow (d, two)
              float32[N, 1] v = ReduceMean <keep: true> (s, axes)
              float32[N, 1] p = Add (v, e)
              float32[N, 1] r = Sqrt (p)
              float32[N, 4] y = Div (d, r)
              =>
              <
              float32[] %11 = {1}
              >
              float32[N, 4] y = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (x, %11)
            layer norm as batch norm
              <
              float32[] e = {0.00001},
              float32[2] g = {1, 2},
              float32[2] b = {3, 4}
              >
              float32[N, 3, 1] m = GlobalAveragePool <"global_average_pool"> (x)
              float32[N, 3, 2] d = Sub (x, m)
              float32[N, 3, 2] s = Mul (d, d)
              float32[N, 3, 1] v = GlobalAveragePool <"global_average_pool"> (s)
              float32[N, 3, 1] p = Add (v, e)
              float32[N, 3, 1] q = Sqrt (p)
              float32[N, 3, 1] i = Reciprocal (q)
              float32[N, 3, 2] r = Mul (i, g)
              float32[N, 3, 2] a = Mul (m, r)
              float32[N, 3, 2] c = Sub (b, a)
              float32[N, 3, 2] f = Mul (x, r)
              float32[N, 3, 2] y = Add (f, c)
              =>
              <
              float32[2] g = {1, 2},
              float32[2] b = {3, 4}
              >
              float32[N, 3, 2] y = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (x, g, b)
            rms norm
              <
              int64[1] axes = {-1},
              float32[] two = {2},
              float32[] e = {0.00001}
              >
              float32[N, 4] s = Pow (x, two)
              float32[N, 1] v = ReduceMean <keep: true> (s, axes)
              float32[N, 1] p = Add (v, e)
              float32[N, 1] r = Sqrt (p)
              float32[N, 1] i = Reciprocal (r)
              float32[N, 4] y = Mul (x, i)
              =>
              <
              float32[] %10 = {1}
              >
              float32[N, 4] y = RMSNormalization <axis: -1, epsilon: 1e-5, statistics: F32, root_mean_square: true> (x, %10)
            rms norm between casts
              <
              int64[1] axes = {-1},
              float32[] two = {2},
              float32[] e = {0.00001}
              >
              float32[N, 4] f = Cast <to: F32, saturate: true, toward: "Up"> (x)
              float32[N, 4] s = Pow (f, two)
              float32[N, 1] v = ReduceMean <keep: true> (s, axes)
              float32[N, 1] p = Add (v, e)
              float32[N, 1] r = Sqrt (p)
              float32[N, 4] n = Div (f, r)
              float16[N, 4] y = Cast <to: F16, saturate: true, toward: "Up"> (n)
              =>
              <
              float16[] %13 = {1}
              >
              float16[N, 4] y = RMSNormalization <axis: -1, epsilon: 1e-5, statistics: F32, root_mean_square: true> (x, %13)
            layer norm between casts
              <
              float32[1] one = {1}
              >
              float32[N, 4] f = Cast <to: F32, saturate: true, toward: "Up"> (x)
              float32[N, 4] n = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (f, one)
              float16[N, 4] y = Cast <to: F16, saturate: true, toward: "Up"> (n)
              =>
              <
              float16[] %5 = {1}
              >
              float16[N, 4] y = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (x, %5)
            scale of a norm
              <
              float32[] one = {1},
              float32[2] s = {3, 4}
              >
              float32[N, 2] n = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (x, one)
              float32[N, 2] y = Mul (n, s)
              =>
              <
              float32[2] s = {3, 4}
              >
              float32[N, 2] y = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (x, s)
            bias of a norm
              <
              float32[2] s = {3, 4},
              float32[2] b = {1, 2}
              >
              float32[N, 2] n = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (x, s)
              float32[N, 2] y = Add (n, b)
              =>
              <
              float32[2] s = {3, 4},
              float32[2] b = {1, 2}
              >
              float32[N, 2] y = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (x, s, b)
        "#]].assert_eq(&shown(super::RULES));
    }

    #[test]
    fn infinite_scales_remain() {
        let found = |scale: &str| {
            let constants =
                format!("<float e = {{0.00001}}, float[2] g = {{1, {scale}}}, float[2] b = {{3, 4}}>");
            let nodes = "m = GlobalAveragePool (x) d = Sub (x, m) s = Mul (d, d) v = GlobalAveragePool (s) p = Add (v, e)
                q = Sqrt (p) i = Reciprocal (q) r = Mul (i, g) a = Mul (m, r) c = Sub (b, a) f = Mul (x, r)
                y = Add (f, c)";
            reasons(
                "layer norm as batch norm",
                &format!("(float[N, 3, 2] x) => (float[N, 3, 2] y) {constants} {{ {nodes} }}"),
            )
        };
        assert_eq!(found("inf"), ["an infinite scale makes both terms infinite"]);
        assert!(found("2").is_empty());
    }

    #[test]
    fn only_casts_from_half_precision_and_back_are_removed() {
        let found = |from: &str, number: i32, wide: &str, to: &str, back: i32| {
            let nodes = format!(
                "f = Cast <to = {number}> (x) n = LayerNormalization <stash_type = 1> (f, one) y = Cast <to = {back}> (n)"
            );
            reasons(
                "layer norm between casts",
                &format!("({from}[N, 4] x) => ({to}[N, 4] y) <{wide}[1] one = {{1}}> {{ {nodes} }}"),
            )
        };
        let reason = ["the casts are not from 16 to 32 bits and back"];
        assert_eq!(found("float16", 1, "float", "bfloat16", 16), reason);
        assert_eq!(found("int16", 1, "float", "int16", 5), reason);
        assert_eq!(found("float16", 11, "double", "float16", 10), reason);
        assert!(found("bfloat16", 1, "float", "bfloat16", 16).is_empty());
    }
}
