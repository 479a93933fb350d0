//! Peak speed of one thread of this machine.
//!
//! Measures fused multiply-adds of `f32` values and bytes read from memory, per second.

use std::hint::black_box;
use std::time::Instant;

use serde_json::json;

/// Number of trials of each measurement. The best one counts.
const TRIALS: usize = 15;
/// Size of the memory that is read, in bytes. It exceeds every cache.
const BYTES: usize = 256 << 20;

fn main() {
    let flops = best(|| {
        let start = Instant::now();
        let count = products();
        count as f64 / start.elapsed().as_secs_f64()
    });
    let words = vec![1_u64; BYTES / 8];
    let bandwidth = best(|| {
        let start = Instant::now();
        black_box(sum(&words));
        BYTES as f64 / start.elapsed().as_secs_f64()
    });
    println!("{}", json!({ "gflops": flops / 1e9, "gigabytes": bandwidth / 1e9 }));
}

fn best(trial: impl Fn() -> f64) -> f64 {
    (0..TRIALS).map(|_| trial()).fold(0.0, f64::max)
}

/// Number of sums that do not depend on each other.
const CHAINS: usize = 12;
const STEPS: u64 = 3_000_000;

/// Runs many fused multiply-adds on registers and returns the number of operations.
fn products() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512.
            return unsafe { x86::avx512() };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { x86::avx2() };
        }
    }
    let mut sums = [0.0_f32; CHAINS];
    let factor = black_box(1.0_f32);
    for _ in 0..STEPS {
        for sum in &mut sums {
            *sum = *sum * factor + factor;
        }
    }
    black_box(sums);
    2 * STEPS * CHAINS as u64
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    use super::{CHAINS, STEPS};

    macro_rules! run {
        ($name:ident $feature:literal $lanes:literal $splat:ident $fused:ident) => {
            #[target_feature(enable = $feature)]
            pub fn $name() -> u64 {
                let mut sums = [$splat(0.0); CHAINS];
                let factor = black_box($splat(1.0));
                for _ in 0..STEPS {
                    for sum in &mut sums {
                        *sum = $fused(*sum, factor, factor);
                    }
                }
                black_box(sums);
                2 * STEPS * (CHAINS * $lanes) as u64
            }
        };
    }

    run! { avx512 "avx512f" 16 _mm512_set1_ps _mm512_fmadd_ps }
    run! { avx2 "avx2,fma" 8 _mm256_set1_ps _mm256_fmadd_ps }
}

fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}
