//! GroupQueryAttention with caches, windows, sinks and positions.

use super::*;
use crate::attempt::attempt;
use crate::testing::{float, has, int, near, noise, same};

const PLAIN: GroupQuery = GroupQuery {
    causal: true,
    window: None,
    scale: None,
    softcap: 0.0,
    interleaved: false,
    smooth: false,
    norm_epsilon: 0.0,
};

/// Zero queries weight all keys equally, so the result is the mean of their values.
fn inputs(values: &[f32], past: Option<&[f32]>, last: i64, total: i64) -> GroupQueryInputs {
    let column = |values: &[f32]| {
        Tensor::<1>::from_floats(values, &Default::default()).with_shape([1, 1, values.len(), 1])
    };
    let (value, past) = (column(values), past.map(column));
    let zeros = |x: &Tensor<4>| x.zeros_like();
    GroupQueryInputs {
        heads: [zeros(&value).repeat_dim(1, 2), zeros(&value), value],
        past: past.map(|past| (zeros(&past), past)),
        last: int([last]),
        total,
        norms: None,
        angles: None,
        positions: None,
        bias: None,
        sinks: None,
    }
}

fn means(inputs: GroupQueryInputs, options: GroupQuery) -> Vec<f32> {
    let shown = AttentionScores::Probabilities;
    let (slow, ..) = group_query_attention_with_scores(inputs.clone(), &options, shown);
    let (y, ..) = group_query_attention(inputs, &options);
    near(slow, y.to_data(), 1e-6);
    let rounded = |x: f32| (x * 100.0).round() / 100.0;
    y.into_data().iter().step_by(2).map(rounded).collect()
}

#[test]
fn queries_attend_to_earlier_keys_within_their_window() {
    let all = || inputs(&[1.0, 10.0, 100.0], None, 2, 3);
    assert_eq!(means(all(), PLAIN), [1.0, 5.5, 37.0]);
    let window = |size| GroupQuery { window: Some(size), ..PLAIN };
    assert_eq!(means(all(), window(2)), [1.0, 5.5, 55.0]);
    assert_eq!(means(all(), window(0)), [0.0, 0.0, 0.0]);
    assert_eq!(means(all(), GroupQuery { causal: false, ..PLAIN }), [37.0; 3]);
    let sinks = GroupQueryInputs { sinks: Some(float([0f32, 0.0])), ..all() };
    assert_eq!(means(sinks, PLAIN), [0.5, 3.67, 27.75]);
    let smooth = GroupQuery { smooth: true, ..PLAIN };
    assert_eq!(means(all(), smooth), [0.5, 3.67, 27.75]);
}

#[test]
fn one_query_attends_to_all_keys_of_its_window() {
    let decode = |size| {
        let inputs = inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 3, 4);
        means(inputs, GroupQuery { window: size, ..PLAIN })
    };
    for size in [None, Some(4), Some(usize::MAX)] {
        assert_eq!(decode(size), [3.75]);
    }
    assert_eq!(decode(Some(3)), [4.67]);
    // The cache is longer than the sequence.
    let inputs = inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 1, 2);
    assert_eq!(means(inputs, PLAIN), [5.0]);
}

#[test]
fn keys_and_values_that_a_query_does_not_attend_to_may_be_anything() {
    let window = || GroupQuery { window: Some(2), ..PLAIN };
    let decode = || inputs(&[9.0], Some(&[f32::NAN, 2.0, 3.0]), 3, 4);
    assert_eq!(means(decode(), window()), [6.0]);
    let (mut keys, (of_key, of_value)) = (decode(), decode().past.unwrap());
    keys.past = Some((of_value, of_key));
    assert_eq!(means(keys, window()), [4.5]);
    let y = means(inputs(&[1.0, 10.0, f32::INFINITY], None, 2, 3), PLAIN);
    assert_eq!(y, [1.0, 5.5, f32::INFINITY]);
    let y = means(inputs(&[f32::NAN, 10.0, 20.0], None, 2, 3), window());
    assert!(y[0].is_nan() && y[1].is_nan());
    assert_eq!(y[2], 15.0);
}

#[test]
fn a_cache_of_another_type_keeps_it() {
    if !has(DType::F16) {
        return;
    }
    let (expected, _, values) = group_query_attention(inputs(&[0.3], Some(&[0.5, 2.0]), 2, 3), &PLAIN);
    let mut other = inputs(&[0.3], Some(&[0.5, 2.0]), 2, 3);
    other.past = other.past.map(|(key, value)| (key.cast(DType::F16), value.cast(DType::F16)));
    let (y, keys, found) = group_query_attention(other, &PLAIN);
    same(y, expected.into_data());
    assert_eq!(keys.dtype(), DType::F16);
    same(found, values.cast(DType::F16).into_data());
    let mut halves = inputs(&[0.5], Some(&[0.3, 2.0]), 2, 3);
    halves.heads = halves.heads.map(|x| x.cast(DType::F16));
    let past = halves.past.clone().unwrap().1;
    let (y, _, found) = group_query_attention(halves, &PLAIN);
    assert_eq!([y.dtype(), found.dtype()], [DType::F16, DType::F32]);
    same(found.narrow(2, 0, 2), past.into_data());
}

#[test]
fn positions_and_totals_are_within_the_cache() {
    let run = |last, total| {
        let inputs = inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), last, total);
        let y = attempt(|| group_query_attention(inputs, &PLAIN).0.into_data());
        y.map(drop).map_err(|fault| fault.reason)
    };
    assert_eq!(run(3, 4), Ok(()));
    for last in [-1, 4, i64::MIN, i64::MAX] {
        assert_eq!(run(last, 4), Err(format!("expected a length from 0 to 3, found {last}")));
    }
    for total in [-1, 0, 5, i64::MIN, i64::MAX] {
        let reason = "expected a total of at most 3 cached keys, or of 3 + 1 keys, found";
        assert_eq!(run(3, total), Err(format!("{reason} {total}")));
    }
}

#[test]
fn new_values_fill_the_cache() {
    let cache = |inputs| {
        let (_, _, cache) = group_query_attention(inputs, &PLAIN);
        cache.into_data().iter().collect::<Vec<f32>>()
    };
    assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 3, 4)), [1.0, 2.0, 3.0, 9.0]);
    assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 1, 2)), [1.0, 9.0, 0.0]);
    assert_eq!(cache(inputs(&[8.0, 9.0], Some(&[1.0, 2.0, 3.0]), 1, 2)), [8.0, 9.0, 0.0]);
    assert_eq!(cache(inputs(&[8.0, 9.0], Some(&[1.0]), 2, 3)), [1.0, 8.0, 9.0]);
    assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 2, 3)), [1.0, 2.0, 9.0]);
    assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 0, 2)), [9.0, 0.0, 0.0]);
}

#[test]
fn each_sequence_of_a_batch_has_its_own_position() {
    let (key, past) = (noise::<4>([2, 1, 1, 4], 1), noise::<4>([2, 1, 3, 4], 2));
    let inputs = GroupQueryInputs {
        heads: [noise([2, 2, 1, 4], 3), key.clone(), key.clone()],
        past: Some((past.clone(), past.clone())),
        last: int([3i32, 1]),
        total: 4,
        norms: None,
        angles: None,
        positions: None,
        bias: None,
        sinks: None,
    };
    let (_, cache, _) = group_query_attention(inputs, &PLAIN);
    let row = |x: &Tensor<4>, b: usize, t: usize| x.clone().slice([b..b + 1, 0..1, t..t + 1]);
    same(row(&cache, 0, 3), row(&key, 0, 0).into_data());
    same(row(&cache, 1, 0), row(&past, 1, 0).into_data());
    same(row(&cache, 1, 1), row(&key, 1, 0).into_data());
    same(row(&cache, 1, 2), [[[[0f32; 4]]]]);
}
