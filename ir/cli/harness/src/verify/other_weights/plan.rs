//! Constants of a model to change, and the changed files.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use onnx_embed_ir::options::{Options, Weights};

use super::super::perturb::{Constant, Files, constants};
use crate::message::ReloadResult;

/// Storages of weights, with the names that requests use.
pub const STORAGES: [(Weights, &str); 2] = [(Weights::File, "file"), (Weights::Embed, "embed")];

/// Changed files of a model that are to be tried.
pub struct ChangePlan {
    pub files: Files,
    constants: Vec<Constant>,
    /// Indices of the constants that each change gives other values.
    changed: Vec<Vec<usize>>,
    changes: Vec<Change>,
    /// Indices of the constants that the code for at least one storage does not depend on.
    free: BTreeSet<usize>,
}

/// A changed file with its results.
#[derive(Clone, Debug)]
pub struct Change {
    pub name: String,
    pub folder: PathBuf,
    /// For each of the [`STORAGES`] that the file is tried with, whether the code depends on the changed constants.
    pub fixed: [Option<bool>; 2],
    /// Result with each of the [`STORAGES`], if known.
    pub results: [Option<ReloadResult>; 2],
}

impl ChangePlan {
    /// Plans for each storage changes of at most `most` constants that the code depends on, of at most `most` others,
    /// and of all others at once.
    pub fn new(path: &Path, options: &Options, most: usize) -> Result<Self> {
        let mut plan = ChangePlan {
            files: Files::new(),
            constants: Vec::new(),
            changed: Vec::new(),
            changes: Vec::new(),
            free: BTreeSet::new(),
        };
        let mut indices = HashMap::new();
        let mut free = Vec::new();
        for (storage, (weights, _)) in STORAGES.into_iter().enumerate() {
            let options = Options { weights, ..options.clone() };
            let (constants, files) = constants(path, &options)?;
            plan.files = files;
            let mut groups = [Vec::new(), Vec::new()];
            for constant in constants {
                let group = &mut groups[usize::from(constant.is_fixed)];
                group.push(*indices.entry(constant.start()).or_insert_with(|| {
                    plan.constants.push(constant);
                    plan.constants.len() - 1
                }));
            }
            for (is_fixed, group) in groups.iter().enumerate() {
                for constant in spread(group, most) {
                    plan.add(vec![constant], storage, is_fixed != 0);
                }
            }
            let [others, _] = groups;
            free.push(others);
        }
        for (storage, group) in free.into_iter().enumerate() {
            plan.free.extend(&group);
            if group.len() > 1 {
                plan.add(group, storage, false);
            }
        }
        Ok(plan)
    }

    fn add(&mut self, changed: Vec<usize>, storage: usize, is_fixed: bool) {
        let known = self.changed.iter().position(|constants| *constants == changed);
        let at = known.unwrap_or_else(|| {
            let name = match changed.as_slice() {
                [one] => self.constants[*one].name.clone(),
                _ => "all that may differ".to_owned(),
            };
            self.changed.push(changed);
            self.changes.push(Change {
                name,
                folder: PathBuf::new(),
                fixed: [None; 2],
                results: [None, None],
            });
            self.changes.len() - 1
        });
        self.changes[at].fixed[storage] = Some(is_fixed);
    }

    /// Returns ranges of changes whose files have at most `bytes` bytes together, with at least one change each.
    pub fn batches(&self, bytes: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let one: usize = self.files.iter().map(|(_, bytes)| bytes.len()).sum();
        let (all, size) = (self.changes.len(), (bytes / one.max(1)).max(1));
        (0..all).step_by(size).map(move |start| start..all.min(start + size))
    }

    /// Writes the changed files into folders in `folder`.
    pub fn write(&self, batch: std::ops::Range<usize>, folder: &Path) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for at in batch {
            let mut files = self.files.clone();
            for (number, constant) in self.changed[at].iter().enumerate() {
                self.constants[*constant].change(number, &mut files)?;
            }
            let folder = folder.join(at.to_string());
            write(&files, &folder)?;
            changes.push(Change { folder, ..self.changes[at].clone() });
        }
        Ok(changes)
    }

    /// Writes the changed files into another `folder`, with roundings added to constants that code does not depend on.
    pub fn write_noise(&self, change: &Change, number: u64, folder: &Path) -> Result<()> {
        let mut files = Files::new();
        for (name, _) in &self.files {
            files.push((name.clone(), fs::read(change.folder.join(name))?));
        }
        let mut state = number;
        for constant in &self.free {
            self.constants[*constant].add_noise(&mut state, &mut files)?;
        }
        write(&files, folder)
    }
}

fn write(files: &Files, folder: &Path) -> Result<()> {
    for (file, bytes) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// Returns at most `most` elements, spread evenly over all.
fn spread(all: &[usize], most: usize) -> impl Iterator<Item = usize> {
    let count = all.len().min(most);
    (0..count).map(move |at| all[at * all.len() / count])
}

impl Change {
    /// Returns the files of the change, in the order in which a program loads them.
    pub fn paths(&self, files: &Files) -> Vec<PathBuf> {
        let paths = files.iter().map(|(name, _)| self.folder.join(name));
        paths.collect()
    }

    /// Returns `true` if a program did not report that its code depends on the changed constants.
    pub fn needs_answer(&self) -> bool {
        let tried = self.fixed.iter().zip(&self.results);
        tried
            .filter(|(fixed, _)| fixed.is_some())
            .any(|(_, result)| !matches!(result, Some(ReloadResult::WeightDiffers(_))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_spread_over_all() {
        let all = |most| Vec::from_iter(spread(&[3, 4, 5, 6], most));
        assert_eq!(all(9), [3, 4, 5, 6]);
        assert_eq!(all(2), [3, 5]);
    }

    #[test]
    fn storages_share_the_changes_of_one_constant() {
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../ui-tests/models/other_weights.onnx");
        let plan = ChangePlan::new(Path::new(model), &Options::default(), 100).unwrap();
        let fixed = |name: &str| {
            let named = plan.changes.iter().filter(|change| change.name == name);
            Vec::from_iter(named.map(|change| change.fixed))
        };
        assert_eq!(fixed("low"), [[Some(true), Some(true)]]);
        assert_eq!(fixed("alpha"), [[Some(false), Some(true)]]);
        assert_eq!(fixed("gamma"), [[Some(false), Some(false)]]);
        assert_eq!(fixed("all that may differ"), [[Some(false), None], [None, Some(false)]]);
        let batches = Vec::from_iter(plan.batches(1));
        assert_eq!(batches.len(), plan.changes.len());
        assert_eq!(plan.batches(1 << 30).count(), 1);
    }
}
