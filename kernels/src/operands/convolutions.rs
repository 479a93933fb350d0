//! Rows of convolutions.

use super::{Row, Size, check, row, value};
use crate::convolution::{
    causal_conv::{causal_conv, causal_conv_last},
    conv::{conv1d, conv1d_then, conv2d, conv2d_then, conv3d_then},
    conv_transpose::{conv_transpose1d, conv_transpose2d, conv_transpose2d_packed, conv_transpose3d},
    deform_conv::{Taps, deform_conv},
    window::Window,
};
use crate::product::epilogue::Epilogue;

/// Channels in two groups, and a kernel of 2 by 3 with `p` by `q` output pixels.
fn grouped(size: Size<'_>) -> bool {
    let channels = size('c') == 2 * size('g') && size('o').is_multiple_of(2);
    channels && size('x') == size('p') + 1 && size('y') == size('q') + 2
}

pub const ROWS: &[Row] = &[
    row("convolution/conv $name", "input=bcx weight=oc3 bias=o", "b2c3x5o4", |a| {
        vec![value(conv1d(a.float(0), a.float(1), Some(a.float(2)), Window::new([3]), 1))]
    })
    .when(|size| size('x') >= 3),
    row("convolution/conv $name", "input=bcxy weight=og23 bias=o", "b2c4x4y5g2o4", |a| {
        vec![value(conv2d(a.float(0), a.float(1), Some(a.float(2)), Window::new([2, 3]), 2))]
    })
    .when(|size| {
        size('c') == 2 * size('g') && size('o').is_multiple_of(2) && size('x') >= 2 && size('y') >= 3
    }),
    row("convolution/conv $then", "input=bcx weight=oc3 bias=o sum=boz", "b2c3x5o4z3", |a| {
        let (bias, sum) = (Some(a.float(2)), Some(a.float(3)));
        vec![value(conv1d_then(a.float(0), a.float(1), bias, sum, Window::new([3]), 1, Epilogue::default()))]
    })
    .when(|size| size('x') == size('z') + 2),
    row("convolution/conv $then", "input=bcxy weight=og23 bias=o sum=bopq", "b2c4x4y5g2o4p3q3", |a| {
        let (bias, sum) = (Some(a.float(2)), Some(a.float(3)));
        vec![value(conv2d_then(
            a.float(0),
            a.float(1),
            bias,
            sum,
            Window::new([2, 3]),
            2,
            Epilogue::default(),
        ))]
    })
    .when(grouped),
    row("convolution/conv $then", "input=bcxyz weight=oc222 bias=o sum=boxyz", "b1c2x3y4z3o3", |a| {
        let (bias, sum) = (Some(a.float(2)), Some(a.float(3)));
        let window = Window::new([2, 2, 2]).pads([(0, 1); 3]);
        vec![value(conv3d_then(a.float(0), a.float(1), bias, sum, window, 1, Epilogue::default()))]
    }),
    row("convolution/conv_transpose $name", "input=bcx weight=co3 bias=o", "b2c3x5o4", |a| {
        vec![value(conv_transpose1d(a.float(0), a.float(1), Some(a.float(2)), Window::new([3]), [0], 1))]
    }),
    row("convolution/conv_transpose $name", "input=bcxy weight=cg23 bias=o", "b2c4x3y2g2o4", |a| {
        let window = Window::new([2, 3]);
        vec![value(conv_transpose2d(a.float(0), a.float(1), Some(a.float(2)), window, [0, 0], 2))]
    })
    .when(|size| size('c').is_multiple_of(2) && size('o') == 2 * size('g')),
    row("convolution/conv_transpose $name", "input=bcxyz weight=co222 bias=o", "b1c2x2y3z2o3", |a| {
        let window = Window::new([2, 2, 2]);
        vec![value(conv_transpose3d(a.float(0), a.float(1), Some(a.float(2)), window, [0; 3], 1))]
    }),
    row("convolution/conv_transpose $packed", "input=bcxy weight=cg23 bias=o", "b2c4x3y2g2o4", |a| {
        let window = Window::new([2, 3]);
        vec![value(conv_transpose2d_packed(
            a.float(0),
            a.float(1),
            Some(a.float(2)),
            window,
            [0, 0],
            2,
            None,
        ))]
    })
    .when(|size| size('c').is_multiple_of(2) && size('o') == 2 * size('g')),
    row("convolution/causal_conv causal_conv", "input=bcx weight=c1k bias=c state=bcs", "b2c3x5k3s2", |a| {
        let (bias, state) = (Some(a.float(2)), Some(a.float(3)));
        let (y, state) = causal_conv(a.float(0), a.float(1), bias, state, 1, true);
        vec![value(y), value(state)]
    })
    .when(|size| size('k') == size('s') + 1),
    row(
        "convolution/causal_conv causal_conv_last",
        "input=bxc weight=c1k bias=c state=bsc",
        "b2c3x5k3s4",
        |a| {
            let (bias, state) = (Some(a.float(2)), Some(a.float(3)));
            let (y, state) = causal_conv_last::<3>(a.float(0), a.float(1), bias, state, 2, true);
            vec![value(y), value(state)]
        },
    )
    .when(|size| size('k') > 0 && (size('k') - 1) * 2 == size('s')),
    row(
        "convolution/deform_conv deform_conv",
        "input=bcxy weight=og23 bias=o offset=btpq mask=bmpq",
        "b2c4x4y5g2o4t12m6p3q3",
        |a| {
            let taps = Taps { offset: a.float(3), mask: Some(a.float(4)), groups: 1 };
            vec![value(deform_conv::<4, 2>(
                a.float(0),
                a.float(1),
                Some(a.float(2)),
                taps,
                Window::new([2, 3]),
                2,
            ))]
        },
    )
    .when(|size| grouped(size) && [size('t'), size('m')] == [12, 6]),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
