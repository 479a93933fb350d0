//! Files of a model without large weights, as programs contain them.

mod choices;

use bytes::Bytes;
use prost::Message;

use crate::graph::Values;
use crate::model::Model;
use crate::options::Options;
use crate::weight::{ByteRange, Encoding, Weight};
use choices::Choices;

/// Minimum number of bytes that are left out.
const LEAST: usize = 64;

/// Files and options, as a program contains them.
#[derive(Clone, PartialEq, Message)]
pub struct Packed {
    /// The model file, then external data.
    #[prost(message, repeated, tag = "1")]
    pub files: Vec<PackedFile>,
    #[prost(message, optional, tag = "2")]
    choices: Option<Choices>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PackedFile {
    /// Path relative to the folder of the model.
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint64, tag = "2")]
    pub length: u64,
    /// The parts that are not left out.
    #[prost(message, repeated, tag = "3")]
    pub parts: Vec<PackedPart>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PackedPart {
    #[prost(uint64, tag = "1")]
    pub start: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub bytes: Bytes,
}

/// Returns the files of a model without large weights, and the options, for [`Packed::read`]. The code of the model must be
/// complete, because it determines which weights it depends on.
pub fn packed(model: &Model, options: &Options) -> Vec<u8> {
    let left_out = left_out(&model.graph.values);
    let files = model.files.list().into_iter().enumerate().map(|(file, (name, bytes))| {
        let mut parts = Vec::new();
        let mut start = 0;
        let ranges = left_out.iter().filter(|range| range.file == file);
        for (from, to) in ranges.map(|range| (range.start, end(range))).chain([(bytes.len(), bytes.len())]) {
            if start < from {
                parts.push(PackedPart { start: start as u64, bytes: bytes.slice(start..from) });
            }
            start = to.max(start);
        }
        PackedFile { name: name.to_string_lossy().into_owned(), length: bytes.len() as u64, parts }
    });
    Packed { files: files.collect(), choices: Some(Choices::of(options)) }.encode_to_vec()
}

/// Returns the byte ranges of weights that the compiler does not read, by their start.
fn left_out(values: &Values) -> Vec<&ByteRange> {
    let weights = || values.iter().filter_map(|(_, value)| Some((value.weight.as_ref()?, value.parameter)));
    let is_unread = |weight: &Weight, parameter: bool| {
        let large = !weight.is_small() && weight.encoding == Encoding::Raw;
        let is_parameter = parameter && weight.encoding == Encoding::Raw;
        (large || is_parameter) && !values.sources().is_consulted(weight)
    };
    let parts = |unread: bool| {
        let chosen = weights().filter(move |(weight, parameter)| is_unread(weight, *parameter) == unread);
        chosen.flat_map(|(weight, _)| &weight.parts)
    };
    let mut kept: Vec<(usize, usize, usize)> =
        parts(false).map(|part| (part.file, part.start, end(part))).collect();
    kept.sort_unstable();
    let is_kept = |part: &ByteRange| {
        let (start, end) = (part.start, end(part));
        kept.iter().any(|&(file, from, to)| file == part.file && from < end && start < to)
    };
    let mut ranges: Vec<&ByteRange> =
        parts(true).filter(|part| part.bytes.len() >= LEAST && !is_kept(part)).collect();
    ranges.sort_by_key(|part| (part.file, part.start));
    ranges
}

fn end(range: &ByteRange) -> usize {
    range.start.saturating_add(range.bytes.len())
}

impl Packed {
    /// Reads what [`packed`] returned.
    pub fn read(packed: &'static [u8]) -> Option<Self> {
        Packed::decode(Bytes::from_static(packed)).ok()
    }

    /// Returns the options.
    pub fn options(&self) -> Option<Options> {
        self.choices.clone()?.options()
    }
}
