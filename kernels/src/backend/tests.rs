//! Kernels of backends compared with primitives.

mod boxes;
mod bytes;
mod codes;
mod groups;
mod joins;
mod launches;
mod nonzero;
mod orders;
mod pools;
mod quantized;
mod recurrences;
mod regions;
mod scans;
mod small;
mod waiting;

use burn::backend::Dispatch;
use burn::tensor::{
    Bool, DType, Int, Tensor,
    ops::{ConvOptions, ConvTransposeOptions},
};

use super::{Operand, Runtime, call, primitives, switches};
use crate::flex::with_each_set;
use crate::product::epilogue::{Activation, Epilogue};
use crate::spec::indices::Axis;
use crate::spec::scores::{Scores, Undefined};
use crate::testing::{bool, by_flex, device, float, int, near, noise, on_each, same};

/// Compares the operation with its primitives on the same operands.
macro_rules! agree {
    ($method:ident<$rank:literal>($($operand:ident),+ $(; $($option:expr),+)?)) => {{
        let expected = {
            $(let $operand = $operand.clone().into_primitive();)+
            primitives::$method::<Dispatch>($($operand),+ $(, $($option.clone()),+)?)
        };
        let expected = Tensor::<$rank>::from_dispatch(expected).into_data();
        with_each_instruction_set(|| {
            $(let $operand = $operand.clone();)+
            let y = call!($method($($operand),+ $(; $($option.clone()),+)?));
            near(Tensor::<$rank>::from_dispatch(y), expected.clone(), 1e-5);
        });
    }};
}

// After the macro that they use.
mod convolutions;
mod elements;
mod products;
mod rows;

/// Runs a test with each instruction set for which Flex has kernels.
fn with_each_instruction_set(run: impl Fn()) {
    if Runtime::of(&device()) == Runtime::Flex {
        with_each_set(|_| run());
    } else {
        run();
    }
}

#[test]
fn products() {
    for (left, right) in [
        ([2, 3, 4, 5], [2, 3, 5, 6]),
        ([2, 3, 1, 5], [2, 1, 5, 6]),
        ([1, 3, 9, 5], [2, 1, 5, 6]),
        ([2, 3, 9, 5], [1, 1, 5, 6]),
    ] {
        let (a, b) = (noise::<4>(left, 1), noise::<4>(right, 2));
        agree!(matmul<4>(a, b));
    }
    let (x, weight) = (noise::<3>([2, 9, 5], 1), noise::<2>([6, 5], 2).transpose());
    for bias in [None, Some(noise::<1>([6], 3))] {
        for sum in [None, Some(noise::<3>([2, 9, 6], 4))] {
            let epilogue = Epilogue::from(Activation::Relu);
            agree!(linear<3>(x, weight, bias, sum; epilogue));
        }
    }
}

#[test]
fn convolutions() {
    let epilogue = Epilogue::from(Activation::LeakyRelu(0.5));
    for bias in [None, Some(noise::<1>([6], 3))] {
        let (x, weight) = (noise::<3>([2, 4, 9], 1), noise::<3>([6, 2, 3], 2));
        let options = ConvOptions::new_with_padding([2], [(1, 2)], [2], 2);
        for sum in [None, Some(noise::<3>([2, 6, 4], 4))] {
            agree!(conv1d<3>(x, weight, bias, sum; options, epilogue));
        }
        let (x, weight) = (noise::<4>([2, 4, 9, 7], 1), noise::<4>([6, 2, 3, 2], 2));
        let options = ConvOptions::new_with_padding([2, 1], [(1, 2), (0, 1)], [2, 1], 2);
        for sum in [None, Some(noise::<4>([2, 6, 4, 7], 4))] {
            agree!(conv2d<4>(x, weight, bias, sum; options, epilogue));
        }
        let (x, weight) = (noise::<5>([1, 4, 5, 4, 3], 1), noise::<5>([6, 2, 3, 2, 1], 2));
        let options = ConvOptions::new([2, 1, 1], [1, 0, 1], [1, 2, 1], 2);
        for sum in [None, Some(noise::<5>([1, 6, 3, 2, 5], 4))] {
            agree!(conv3d<5>(x, weight, bias, sum; options, epilogue));
        }
    }
    for bias in [None, Some(noise::<1>([4], 3))] {
        let (x, weight) = (noise::<3>([2, 6, 5], 1), noise::<3>([6, 2, 3], 2));
        let options = ConvTransposeOptions::new([2], [1], [1], [1], 2);
        agree!(conv_transpose1d<3>(x, weight, bias; options, None));
        let (x, weight) = (noise::<4>([2, 6, 5, 3], 1), noise::<4>([6, 2, 3, 2], 2));
        let options = ConvTransposeOptions::new([2, 1], [1, 0], [1, 0], [1, 2], 2);
        agree!(conv_transpose2d<4>(x, weight, bias; options, None));
        let (x, weight) = (noise::<5>([1, 6, 3, 2, 4], 1), noise::<5>([6, 2, 2, 1, 3], 2));
        let options = ConvTransposeOptions::new([2, 1, 1], [0; 3], [1, 0, 0], [1; 3], 2);
        agree!(conv_transpose3d<5>(x, weight, bias; options, None));
    }
}

/// Returns queries of four heads, and keys and values of `own` heads.
fn attended(lengths: [usize; 2], own: usize) -> [Tensor<4>; 3] {
    let [queries, keys] = lengths;
    let shapes = [[2, 4, queries, 8], [2, own, keys, 8], [2, own, keys, 6]];
    let mut seed = 0;
    shapes.map(|shape| {
        seed += 1;
        noise(shape, seed)
    })
}

/// Returns a pseudorandom mask.
fn hidden(shape: [usize; 4], seed: u64) -> Tensor<4, Bool> {
    noise::<4>(shape, seed).greater_scalar(0.2)
}

#[test]
fn attention_with_masks_that_broadcast() {
    let [query, key, value] = attended([3, 5], 4);
    for mask in [None, Some([1, 1, 3, 5]), Some([2, 1, 1, 5]), Some([2, 4, 3, 1])] {
        for bias in [None, Some([1, 1, 3, 5]), Some([2, 1, 3, 5]), Some([1, 4, 1, 5])] {
            let mask = mask.map(|shape| hidden(shape, 5));
            let bias = bias.map(|shape| noise::<4>(shape, 4));
            for undefined in [Undefined::Zero, Undefined::ZeroIfHidden] {
                let scores = Scores { undefined, ..Scores::scaled(0.4) };
                agree!(attention<4>(query, key, value, mask, bias; scores));
            }
        }
    }
}

#[test]
fn attention_of_every_length() {
    let [no_mask, no_bias]: [Option<Tensor<4>>; 2] = [None, None];
    for lengths in [[1, 1], [1, 70], [2, 3], [9, 17], [70, 33], [150, 300]] {
        for own in [1, 2, 4] {
            let [query, key, value] = attended(lengths, own);
            let mask = Some(hidden([1, 1, lengths[0], lengths[1]], 7));
            let scores = Scores { undefined: Undefined::ZeroIfHidden, ..Scores::scaled(0.3) };
            agree!(attention<4>(query, key, value, mask, no_bias; scores));
            agree!(attention<4>(query, key, value, no_mask, no_bias; scores));
            // Heads that are split from rows, and keys that are columns.
            let [query, key, value] = [query, key, value].map(|x| {
                let shape = x.dims();
                let rows = x.reshape([shape[0], shape[2], shape[1], shape[3]]);
                rows.swap_dims(1, 2)
            });
            let key = key.swap_dims(2, 3).mul_scalar(2.0).swap_dims(2, 3);
            agree!(attention<4>(query, key, value, no_mask, no_bias; scores));
        }
    }
}

#[test]
fn attention_within_windows() {
    let no_bias: Option<Tensor<4>> = None;
    let scores = Scores { undefined: Undefined::ZeroIfHidden, ..Scores::scaled(0.3) };
    for lengths in [[1, 300], [3, 300], [150, 300]] {
        let [queries, keys] = lengths;
        let position = Tensor::<1, Int>::arange(0..queries as i64, &device()).reshape([1, 1, queries, 1]);
        let key = Tensor::<1, Int>::arange(0..keys as i64, &device()).reshape([1, 1, 1, keys]);
        let distance = key.sub(position);
        for own in [1, 4] {
            let [query, key, value] = attended(lengths, own);
            let mask = Some(distance.clone().lower_elem(100).bool_or(distance.clone().greater_elem(140)));
            agree!(attention<4>(query, key, value, mask, no_bias; scores));
        }
    }
}

#[test]
fn attention_with_every_step() {
    let [query, key, value] = attended([5, 9], 2);
    let mask = Some(hidden([2, 1, 5, 9], 8));
    let bias = Some(noise::<4>([1, 4, 5, 9], 9));
    for hidden in [f64::NEG_INFINITY, -1e9, 0.5] {
        for bias_last in [false, true] {
            for softcap in [0.0, 1.5] {
                let scores = Scores { softcap, hidden, bias_last, undefined: Undefined::Zero, scale: -0.7 };
                agree!(attention<4>(query, key, value, mask, bias; scores));
            }
        }
    }
    if !by_flex("primitives sum in half precision") {
        return;
    }
    let half = |x: Tensor<4>| x.cast(DType::F16);
    let [wide, narrow] =
        [[query, key, value].map(half).map(|x| x.cast(DType::F32)), attended([5, 9], 2).map(half)];
    let attend = |[query, key, value]: [Tensor<4>; 3]| {
        let (mask, bias): (Option<Tensor<4>>, Option<Tensor<4>>) = (None, None);
        let scores = Scores::scaled(0.7);
        Tensor::<4>::from_dispatch(call!(attention(query, key, value, mask, bias; scores)))
    };
    same(attend(narrow), half(attend(wide)).into_data());
}

#[test]
fn nan_scores_yield_nan() {
    let [query, key, value] = attended([3, 4], 4);
    for dtype in [DType::F32, DType::F64] {
        let [query, key, value] = [query.clone(), key.clone(), value.clone()].map(|x| x.cast(dtype));
        let query = query.mul_scalar(f32::NAN);
        let [no_mask, no_bias]: [Option<Tensor<4>>; 2] = [None, None];
        let scores = Scores { undefined: Undefined::Never, ..Scores::scaled(0.7) };
        let y = call!(attention(query, key, value, no_mask, no_bias; scores));
        let y = Tensor::<4>::from_dispatch(y).into_data();
        assert!(y.iter().all(|x: f64| x.is_nan()));
    }
}

#[test]
fn endless_values_of_a_query_that_gives_zero_have_no_sum() {
    let [query, key, value] = attended([3, 4], 4);
    let query = query.mul_scalar(f32::NAN);
    let value = value.mul_scalar(f32::INFINITY);
    let [no_mask, no_bias]: [Option<Tensor<4>>; 2] = [None, None];
    let scores = Scores { undefined: Undefined::Zero, ..Scores::scaled(0.7) };
    let y = call!(attention(query, key, value, no_mask, no_bias; scores));
    let y = Tensor::<4>::from_dispatch(y).into_data();
    assert!(y.iter().all(|x: f32| x.is_nan()));
}

#[test]
fn queries_without_keys() {
    let [query, key, value] = attended([3, 4], 4);
    let hides: fn(usize) -> bool = |row| row == 1;
    let rows = std::array::from_fn::<_, 3, _>(|row| [hides(row); 4]);
    let mask = || Some(bool::<4>([[rows]]));
    let endless = || {
        let rows = rows.map(|row| row.map(|hidden| if hidden { f32::NEG_INFINITY } else { 0.0 }));
        Some(float::<4>([[rows]]))
    };
    let attend = |mask: Option<Tensor<4, Bool>>, bias: Option<Tensor<4>>, undefined| {
        let (query, key, value) = (query.clone(), key.clone(), value.clone());
        let scores = Scores { undefined, ..Scores::scaled(0.7) };
        let y = call!(attention(query, key, value, mask, bias; scores));
        let y = Tensor::<4>::from_dispatch(y).into_data();
        let y: Vec<f32> = y.iter().collect();
        let rows: Vec<f32> = y.chunks(6).map(|row| row.iter().sum()).collect();
        for (at, sum) in rows.into_iter().enumerate() {
            match undefined {
                _ if !hides(at % 3) => assert!(sum.is_finite() && sum != 0.0),
                Undefined::NotANumber | Undefined::Never => assert!(sum.is_nan()),
                Undefined::ZeroIfHidden | Undefined::Zero => assert_eq!(sum, 0.0),
            }
        }
    };
    for undefined in [Undefined::NotANumber, Undefined::ZeroIfHidden, Undefined::Zero] {
        attend(mask(), None, undefined);
        attend(None, endless(), undefined);
    }
}

#[test]
fn indices_within_an_axis() {
    on_each(|| {
        let axis = Axis { number: 0, size: 3 };
        let indices = int::<1>([-3i64, 2, 0, -1]);
        let operand = indices.clone().into_primitive();
        let (found, unchecked) = primitives::within::<Dispatch>(operand, -3, axis);
        same(Tensor::<1, Int>::from_dispatch(found), [0i64, 2, 0, 2]);
        let unchecked = unchecked.tensor().expect("what is to be checked");
        same(Tensor::<1, Int>::from_dispatch(unchecked), [-3i64, 2, 0, -1]);
        let (found, unchecked) = call!(within(indices; -3, axis));
        same(Tensor::<1, Int>::from_dispatch(found), [0i64, 2, 0, 2]);
        let is_checked = Runtime::of(&device()) == Runtime::Flex && !switches::is_plain();
        assert_eq!(unchecked.tensor().is_none(), is_checked);
        // The primitive clamps indices without checking them.
        let outside = int::<1>([-4i32, 3]).into_primitive();
        let (found, _) = primitives::within::<Dispatch>(outside, -3, axis);
        same(Tensor::<1, Int>::from_dispatch(found), [0i32, 2]);
        let unsigned = int::<1>([5u8, 1]).into_primitive();
        let (found, _) = primitives::within::<Dispatch>(unsigned, -3, axis);
        same(Tensor::<1, Int>::from_dispatch(found), [2u8, 1]);
    });
}
