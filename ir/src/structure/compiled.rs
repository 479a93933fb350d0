//! What a program keeps of the files that it was compiled from.
//!
//! A program that loads files of other exporters contains the files of its model without the bytes of large weights, and the
//! options. From these, the compiler makes the same graph again when such a file is loaded: it reads no weight that is left out.

mod choices;

use std::path::PathBuf;

use bytes::Bytes;
use prost::Message;

use super::{Adapted, Obstacle, adapted, load_as};
use crate::emit::Item;
use crate::files::Given;
use crate::graph::Values;
use crate::model::Model;
use crate::options::Options;
use crate::read;
use crate::weight::{ByteRange, Encoding, Weight};
use choices::Choices;

/// Minimum number of bytes that are left out.
const LEAST: usize = 64;

/// Files and options, as a program contains them.
#[derive(Clone, PartialEq, Message)]
struct Packed {
    /// The model file, then external data.
    #[prost(message, repeated, tag = "1")]
    files: Vec<PackedFile>,
    #[prost(message, optional, tag = "2")]
    choices: Option<Choices>,
}

#[derive(Clone, PartialEq, Message)]
struct PackedFile {
    /// Path relative to the folder of the model.
    #[prost(string, tag = "1")]
    name: String,
    #[prost(uint64, tag = "2")]
    length: u64,
    /// The parts that are not left out.
    #[prost(message, repeated, tag = "3")]
    parts: Vec<PackedPart>,
}

#[derive(Clone, PartialEq, Message)]
struct PackedPart {
    #[prost(uint64, tag = "1")]
    start: u64,
    #[prost(bytes = "bytes", tag = "2")]
    bytes: Bytes,
}

/// Returns the files of a model without large weights, and the options, for [`Compiled::read`]. The code of the model must be
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

/// Files and options that a program was compiled from, with zeros for the weights that were left out.
#[derive(Debug)]
pub struct Compiled {
    files: Vec<(PathBuf, Bytes)>,
    options: Options,
}

impl Compiled {
    /// Reads what [`packed`] returned.
    pub fn read(packed: &'static [u8]) -> Option<Self> {
        let packed = Packed::decode(Bytes::from_static(packed)).ok()?;
        let files = packed.files.into_iter().map(|file| {
            let mut bytes = vec![0; usize::try_from(file.length).ok()?];
            for part in file.parts {
                let start = usize::try_from(part.start).ok()?;
                let target = bytes.get_mut(start..start.checked_add(part.bytes.len())?)?;
                target.copy_from_slice(&part.bytes);
            }
            Some((PathBuf::from(file.name), Bytes::from(bytes)))
        });
        Some(Compiled { files: files.collect::<Option<_>>()?, options: packed.choices?.options()? })
    }

    /// Returns the number of bytes of all files.
    pub fn length(&self) -> usize {
        self.files.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Returns the files with the weights of another model.
    pub fn with_weights(&self, other: &Given) -> Result<Adapted, Obstacle> {
        let options = &self.options;
        let untyped = read::read_given(&self.own(), options).map_err(Obstacle::First)?;
        let first = crate::prepare(untyped, options, &mut |_| ()).map_err(Obstacle::First)?;
        let item = Item::model(String::new());
        adapted(&first, &item, options, |first| {
            load_as(first, options, &|options| read::read_given(other, options))
        })
    }

    fn own(&self) -> Given {
        let files = self.files.clone();
        let model = files.first().map(|(_, bytes)| bytes.clone()).unwrap_or_default();
        Given::new(model, move |name| {
            let found = files.iter().skip(1).find(|(own, _)| own == name);
            found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| "it is no file of the model".to_owned())
        })
    }
}
