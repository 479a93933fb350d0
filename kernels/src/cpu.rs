//! Bodies for tensors that lie in this process.

pub mod product;
pub mod view;

use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::widen::{is_flex, widened};

/// Elements that one thread takes at least, where there are several threads.
#[cfg(feature = "flex")]
const SHARE: usize = 1 << 15;

/// `x` with its elements changed by `run` where they lie in this process in single precision, else through `other`.
pub fn in_place<const D: usize>(
    x: Tensor<D>,
    run: impl FnOnce(&mut [f32]),
    other: impl FnOnce(Tensor<D>) -> Tensor<D>,
) -> Tensor<D> {
    let (device, dtype) = (x.device(), x.dtype());
    if !is_plain(&device) || dtype == DType::F64 {
        return other(x);
    }
    // Takes the buffer itself where no other tensor has it.
    let mut data: TensorData = widened(x).into_data();
    match data.as_mut_slice::<f32>() {
        Ok(elements) => run(elements),
        Err(error) => panic!("{error:?}"),
    }
    let y = Tensor::from_data(data, (&device, DType::F32));
    match dtype {
        DType::F32 => y,
        _ => y.cast(dtype),
    }
}

/// Whether tensors lie in this process and nobody asks for their gradients.
pub fn is_plain(device: &Device) -> bool {
    is_flex(device) && !device.is_autodiff()
}

/// Runs over parts of whole rows of `length`, on several threads where it is worth it.
pub fn by_rows(elements: &mut [f32], length: usize, run: impl Fn(&mut [f32]) + Sync + Send) {
    #[cfg(feature = "flex")]
    if elements.len() >= 2 * SHARE {
        use rayon::prelude::*;

        let part = SHARE.next_multiple_of(length);
        return elements.par_chunks_mut(part).for_each(run);
    }
    let _ = length;
    run(elements);
}

/// `a * b + c`.
pub trait Sum {
    fn of(a: f32, b: f32, c: f32) -> f32;
}

/// Rounded once.
pub struct Fused;

impl Sum for Fused {
    #[inline(always)]
    fn of(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Rounded twice, where one instruction cannot do it.
pub struct Separate;

impl Sum for Separate {
    #[inline(always)]
    fn of(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// Functions by whichever instructions the processor has: `fn name(..) = generic;` calls `generic::<impl Sum>(..)`.
macro_rules! dispatched {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $kind:ty),*) = $generic:ident;)*) => {$(
        $(#[$doc])*
        $visibility fn $name($($argument: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn widest($($argument: $kind),*) {
                    $generic::<$crate::cpu::Fused>($($argument),*);
                }
                #[target_feature(enable = "avx2,fma")]
                fn wide($($argument: $kind),*) {
                    $generic::<$crate::cpu::Fused>($($argument),*);
                }
                if is_x86_feature_detected!("avx512f") {
                    // SAFETY: the processor has the instructions that the function is compiled for.
                    return unsafe { widest($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: as above.
                    return unsafe { wide($($argument),*) };
                }
            }
            if cfg!(target_arch = "aarch64") {
                $generic::<$crate::cpu::Fused>($($argument),*)
            } else {
                $generic::<$crate::cpu::Separate>($($argument),*)
            }
        }
    )*};
}

pub(crate) use dispatched;
