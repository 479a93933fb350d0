//! The scores of one query.

use crate::{
    attention::{Scores, Undefined},
    flex::{
        elementary::{exp_below, hyperbolic},
        instructions::{Sum, dispatched},
        view::Matrix,
    },
};

/// Elements that are summed side by side.
const LANES: usize = 16;

/// What hides keys and what is added to scores, for one query.
#[derive(Clone, Copy)]
pub struct Masks<'a> {
    /// 0 where the key is seen.
    pub hidden: Option<&'a [u8]>,
    pub bias: Option<&'a [f32]>,
}

dispatched! {
    /// The products of a row with each row of `keys`, whose columns follow one another.
    pub fn dots(row: &[f32], keys: Matrix<'_>, out: &mut [f32]) = dots_of;

    /// Makes products of a query with keys probabilities, but for `factor`, with which each is to be multiplied.
    pub fn probabilities(row: &mut [f32], masks: Masks<'_>, scores: Scores, factor: &mut f32) = probabilities_of;
}

#[inline(always)]
fn dots_of<S: Sum>(row: &[f32], keys: Matrix<'_>, out: &mut [f32]) {
    let (parts, rest) = row.as_chunks::<LANES>();
    for (at, out) in out.iter_mut().enumerate() {
        let key = &keys.values[at * keys.row_step..][..row.len()];
        let (key_parts, key_rest) = key.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (a, b) in parts.iter().zip(key_parts) {
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                *sum = S::of(*a, *b, *sum);
            }
        }
        for ((sum, a), b) in sums.iter_mut().zip(rest).zip(key_rest) {
            *sum = S::of(*a, *b, *sum);
        }
        *out = sums.iter().sum();
    }
}

#[inline(always)]
fn probabilities_of<S: Sum>(row: &mut [f32], masks: Masks<'_>, scores: Scores, factor: &mut f32) {
    let scale = scores.scale as f32;
    if scores.softcap > 0.0 {
        let softcap = scores.softcap as f32;
        for x in row.iter_mut() {
            *x *= scale / softcap;
        }
        hyperbolic(row);
        for x in row.iter_mut() {
            *x *= softcap;
        }
    } else {
        for x in row.iter_mut() {
            *x *= scale;
        }
    }
    let add = |row: &mut [f32]| {
        for (x, bias) in row.iter_mut().zip(masks.bias.into_iter().flatten()) {
            *x += bias;
        }
    };
    if !scores.bias_last {
        add(row);
    }
    let fill = scores.hidden as f32;
    for (x, hidden) in row.iter_mut().zip(masks.hidden.into_iter().flatten()) {
        *x = if *hidden == 0 { *x } else { fill };
    }
    if scores.bias_last {
        add(row);
    }
    let mut greatest = [f32::NEG_INFINITY; LANES];
    for part in row.chunks(LANES) {
        for (greatest, x) in greatest.iter_mut().zip(part) {
            *greatest = greatest.max(*x);
        }
    }
    let greatest = greatest.into_iter().fold(f32::NEG_INFINITY, f32::max);
    if greatest == f32::NEG_INFINITY {
        // Of a number and NaN `max` is the number.
        let hidden = !row.iter().any(|x| x.is_nan());
        row.fill(0.0);
        *factor = match scores.undefined {
            Undefined::Zero => 1.0,
            Undefined::ZeroIfHidden if hidden => 0.0,
            Undefined::ZeroIfHidden | Undefined::NotANumber | Undefined::Never => f32::NAN,
        };
        return;
    }
    let mut sums = [0.0; LANES];
    for part in row.chunks_mut(LANES) {
        for (x, sum) in part.iter_mut().zip(&mut sums) {
            *x = exp_below::<S>(*x - greatest);
            *sum += *x;
        }
    }
    *factor = 1.0 / sums.iter().sum::<f32>();
    if factor.is_nan() && scores.undefined == Undefined::Zero {
        // What is no number among the values stays so.
        row.fill(0.0);
        *factor = 1.0;
    }
}
