//! What tells files of the same graph from others.
//!
//! A program compares files with it before it takes their weights (`runtime/src/weights/check.rs`);
//! [`Fingerprint::check`] says the same without a program.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;

use crate::diagnostics::shown;
use crate::dtype::DType;
use crate::files::Files;
use crate::graph::{ValueId, Values};
use crate::weight::{Encoding, Part, Weight};

/// The files of a model, its weights in them, and the weights on whose values the code depends.
#[derive(Debug)]
pub struct Fingerprint<'g> {
    pub files: Vec<Whole>,
    pub entries: Vec<Entry<'g>>,
    /// Places among the entries, and the hashes of their bytes.
    pub fixed: Vec<(usize, u64)>,
}

/// A file.
#[derive(Debug)]
pub struct Whole {
    pub name: PathBuf,
    pub length: usize,
    /// The hash of what lies behind its last weight.
    pub tail: u64,
}

/// A weight.
#[derive(Debug)]
pub struct Entry<'g> {
    pub name: String,
    pub weight: &'g Weight,
    pub places: Vec<Place>,
}

/// One part of a weight.
#[derive(Debug)]
pub struct Place {
    pub file: usize,
    pub start: usize,
    pub end: usize,
    /// The hash of what lies between the part before it and this one.
    pub gap: u64,
}

/// Why a program does not take files.
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
    /// Something differs before a weight, or behind the last one.
    Differs {
        file: String,
        before: Option<String>,
    },
    /// A weight is written in another number of elements.
    Malformed(String),
    /// A weight differs on whose value the code depends.
    Fixed(String),
}

impl<'g> Fingerprint<'g> {
    /// That of files with these values. Weights that the code uses come first, by the names that it has for
    /// them; whether one is fixed is known when the code is made.
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
                let places = weight.parts.iter().map(|part| Place {
                    file: part.file,
                    start: part.start,
                    end: part.start.saturating_add(part.bytes.len()),
                    gap: 0,
                });
                entries.push(Entry { name: name(id), weight, places: places.collect() });
            }
        }
        let fixed = (0usize..).zip(&entries);
        let fixed = fixed.filter(|(_, entry)| values.sources().is_consulted(entry.weight));
        let fixed = fixed.map(|(at, entry)| (at, value_hash(entry.weight)));
        let fixed = fixed.collect();
        let files = fill_gaps(&mut entries, &files.list());
        Fingerprint { files, entries, fixed }
    }

    /// Whether a program takes these files: the model and those of external data.
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
        let places = self.entries.iter().flat_map(|entry| {
            let own = entry.places.iter().filter(|place| place.file == at);
            own.map(move |place| (entry, place))
        });
        let mut places: Vec<(&Entry<'_>, &Place)> = places.collect();
        places.sort_by_key(|(_, place)| place.start);
        let mut seen = 0;
        for (entry, place) in places {
            if range_hash(bytes, seen, place.start) != place.gap {
                return Err(Refusal::Differs { file: name(), before: Some(entry.name.clone()) });
            }
            seen = place.end.max(seen);
        }
        if range_hash(bytes, seen, bytes.len()) == file.tail {
            Ok(())
        } else {
            Err(Refusal::Differs { file: name(), before: None })
        }
    }
}

impl Entry<'_> {
    /// The weight that lies at the same place of other files.
    pub fn with(&self, files: &[Bytes]) -> Weight {
        let parts = self.places.iter().map(|place| {
            let bytes = files.get(place.file);
            let inside = bytes.filter(|bytes| place.start <= place.end && place.end <= bytes.len());
            Part {
                file: place.file,
                start: place.start,
                bytes: inside.map_or_else(Bytes::new, |bytes| bytes.slice(place.start..place.end)),
            }
        });
        Weight { parts: parts.collect(), ..self.weight.clone() }
    }
}

/// Sets the gaps before all parts, and gives the files with their tails.
fn fill_gaps(entries: &mut [Entry<'_>], files: &[(PathBuf, Bytes)]) -> Vec<Whole> {
    let places = entries.iter_mut().flat_map(|entry| &mut entry.places);
    // Of parts that begin at the same place the first in the table counts.
    let mut order: Vec<&mut Place> = places.collect();
    order.sort_by_key(|place| place.start);
    let mut ends = vec![0usize; files.len()];
    for place in order {
        if let (Some(end), Some((_, bytes))) = (ends.get_mut(place.file), files.get(place.file)) {
            place.gap = range_hash(bytes, *end, place.start);
            *end = place.end.max(*end);
        }
    }
    let files = files.iter().zip(ends).map(|((name, bytes), end)| Whole {
        name: name.clone(),
        length: bytes.len(),
        tail: range_hash(bytes, end, bytes.len()),
    });
    files.collect()
}

/// Varints and records may be more or fewer than the sizes say though their bytes are as many.
fn is_well_formed(weight: &Weight) -> bool {
    match (weight.encoding, weight.dtype) {
        (Encoding::Raw, _) => true,
        (_, DType::String) => weight.strings().is_some(),
        _ => weight.holds_all(),
    }
}

/// The hash of the bytes of a weight.
fn value_hash(weight: &Weight) -> u64 {
    let parts = weight.parts.iter().map(|part| part.bytes.as_ref());
    parts.fold(EMPTY, hash)
}

/// FNV-1a of a range; of nothing when it is empty or backward.
fn range_hash(bytes: &[u8], start: usize, end: usize) -> u64 {
    hash(EMPTY, bytes.get(start..end).unwrap_or_default())
}

/// The hash of no bytes.
pub(super) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of what has this one, and these bytes behind it.
pub(super) fn hash(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Count { expected, found } => {
                write!(f, "{found} files are given, the model was compiled from {expected}")
            }
            Refusal::Length { file, expected, found } => {
                let file = shown(file);
                write!(f, "`{file}` has {found} bytes, the model was compiled from {expected}")
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
                write!(f, "weight `{name}` does not have as many values as its shape says")
            }
            Refusal::Fixed(name) => {
                let name = shown(name);
                write!(f, "the code depends on the value of weight `{name}`, which differs")
            }
        }
    }
}
