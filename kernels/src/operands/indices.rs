//! Rows of indexing, concatenation, and regions.

use super::{Row, check, row, value};
use crate::image::{
    grid_sample::{GridSample, Mode, Padding, grid_sample},
    non_max_suppression::{BoxForm, Limits, non_max_suppression},
    roi::{RoiAlign, max_roi_pool, roi_align},
};
use crate::index::{gather, scatter, select};
use crate::pool::max_unpool::{max_unpool, max_unpool_to};
use crate::shape::{append, arrange::reverse_sequence, pad::pad_tensor, stack};
use crate::train::loss::{Reduction, negative_log_likelihood, softmax_cross_entropy};
use burn::tensor::{Float, IndexingUpdateOp};

const LIMITS: Limits = Limits { most: 5, overlap: 0.5, score: None };

pub const ROWS: &[Row] = &[
    row("index/gather gather", "input=mn indices=ab", "m3n4a2b2", |a| {
        vec![value(gather::gather::<2, 2, 3, Float>(a.float(0), 0, a.int(1, a.size(0, 0) as i64)))]
    }),
    row("index/gather gather_nonnegative", "input=mn indices=ab", "m3n4a2b2", |a| {
        vec![value(gather::gather_nonnegative::<2, 2, 3, Float>(
            a.float(0),
            1,
            a.int(1, a.size(0, 1) as i64),
        ))]
    }),
    row("index/gather gather_scalar", "input=mn index=1", "m3n4", |a| {
        vec![value(gather::gather_scalar::<2, 1, Float>(a.float(0), 0, a.int(1, a.size(0, 0) as i64)))]
    }),
    row("index/gather gather_elements", "input=mn indices=ab", "m3n4a3b2", |a| {
        vec![value(gather::gather_elements::<2, Float>(a.float(0), 1, a.int(1, a.size(0, 1) as i64)))]
    })
    .when(|size| size('a') <= size('m')),
    row("index/gather gather_nd", "input=bmn tuples=bck", "b2m3n4c3k1", |a| {
        vec![value(gather::gather_nd::<3, 3, 3, Float>(a.float(0), a.int(1, 1), 1))]
    })
    .when(|size| size('k') == 1),
    row("index/nonzero compress", "input=mn condition=c", "m3n4c3", |a| {
        vec![value(select::compress::<2, Float>(a.float(0), 0, a.bool(1)))]
    }),
    row("index/nonzero compress_flat", "input=mn condition=c", "m3n4c12", |a| {
        vec![value(select::compress_flat::<2, Float>(a.float(0), a.bool(1)))]
    }),
    row("index/scatter scatter_elements", "input=mn indices=ab updates=ab", "m3n4a3b2", |a| {
        let (indices, add) = (a.int(1, a.size(0, 1) as i64), IndexingUpdateOp::Add);
        vec![value(scatter::scatter_elements::<2, Float>(a.float(0), 1, indices, a.float(2), add))]
    })
    .when(|size| size('a') <= size('m')),
    row("index/scatter scatter_nd", "input=mn tuples=ck updates=cn", "m3n4c2k1", |a| {
        let (tuples, add) = (a.int(1, a.size(0, 0) as i64), IndexingUpdateOp::Add);
        vec![value(scatter::scatter_nd::<2, 2, 2, Float>(a.float(0), tuples, a.float(2), add))]
    })
    .when(|size| size('k') == 1),
    row("index/scatter/cache write_cache", "cache=bmn update=bun starts=b", "b2m5n3u2", |a| {
        let last = a.size(0, 1).saturating_sub(a.size(1, 1)) as i64;
        vec![value(scatter::write_cache::<3, Float>(
            a.float(0),
            1,
            a.float(1),
            Some(a.int(2, last + 1)),
            false,
        ))]
    })
    .when(|size| size('u') <= size('m')),
    row("index/select one_hot", "indices=mn values=2", "m2n3", |a| {
        vec![value(select::one_hot::<2, 3, Float>(a.int(0, 4), 4, a.float(1), 1))]
    }),
    row("shape/append append", "cache=ma new=mb", "m2a3b4", |a| {
        vec![value(append::append::<2, Float>(a.float(0), a.float(1), 1))]
    }),
    row("shape/stack concat", "a=mn b=mk c=ml", "m2n3k4l1", |a| {
        vec![value(stack::concat::<2, Float>(vec![a.float(0), a.float(1), a.float(2)], 1))]
    }),
    row("shape/stack stack_or", "a=mn b=mn", "m2n3", |a| {
        let none = || unreachable!("there are items");
        vec![value(stack::stack_or::<2, 3, Float>(vec![a.float(0), a.float(1)], 1, none))]
    }),
    row("shape/stack cat_or", "a=m b=n", "m2n3", |a| {
        let none = || unreachable!("there are items");
        vec![value(stack::cat_or::<Float>(vec![a.float(0), a.float(1)], none))]
    }),
    row("shape/pad pad_tensor", "input=mn value=1", "m2n3", |a| {
        vec![value(pad_tensor::<2, Float>(a.float(0), [(1, 0), (0, 2)], a.float(1)))]
    }),
    row("shape/arrange reverse_sequence", "input=tbf lengths=b", "t3b2f4", |a| {
        vec![value(reverse_sequence::<3, Float>(a.float(0), a.int(1, a.size(0, 0) as i64 + 1), 1, 0))]
    }),
    row("pool/max_unpool max_unpool", "input=bcxy indices=bcxy", "b1c2x2y3", |a| {
        vec![value(max_unpool::<4>(a.float(0), a.int(1, 48), [1, 2, 4, 6]))]
    }),
    row("pool/max_unpool max_unpool_to", "input=bcxy indices=bcxy", "b1c2x2y3", |a| {
        vec![value(max_unpool_to::<4>(a.float(0), a.int(1, 48), [1, 2, 4, 6], &[1, 2, 5, 6]))]
    }),
    row("image/grid_sample grid_sample", "input=bcxy grid=bpq2", "b2c3x4y5p2q3", |a| {
        let options = GridSample { mode: Mode::Linear, padding: Padding::Zeros, align_corners: false };
        vec![value(grid_sample::<4>(a.float(0), a.float(1), &options))]
    }),
    row("image/non_max_suppression non_max_suppression", "boxes=bn4 scores=bcn", "b2n3c2", |a| {
        vec![value(non_max_suppression(a.positive(0), a.float(1), BoxForm::Center, LIMITS))]
    }),
    row("image/roi/align roi_align", "input=bcxy regions=r4 batches=r", "b2c3x4y5r3", |a| {
        let options = RoiAlign {
            output: [2, 2],
            sampling: 2,
            scale: 1.0,
            half_pixel: true,
            mode: crate::image::roi::Mode::Average,
        };
        vec![value(roi_align(a.float(0), a.positive(1), a.int(2, a.size(0, 0) as i64), &options))]
    }),
    row("image/roi/pool max_roi_pool", "input=bcxy regions=r5", "b2c3x4y5r3", |a| {
        let regions = a.int::<2>(1, 1).float().cast(a.float::<4>(0).dtype());
        vec![value(max_roi_pool(a.float(0), regions, [2, 2], 1.0))]
    })
    .single(),
    row("train/loss negative_log_likelihood", "scores=bcx target=bx weight=c", "b2c3x4", |a| {
        let target = a.int::<2>(1, a.size(0, 1) as i64);
        let mean = Reduction::Mean;
        vec![value(negative_log_likelihood::<3, 2, 1>(a.float(0), target, Some(a.positive(2)), None, mean))]
    }),
    row("train/loss softmax_cross_entropy", "scores=bcx target=bx weight=c", "b2c3x4", |a| {
        let target = a.int::<2>(1, a.size(0, 1) as i64);
        let sum = Reduction::Sum;
        let (loss, logarithms) =
            softmax_cross_entropy::<3, 2, 1>(a.float(0), target, Some(a.positive(2)), None, sum);
        vec![value(loss), value(logarithms)]
    }),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
