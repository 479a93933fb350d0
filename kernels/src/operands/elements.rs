//! Rows of elementwise functions.

use super::{Arguments, Results, Row, check, row, value};
use crate::classical::{
    distances::{divided_distances, squared_distances},
    features,
};
use crate::elementwise::{activation, arithmetic};
use crate::index::select::where_;
use crate::product::epilogue::{Activation, finish};
use crate::shape::expand;
use crate::train::optimizer::{Adagrad, Adam, Momentum};
use burn::tensor::{Int, Tensor};

/// Runs a function of two tensors of integers from 0 to 3.
fn of_ints(a: &Arguments, run: fn(Tensor<2, Int>, Tensor<2, Int>) -> Tensor<2, Int>) -> Results {
    vec![value(run(a.int(0, 4), a.int(1, 4)))]
}

fn of_floats(a: &Arguments, run: fn(Tensor<2>, Tensor<2>) -> Tensor<2>) -> Results {
    vec![value(run(a.positive(0), a.positive(1)))]
}

const PAIR: &str = "a=m?n? b=m?n?";

pub const ROWS: &[Row] = &[
    row("elementwise/activation prelu", "input=bcx slope=b?c?x?", "b2c3x4", |a| {
        vec![value(activation::prelu::<3>(a.float(0), a.float(1)))]
    }),
    row("elementwise/activation prelu", "input=bcx slope=b?c?1", "b2c3x4", |a| {
        vec![value(activation::prelu::<3>(a.float(0), a.float(1)))]
    }),
    row("elementwise/activation prelu_int", "input=bcx slope=b?c?x?", "b2c3x4", |a| {
        vec![value(activation::prelu_int::<3>(a.int(0, 4), a.int(1, 4)))]
    })
    .single(),
    row("elementwise/activation bias_gelu", "input=bf bias=f", "b2f3", |a| {
        vec![value(activation::bias_gelu::<2>(a.float(0), a.float(1)))]
    }),
    row("elementwise/activation fast_gelu", "input=bf bias=f", "b2f3", |a| {
        vec![value(activation::fast_gelu::<2>(a.float(0), a.float(1)))]
    }),
    row("elementwise/activation bias_add", "input=bf bias=f skip=bf", "b2f3", |a| {
        vec![value(activation::bias_add::<2>(a.float(0), a.float(1), a.float(2)))]
    }),
    row("elementwise/activation bias_split_gelu", "input=bf bias=f", "b2f4", |a| {
        vec![value(activation::bias_split_gelu::<2>(a.float(0), a.float(1)))]
    })
    .when(|size| size('f').is_multiple_of(2)),
    row("elementwise/activation swiglu", "a=mn b=mn", "m2n3", |a| {
        vec![value(activation::swiglu::<2>(a.float(0), a.float(1), 1.0))]
    }),
    row("elementwise/wrapping add_int", PAIR, "m2n3", |a| of_ints(a, arithmetic::add_int)).single(),
    row("elementwise/wrapping sub_int", PAIR, "m2n3", |a| of_ints(a, arithmetic::sub_int)).single(),
    row("elementwise/wrapping mul_int", PAIR, "m2n3", |a| of_ints(a, arithmetic::mul_int)).single(),
    row("elementwise/arithmetic div_int", PAIR, "m2n3", |a| of_ints(a, arithmetic::div_int)).single(),
    row("elementwise/arithmetic modulo", PAIR, "m2n3", |a| of_ints(a, arithmetic::modulo)).single(),
    row("elementwise/arithmetic fmod_int", PAIR, "m2n3", |a| of_ints(a, arithmetic::fmod_int)).single(),
    row("elementwise/power pow_int_int", PAIR, "m2n3", |a| of_ints(a, arithmetic::pow_int_int)).single(),
    row("elementwise/arithmetic shift_left", PAIR, "m2n3", |a| of_ints(a, arithmetic::shift_left)).single(),
    row("elementwise/arithmetic shift_right", PAIR, "m2n3", |a| of_ints(a, arithmetic::shift_right)).single(),
    row("elementwise/arithmetic modulo_float", PAIR, "m2n3", |a| of_floats(a, arithmetic::modulo_float)),
    row("elementwise/arithmetic fmod", PAIR, "m2n3", |a| of_floats(a, arithmetic::fmod)),
    row("elementwise/power pow_float_float", PAIR, "m2n3", |a| of_floats(a, arithmetic::pow_float_float)),
    row("elementwise/power pow_float_int", PAIR, "m2n3", |a| {
        vec![value(arithmetic::pow_float_int::<2>(a.positive(0), a.int(1, 4)))]
    })
    .single(),
    row("elementwise/power pow_int_float", PAIR, "m2n3", |a| {
        vec![value(arithmetic::pow_int_float::<2>(a.int(0, 4), a.positive(1)))]
    })
    .single(),
    row("elementwise/arithmetic clip", "input=bf lower=1 upper=1", "b2f3", |a| {
        vec![value(arithmetic::clip::<2, burn::tensor::Float>(
            a.float(0),
            Some(a.float(1)),
            Some(a.float(2)),
        ))]
    }),
    row("elementwise/extreme max", PAIR, "m2n3", |a| of_floats(a, arithmetic::max)),
    row("elementwise/extreme min", PAIR, "m2n3", |a| of_floats(a, arithmetic::min)),
    row("index/select where_", "condition=m?n? a=m?n? b=m?n?", "m2n3", |a| {
        vec![value(where_::<2, burn::tensor::Float>(a.bool(0), a.float(1), a.float(2)))]
    }),
    row("shape/expand together", PAIR, "m2n3", |a| {
        let (a, b) = expand::together::<2, burn::tensor::Float, Int>(a.float(0), a.int(1, 9));
        vec![value(a), value(b)]
    })
    .single(),
    row("shape/expand agreed", PAIR, "m2n3", |a| {
        let (a, b) = expand::agreed::<2, burn::tensor::Float, burn::tensor::Float>(a.float(0), a.float(1));
        vec![value(a + b)]
    }),
    row("product/epilogue finish", "input=bf sum=bf", "b2f3", |a| {
        vec![value(finish::<2>(a.float(0), Some(a.float(1)), Activation::Relu))]
    }),
    row("classical/distances squared_distances", "rows=mf others=nf", "m2n3f4", |a| {
        vec![value(squared_distances(a.float(0), a.float(1)))]
    }),
    row("classical/distances divided_distances", "rows=mf others=nf divisors=nf", "m2n3f4", |a| {
        vec![value(divided_distances(a.float(0), a.float(1), a.positive(2)))]
    }),
    row("classical/features scale", "input=bf offset=f? scale=f?", "b2f3", |a| {
        vec![value(features::scale::<2>(a.float(0), a.float(1), a.float(2)))]
    }),
    row("classical/features impute", "input=bf values=f?", "b2f3", |a| {
        vec![value(features::impute::<2>(a.float(0), 0.25, a.float(1)))]
    }),
    row("classical/features impute_int", "input=bf values=f?", "b2f3", |a| {
        vec![value(features::impute_int::<2>(a.int(0, 3), 1, a.int(1, 9)))]
    })
    .single(),
    row("classical/features one_hot", "input=bf categories=c", "b2f3c4", |a| {
        vec![value(features::one_hot::<2, 3>(a.int(0, 5), a.int(1, 5)))]
    })
    .single(),
    row("classical/features extract", "input=bf indices=p", "b2f3p2", |a| {
        let indices = a.int(1, a.size(0, 1) as i64);
        vec![value(features::extract::<2, 1, 2, burn::tensor::Float>(a.float(0), indices))]
    }),
    row("train/optimizer Adagrad::step", "x=mn gradient=mn squares=mn", "m2n3", |a| {
        let (x, squares) =
            Adagrad::new([0.1, 0.0], 1, 0.1, 1e-3).step::<2>(a.float(0), a.float(1), a.positive(2));
        vec![value(x), value(squares)]
    }),
    row("train/optimizer Adam::step", "x=mn gradient=mn mean=mn squares=mn", "m2n3", |a| {
        let adam = Adam::new(0.1, 1, [0.9, 0.99], [0.1, 0.1], 1e-3);
        let (x, mean, squares) = adam.step::<2>(a.float(0), a.float(1), a.float(2), a.positive(3));
        vec![value(x), value(mean), value(squares)]
    }),
    row("train/optimizer Momentum::step", "x=mn gradient=mn momentum=mn", "m2n3", |a| {
        let (x, momentum) =
            Momentum::new(0.1, 1, [0.9, 1.0], 0.1, true).step::<2>(a.float(0), a.float(1), a.float(2));
        vec![value(x), value(momentum)]
    }),
];

#[test]
fn operands_agree_or_fail() {
    check(ROWS);
}
