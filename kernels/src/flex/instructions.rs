//! Functions compiled for the instructions of the processor.

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
                    $generic::<$crate::flex::instructions::Fused>($($argument),*);
                }
                #[target_feature(enable = "avx2,fma")]
                fn wide($($argument: $kind),*) {
                    $generic::<$crate::flex::instructions::Fused>($($argument),*);
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
                $generic::<$crate::flex::instructions::Fused>($($argument),*)
            } else {
                $generic::<$crate::flex::instructions::Separate>($($argument),*)
            }
        }
    )*};
}

pub(crate) use dispatched;
