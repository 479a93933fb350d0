//! Rows of attention and rotary embeddings.

use super::{Arguments, Row, Size, check, row, value};
use crate::attention::{
    AttentionMask, AttentionOptions, AttentionScores, JoinedAttention, ScoreMask, attention,
    attention_products, attention_values, attention_with_scores, joined_attention,
    linear::{LinearAttention, linear_attention},
    matching_heads,
    rotary::{rotate, rotate_features, rotate_pairs},
};
use burn::tensor::DType;

/// Returns `true` if each head of keys serves the same number of query heads.
pub fn heads_divide(size: Size<'_>) -> bool {
    size('h').is_multiple_of(size('k'))
}

fn bias(a: &Arguments, at: usize) -> Option<AttentionMask> {
    Some(AttentionMask::Bias(a.float(at)))
}

fn plain() -> AttentionOptions {
    AttentionOptions::default()
}

pub const ROWS: &[Row] = &[
    row(
        "attention/dot_product attention",
        "query=bhsf key=bktf value=bktw mask=b?h?s?m valid=b",
        "b2h4s3f8k2t5w6m5",
        |a| {
            let valid = a.int(4, a.size(1, 2) as i64 + 1);
            vec![value(attention(a.float(0), a.float(1), a.float(2), bias(a, 3), Some(valid), &plain()))]
        },
    )
    .when(|size| heads_divide(size) && size('m') <= size('t')),
    row("attention/dot_product attention", "query=bhsf key=bktf value=bktw", "b2h4s1f8k2t5w6", |a| {
        let causal = AttentionOptions { causal: true, past: 4, ..plain() };
        vec![value(attention(a.float(0), a.float(1), a.float(2), None, None, &causal))]
    })
    .when(heads_divide),
    row(
        "attention/dot_product attention",
        "query=bhsf key=bktf value=bktw mask=b?h?s?m",
        "b1h3s70f4k1t9w5m9",
        |a| {
            let mask = Some(AttentionMask::Allowed(a.bool(3)));
            vec![value(attention(a.float(0), a.float(1), a.float(2), mask, None, &plain()))]
        },
    )
    .when(|size| heads_divide(size) && size('m') <= size('t')),
    row(
        "attention/dot_product attention_with_scores",
        "query=bhsf key=bktf value=bktw mask=b?h?s?m valid=b",
        "b2h4s3f8k2t5w6m5",
        |a| {
            let valid = a.int(4, a.size(1, 2) as i64 + 1);
            let shown = AttentionScores::Probabilities;
            let (y, scores) = attention_with_scores(
                a.float(0),
                a.float(1),
                a.float(2),
                bias(a, 3),
                Some(valid),
                &plain(),
                shown,
            );
            vec![value(y), value(scores)]
        },
    )
    .when(|size| heads_divide(size) && size('m') <= size('t')),
    row("attention/dot_product matching_heads", "query=bhsf key=bktf value=bktw", "b2h4s3f8k2t5w6", |a| {
        let (query, keys, values) = matching_heads(a.float(0), a.float(1), a.float(2));
        vec![value(query), value(keys), value(values)]
    })
    .when(heads_divide),
    row("attention/dot_product attention_products", "query=bhsf key=bktf", "b2h4s3f8k2t5", |a| {
        vec![value(attention_products(a.float(0), a.float(1), None, DType::F32))]
    })
    .when(heads_divide),
    row("attention/dot_product attention_values", "probabilities=bhst value=bktw", "b2h4s3k2t5w6", |a| {
        vec![value(attention_values(a.float(0), a.float(1)))]
    })
    .when(heads_divide),
    row(
        "attention/dot_product/joined joined_attention",
        "query=b?hs?f key=b?ktf value=b?ktw mask=b?h?s?t?",
        "b2h4s3f8k2t5w6",
        |a| {
            let masks = vec![ScoreMask::Added(a.float(3))];
            let options = JoinedAttention { scale: 0.5, undefined_as_zero: false };
            vec![value(joined_attention(a.float(0), a.float(1), a.float(2), masks, options))]
        },
    )
    .when(heads_divide),
    row("attention/rotary rotate", "input=bhsf cosine=csa sine=csa", "b2h4s3f8c2a4", |a| {
        vec![value(rotate(a.float(0), a.float(1), a.float(2), false))]
    })
    .when(|size| 2 * size('a') <= size('f') && [1, size('b')].contains(&size('c'))),
    row("attention/rotary rotate_features", "input=bhsf cosine=csa sine=csa", "b2h4s3f8c2a4", |a| {
        vec![value(rotate_features(a.float(0), a.float(1), a.float(2), None, false))]
    })
    .when(|size| 2 * size('a') == size('f') && [1, size('b')].contains(&size('c'))),
    row("attention/rotary rotate_pairs", "input=bsf cosine=b?s?c sine=b?s?d", "b2s3f8c8d4", |a| {
        vec![value(rotate_pairs(a.float::<3>(0), a.float(1), a.float(2), true))]
    })
    .when(|size| {
        let features = size('f');
        let fits = |axis: char| [features, features / 2].contains(&size(axis));
        features.is_multiple_of(2) && fits('c') && fits('d')
    }),
    row(
        "attention/linear linear_attention",
        "query=bsq key=bsk value=bsv state=bhfw decay=bsd rate=bse",
        "b2s3q16k8v10h2f4w5d2e2",
        |a| {
            let options = LinearAttention { query_heads: 4, key_heads: 2, scale: None };
            let (y, state) = linear_attention(
                a.float(0),
                a.float(1),
                a.float(2),
                Some(a.float(3)),
                Some(a.float(4)),
                Some(a.float(5)),
                options,
            );
            vec![value(y), value(state)]
        },
    )
    .when(|size| {
        let divided = [('q', 4), ('k', 2), ('v', 2)].map(|(axis, heads)| size(axis).is_multiple_of(heads));
        divided == [true; 3]
            && size('q') / 4 == size('f')
            && size('k') / 2 == size('f')
            && size('v') / 2 == size('w')
            && size('h') == 2
            && [2, size('k')].contains(&size('d'))
            && [1, 2].contains(&size('e'))
    }),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
