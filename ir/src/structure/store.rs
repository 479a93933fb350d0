//! A copy of the files of a model with other elements of weights.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use super::assignment::Assignment;
use super::{Moved, Obstacle, elements};
use crate::model::Model;

/// Files with their paths relative to the folder of the model.
type Copies = Vec<(PathBuf, Vec<u8>)>;

/// Returns the files of a model, in which weights have the assigned elements.
pub(super) fn copy<'g>(
    model: &Model,
    assignments: &[Assignment<'g>],
) -> Result<(Copies, Vec<Moved>), Obstacle> {
    let files = model.files.list().into_iter();
    let mut files: Copies = files.map(|(name, bytes)| (name, bytes.to_vec())).collect();
    let mut written = Written::<'g>::default();
    let mut moved: Vec<Moved> = Vec::new();
    for assignment in assignments {
        let weight = assignment.weight;
        let unstorable = || Obstacle::Unstorable(assignment.name.to_owned());
        let elements = assignment.elements().ok_or_else(unstorable)?;
        let before = weight.parts.iter().flat_map(|part| part.bytes.iter().copied()).collect::<Vec<u8>>();
        let differs = elements::stored(weight).as_ref() != Some(&elements);
        // An encoding that is not written, or not in the shortest form, remains if the elements do.
        let bytes = if differs { elements::encoded(weight, &elements) } else { Some(before) };
        let mut rest = bytes.ok_or_else(unstorable)?;
        for part in &weight.parts {
            if rest.len() < part.bytes.len() {
                return Err(unstorable());
            }
            let behind = rest.split_off(part.bytes.len());
            let range = part.start..part.start.saturating_add(rest.len());
            let target = files.get_mut(part.file).and_then(|(_, bytes)| bytes.get_mut(range.clone()));
            let target = target.ok_or_else(unstorable)?;
            match written.overlapping(part.file, &range) {
                Some(other) if *target != rest => {
                    return Err(Obstacle::Shared(other.to_owned(), assignment.name.to_owned()));
                }
                _ => target.copy_from_slice(&rest),
            }
            written.add(part.file, range, assignment.name);
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(unstorable());
        }
        if !assignment.is_own() && !moved.iter().any(|other| other.name == assignment.name) {
            let (name, from) = (assignment.name.to_owned(), assignment.from.to_owned());
            moved.push(Moved { name, from, differs });
        }
    }
    Ok((files, moved))
}

/// Byte ranges of files that were written, and the weights that have them.
#[derive(Default)]
struct Written<'g> {
    ranges: BTreeMap<(usize, usize), (usize, &'g str)>,
}

impl<'g> Written<'g> {
    /// Returns the weight of a range that has bytes in common with this one.
    fn overlapping(&self, file: usize, range: &Range<usize>) -> Option<&'g str> {
        let before = self.ranges.range(..(file, range.end)).next_back();
        let (_, (_, name)) = before.filter(|((of, _), (end, _))| *of == file && *end > range.start)?;
        Some(name)
    }

    /// Adds a range. One that overlaps others has the same bytes and extends them.
    fn add(&mut self, file: usize, range: Range<usize>, name: &'g str) {
        let entry = self.ranges.entry((file, range.start)).or_insert((range.end, name));
        entry.0 = entry.0.max(range.end);
    }
}
