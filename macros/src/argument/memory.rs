//! Amounts of memory: `"512 MiB"`.

use syn::parse::ParseStream;
use syn::{LitStr, Token};

/// Units and their number of bytes.
const UNITS: [(&str, u64); 9] = [
    ("bytes", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Parses `= "512 MiB"` to a number of bytes.
pub fn limit(input: ParseStream<'_>) -> syn::Result<u64> {
    input.parse::<Token![=]>()?;
    let span = input.span();
    let wrong = || {
        let message = "expected an amount of memory, as in `memory_limit = \"512 MiB\"`: a positive integer and a \
                       unit (bytes, kB, MB, GB, TB, KiB, MiB, GiB or TiB)";
        syn::Error::new(span, message)
    };
    let text: LitStr = input.parse().map_err(|_| wrong())?;
    bytes(&text.value()).ok_or_else(wrong)
}

/// Returns the number of bytes, or `None` unless it is from 1 to `i64::MAX`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    let bytes = number.parse::<u64>().ok()?.checked_mul(*factor)?;
    (bytes > 0 && i64::try_from(bytes).is_ok()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_unit() {
        assert_eq!(bytes("512 MiB"), Some(512 << 20));
        assert_eq!(bytes("2GB"), Some(2_000_000_000));
        assert_eq!(bytes(" 100 bytes "), Some(100));
        for wrong in ["", "512", "MiB", "1.5 GiB", "-1 GiB", "0 MiB", "1 gib", "99999999 TiB"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
