//! Local response normalization.
//!
//! It is computed in blocks of pixels whose sums stay in the cache.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    in_software::powf,
    memory::{Buffer, Cuts, Grid, Order},
    plan::tuning::elements_per_part,
    simd::{MulAdd, compiled_per_set},
    threads,
    view::Dense,
};
use crate::spec::normalize::Lrn;

/// Number of pixels in a block.
const BLOCK: usize = 1024;

/// Returns `None` for other element types than float32.
pub fn lrn(x: FlexTensor, options: Lrn) -> Option<FlexTensor> {
    let shape = x.shape().to_vec();
    if x.dtype() != DType::F32 || shape.contains(&0) {
        return None;
    }
    let (channels, plane) = (shape[1], shape[2..].iter().product::<usize>());
    let (before, after) = ((options.size - 1) / 2, options.size / 2);
    let x = Dense::new(&x);
    let x = x.values();
    let grid = Grid {
        rows: Cuts::Every { groups: shape[0], size: channels, step: channels },
        columns: Cuts::every(plane, BLOCK),
        order: Order::RowMajor,
    };
    let tasks = (x.len() / elements_per_part()).clamp(1, threads::count());
    let y = Buffer::filled(x.len(), |out| {
        let out = out.reshaped(shape[0] * channels, plane);
        out.in_tasks(grid, tasks, |parts| {
            let mut sums = [0.0; BLOCK];
            parts.write(|_, spot, out| {
                let sums = &mut sums[..spot.columns.len()];
                let row = |channel: usize| {
                    let row = spot.rows.start + channel;
                    &x[row * plane + spot.columns.start..][..spot.columns.len()]
                };
                out.write_rows(|channel, out| {
                    sums.fill(0.0);
                    let end = channels.min(channel.saturating_add(after + 1));
                    for neighbor in channel.saturating_sub(before)..end {
                        add_squares(sums, row(neighbor));
                    }
                    let out = out.write_copy_of_slice(row(channel));
                    divide(out, sums, &options);
                    out
                })
            })
        })
    });
    Some(y.tensor(shape))
}

compiled_per_set! {
    fn add_squares(sums: &mut [f32], x: &[f32]) = add_squares_of;
    fn divide(x: &mut [f32], sums: &[f32], options: &Lrn) = divide_of;
}

#[inline(always)]
fn add_squares_of<S: MulAdd>(sums: &mut [f32], x: &[f32]) {
    for (sum, x) in sums.iter_mut().zip(x) {
        *sum = S::mul_add(*x, *x, *sum);
    }
}

#[inline(always)]
fn divide_of<S: MulAdd>(x: &mut [f32], sums: &[f32], options: &Lrn) {
    let (alpha, beta, bias) = (options.alpha / options.size as f32, options.beta, options.bias);
    let each = x.iter_mut().zip(sums);
    let each = each.map(
        #[inline(always)]
        |(x, sum)| (x, S::mul_add(alpha, *sum, bias)),
    );
    // Two common exponents only need square roots, which are single instructions.
    if beta == 0.75 {
        for (x, base) in each {
            let root = base.sqrt();
            *x /= root * root.sqrt();
        }
    } else if beta == 0.5 {
        for (x, base) in each {
            *x /= base.sqrt();
        }
    } else {
        for (x, base) in each {
            *x /= powf(base, beta);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::flex::simd::with_each_set;
    use crate::normalize::lrn;
    use crate::testing::{near, noise};

    /// Compares f32, which has a kernel, with f64, which has none.
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
    fn neighborhoods_of_every_size() {
        check(noise::<2>([3, 7], 1));
        check(noise::<4>([2, 6, 40, 60], 1));
        check(noise::<4>([3, 5, 4, 6], 1).permute([3, 1, 0, 2]));
    }
}
