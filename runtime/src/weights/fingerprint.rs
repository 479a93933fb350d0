//! Hash that identifies model files.

/// Computes the 64-bit FNV-1a hash, as the macro does.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    fnv1a_behind(0xcbf2_9ce4_8422_2325, bytes)
}

/// Continues the FNV-1a hash `before` with more bytes.
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
