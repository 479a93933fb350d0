//! Channels scaled and moved, each by numbers of its own.

use std::ops::Range;

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};
use burn::tensor::{DType, Shape};

use super::{
    copy::dense,
    elementary::activate,
    gemm::threads_reading,
    instructions::{Set, Sum, dispatched},
    memory::Target,
    rows::changed,
    view::Dense,
    window::by_bands,
};
use crate::{backend::primitives, spec::epilogue::Activation};

/// Elements that stay in the nearest cache from one step to the next.
const BLOCK: usize = 1 << 11;

/// Planes of fewer elements cost more to begin than to compute.
const PLANE: usize = 16;

/// The numbers of channels, and what follows.
struct Channels<'a> {
    shape: &'a Shape,
    factors: &'a [f32],
    offsets: &'a [f32],
    activation: Activation,
}

/// `activation(x * factor + offset)`, in the memory of `x` where no other tensor has it.
pub fn scale(
    x: FlexTensor,
    factor: FlexTensor,
    offset: FlexTensor,
    activation: Activation,
) -> FlexTensor {
    let shape = x.shape();
    let length = shape.num_elements();
    let plane: usize = shape[2..].iter().product();
    if x.dtype() != DType::F32 || length == 0 || plane < PLANE {
        return primitives::scale_channels::<Flex>(x, factor, offset, activation);
    }
    let of_channels = [factor, offset].map(|values| Dense::new(&values));
    let channels = Channels {
        shape: &shape,
        factors: of_channels[0].values(),
        offsets: of_channels[1].values(),
        activation,
    };
    changed(dense(x), |target, fetch| channels.scale(target, fetch))
}

impl Channels<'_> {
    /// Changes the elements of a target, block by block, once `fetch` has written those of the block.
    fn scale(&self, target: Target, fetch: impl Fn(Range<usize>) + Send + Sync) {
        let (length, channels) = (target.length(), self.factors.len());
        let planes = self.shape[0] * channels;
        let plane = length / planes;
        let wide = self.shape[self.shape.num_dims() - 1];
        let threads = threads_reading(0, size_of::<f32>() * length);
        by_bands(
            Set::best(),
            planes,
            [plane / wide, wide],
            threads,
            |at, rows| {
                let channel = at % channels;
                let [first, end] = [rows.start, rows.end].map(|row| at * plane + row * wide);
                for start in (first..end).step_by(BLOCK) {
                    let part = start..end.min(start + BLOCK);
                    fetch(part.clone());
                    // SAFETY: the elements are written, and no other thread has the rows of this plane.
                    let block = unsafe { target.written(start, part.len()) };
                    scaled(block, self.factors[channel], self.offsets[channel]);
                    activate(block, self.activation);
                }
            },
        );
    }
}

dispatched! {
    fn scaled(elements: &mut [f32], factor: f32, offset: f32) = scaled_of;
}

#[inline(always)]
fn scaled_of<S: Sum>(elements: &mut [f32], factor: f32, offset: f32) {
    for x in elements {
        *x = S::of(*x, factor, offset);
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::{
        flex::instructions::with_each_set,
        normalize::scale_channels,
        product::epilogue::{Activation, finish},
        testing::{near, noise},
    };

    /// The definition, by Burn's operations.
    fn in_steps<const D: usize>(x: Tensor<D>, factor: Tensor<1>, offset: Tensor<1>) -> Tensor<D> {
        let mut channels = [1; D];
        channels[1] = x.dims()[1];
        x * factor.reshape(channels) + offset.reshape(channels)
    }

    fn check<const D: usize>(x: Tensor<D>) {
        let channels = x.dims()[1];
        let [factor, offset] = [1, 2].map(|seed| noise([channels], seed).cast(x.dtype()));
        for activation in [Activation::Identity, Activation::Relu, Activation::Silu] {
            let expected = in_steps(x.clone(), factor.clone(), offset.clone());
            let expected = finish(expected, None, activation);
            let shared = scale_channels(x.clone(), factor.clone(), offset.clone(), activation);
            near(shared, expected.clone().into_data(), 1e-6);
            let alone = x.clone() * 1.0;
            let y = scale_channels(alone, factor.clone(), offset.clone(), activation);
            near(y, expected.into_data(), 1e-6);
        }
    }

    #[test]
    fn channels_are_scaled_as_by_single_steps() {
        with_each_set(|_| {
            check(noise([2, 3, 5, 7], 3));
            check(noise([1, 1, 1], 4));
            check(noise([3, 2], 5));
            check(noise([2, 6, 4, 3, 5], 6));
            check(noise([1, 3, 150, 131], 7));
            check(noise([2, 5, 7, 3], 8).swap_dims(1, 3));
            check(noise([2, 9, 40], 9).slice([0..2, 3..7, 1..38]));
            check(noise([2, 3, 5], 10).cast(DType::F64));
            check(noise([0, 3, 5], 11));
            check(noise([2, 3, 0], 12));
        });
    }
}
