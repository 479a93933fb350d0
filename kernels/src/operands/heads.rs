//! Rows of attention with caches: MultiHeadAttention and GroupQueryAttention.

use super::{Arguments, Results, Row, Size, attention::heads_divide, check, row, value};
use crate::attention::{
    AttentionScores,
    group_query::{
        GroupQuery, GroupQueryInputs, group_query_attention, group_query_attention_with_scores, rotated,
    },
    multi_head::{
        KeyMask, MultiHead, attend, attend_projected, attend_projected_with_cache, attend_with_cache,
        attend_with_scores, biased, project,
    },
};

fn multi_head() -> MultiHead {
    MultiHead { causal: false, scale: None, hidden: -10.0 }
}

/// Runs MultiHeadAttention with a cache, a mask in one of its forms, and a bias.
fn attended(a: &Arguments, mask: KeyMask) -> Results {
    let past = Some((a.float(3), a.float(4)));
    let all = attend_with_cache(
        a.float(0),
        a.float(1),
        a.float(2),
        past,
        Some(mask),
        Some(a.float(6)),
        &multi_head(),
    );
    vec![value(all.0), value(all.1), value(all.2)]
}

fn group_query(a: &Arguments) -> GroupQueryInputs {
    let total = a.size(3, 2) + a.size(1, 2);
    GroupQueryInputs {
        heads: [a.float(0), a.float(1), a.float(2)],
        past: Some((a.float(3), a.float(4))),
        last: a.int::<1>(5, 1).add_scalar(total as i64 - 1),
        total: total as i64,
        norms: Some((a.positive(6), a.positive(7))),
        angles: Some((a.float(8), a.float(9))),
        positions: Some(a.int(10, a.size(8, 0) as i64)),
        bias: Some(a.float(11)),
        sinks: Some(a.float(12)),
    }
}

const GROUP_QUERY: GroupQuery = GroupQuery {
    causal: true,
    window: None,
    scale: None,
    softcap: 0.0,
    interleaved: false,
    smooth: false,
    norm_epsilon: 1e-6,
};

const GROUP_QUERY_OPERANDS: &str = "query=bhsf key=bksf value=bksf past_key=bkpf past_value=bkpf last=b \
    query_norm=f key_norm=f cosine=ra sine=ra positions=b?s bias=b?h?s?t sinks=h";

fn group_query_holds(size: Size<'_>) -> bool {
    heads_divide(size) && size('t') == size('p') + size('s') && 2 * size('a') <= size('f')
}

fn multi_head_holds(size: Size<'_>) -> bool {
    let batch = size('b');
    heads_divide(size)
        && [1, size('t') + size('p')].contains(&size('m'))
        && [batch, 2 * batch, 3 * batch + 2].contains(&size('n'))
}

fn projected_holds(size: Size<'_>) -> bool {
    [size('i'), size('h'), size('f')] == [24, 2, 4] && [1, size('s') + size('p')].contains(&size('m'))
}

pub const ROWS: &[Row] = &[
    row(
        "attention/multi_head attend",
        "query=bhsf key=bktf value=bktw past_key=bkpf past_value=bkpw mask=n bias=b?h?s?m?",
        "b2h4s3f8k2t5w6p2n2m7",
        |a| {
            let past = Some((a.float(3), a.float(4)));
            let mask = Some(KeyMask::Ends(a.int(5, 7)));
            vec![value(attend(
                a.float(0),
                a.float(1),
                a.float(2),
                past,
                mask,
                Some(a.float(6)),
                &multi_head(),
            ))]
        },
    )
    .when(multi_head_holds),
    row(
        "attention/multi_head attend_with_cache",
        "query=bhsf key=bktf value=bktw past_key=bkpf past_value=bkpw mask=b?m? bias=b?h?s?m?",
        "b2h4s3f8k2t5w6p2m7",
        |a| attended(a, KeyMask::Keys(a.int::<2>(5, 2).add_scalar(1))),
    )
    // A mask of a single key has no effect.
    .when(|size| heads_divide(size) && size('m') == size('t') + size('p')),
    row(
        "attention/multi_head attend_with_cache",
        "query=bhsf key=bktf value=bktw past_key=bkpf past_value=bkpw mask=b?s?m? bias=b?h?s?m?",
        "b2h4s3f8k2t5w6p2m7",
        |a| attended(a, KeyMask::Queries(a.int(5, 2))),
    )
    .when(|size| heads_divide(size) && size('m') == size('t') + size('p')),
    row(
        "attention/multi_head attend_with_cache",
        "query=bhsf key=bktf value=bktw past_key=bkpf past_value=bkpw mask=b?1xy bias=b?h?s?m?",
        "b2h4s3f8k2t5w6p2m7x9y9",
        |a| attended(a, KeyMask::Positions(a.int(5, 2))),
    )
    .when(|size| {
        heads_divide(size)
            && [1, size('t') + size('p')].contains(&size('m'))
            && size('x') >= size('s') + size('p')
            && size('y') >= size('t') + size('p')
    }),
    row(
        "attention/multi_head attend_with_scores",
        "query=bhsf key=bktf value=bktw past_key=bkpf past_value=bkpw mask=n bias=b?h?s?m?",
        "b2h4s3f8k2t5w6p2n4m7",
        |a| {
            let past = Some((a.float(3), a.float(4)));
            let mask = Some(KeyMask::Ends(a.int(5, 7)));
            let all = attend_with_scores(
                a.float(0),
                a.float(1),
                a.float(2),
                past,
                mask,
                Some(a.float(6)),
                &multi_head(),
            );
            vec![value(all.0), value(all.3)]
        },
    )
    .when(multi_head_holds),
    row("attention/multi_head project", "input=bsi weight=io bias=o", "b2s3i4o5", |a| {
        vec![value(project(a.float(0), a.float(1), Some(a.float(2))))]
    }),
    row(
        "attention/multi_head attend_projected",
        "input=bsi past=2bhpf bias=b?h?s?m?",
        "b2s3i24h2p2f4m5",
        |a| {
            vec![value(attend_projected(
                a.float(0),
                [8; 3],
                2,
                Some(a.float(1)),
                None,
                Some(a.float(2)),
                &multi_head(),
            ))]
        },
    )
    .when(projected_holds),
    row(
        "attention/multi_head attend_projected_with_cache",
        "input=bsi past=2bhpf bias=b?h?s?m?",
        "b2s3i24h2p2f4m5",
        |a| {
            let (y, cache) = attend_projected_with_cache(
                a.float(0),
                [8; 3],
                2,
                Some(a.float(1)),
                None,
                Some(a.float(2)),
                &multi_head(),
            );
            vec![value(y), value(cache)]
        },
    )
    .when(projected_holds),
    row("attention/multi_head biased", "input=bhsf bias=o", "b2h4s3f5o24", |a| {
        vec![value(biased(a.float(0), a.float(1), 4))]
    })
    .when(|size| size('o') >= 4 + size('h') * size('f')),
    row("attention/group_query group_query_attention", GROUP_QUERY_OPERANDS, "b2h4s3f8k2p2r7a4t5", |a| {
        let (y, key, new) = group_query_attention(group_query(a), &GROUP_QUERY);
        vec![value(y), value(key), value(new)]
    })
    .when(group_query_holds),
    row(
        "attention/group_query group_query_attention_with_scores",
        GROUP_QUERY_OPERANDS,
        "b2h4s3f8k2p2r7a4t5",
        |a| {
            let shown = AttentionScores::Probabilities;
            let (y, _, _, scores) = group_query_attention_with_scores(group_query(a), &GROUP_QUERY, shown);
            vec![value(y), value(scores)]
        },
    )
    .when(group_query_holds),
    row(
        "attention/group_query/angles rotated",
        "input=bhsf positions=b?s cosine=ra sine=ra",
        "b2h4s3f8r7a4",
        |a| vec![value(rotated(a.float(0), &a.int(1, a.size(2, 0) as i64), &a.float(2), &a.float(3), false))],
    )
    .when(|size| 2 * size('a') <= size('f')),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
