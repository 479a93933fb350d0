//! Products of sizes around those of tiles.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::{Operand, call, primitives, with_each_instruction_set};
use crate::product::epilogue::{Activation, Epilogue};
use crate::testing::{near, noise, on_each};

#[test]
fn rows_and_columns_that_fill_no_tile() {
    on_each(|| {
        for (rows, terms, columns) in [
            (1, 1, 1),
            (1, 300, 5),
            (2, 17, 130),
            (3, 64, 64),
            (4, 5, 3),
            (5, 9, 17),
            (63, 40, 65),
            (130, 7, 9),
        ] {
            let (a, b) = (noise::<2>([rows, terms], 1), noise::<2>([terms, columns], 2));
            agree!(matmul<2>(a, b));
            for bias in [None, Some(noise::<1>([columns], 3))] {
                for sum in [None, Some(noise::<2>([rows, columns], 4))] {
                    let (x, weight) = (a.clone(), b.clone());
                    let epilogue = Epilogue::from(Activation::Silu);
                    agree!(linear<2>(x, weight, bias, sum; epilogue));
                }
            }
        }
    });
}

#[test]
fn operands_in_another_order_and_batches_that_broadcast() {
    on_each(|| {
        for (left, right) in
            [([2, 3, 9, 5], [2, 3, 5, 6]), ([2, 1, 9, 5], [1, 3, 5, 6]), ([1, 3, 1, 5], [2, 3, 5, 12])]
        {
            let (a, b) = (noise::<4>(left, 1), noise::<4>(right, 2));
            agree!(matmul<4>(a, b));
            let a = a.swap_dims(0, 3).reshape([left[3], left[1], left[2], left[0]]).swap_dims(0, 3);
            let b = noise::<4>([right[3], right[1], right[2], right[0]], 3).swap_dims(0, 3);
            agree!(matmul<4>(a, b));
        }
        let x = noise::<3>([7, 2, 9], 1).permute([1, 2, 0]);
        let weight = noise::<2>([11, 7], 2).transpose();
        let (bias, sum) = (Some(noise::<1>([11], 3)), None::<Tensor<3>>);
        let epilogue = Epilogue::default();
        agree!(linear<3>(x, weight, bias, sum; epilogue));
    });
}
