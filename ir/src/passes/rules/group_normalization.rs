//! Normalization of channels and groups of them.

use crate::dim::Dim;
use crate::graph::ValueId;
use crate::ops::normalize::group::Groups;
use crate::ops::normalize::layer::Layer;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;
use crate::types::Known;

pub const RULES: &[Rule] = &[
    building("group norm", "Reshape(InstanceNormalization:n(Reshape:split(x, ..), scale, bias), ..)", |m| {
        let epsilon = m.operator::<Groups>("n")?.epsilon;
        let factors = [m.value("scale")?, m.value("bias")?];
        grouped(m, epsilon, factors)
    })
    .law("instance normalization with groups as channels is group normalization")
    .example(
        "(float[N, 4, H, W] x) => (float[N, 4, H, W] y)
        <int64[3] s = {0, 2, -1}, float[2] one = {1, 1}, float[2] zero = {0, 0}> {
            r = Reshape (x, s) n = InstanceNormalization (r, one, zero) t = Shape (x) y = Reshape (n, t)
        }",
    ),
    building("group norm of rows", "Reshape(LayerNormalization:n(Reshape:split(x, ..), 1), ..)", |m| {
        let Layer { epsilon, axis, .. } = *m.operator::<Layer>("n")?;
        let split = m.node("split")?.output(0).ok_or("the node has no output")?;
        let (rank, groups) = (m.tensor_of(split)?.rank(), count(m)?);
        if axis != 2 && (axis, rank) != (-1, 3) {
            return Err("the normalized axes are not those of a group");
        }
        let length = usize::try_from(groups).unwrap_or(0);
        let dtype = m.result()?.dtype;
        let factors = [1.0, 0.0]
            .map(|number| m.constant(dtype, vec![groups.into()], Known::Floats(vec![number; length])));
        grouped(m, epsilon, factors)
    })
    .law("layer normalization with groups as rows is group normalization")
    .example(
        "(float[N, 4, 3] x) => (float[N, 4, 3] y) <int64[3] s = {0, 2, -1}, int64[3] t = {0, 4, -1},
        float one = {1}> {
            r = Reshape (x, s) n = LayerNormalization (r, one) y = Reshape (n, t)
        }",
    ),
    building(
        "scale and bias of channels",
        "GroupNormalization|InstanceNormalization:n(x, 1, 0) * $scale + $bias",
        |m| {
            let Groups { count, epsilon, .. } = *m.operator::<Groups>("n")?;
            let x = m.value("x")?;
            let factors = [channels(m, "scale")?, channels(m, "bias")?];
            let mut settings = vec![("epsilon", Setting::Float(epsilon))];
            if let Some(count) = count {
                let count = i64::try_from(count).map_err(|_| "the number of groups is too large")?;
                settings.push(("num_groups", Setting::Int(count)));
            }
            let [scale, bias] = factors.map(Some);
            m.call(&m.node("n")?.kind.clone(), &settings, &[Some(x), scale, bias])
        },
    )
    .law("(n·1 + 0)·s + b = n·s + b, with s and b per channel")
    .example(
        "(float[N, 2, 3] x) => (float[N, 2, 3] y)
        <float[2] one = {1, 1}, float[2] zero = {0, 0}, float[2, 1] s = {1, 2}, float[1, 2, 1] b = {3, 4}> {
            n = InstanceNormalization (x, one, zero) f = Mul (n, s) y = Add (b, f)
        }",
    ),
];

/// Returns the number of groups into which the channels are split.
fn count(m: &Match<'_, '_>) -> Result<i64, Miss> {
    let split = m.node("split")?.output(0).ok_or("the node has no output")?;
    let ([batch, groups, _, ..], [own, channels, ..]) =
        (m.tensor_of(split)?.shape.as_slice(), m.tensor("x")?.shape.as_slice())
    else {
        return Err("the channels are not reshaped to groups");
    };
    let count = groups.number().filter(|&count| count > 0);
    let whole = |count: &i64| channels.number().is_some_and(|all| all % count == 0);
    match count.filter(whole) {
        Some(count) if batch == own => Ok(count),
        _ => Err("the channels are not reshaped to groups"),
    }
}

fn grouped(m: &mut Match<'_, '_>, epsilon: f32, factors: [ValueId; 2]) -> Result<ValueId, Miss> {
    let settings = [("num_groups", Setting::Int(count(m)?)), ("epsilon", Setting::Float(epsilon))];
    let (x, [scale, bias]) = (m.value("x")?, factors.map(Some));
    if m.result()?.shape != m.tensor_of(x)?.shape {
        return Err("the result would have another shape");
    }
    // The factors are per group, which opset 21 no longer supports.
    m.call_in(18, "GroupNormalization", &settings, &[Some(x), scale, bias])
}

/// Returns a constant with an element for each channel, as a vector.
fn channels(m: &mut Match<'_, '_>, name: &str) -> Result<ValueId, Miss> {
    let shape = &m.result()?.shape;
    let factor = &m.tensor(name)?.shape;
    let first = shape.len().checked_sub(factor.len());
    let first = first.ok_or("the constant has more axes than the result")?;
    let all = shape.get(1).and_then(Dim::number).ok_or("the number of channels is known only at run time")?;
    let mut sizes = factor.iter().enumerate();
    let along = sizes.all(|(at, size)| size.is(if first + at == 1 { all } else { 1 }));
    if along && first <= 1 {
        m.shaped(m.value(name)?, &[all])
    } else {
        Err("the constant is not one number for each channel")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn groups_are_normalized() {
        expect![[r#"
            group norm
              <
              int64[3] s = {0, 2, -1},
              float32[2] one = {1, 1},
              float32[2] zero = {0, 0},
              int64[4] t = {N, 4, H, W}
              >
              float32[N, 2, 2*H*W] r = Reshape (x, s)
              float32[N, 2, 2*H*W] n = InstanceNormalization <epsilon: 1e-5> (r, one, zero)
              float32[N, 4, H, W] y = Reshape (n, t)
              =>
              <
              float32[2] one = {1, 1},
              float32[2] zero = {0, 0}
              >
              float32[N, 4, H, W] y = GroupNormalization <count: 2, epsilon: 1e-5, by_group: true> (x, one, zero)
            group norm of rows
              <
              int64[3] s = {0, 2, -1},
              int64[3] t = {0, 4, -1},
              float32[] one = {1}
              >
              float32[N, 2, 6] r = Reshape (x, s)
              float32[N, 2, 6] n = LayerNormalization <axis: -1, epsilon: 1e-5, statistics: F32> (r, one)
              float32[N, 4, 3] y = Reshape (n, t)
              =>
              <
              float32[2] %7 = {1, 1},
              float32[2] %8 = {0, 0}
              >
              float32[N, 4, 3] y = GroupNormalization <count: 2, epsilon: 1e-5, by_group: true> (x, %7, %8)
            scale and bias of channels
              <
              float32[2] one = {1, 1},
              float32[2] zero = {0, 0},
              float32[2, 1] s = {1, 2},
              float32[1, 2, 1] b = {3, 4}
              >
              float32[N, 2, 3] n = InstanceNormalization <epsilon: 1e-5> (x, one, zero)
              float32[N, 2, 3] f = Mul (n, s)
              float32[N, 2, 3] y = Add (b, f)
              =>
              <
              float32[2, 1] s = {1, 2},
              float32[1, 2, 1] b = {3, 4},
              float32[2] %9 = Reshape (s, {2}),
              float32[2] %11 = Reshape (b, {2})
              >
              float32[N, 2, 3] y = InstanceNormalization <epsilon: 1e-5> (x, %9, %11)
        "#]].assert_eq(&shown(super::RULES));
    }

    #[test]
    fn factors_of_another_axis_remain() {
        let found = |shape: &str| {
            let constants = format!(
                "<float[3] one = {{1, 1, 1}}, float[3] zero = {{0, 0, 0}}, float{shape} s = {{1, 2, 3}}, \
                 float[3, 1] b = {{3, 4, 5}}>"
            );
            let nodes = "{ n = InstanceNormalization (x, one, zero) f = Mul (n, s) y = Add (b, f) }";
            reasons(
                "scale and bias of channels",
                &format!("(float[N, 3, 3] x) => (float[N, 3, 3] y) {constants} {nodes}"),
            )
        };
        let reason = ["the constant is not one number for each channel"];
        assert_eq!([found("[3]"), found("[1, 3]")], [reason, reason]);
        assert!(found("[3, 1]").is_empty());
    }

    #[test]
    fn no_channels_are_no_groups() {
        let text = "(float[N, 0, 3, 2] x) => (float[N, 0, 3, 2] y)
            <int64[3] s = {0, 0, 6}, float[0] one = {}, float[0] zero = {}> {
                r = Reshape (x, s) n = InstanceNormalization (r, one, zero) t = Shape (x) y = Reshape (n, t)
            }";
        assert_eq!(reasons("group norm", text), ["the channels are not reshaped to groups"]);
    }
}
