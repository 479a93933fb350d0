//! What one thread of this machine does at best: products of floats a second, and bytes read from memory.

use std::hint::black_box;
use std::time::Instant;

use serde_json::json;

/// Of each kind so many trials, of which the best counts.
const TRIALS: usize = 15;
/// Beyond every cache.
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

/// The number of operations of a long run of fused multiply-adds on registers.
fn products() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512.
            return unsafe { avx512() };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { avx2() };
        }
    }
    chains::<4>(black_box(1.0))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512() -> u64 {
    chains::<16>(black_box(1.0))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2() -> u64 {
    chains::<8>(black_box(1.0))
}

/// Twelve sums of `N` lanes, so that each may wait for its last product.
#[inline(always)]
fn chains<const N: usize>(factor: f32) -> u64 {
    const CHAINS: usize = 12;
    const STEPS: u64 = 20_000_000;
    let mut sums = [[0.0_f32; N]; CHAINS];
    for _ in 0..STEPS {
        for sum in &mut sums {
            for lane in sum {
                *lane = lane.mul_add(factor, factor);
            }
        }
    }
    black_box(sums);
    2 * STEPS * (CHAINS * N) as u64
}

fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}
