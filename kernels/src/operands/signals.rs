//! Rows of signals.

use super::{Row, check, row, value};
use crate::signal::dft::{Dft, Plan, stft};

const FRAME: Dft = Dft { onesided: true, ..Dft::new(4) };

pub const ROWS: &[Row] = &[
    row("signal/dft stft", "signal=bsp window=4", "b2s9p1", |a| {
        vec![value(stft(a.float(0), 2, Some(a.float(1)), 4, true))]
    })
    .when(|size| size('s') >= 4 && size('p') <= 2),
    row("signal/dft Plan::stft", "signal=bsp window=4", "b2s9p1", |a| {
        vec![value(Plan::new(FRAME).stft(a.float(0), 2, Some(a.float(1))))]
    })
    .when(|size| size('s') >= 4 && size('p') <= 2),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
