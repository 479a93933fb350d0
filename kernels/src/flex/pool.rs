//! Max and average pooling over the input in place.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    memory::Buffer,
    plan::threads,
    simd::{Floats, InstructionSet, Isa},
    view::View,
    window::{At, Fold, Planes, Windows, by_bands},
};
use crate::spec::pool::{Of, Slide};

/// Maximum of each window of one channel.
struct Largest;

/// Mean of each window of one channel.
struct Mean<'a> {
    /// Number of elements of each output pixel's window, along each axis.
    counts: &'a [Vec<f32>; 3],
}

/// Returns `None` for other element types than float32, and if columns are not contiguous.
pub fn slide(x: FlexTensor, slide: Slide) -> Option<FlexTensor> {
    let (g, sizes) = (slide.geometry, x.shape());
    let mut shape = sizes.to_vec();
    let missing = 5 - shape.len();
    shape[2..].copy_from_slice(&g.positions[missing..]);
    if x.dtype() != DType::F32 || shape.contains(&0) {
        return None;
    }
    let view = View::of(&x)?;
    let (values, [batch, channel, depth, row, column]) = view.spatial();
    if g.sizes[2] != 1 && column != 1 {
        return None;
    }
    let positions: usize = g.positions.iter().product();
    let (channels, units) = (sizes[1], sizes[0] * sizes[1]);
    let count = units * positions;
    let (value, counts) = match slide.of {
        Of::Largest => (f32::NEG_INFINITY, None),
        Of::Mean { padding } => (0.0, Some([0, 1, 2].map(|axis| slide.counts(axis, padding)))),
    };
    let windows = Windows::new(InstructionSet::best(), g, [depth, row], value)?;
    let planes = Planes::new(units, g.positions);
    let threads = threads(count * g.taps());
    let y = Buffer::filled(count, |out| {
        by_bands(out, InstructionSet::best(), planes, threads, |unit, rows, out| {
            let values = &values[unit / channels * batch + unit % channels * channel..];
            match &counts {
                None => windows.run(values, rows, &Largest, out),
                Some(counts) => windows.run(values, rows, &Mean { counts }, out),
            }
        })
    });
    Some(y.tensor(shape))
}

impl Fold for Largest {
    #[inline(always)]
    fn weights(&self) -> &[f32] {
        &[]
    }

    #[inline(always)]
    fn begin<I: Isa>(&self, isa: I) -> I::Floats {
        isa.splat(f32::NEG_INFINITY)
    }

    #[inline(always)]
    fn step<I: Isa>(&self, _: I, sum: I::Floats, values: I::Floats, _: I::Floats) -> I::Floats {
        sum.max(values)
    }

    #[inline(always)]
    fn end<I: Isa>(&self, _: I, sum: I::Floats, _: At) -> I::Floats {
        sum
    }
}

impl Fold for Mean<'_> {
    #[inline(always)]
    fn weights(&self) -> &[f32] {
        &[]
    }

    #[inline(always)]
    fn begin<I: Isa>(&self, isa: I) -> I::Floats {
        isa.splat(0.0)
    }

    #[inline(always)]
    fn step<I: Isa>(&self, _: I, sum: I::Floats, values: I::Floats, _: I::Floats) -> I::Floats {
        sum + values
    }

    #[inline(always)]
    fn end<I: Isa>(&self, isa: I, sum: I::Floats, at: At) -> I::Floats {
        let [depth, row, column] = at.position;
        let [of_depth, of_row, of_column] = self.counts;
        let count = isa.load_first(&of_column[column..][..at.count], isa.splat(1.0));
        sum / (count * isa.splat(of_depth[depth] * of_row[row]))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::flex::simd::with_each_set;
    use crate::pool::{average_pool, max_pool};
    use crate::spec::window::Window;
    use crate::testing::{float, near, noise};

    /// Compares f32, which has kernels, with f64, which has none.
    fn check<const D: usize, const S: usize>(x: Tensor<D>, window: Window<S>) {
        let wide = x.clone().cast(DType::F64);
        for ceil in [false, true] {
            let largest = max_pool(wide.clone(), window, ceil).cast(DType::F32);
            for padding in [false, true] {
                let mean = average_pool(wide.clone(), window, padding, ceil).cast(DType::F32);
                with_each_set(|_| {
                    let y = max_pool(x.clone(), window, ceil);
                    near(y, largest.to_data(), 0.0);
                    let y = average_pool(x.clone(), window, padding, ceil);
                    near(y, mean.to_data(), 1e-6);
                });
            }
        }
    }

    #[test]
    fn windows_of_every_kind() {
        let three = Window::new([3, 3]);
        for width in [3, 7, 8, 16, 17, 33, 40] {
            let x = noise::<4>([2, 3, 9, width], 1);
            check(x.clone(), three.pads([(1, 1); 2]));
            check(x.clone(), three.strides([2, 2]).pads([(1, 0), (0, 1)]));
            check(x.clone(), three.strides([3, 3]).pads([(0, 2), (2, 1)]));
            check(x, Window::new([2, 2]).strides([2, 2]));
        }
        check(noise::<3>([2, 3, 70], 1), Window::new([5]).strides([2]));
        check(noise::<3>([2, 3, 2], 1), Window::new([2]).pads([(1, 1)]));
        let window = Window::new([2, 3, 2]).strides([1, 2, 2]).pads([(1, 0); 3]);
        check(noise::<5>([1, 2, 4, 5, 19], 1), window);
        check(noise::<4>([300, 2, 20, 20], 1), three);
    }

    #[test]
    fn no_number_is_the_largest() {
        let x = float::<3>([[[f32::NAN, 1.0, 2.0, f32::NAN, 3.0, 4.0, f32::NEG_INFINITY, -1.0]]]);
        with_each_set(|_| {
            let y = max_pool(x.clone(), Window::new([2]).strides([2]), false);
            let y: Vec<f32> = y.into_data().try_to_vec().unwrap();
            assert!(y[0].is_nan() && y[1].is_nan());
            assert_eq!(y[2..], [4.0, -1.0]);
        });
    }

    #[test]
    fn equal_numbers_are_their_mean() {
        let x = Tensor::<4>::ones([1, 1, 9, 20], &Default::default());
        for size in [3, 5, 6, 7] {
            with_each_set(|_| {
                let y = average_pool(x.clone(), Window::new([size, size]), false, false);
                near(y.clone(), Tensor::<4>::ones(y.dims(), &y.device()).into_data(), 0.0);
            });
        }
    }

    #[test]
    fn inputs_as_they_lie() {
        let window = Window::new([3, 2]).pads([(1, 1); 2]);
        check(noise::<4>([2, 8, 9, 3], 1).permute([0, 3, 1, 2]), window);
        let narrow = noise::<4>([2, 5, 10, 12], 1).narrow(1, 1, 3);
        check(narrow.narrow(3, 2, 9).narrow(2, 1, 7), window);
        check(noise::<4>([2, 3, 8, 9], 1).flip([0, 2]), window);
        check(noise::<4>([2, 3, 8, 9], 1).flip([3]), window);
        check(noise::<4>([2, 1, 1, 9], 1).expand([2, 3, 8, 9]), window);
    }
}
