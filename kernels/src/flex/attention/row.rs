//! Scores of one query.

use crate::{
    flex::{
        elementary::activate,
        simd::{MulAdd, compiled_per_set},
        softmax::{greatest, powers},
    },
    spec::epilogue::Activation,
    spec::scores::{Scores, Undefined},
};

/// Mask and bias of the scores of one query.
#[derive(Clone, Copy)]
pub struct Masks<'a> {
    /// 0 for keys that the query attends to.
    pub hidden: Option<&'a [u8]>,
    pub bias: Option<&'a [f32]>,
}

compiled_per_set! {
    /// Converts products of a query with keys to probabilities that are still to be multiplied by `factor`.
    pub fn probabilities(row: &mut [f32], masks: Masks<'_>, scores: Scores, factor: &mut f32) = probabilities_of;
}

#[inline(always)]
fn probabilities_of<S: MulAdd>(row: &mut [f32], masks: Masks<'_>, scores: Scores, factor: &mut f32) {
    let scale = scores.scale as f32;
    if scores.softcap > 0.0 {
        let softcap = scores.softcap as f32;
        for x in row.iter_mut() {
            *x *= scale / softcap;
        }
        activate(row, Activation::Tanh);
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
    let greatest = greatest(row);
    if greatest == f32::NEG_INFINITY {
        // `max` of a number and NaN is the number.
        let hidden = !row.iter().any(|x| x.is_nan());
        row.fill(0.0);
        *factor = match scores.undefined {
            Undefined::Zero => 1.0,
            Undefined::ZeroIfHidden if hidden => 0.0,
            Undefined::ZeroIfHidden | Undefined::NotANumber | Undefined::Never => f32::NAN,
        };
        return;
    }
    *factor = 1.0 / powers::<S>(row, greatest);
    if factor.is_nan() && scores.undefined == Undefined::Zero {
        // NaN among the values stays NaN.
        row.fill(0.0);
        *factor = 1.0;
    }
}
