//! Random bits from a counter and a key.

/// Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011): ten
/// rounds of multiplications with a key turn a counter into bits.
pub struct Philox {
    key: [u32; 2],
    counter: u64,
    /// The second half of the last block, if unused.
    left: Option<u64>,
}

const ROUNDS: usize = 10;
const FACTORS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

impl Philox {
    pub fn new(seed: u64) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], counter: 0, left: None }
    }

    /// Returns the next 64 bits.
    fn bits(&mut self) -> u64 {
        if let Some(left) = self.left.take() {
            return left;
        }
        let counter = [self.counter as u32, (self.counter >> 32) as u32, 0, 0];
        self.counter += 1;
        let [a, b, c, d] = block(counter, self.key);
        self.left = Some(u64::from(d) << 32 | u64::from(c));
        u64::from(b) << 32 | u64::from(a)
    }

    /// Returns a multiple of 2^-`bits`, at least 0 and less than 1.
    pub fn fraction(&mut self, bits: u32) -> f64 {
        (self.bits() >> (64 - bits)) as f64 / (1u64 << bits) as f64
    }
}

fn block(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let [a, b, c, d] = counter;
        let first = u64::from(FACTORS[0]) * u64::from(a);
        let second = u64::from(FACTORS[1]) * u64::from(c);
        counter = [
            (second >> 32) as u32 ^ b ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ d ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(STEPS[0]), key[1].wrapping_add(STEPS[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors published by the authors.
    #[test]
    fn known_blocks_come_out() {
        let zeros = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
        assert_eq!(block([0; 4], [0; 2]), zeros);
        let ones = [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd];
        assert_eq!(block([u32::MAX; 4], [u32::MAX; 2]), ones);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let mixed = [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1];
        assert_eq!(block(pi, [0xa409_3822, 0x299f_31d0]), mixed);
    }

    #[test]
    fn fractions_are_below_one() {
        let mut random = Philox::new(7);
        for bits in [8, 11, 24, 53] {
            let fractions: Vec<f64> = (0..4096).map(|_| random.fraction(bits)).collect();
            assert!(fractions.iter().all(|fraction| (0.0..1.0).contains(fraction)));
            let mean = fractions.iter().sum::<f64>() / 4096.0;
            assert!((mean - 0.5).abs() < 5.0 / (12f64 * 4096.0).sqrt(), "{mean}");
        }
    }
}
