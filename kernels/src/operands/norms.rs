//! Rows of norms and embeddings.

use super::{Arguments, Results, Row, check, row, value};
use crate::normalize::{
    ImageGroups, batch_norm, batch_norm_elements, batch_norm_factors, batch_norm_train, embed::embeddings,
    group_norm, group_norm_by_group, image_group_norm, instance_norm, layer_norm, layer_norm_with_statistics,
    rms_norm, rms_norm_with_statistics, scale_channels, skip_image_group_norm, skip_layer_norm,
    skip_rms_norm,
};
use crate::product::epilogue::Activation;
use crate::text::word_conv::word_conv_embedding;

const IMAGES: ImageGroups = ImageGroups { groups: 2, epsilon: 1e-2, channels_last: true, silu: true };

const CHANNELS: &str = "input=bcx scale=c bias=c mean=c variance=c";

fn embedded(a: &Arguments) -> Results {
    let rows = |at| a.size(at, 0) as i64;
    let words = a.int(0, rows(1));
    let position_ids = Some(a.int(3, rows(2)));
    let segments = Some((a.int(4, rows(5)), a.float(5)));
    vec![value(embeddings(words, a.float(1), a.float(2), position_ids, segments))]
}

pub const ROWS: &[Row] = &[
    row("normalize/batch batch_norm", CHANNELS, "b2c3x4", |a| {
        vec![value(batch_norm::<3>(a.float(0), a.float(1), a.float(2), a.float(3), a.positive(4), 1e-5))]
    }),
    row(
        "normalize/batch batch_norm_elements",
        "input=bcx scale=cx bias=cx mean=cx variance=cx",
        "b2c3x4",
        |a| {
            let y = batch_norm_elements::<3, 2>(
                a.float(0),
                a.float(1),
                a.float(2),
                a.float(3),
                a.positive(4),
                1e-5,
            );
            vec![value(y)]
        },
    ),
    row("normalize/batch batch_norm_factors", "scale=c bias=c mean=c variance=c", "c3", |a| {
        let (factor, offset) = batch_norm_factors(a.float(0), a.float(1), a.float(2), a.positive(3), 1e-5);
        vec![value(factor), value(offset)]
    }),
    row("normalize/batch scale_channels", "input=bcx factor=c offset=c", "b2c3x4", |a| {
        vec![value(scale_channels::<3>(a.float(0), a.float(1), a.float(2), Activation::Relu))]
    }),
    row("normalize/batch batch_norm_train", CHANNELS, "b2c3x4", |a| {
        let all =
            batch_norm_train::<3>(a.float(0), a.float(1), a.float(2), a.float(3), a.positive(4), 1e-2, 0.9);
        vec![value(all.y), value(all.running_mean), value(all.running_variance)]
    }),
    row(
        "normalize/embed embeddings",
        "ids=bs words=wh positions=ph position_ids=b?s segments=bs table=th",
        "b2s3w5h4p6t2",
        embedded,
    ),
    row(
        "text/word_conv word_conv_embedding",
        "characters=wl weight=fcke bias=f table=te",
        "w2l5f3c1k2e4t6",
        |a| {
            let characters = a.int(0, a.size(3, 0) as i64);
            let (weight, bias, table) = (a.float(1), a.float(2), a.float(3));
            vec![value(word_conv_embedding(characters, weight, bias, table))]
        },
    )
    .when(|size| size('c') == 1 && size('k') <= size('l')),
    row("normalize/group instance_norm", "input=bcx scale=c bias=c", "b2c3x4", |a| {
        vec![value(instance_norm::<3>(a.float(0), a.float(1), a.float(2), 1e-2))]
    }),
    row("normalize/group group_norm", "input=bcx scale=c bias=c", "b2c6x4", |a| {
        vec![value(group_norm::<3>(a.float(0), a.float(1), a.float(2), 3, 1e-2))]
    })
    .when(|size| size('c').is_multiple_of(3)),
    row("normalize/group group_norm_by_group", "input=bcx scale=s bias=o", "b2c6x4s6o3", |a| {
        vec![value(group_norm_by_group::<3>(a.float(0), a.float(1), a.float(2), 3, 1e-2))]
    })
    .when(|size| {
        let fits = |row: char| [3, size('c')].contains(&size(row));
        size('c').is_multiple_of(3) && fits('s') && fits('o')
    }),
    row("normalize/skip_group image_group_norm", "input=bxyc scale=c shift=c", "b2x2y3c4", |a| {
        vec![value(image_group_norm(a.float(0), a.float(1), a.float(2), IMAGES))]
    })
    .when(|size| size('c').is_multiple_of(2)),
    row(
        "normalize/skip_group skip_image_group_norm",
        "input=bxyc scale=c shift=c skip=b?c? bias=c",
        "b2x2y3c4",
        |a| {
            let (skip, bias) = (a.float::<2>(3), Some(a.float(4)));
            let (y, sum) = skip_image_group_norm(a.float(0), a.float(1), a.float(2), skip, bias, IMAGES);
            vec![value(y), value(sum)]
        },
    )
    .when(|size| size('c').is_multiple_of(2)),
    row("normalize/layer layer_norm", "input=bsf scale=f? bias=f?", "b2s3f4", |a| {
        vec![value(layer_norm::<3, 1>(a.float(0), a.float(1), Some(a.float(2)), 2, 1e-2))]
    }),
    row("normalize/layer layer_norm", "input=bsf scale=b?s?f? bias=b?s?f?", "b2s3f4", |a| {
        vec![value(layer_norm::<3, 3>(a.float(0), a.float(1), Some(a.float(2)), 1, 1e-2))]
    }),
    row("normalize/layer layer_norm_with_statistics", "input=bsf scale=s?f? bias=s?f?", "b2s3f4", |a| {
        let all = layer_norm_with_statistics::<3, 2>(a.float(0), a.float(1), Some(a.float(2)), 2, 1e-2);
        vec![value(all.y)]
    }),
    row("normalize/layer rms_norm", "input=bsf scale=s?f?", "b2s3f4", |a| {
        vec![value(rms_norm::<3, 2>(a.float(0), a.float(1), 2, 1e-2))]
    }),
    row("normalize/layer rms_norm", "input=bsf scale=f?", "b2s3f4", |a| {
        vec![value(rms_norm::<3, 1>(a.float(0), a.float(1), 2, 1e-2))]
    }),
    row("normalize/layer rms_norm_with_statistics", "input=bsf scale=s?f?", "b2s3f4", |a| {
        vec![value(rms_norm_with_statistics::<3, 2>(a.float(0), a.float(1), 2, 1e-2).0)]
    }),
    row("normalize/skip skip_layer_norm", "input=bsf skip=b?s?f? scale=f? shift=f? bias=f", "b2s3f4", |a| {
        let (shift, bias) = (Some(a.float(3)), Some(a.float(4)));
        let (y, sum) = skip_layer_norm::<3>(a.float(0), a.float(1), a.float(2), shift, bias, 1e-2);
        vec![value(y), value(sum)]
    }),
    row("normalize/skip skip_rms_norm", "input=bsf skip=b?s?f? scale=f? bias=f", "b2s3f4", |a| {
        let (y, sum) = skip_rms_norm::<3>(a.float(0), a.float(1), a.float(2), Some(a.float(3)), 1e-2);
        vec![value(y), value(sum)]
    }),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
