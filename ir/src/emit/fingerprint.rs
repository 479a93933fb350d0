//! Identification of files with the same graph.
//!
//! A program compares files with the fingerprint before it loads their weights (`runtime/src/weights/check.rs`).
//! [`Fingerprint::check`] is the same comparison in the compiler.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;

use crate::diagnostics::shown;
use crate::dtype::DType;
use crate::files::Files;
use crate::graph::{ValueId, Values};
use crate::weight::{ByteRange, Encoding, Weight};

/// Files of a model, byte ranges of its weights, and hashes of the weights that the code depends on.
#[derive(Debug)]
pub struct Fingerprint<'g> {
    pub files: Vec<Whole>,
    pub entries: Vec<Entry<'g>>,
    /// Indices of fixed entries, and the hashes of their bytes.
    pub fixed: Vec<(usize, u64)>,
}

/// A file of the model.
#[derive(Debug)]
pub struct Whole {
    pub name: PathBuf,
    pub length: usize,
    /// Hash of the bytes after its last weight.
    pub tail: u64,
}

/// A weight and its byte ranges.
#[derive(Debug)]
pub struct Entry<'g> {
    pub name: String,
    pub weight: &'g Weight,
    pub ranges: Vec<HashedRange>,
}

/// A byte range of a weight.
#[derive(Debug)]
pub struct HashedRange {
    pub file: usize,
    pub start: usize,
    pub end: usize,
    /// Hash of the bytes between the preceding range in the file and this one.
    pub gap: u64,
}

/// Reason why files are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Count {
        expected: usize,
        found: usize,
    },
    Length {
        file: String,
        expected: usize,
        found: usize,
    },
    /// Bytes differ before a weight, or after the last one.
    Differs {
        file: String,
        before: Option<String>,
    },
    /// The number of elements of a weight differs.
    Malformed(String),
    /// The value of a weight that the code depends on differs.
    Fixed(String),
}

impl<'g> Fingerprint<'g> {
    /// Returns the fingerprint of files with these values. Weights that the code uses come first, with their names in
    /// the code. The code must be complete, because it determines which weights are fixed.
    pub fn new(
        values: &'g Values,
        files: &Files,
        used: &[ValueId],
        mut name: impl FnMut(ValueId) -> String,
    ) -> Self {
        let mut seen = BTreeSet::new();
        let is_used: BTreeSet<ValueId> = used.iter().copied().collect();
        let rest = values.iter().map(|(id, _)| id);
        let rest = rest.filter(|id| !is_used.contains(id));
        let mut entries = Vec::new();
        for id in used.iter().copied().chain(rest) {
            let Some(weight) = &values[id].weight else {
                continue;
            };
            let fresh = weight
                .parts
                .first()
                .is_none_or(|part| seen.insert((part.file, part.start, part.bytes.len())));
            if fresh || is_used.contains(&id) {
                let ranges = weight.parts.iter().map(|part| HashedRange {
                    file: part.file,
                    start: part.start,
                    end: part.start.saturating_add(part.bytes.len()),
                    gap: 0,
                });
                entries.push(Entry { name: name(id), weight, ranges: ranges.collect() });
            }
        }
        let fixed = (0usize..).zip(&entries);
        let fixed = fixed.filter(|(_, entry)| values.sources().is_consulted(entry.weight));
        let fixed = fixed.map(|(at, entry)| (at, value_hash(entry.weight)));
        let fixed = fixed.collect();
        let files = fill_gaps(&mut entries, &files.list());
        Fingerprint { files, entries, fixed }
    }

    /// Checks whether a program would accept these files: the model, then its external data.
    pub fn check(&self, files: &[Bytes]) -> Result<(), Refusal> {
        if files.len() != self.files.len() {
            return Err(Refusal::Count { expected: self.files.len(), found: files.len() });
        }
        for (at, (file, bytes)) in self.files.iter().zip(files).enumerate() {
            self.check_file(at, file, bytes)?;
        }
        for entry in &self.entries {
            let other = entry.with(files);
            if !is_well_formed(&other) {
                return Err(Refusal::Malformed(entry.name.clone()));
            }
        }
        for (at, hash) in &self.fixed {
            if let Some(entry) = self.entries.get(*at)
                && value_hash(&entry.with(files)) != *hash
            {
                return Err(Refusal::Fixed(entry.name.clone()));
            }
        }
        Ok(())
    }

    fn check_file(&self, at: usize, file: &Whole, bytes: &Bytes) -> Result<(), Refusal> {
        let name = || file.name.to_string_lossy().into_owned();
        if bytes.len() != file.length {
            return Err(Refusal::Length { file: name(), expected: file.length, found: bytes.len() });
        }
        let ranges = self.entries.iter().flat_map(|entry| {
            let own = entry.ranges.iter().filter(|range| range.file == at);
            own.map(move |range| (entry, range))
        });
        let mut ranges: Vec<(&Entry<'_>, &HashedRange)> = ranges.collect();
        ranges.sort_by_key(|(_, range)| range.start);
        let mut seen = 0;
        for (entry, range) in ranges {
            if range_hash(bytes, seen, range.start) != range.gap {
                return Err(Refusal::Differs { file: name(), before: Some(entry.name.clone()) });
            }
            seen = range.end.max(seen);
        }
        if range_hash(bytes, seen, bytes.len()) == file.tail {
            Ok(())
        } else {
            Err(Refusal::Differs { file: name(), before: None })
        }
    }
}

impl Entry<'_> {
    /// Returns the weight in the same byte ranges of other files.
    pub fn with(&self, files: &[Bytes]) -> Weight {
        let parts = self.ranges.iter().map(|range| {
            let bytes = files.get(range.file);
            let inside = bytes.filter(|bytes| range.start <= range.end && range.end <= bytes.len());
            ByteRange {
                file: range.file,
                start: range.start,
                bytes: inside.map_or_else(Bytes::new, |bytes| bytes.slice(range.start..range.end)),
            }
        });
        Weight { parts: parts.collect(), ..self.weight.clone() }
    }
}

/// Sets the gaps before all ranges, and returns the files with their tails.
fn fill_gaps(entries: &mut [Entry<'_>], files: &[(PathBuf, Bytes)]) -> Vec<Whole> {
    let ranges = entries.iter_mut().flat_map(|entry| &mut entry.ranges);
    // The sort is stable: of ranges with the same start, the first in the table gets the gap.
    let mut order: Vec<&mut HashedRange> = ranges.collect();
    order.sort_by_key(|range| range.start);
    let mut ends = vec![0usize; files.len()];
    for range in order {
        if let (Some(end), Some((_, bytes))) = (ends.get_mut(range.file), files.get(range.file)) {
            range.gap = range_hash(bytes, *end, range.start);
            *end = range.end.max(*end);
        }
    }
    let files = files.iter().zip(ends).map(|((name, bytes), end)| Whole {
        name: name.clone(),
        length: bytes.len(),
        tail: range_hash(bytes, end, bytes.len()),
    });
    files.collect()
}

/// Returns `true` if the data contain as many elements as the shape. The length of varints and records varies.
fn is_well_formed(weight: &Weight) -> bool {
    match (weight.encoding, weight.dtype) {
        (Encoding::Raw, _) => true,
        (_, DType::String) => weight.strings().is_some(),
        _ => weight.holds_all(),
    }
}

/// Returns the hash of a weight's bytes.
fn value_hash(weight: &Weight) -> u64 {
    let parts = weight.parts.iter().map(|part| part.bytes.as_ref());
    parts.fold(EMPTY, hash)
}

/// Returns the FNV-1a hash of a range, [`EMPTY`] if it is empty or invalid.
fn range_hash(bytes: &[u8], start: usize, end: usize) -> u64 {
    hash(EMPTY, bytes.get(start..end).unwrap_or_default())
}

/// Hash of an empty range.
pub(super) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends the hash `before` by more bytes.
pub(super) fn hash(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Count { expected, found } => {
                write!(f, "the number of files is {found}, expected {expected}")
            }
            Refusal::Length { file, expected, found } => {
                let file = shown(file);
                write!(f, "the size of `{file}` in bytes is {found}, expected {expected}")
            }
            Refusal::Differs { file, before } => {
                write!(f, "`{}` differs from the compiled model ", shown(file))?;
                match before {
                    Some(name) => write!(f, "just before weight `{}`", shown(name)),
                    None => f.write_str("after its last weight"),
                }
            }
            Refusal::Malformed(name) => {
                let name = shown(name);
                write!(f, "weight `{name}` has a number of values that does not match its shape")
            }
            Refusal::Fixed(name) => {
                let name = shown(name);
                write!(f, "weight `{name}` differs from the compiled model, whose code depends on its value")
            }
        }
    }
}
