//! Rows of matrix products and recurrent networks.

use super::{Arguments, Row, Size, check, row, value};
use crate::product::{
    epilogue::{Activation, Epilogue},
    matmul,
    moe::{Experts, Gate, GatePlace, Projection, moe},
};
use crate::recurrent::{Direction, Gru, Lstm, Rnn, State, Weights, gru, lstm, rnn};

fn weights(a: &Arguments) -> Weights {
    Weights {
        input: a.float(1),
        recurrent: a.float(2),
        bias: Some(a.float(3)),
        peepholes: None,
        packed: None,
    }
}

fn state(a: &Arguments) -> State {
    State { lengths: Some(a.int(4, a.size(0, 0) as i64 + 1)), hidden: Some(a.float(5)), cell: None }
}

/// Checks the sizes of a network of one direction and `gates` gates.
fn recurrent(size: Size<'_>, gates: usize) -> bool {
    size('g') == gates * size('h') && size('d') == 1 && size('w') == 2 * size('g')
}

const RECURRENT: &str = "input=tbi weight=dgi recurrent=dgh bias=dw lengths=b hidden=dbh";

pub const ROWS: &[Row] = &[
    row("product/matmul matmul", "a=mk b=kn", "m3k4n5", |a| {
        vec![value(matmul::matmul::<2, 2, 2>(a.float(0), a.float(1)))]
    }),
    row("product/matmul matmul", "a=a?b?mk b=b?kn", "a2b3m3k4n5", |a| {
        vec![value(matmul::matmul::<4, 3, 4>(a.float(0), a.float(1)))]
    }),
    row("product/matmul product", "a=b?mk b=b?kn", "b2m3k4n5", |a| {
        vec![value(matmul::product::<3>(a.float(0), a.float(1)))]
    }),
    row("product/matmul linear", "input=bsi weight=io bias=o", "b2s3i4o5", |a| {
        vec![value(matmul::linear::<3>(a.float(0), a.float(1), Some(a.float(2))))]
    }),
    row("product/matmul linear_then", "input=bi weight=io bias=o sum=bo", "b3i4o5", |a| {
        let (bias, sum) = (Some(a.float(2)), Some(a.float(3)));
        vec![value(matmul::linear_then::<2>(a.float(0), a.float(1), bias, sum, Epilogue::default()))]
    }),
    row(
        "product/moe moe",
        "input=mh scores=me first=eih bias=ei second=ehi bias=eh third=eih bias=ei mixing=me",
        "m5h4e3i6",
        |a| {
            let projection = |at| Projection { weight: a.float(at), bias: Some(a.float(at + 1)) };
            let gate = Gate { place: GatePlace::Third, beta: 0.5, limit: None, limits_activation: false };
            let experts =
                Experts { chosen: 2, normalize: false, activation: Activation::Relu, gate: Some(gate) };
            let (both, third) = ([projection(2), projection(4)], Some(projection(6)));
            vec![value(moe::<2>(a.float(0), a.float(1), Some(a.float(8)), both, third, experts))]
        },
    )
    .when(|size| size('e') >= 2),
    row("product/matmul matmul_int", "a=b?mk b=b?kn", "b2m3k4n5", |a| {
        vec![value(matmul::matmul_int::<3, 3, 3>(a.int(0, 9), a.int(1, 9)))]
    })
    .single(),
    row("product/matmul gemm", "a=mk b=kn c=m?n?", "m3k4n5", |a| {
        vec![value(matmul::gemm(a.float(0), a.float(1), Some(a.float(2)), 0.5, 2.0, false, false))]
    }),
    row("product/matmul gemm", "a=km b=nk c=m?n?", "m3k4n5", |a| {
        vec![value(matmul::gemm(a.float(0), a.float(1), Some(a.float(2)), 0.5, 0.0, true, true))]
    }),
    row("product/matmul gemm_int", "a=mk b=nk c=m?n?", "m3k4n5", |a| {
        vec![value(matmul::gemm_int(a.int(0, 9), a.int(1, 9), Some(a.int(2, 9)), 1.0, 1.0, false, true))]
    })
    .single(),
    row("recurrent/rnn rnn", RECURRENT, "t3b2i4d1g3h3w6", |a| {
        let (y, hidden) = rnn(a.float(0), weights(a), state(a), &Rnn::new(Direction::Forward));
        vec![value(y), value(hidden)]
    })
    .when(|size| recurrent(size, 1)),
    row("recurrent/gru gru", RECURRENT, "t3b2i4d1g9h3w18", |a| {
        let (y, hidden) = gru(a.float(0), weights(a), state(a), &Gru::new(Direction::Forward));
        vec![value(y), value(hidden)]
    })
    .when(|size| recurrent(size, 3)),
    row(
        "recurrent/lstm lstm",
        "input=tbi weight=dgi recurrent=dgh bias=dw lengths=b hidden=dbh cell=dbh peepholes=dp",
        "t3b2i4d1g12h3w24p9",
        |a| {
            let weights = Weights { peepholes: Some(a.float(7)), ..weights(a) };
            let state = State { cell: Some(a.float(6)), ..state(a) };
            let (y, hidden, cell) = lstm(a.float(0), weights, state, &Lstm::new(Direction::Forward));
            vec![value(y), value(hidden), value(cell)]
        },
    )
    .when(|size| recurrent(size, 4) && size('p') == 3 * size('h')),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
