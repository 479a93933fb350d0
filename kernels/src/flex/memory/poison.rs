//! Patterns that debug builds fill blank memory with.
//!
//! An element that no kernel writes shows what an earlier call left in its memory. Debug builds fill the memory that a kernel
//! is to write, new or recycled, so that such an element has the same wrong value in every run. A comparison with expected
//! values misses it where a later operation swallows the value; runs under both patterns differ in its bits there too.
//! Release builds fill nothing.

use std::{
    cell::Cell,
    mem::{MaybeUninit, size_of_val},
    sync::OnceLock,
};

use crate::backend::switches;

/// Byte that fills blank memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Poison {
    /// NaN in all float types, -1 or the largest value in integers.
    NotANumber = 0xFF,
    /// A large finite value: 203 in float16, 1.5e16 in float32 and bfloat16, 1.5e9 in integers of 32 bits.
    Large = 0x5A,
}

/// Whether this build fills memory.
pub const IS_ON: bool = cfg!(debug_assertions);

thread_local! {
    static CHOSEN: Cell<Option<Poison>> = const { Cell::new(None) };
}

/// Pattern of this thread: that of [`with`], else `ONNX_EMBED_POISON`, else NaN.
fn current() -> Poison {
    static DEFAULT: OnceLock<Poison> = OnceLock::new();
    CHOSEN.get().unwrap_or_else(|| {
        *DEFAULT.get_or_init(|| {
            let words = [("ff", Poison::NotANumber), ("5a", Poison::Large)];
            switches::chosen("ONNX_EMBED_POISON", &words).unwrap_or(Poison::NotANumber)
        })
    })
}

/// Makes the pattern around it the current one again.
struct Restore(Option<Poison>);

impl Drop for Restore {
    fn drop(&mut self) {
        CHOSEN.set(self.0);
    }
}

/// Runs a function whose kernels find this pattern in blank memory, on all threads that compute them.
pub fn with<T>(poison: Poison, run: impl FnOnce() -> T) -> T {
    let _around = Restore(CHOSEN.replace(Some(poison)));
    run()
}

/// Fills memory that is to be written.
#[inline]
pub fn fill<T>(blank: &mut [MaybeUninit<T>]) {
    if IS_ON {
        let size = size_of_val(blank);
        // SAFETY: `size` is the number of bytes of the slice, which need not be initialized.
        unsafe { blank.as_mut_ptr().cast::<u8>().write_bytes(current() as u8, size) };
    }
}

/// Fills memory that has values of an earlier use.
#[inline]
pub fn fill_used(used: &mut [f32]) {
    if IS_ON {
        bytemuck::cast_slice_mut::<f32, u8>(used).fill(current() as u8);
    }
}

/// Parts of a job that run under the pattern of this thread on any thread.
#[inline]
pub fn inherited(run: impl Fn(usize) + Send + Sync) -> impl Fn(usize) + Send + Sync {
    let poison = if IS_ON { CHOSEN.get() } else { None };
    move |part| {
        if IS_ON {
            let _around = Restore(CHOSEN.replace(poison));
            run(part);
        } else {
            run(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::flex::{
        memory::{Buffer, with_scratch, write_by_index},
        threads::side_by_side,
    };

    /// Returns the value of the last of `length` elements that are not written.
    fn unwritten(length: usize) -> f32 {
        Buffer::filled(length, |out| {
            if IS_ON {
                // SAFETY: this build has filled the memory.
                unsafe { out.assume_written() }
            } else {
                out.zeroed()
            }
        })[length - 1]
    }

    #[test]
    fn elements_that_no_kernel_writes_differ_between_two_runs() {
        // Few elements are the allocator's, many are recycled.
        for length in [1, 100, 1_000_000] {
            let run = |poison| with(poison, || unwritten(length).to_bits());
            if IS_ON {
                assert_eq!(run(Poison::NotANumber), u32::MAX);
                assert_eq!(run(Poison::Large), 0x5A5A_5A5A);
            }
        }
    }

    #[test]
    fn memory_of_an_earlier_result_is_filled() {
        if !IS_ON {
            return;
        }
        drop(Buffer::<u16>::filled(1_000_000, |out| out.zeroed()));
        // SAFETY: any bytes are a value of an integer, and the memory is filled with the pattern.
        let again = || Buffer::<u16>::filled(1_000_000, |out| unsafe { out.assume_written() });
        let again = with(Poison::Large, again);
        assert!(again.iter().all(|x| *x == 0x5A5A));
    }

    #[test]
    fn scratch_memory_is_filled_at_each_use() {
        with(Poison::NotANumber, || {
            with_scratch(100, |values| values.fill(1.0));
            with_scratch(100, |values| {
                assert!(!IS_ON || values.iter().all(|x| x.is_nan()));
            });
        });
    }

    #[test]
    fn threads_find_the_pattern_of_the_caller() {
        for poison in [Poison::NotANumber, Poison::Large] {
            with(poison, || {
                side_by_side(64, |_| {
                    std::thread::yield_now();
                    assert!(!IS_ON || current() == poison);
                });
            });
        }
        assert_eq!(CHOSEN.get(), None);
    }

    #[test]
    fn patterns_are_seen_in_every_type() {
        let seen = |poison| {
            with(poison, || {
                let mut blank = [MaybeUninit::<u64>::new(0)];
                fill(&mut blank);
                // SAFETY: it has begun as 0.
                unsafe { blank[0].assume_init() }
            })
        };
        if IS_ON {
            let first = seen(Poison::NotANumber);
            assert!(f64::from_bits(first).is_nan() && f16::from_bits(first as u16).is_nan());
            let second = seen(Poison::Large);
            assert!(f64::from_bits(second) > 1e100 && f32::from_bits(second as u32) > 1e16);
            assert_eq!(f16::from_bits(second as u16).to_f32(), 203.25);
        }
    }

    #[test]
    fn results_that_are_written_do_not_depend_on_the_pattern() {
        let run = |poison| {
            with(poison, || {
                Buffer::filled(100_000, |out| out.write(|out| write_by_index(out, |_| 7u8))).to_vec()
            })
        };
        assert_eq!(run(Poison::NotANumber), run(Poison::Large));
    }
}
