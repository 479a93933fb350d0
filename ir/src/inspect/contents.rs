//! Files of a model and what they declare, without types.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::about::About;
use crate::diagnostics::{Diagnostics, Topic};
use crate::model::Facts;
use crate::options::Options;
use crate::read;

/// Files of a model, and facts about it that require no types.
#[derive(Debug)]
pub struct Contents {
    pub facts: Facts,
    pub about: About,
    /// The model first, then its external data, with names relative to the folder of the model.
    pub files: Vec<(PathBuf, Bytes)>,
}

/// Reads the file at `path` and opens its external data. Fails only if one of these is not readable: the model may have
/// unsupported operators.
pub fn contents(path: &Path) -> Result<Contents, Diagnostics> {
    let (facts, files, problems) = read::read(path, &Options::default())?.into_parts();
    let mut unreadable = Diagnostics::default();
    let external = problems.listed().filter(|(problem, _)| *problem.topic() == Topic::ExternalData);
    external.for_each(|(problem, _)| unreadable.push(problem.clone()));
    if !unreadable.is_empty() {
        return Err(unreadable);
    }
    Ok(Contents { facts, about: About::of(files.model()), files: files.list() })
}
