//! Hashes of values for `com.microsoft.MurmurHash3`.

use crate::Array;
use alloc::string::String;

/// A value whose bytes are hashed: UTF-8, or the bytes of a number in little-endian order.
pub trait Hashed {
    fn hash(&self, seed: u32) -> u32;
}

impl Hashed for String {
    fn hash(&self, seed: u32) -> u32 {
        murmur_32(self.as_bytes(), seed)
    }
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Hashed for $number {
            fn hash(&self, seed: u32) -> u32 {
                murmur_32(&self.to_le_bytes(), seed)
            }
        }
    )*};
}

numbers!(i32 i64 u32 u64 f32 f64);

/// Returns the hash of each element.
pub fn murmur_hash_3<T: Hashed>(x: &Array<T>, seed: u32) -> Array<u32> {
    x.map(|value| value.hash(seed))
}

/// Computes MurmurHash3_x86_32.
fn murmur_32(bytes: &[u8], seed: u32) -> u32 {
    let (blocks, rest) = bytes.as_chunks::<4>();
    let mut hash = seed;
    for block in blocks {
        hash ^= scramble(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13);
        hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let last = rest.iter().rfold(0, |last, &byte| last << 8 | u32::from(byte));
    hash ^= scramble(last);
    // The algorithm takes the length modulo 2³².
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Scrambles the bits of a block. 0 stays 0, so that a missing last block has no effect.
fn scramble(block: u32) -> u32 {
    let block = block.wrapping_mul(0xcc9e_2d51).rotate_left(15);
    block.wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn strings_have_the_hashes_of_scikit_learn() {
        let texts = ["", "a", "abcd", "héllo", "ab\0c"].map(ToString::to_string);
        let x = Array::vector(texts);
        assert_eq!(murmur_hash_3(&x, 0).data(), [0, 1009084850, 1139631978, 3164577896, 942798780]);
        assert_eq!(
            murmur_hash_3(&x, u32::MAX).data(),
            [2180083513, 711476519, 729662808, 3604295867, 1738227885]
        );
    }

    #[test]
    fn numbers_are_hashed_by_their_bytes() {
        let hashes = |hash: u32| [hash];
        assert_eq!(murmur_hash_3(&Array::vector([3i32]), 0).data(), hashes(847579505));
        assert_eq!(murmur_hash_3(&Array::vector([3u64]), 0).data(), hashes(2738575283));
        assert_eq!(murmur_hash_3(&Array::vector([3f32]), 0).data(), hashes(6814352));
        assert_eq!(murmur_hash_3(&Array::vector([3f64]), 0).data(), hashes(3554953595));
    }
}
