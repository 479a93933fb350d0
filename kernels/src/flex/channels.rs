//! Scale and offset of each channel.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};
use burn::tensor::{DType, Shape};

use super::{
    copy::dense,
    elementary::activate,
    plan::{
        threads_reading,
        tuning::{min_scaled_plane, scaled_block},
    },
    rows::{Parts, changed},
    simd::InstructionSet,
    simd::{MulAdd, compiled_per_set},
    threads::uneven_parts,
    view::Dense,
    window::Planes,
};
use crate::{backend::primitives, spec::epilogue::Activation};

/// Factors, offsets and activation.
struct Channels<'a> {
    shape: &'a Shape,
    factors: &'a [f32],
    offsets: &'a [f32],
    activation: Activation,
}

/// Returns `activation(x * factor + offset)`, in the memory of `x` if no other tensor uses it.
pub fn scale(x: FlexTensor, factor: FlexTensor, offset: FlexTensor, activation: Activation) -> FlexTensor {
    let shape = x.shape();
    let length = shape.num_elements();
    let plane: usize = shape[2..].iter().product();
    if x.dtype() != DType::F32 || length == 0 || plane < min_scaled_plane() {
        return primitives::scale_channels::<Flex>(x, factor, offset, activation);
    }
    let of_channels = [factor, offset].map(|values| Dense::new(&values));
    let channels = Channels {
        shape: &shape,
        factors: of_channels[0].values(),
        offsets: of_channels[1].values(),
        activation,
    };
    channels.scale(dense(x))
}

impl Channels<'_> {
    /// Scales contiguous elements.
    fn scale(&self, x: FlexTensor) -> FlexTensor {
        let (length, channels) = (self.shape.num_elements(), self.factors.len());
        let count = self.shape[0] * channels;
        let (plane, columns) = (length / count, self.shape[2..].last().copied().unwrap_or(1));
        let planes = Planes::new(count, [1, plane / columns, columns]);
        let threads = threads_reading(0, size_of::<f32>() * length);
        let parts = Parts {
            grid: planes.bands(InstructionSet::best(), threads),
            tasks: uneven_parts(threads),
            block: scaled_block(),
        };
        changed(x, [count, plane], parts, |first, block| {
            let channel = first / plane % channels;
            scaled(block, self.factors[channel], self.offsets[channel]);
            activate(block, self.activation);
        })
    }
}

compiled_per_set! {
    fn scaled(elements: &mut [f32], factor: f32, offset: f32) = scaled_of;
}

#[inline(always)]
fn scaled_of<S: MulAdd>(elements: &mut [f32], factor: f32, offset: f32) {
    for x in elements {
        *x = S::mul_add(*x, factor, offset);
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::{
        flex::simd::with_each_set,
        normalize::scale_channels,
        product::epilogue::{Activation, finish},
        testing::{near, noise},
    };

    /// Returns the result by Burn's operations.
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
