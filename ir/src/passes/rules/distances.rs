//! Distances of rows from several centers.

use std::rc::Rc;

use crate::dim::Dim;
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::ops::classical::distances::{DividedDistances, KIND};
use crate::ops::reduce::reduction::Reduction;
use crate::passes::rewrite::{Match, Miss, Rule, building};

pub const RULES: &[Rule] = &[building(
    "distances from centers",
    "ReduceSum:sum((x - $centers)^2 / $divisors, ..)",
    |m| {
        let (x, centers, divisors) = (m.value("x")?, m.value("centers")?, m.value("divisors")?);
        if !matches!(m.result()?.dtype, DType::F32 | DType::F64) {
            return Err("squares in half precision may overflow");
        }
        over_features(m)?;
        let [rows, one, features] = m.tensor_of(x)?.shape.as_slice() else {
            return Err("the rows are not a tensor of rank 3");
        };
        let features = features.number().ok_or("the number of features is known only at run time")?;
        if !one.is(1) {
            return Err("each row has centers of its own");
        }
        let shape = vec![rows.clone(), Dim::from(features)];
        let count = centers_of(m, centers, features)?;
        if centers_of(m, divisors, features)? != count {
            return Err("a divisor is that of several centers");
        }
        let [centers, divisors] =
            [m.shaped(centers, &[count, features])?, m.shaped(divisors, &[count, features])?];
        let sizes = m.sizes(&shape, &[x])?;
        let rows = m.call("Reshape", &[], &[Some(x), Some(sizes)])?;
        let node =
            Node { kind: KIND.into(), version: 1, operator: Rc::new(DividedDistances), ..m.root().clone() };
        let distances = m.made(node, &[Some(rows), Some(centers), Some(divisors)])?;
        match m.result()?.rank() {
            2 => Ok(distances),
            _ => m.reshape(distances, &[distances]),
        }
    },
)
.law("Σ (x - c)² / d over the features of rows, for each of several centers c")
.example(
    "(float[N, 1, 3] x) => (float[N, 2] y)
    <float[2, 3] c = {1, 2, 3, 4, 5, 6}, float[2, 3] d = {1, 2, 1, 2, 1, 2}, float two = {2}, int64[1] axis = {2}> {
        m = Sub (x, c) s = Pow (m, two) q = Div (s, d) y = ReduceSum <keepdims = 0> (q, axis)
    }",
)];

/// Fails unless the last of three axes is reduced.
fn over_features(m: &Match<'_, '_>) -> Result<(), Miss> {
    let node = m.node("sum")?;
    let input = node.input(0).ok_or("the node has no input")?;
    let rank = m.tensor_of(input)?.rank();
    let second = node.input(1).and_then(|id| m.tensor_of(id).ok());
    let axes = m.operator::<Reduction>("sum")?.axes(m.ints(node, 1), second, rank).ok().flatten();
    match axes.ok_or("the axes are known only at run time")?.as_slice() {
        [2] if rank == 3 => Ok(()),
        _ => Err("the features are not the last of three axes"),
    }
}

/// Returns the number of the centers of a constant, which has this number of features.
fn centers_of(m: &Match<'_, '_>, id: ValueId, features: i64) -> Result<i64, Miss> {
    let is_row = |size: &Dim| size.is(features);
    let count = match m.tensor_of(id)?.shape.as_slice() {
        [count, size] if is_row(size) => count,
        [one, count, size] if one.is(1) && is_row(size) => count,
        _ => return Err("the constant is not a row of features for each center"),
    };
    count.number().ok_or("the number of centers is known only at run time")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn distances_are_one_operator() {
        expect![[r#"
            distances from centers
              <
              float32[2, 3] c = {1, 2, 3, 4, 5, 6},
              float32[2, 3] d = {1, 2, 1, 2, 1, 2},
              float32[] two = {2},
              int64[1] axis = {2}
              >
              float32[N, 2, 3] m = Sub (x, c)
              float32[N, 2, 3] s = Pow (m, two)
              float32[N, 2, 3] q = Div (s, d)
              float32[N, 2] y = ReduceSum (q, axis)
              =>
              <
              float32[2, 3] c = {1, 2, 3, 4, 5, 6},
              float32[2, 3] d = {1, 2, 1, 2, 1, 2},
              float32[2, 3] %10 = Reshape (c, {2, 3}),
              float32[2, 3] %12 = Reshape (d, {2, 3}),
              int64[2] %13 = {N, 3}
              >
              float32[N, 3] %14 = Reshape (x, %13)
              float32[N, 2] y = DividedDistances (%14, %10, %12)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn centers_have_all_features() {
        let found = |shape: &str, centers: &str| {
            let constants = format!(
                "<float[1, {shape}] c = {{{centers}}}, float[2, 3] d = {{1, 2, 1, 2, 1, 2}}, float two = {{2}}, \
                 int64[1] axis = {{2}}>"
            );
            let nodes =
                "{ m = Sub (x, c) s = Pow (m, two) q = Div (s, d) y = ReduceSum <keepdims = 0> (q, axis) }";
            reasons(
                "distances from centers",
                &format!("(float[N, 1, 3] x) => (float[N, 2] y) {constants} {nodes}"),
            )
        };
        assert!(found("2, 3", "1, 2, 3, 4, 5, 6").is_empty());
        assert_eq!(found("2, 1", "1, 2"), ["the constant is not a row of features for each center"]);
    }
}
