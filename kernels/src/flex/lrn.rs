//! LRN over blocks of places, whose sums stay in the cache.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    instructions::{Sum, dispatched},
    memory::Output,
    threads::{self, in_parts},
    view::Dense,
};
use crate::spec::normalize::Lrn;

/// Places of a block.
const BLOCK: usize = 1024;

/// Elements that are worth another thread.
const SHARE: usize = 1 << 15;

/// `None` for dtypes other than f32.
pub fn lrn(x: FlexTensor, options: Lrn) -> Option<FlexTensor> {
    let shape = x.shape().to_vec();
    if x.dtype() != DType::F32 || shape.contains(&0) {
        return None;
    }
    let (channels, plane) = (shape[1], shape[2..].iter().product::<usize>());
    let (before, after) = ((options.size - 1) / 2, options.size / 2);
    let x = Dense::new(&x);
    let x = x.values();
    let blocks = plane.div_ceil(BLOCK);
    let units = shape[0] * blocks;
    let parts = (x.len() / SHARE).clamp(1, threads::count());
    let y = Output::filled(x.len(), |out| {
        in_parts(units, parts, |units| {
            let mut sums = [0.0; BLOCK];
            for unit in units {
                let first = unit % blocks * BLOCK;
                let length = BLOCK.min(plane - first);
                let sums = &mut sums[..length];
                let at = |channel: usize| (unit / blocks * channels + channel) * plane + first;
                for channel in 0..channels {
                    sums.fill(0.0);
                    let end = channels.min(channel.saturating_add(after + 1));
                    for neighbour in channel.saturating_sub(before)..end {
                        add_squares(sums, &x[at(neighbour)..][..length]);
                    }
                    // SAFETY: each unit writes places of its own.
                    let out = unsafe { out.filled(at(channel), length) };
                    divide(out, &x[at(channel)..][..length], sums, &options);
                }
            }
        });
    });
    Some(y.tensor(shape))
}

dispatched! {
    fn add_squares(sums: &mut [f32], x: &[f32]) = add_squares_of;
    fn divide(out: &mut [f32], x: &[f32], sums: &[f32], options: &Lrn) = divide_of;
}

#[inline(always)]
fn add_squares_of<S: Sum>(sums: &mut [f32], x: &[f32]) {
    for (sum, x) in sums.iter_mut().zip(x) {
        *sum = S::of(*x, *x, *sum);
    }
}

#[inline(always)]
fn divide_of<S: Sum>(out: &mut [f32], x: &[f32], sums: &[f32], options: &Lrn) {
    let (alpha, beta, bias) = (
        options.alpha / options.size as f32,
        options.beta,
        options.bias,
    );
    let each = out.iter_mut().zip(x).zip(sums);
    let each = each.map(
        #[inline(always)]
        |((out, x), sum)| (out, *x, S::of(alpha, *sum, bias)),
    );
    // Two of the exponents in use are roots, which are an instruction.
    if beta == 0.75 {
        for (out, x, base) in each {
            let root = base.sqrt();
            *out = x / (root * root.sqrt());
        }
    } else if beta == 0.5 {
        for (out, x, base) in each {
            *out = x / base.sqrt();
        }
    } else {
        for (out, x, base) in each {
            *out = x / base.powf(beta);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::flex::instructions::with_each_set;
    use crate::normalize::lrn;
    use crate::testing::{near, noise};

    /// Compares single precision, which has a body, with double precision, which has none.
    fn check<const D: usize>(x: Tensor<D>) {
        for (size, beta) in [(1, 0.75), (2, 0.5), (5, 0.75), (3, 1.3), (40, 0.75)] {
            let wide = x.clone().cast(DType::F64);
            let expected = lrn(wide, size, 0.3, beta, 1.5).cast(DType::F32).into_data();
            with_each_set(|_| {
                near(lrn(x.clone(), size, 0.3, beta, 1.5), expected.clone(), 1e-6);
            });
        }
    }

    #[test]
    fn neighbourhoods_of_every_size() {
        check(noise::<2>([3, 7], 1));
        check(noise::<4>([2, 6, 40, 60], 1));
        check(noise::<4>([3, 5, 4, 6], 1).permute([3, 1, 0, 2]));
    }
}
