//! Records of protobuf messages, as they are in the file.

use bytes::{BufMut, Bytes};
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

use crate::diagnostics::Problem;

/// A record of a message.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub tag: u32,
    /// The record with its key.
    pub whole: Bytes,
    /// Content of a record with a length, else nothing.
    pub content: Bytes,
}

/// Returns the records of a message.
pub(super) fn records(message: &Bytes) -> Result<Vec<Record>, Problem> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < message.len() {
        let record = record(message, at).ok_or_else(|| {
            Problem::new(format!("byte {at} of a message does not begin a record")).damaged()
        })?;
        at += record.whole.len();
        all.push(record);
    }
    Ok(all)
}

fn record(message: &Bytes, start: usize) -> Option<Record> {
    let mut rest = message.get(start..)?;
    let (tag, wire) = decode_key(&mut rest).ok()?;
    let length = match wire {
        WireType::Varint => {
            decode_varint(&mut rest).ok()?;
            0
        }
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        WireType::LengthDelimited => usize::try_from(decode_varint(&mut rest).ok()?).ok()?,
        // No message of ONNX has a group.
        WireType::StartGroup | WireType::EndGroup => return None,
    };
    let first = message.len().checked_sub(rest.len())?;
    let end = first.checked_add(length).filter(|&end| end <= message.len())?;
    let content = if wire == WireType::LengthDelimited { first..end } else { end..end };
    Some(Record { tag, whole: message.slice(start..end), content: message.slice(content) })
}

/// Appends a record with a length.
pub(super) fn append(tag: u32, content: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(content.len() as u64, out);
    out.put_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_those_of_the_message() {
        let message = Bytes::from_static(b"\x08\x96\x01\x12\x02hi\x1d\0\0\0\0\x21\0\0\0\0\0\0\0\0");
        let all = records(&message).unwrap();
        let tags: Vec<(u32, usize, &[u8])> =
            all.iter().map(|record| (record.tag, record.whole.len(), &record.content[..])).collect();
        assert_eq!(tags, [(1, 3, &b""[..]), (2, 4, b"hi"), (3, 5, b""), (4, 9, b"")]);
        let mut out = Vec::new();
        append(2, b"hi", &mut out);
        assert_eq!(all[1].whole, out);
    }

    #[test]
    fn a_message_that_is_cut_short_is_a_problem() {
        for bytes in
            [&b"\x12\x03hi"[..], b"\x0b\x0c", b"\x08\xff", b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"]
        {
            assert!(records(&Bytes::from_static(bytes)).is_err(), "{bytes:?}");
        }
    }
}
