//! Lists of an attribute, and their locations in the file.

use bytes::{Buf, Bytes};
use prost::DecodeError;
use prost::encoding::{self, DecodeContext, WireType};

/// The list of an attribute, from any of its three repeated fields.
///
/// Fields 7 to 9 of [`AttributeProto`](super::AttributeProto) are decoded by hand as one field, to obtain the
/// locations: a list may be a weight.
#[derive(Clone, Debug)]
pub struct List {
    pub elements: Elements,
    runs: Vec<Run>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<Bytes>),
}

/// Addresses of consecutive records, keys included, or of the content of a packed chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub start: usize,
    pub end: usize,
    pub packed: bool,
}

const FLOATS: u32 = 7;
const INTS: u32 = 8;
const STRINGS: u32 = 9;

impl List {
    pub fn new(elements: Elements) -> Self {
        List { elements, runs: Vec::new() }
    }

    pub fn len(&self) -> usize {
        match &self.elements {
            Elements::Floats(floats) => floats.len(),
            Elements::Ints(ints) => ints.len(),
            Elements::Strings(strings) => strings.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the locations of the list, if it was decoded.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the first byte of each record that is not packed.
    pub fn key(&self) -> u8 {
        match &self.elements {
            Elements::Floats(_) => 0x3d,
            Elements::Ints(_) => 0x40,
            Elements::Strings(_) => 0x4a,
        }
    }

    /// Reads one record after its key, for the derived code of the message.
    pub fn merge(
        field: &mut Option<List>,
        tag: u32,
        wire: WireType,
        buf: &mut impl Buf,
        cx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let fresh = || match tag {
            FLOATS => Elements::Floats(Vec::new()),
            INTS => Elements::Ints(Vec::new()),
            _ => Elements::Strings(Vec::new()),
        };
        let list = field.get_or_insert_with(|| List::new(fresh()));
        if std::mem::discriminant(&list.elements) != std::mem::discriminant(&fresh()) {
            *list = List::new(fresh());
        }
        let packed = tag != STRINGS && wire == WireType::LengthDelimited;
        let start = if packed {
            let mut rest = buf.chunk();
            let whole = rest.len();
            encoding::decode_varint(&mut rest)?;
            address(buf).wrapping_add(whole - rest.len())
        } else {
            // The key is one byte.
            address(buf).wrapping_sub(1)
        };
        match &mut list.elements {
            Elements::Floats(floats) => encoding::float::merge_repeated(wire, floats, buf, cx)?,
            Elements::Ints(ints) => encoding::int64::merge_repeated(wire, ints, buf, cx)?,
            Elements::Strings(texts) => encoding::bytes::merge_repeated(wire, texts, buf, cx)?,
        }
        let end = address(buf);
        match list.runs.last_mut() {
            Some(last) if !packed && !last.packed && last.end == start => last.end = end,
            _ => list.runs.push(Run { start, end, packed }),
        }
        Ok(())
    }

    /// Encodes the list, for the derived code of the message.
    pub fn encode(&self, buf: &mut impl bytes::BufMut) {
        match &self.elements {
            Elements::Floats(floats) => encoding::float::encode_repeated(FLOATS, floats, buf),
            Elements::Ints(ints) => encoding::int64::encode_repeated(INTS, ints, buf),
            Elements::Strings(texts) => encoding::bytes::encode_repeated(STRINGS, texts, buf),
        }
    }

    /// Returns the encoded length, for the derived code of the message.
    pub fn encoded_len(&self) -> usize {
        match &self.elements {
            Elements::Floats(floats) => encoding::float::encoded_len_repeated(FLOATS, floats),
            Elements::Ints(ints) => encoding::int64::encoded_len_repeated(INTS, ints),
            Elements::Strings(texts) => encoding::bytes::encoded_len_repeated(STRINGS, texts),
        }
    }
}

/// Compares elements, not locations.
impl PartialEq for List {
    fn eq(&self, other: &List) -> bool {
        self.elements == other.elements
    }
}

fn address(buf: &impl Buf) -> usize {
    buf.chunk().as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::super::AttributeProto;
    use super::*;

    /// Returns the ranges of the list in an attribute.
    fn runs(file: &'static [u8]) -> Vec<(usize, usize, bool)> {
        let file = Bytes::from_static(file);
        let base = file.as_ptr() as usize;
        let attribute = AttributeProto::decode(file).unwrap();
        let list = attribute.list.unwrap();
        let run = |run: &Run| (run.start - base, run.end - base, run.packed);
        list.runs().iter().map(run).collect()
    }

    #[test]
    fn records_that_follow_each_other_are_one_run() {
        let file = b"\x0a\x01a\x40\x05\x40\x80\x01\x6a\x00\x40\x07";
        assert_eq!(runs(file), [(3, 8, false), (10, 12, false)]);
        assert_eq!(runs(b"\x4a\x01a\x4a\x00"), [(0, 5, false)]);
    }

    #[test]
    fn a_packed_chunk_is_a_run_without_key_and_length() {
        assert_eq!(runs(b"\x42\x03\x05\x80\x01"), [(2, 5, true)]);
    }
}
