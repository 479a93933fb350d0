//! Async versions compared with blocking ones.
//!
//! They must have the same results without blocking.

use burn::tensor::{Bool, DType, Int, Tensor, read_sync};

use crate::bit_cast::*;
use crate::image::non_max_suppression::*;
use crate::index::{select::*, unique::*};
use crate::observe::Event;
use crate::product::{determinant::*, inverse::*};
use crate::quantize::{quantize_small, quantize_small_async};
use crate::random::*;
use crate::roi::*;
use crate::small::{Small, to_small, to_small_async};
use crate::testing::{bool, events, float, has, int, noise, on_each, same};
use crate::top_k::*;

/// `waits!(f g(x, y))`: `g` is the async version of `f`. One result, or the first of several.
macro_rules! waits {
    ($blocking:ident $waiting:ident ($($argument:expr),*) $($of:tt)*) => {{
        let expected = $blocking($($argument),*)$($of)*;
        let (found, events) = events(|| read_sync($waiting($($argument),*))$($of)*);
        assert!(!events.contains(&Event::Read), concat!(stringify!($waiting), " blocks"));
        same(found, expected.into_data());
    }};
}

#[test]
fn sizes_of_results() {
    on_each(|| {
        let truth = || bool::<1>([true, false, true]);
        let none = || bool::<1>([false; 3]);
        let x = || float::<2>([[1f32, 0.0], [2.0, 1.0], [1.0, 0.0]]);
        let ints = || int::<1>([3i32, 1, 3, 2, 1]);
        waits!(compress compress_async(x(), 0, truth()));
        waits!(compress compress_async(x(), 0, none()));
        waits!(compress_flat compress_flat_async(x(), bool::<1>([false, true, false, true])));
        waits!(nonzero nonzero_async(x()));
        waits!(nonzero nonzero_async(Tensor::<1, Bool>::empty([0], &truth().device())));
        waits!(nonzero_scalar nonzero_scalar_async(float::<1>([2f32])));
        waits!(unique unique_async(x(), 0, true).0);
        waits!(unique unique_async(x(), 0, false).2);
        waits!(unique_flat unique_flat_async(ints(), true).3);
        let (boxes, scores) = (|| noise::<3>([2, 9, 4], 1), || noise::<3>([2, 3, 9], 2));
        let limits = Limits { most: 3, overlap: 0.2, score: Some(0.1) };
        waits!(non_max_suppression non_max_suppression_async(boxes(), scores(), BoxForm::Center, limits));
    });
}

#[test]
fn results_computed_by_the_host() {
    on_each(|| {
        let x = || noise::<2>([4, 5], 3);
        waits!(top_k top_k_async(x(), 2, 1, true).0);
        if has(DType::F64) {
            waits!(top_k top_k_async(x().cast(DType::F64), 2, 1, false).1);
            waits!(to_small to_small_async(x().cast(DType::F64), Small::E5M2, true));
        }
        waits!(to_small to_small_async(x(), Small::E4M3Fn, false));
        waits!(quantize_small quantize_small_async(x(), float::<2>([[0.5f32]]), Small::E2M1, true));
        let matrix = || noise::<3>([2, 5, 5], 4);
        waits!(inverse inverse_async(matrix()));
        let expected: Tensor<1> = det(matrix());
        let (found, events) = events(|| read_sync(det_async::<3, 1>(matrix())));
        assert!(!events.contains(&Event::Read), "det_async blocks");
        same(found, expected.into_data());
        waits!(multinomial multinomial_async(x(), 6, Some(5), DType::I32));
        waits!(float_to_int float_to_int_async(x(), DType::F32, DType::I32));
        waits!(int_to_float int_to_float_async(int::<1>([1i32, -1]), DType::I32, DType::F32).is_nan());
        waits!(small_to_int small_to_int_async(float::<1>([1f32, 0.5]), Small::E5M2));
        waits!(int_to_small int_to_small_async(int::<1>([9i32, 7]), Small::E5M2));
    });
}

#[test]
fn regions() {
    on_each(|| {
        let x = || noise::<4>([2, 3, 8, 9], 6);
        let rois = || float::<2>([[0f32, 0.0, 0.0, 5.0, 6.0], [1.0, 2.0, 1.0, 7.5, 4.0]]);
        waits!(max_roi_pool max_roi_pool_async(x(), rois(), [2, 2], 1.0));
        let corners = || rois().narrow(1, 1, 4);
        let batches = || -> Tensor<1, Int> { int([0i32, 1]) };
        let options =
            RoiAlign { output: [2, 3], sampling: 0, scale: 1.0, half_pixel: true, mode: Mode::Average };
        waits!(roi_align roi_align_async(x(), corners(), batches(), &options));
    });
}
