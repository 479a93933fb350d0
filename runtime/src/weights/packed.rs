//! Numbers in protobuf encodings, and of less than a byte.

use alloc::{string::String, vec::Vec};

const CUT_SHORT: &str = "ends in the middle of a value";

/// Decodes varints to numbers of `width` bytes, little endian, and drops their higher bytes.
pub fn varints(mut bytes: &[u8], width: usize) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(bytes.len());
    while !bytes.is_empty() {
        let value = varint(&mut bytes)?.to_le_bytes();
        out.extend(value.iter().take(width));
    }
    Ok(out)
}

/// Decodes the records of a repeated field to numbers of `width` bytes, little endian.
pub fn records(mut bytes: &[u8], width: usize) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(bytes.len());
    while !bytes.is_empty() {
        match varint(&mut bytes)? & 7 {
            0 => {
                let value = varint(&mut bytes)?.to_le_bytes();
                out.extend(value.iter().take(width));
            }
            1 => out.extend(take(&mut bytes, 8)?),
            5 => out.extend(take(&mut bytes, 4)?),
            _ => return Err("has a record that is not a number"),
        }
    }
    Ok(out)
}

/// Decodes the records of a repeated field of strings.
pub fn texts(mut bytes: &[u8]) -> Result<Vec<String>, &'static str> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        if varint(&mut bytes)? & 7 != 2 {
            return Err("has a record that is not a string");
        }
        let length = varint(&mut bytes)?;
        let length = usize::try_from(length).map_err(|_| CUT_SHORT)?;
        let text = take(&mut bytes, length)?;
        out.push(String::from_utf8_lossy(text).into_owned());
    }
    Ok(out)
}

/// Returns the first `count` numbers of `bits` bits, packed from the low end of each byte.
pub fn fields(bytes: &[u8], bits: usize, count: usize) -> impl Iterator<Item = u8> {
    let of = move |&byte: &u8| (0..8 / bits).map(move |i| (byte >> (i * bits)) & ((1 << bits) - 1));
    bytes.iter().flat_map(of).take(count)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("has a number of more than 64 bits")
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], &'static str> {
    let (head, rest) = bytes.split_at_checked(length).ok_or(CUT_SHORT)?;
    *bytes = rest;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_number_takes_ten_bytes_and_keeps_its_low_ones() {
        let minus_two = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(varints(minus_two, 4), Ok((-2i32).to_le_bytes().to_vec()));
        assert_eq!(varints(b"\xac\x02\x01", 1), Ok(vec![0x2c, 1]));
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        assert_eq!(varints(b"\x80", 1), Err(CUT_SHORT));
        assert_eq!(texts(b"\x32\x05ab"), Err(CUT_SHORT));
        assert_eq!(records(b"\x3d\x00", 4), Err(CUT_SHORT));
        assert!(varints(&[0xff; 11], 8).is_err());
    }

    #[test]
    fn strings_are_read_record_by_record() {
        assert_eq!(texts(b"\x32\x02ab\x32\x00"), Ok(vec!["ab".into(), "".into()]));
        assert!(texts(b"\x40\x01").is_err());
    }

    #[test]
    fn the_last_byte_may_be_half_full() {
        assert_eq!(fields(&[0x21, 0x43], 4, 3).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
