//! The hash by which model files are distinguished.

/// FNV-1a with 64 bits; the macro computes the same.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    fnv1a_behind(0xcbf2_9ce4_8422_2325, bytes)
}

/// FNV-1a of what has this hash, and these bytes behind it.
pub fn fnv1a_behind(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vectors_agree() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
