//! Copies of a model whose weights are stored in another way.
//!
//! A copy consists of the records of the original file, except for tensors that move or shrink, and nodes that change.
//! Fields that this compiler does not read remain. One tensor at a time is in memory.

mod externalize;
mod graph;
mod shards;
mod shrink;
mod storage;
mod wire;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use crate::diagnostics::{Diagnostics, Problem};
use crate::files::Files;
use crate::read;

pub use externalize::externalize;
pub use shrink::{Error, Kept, Report, Shrunk, Width, shrink};

/// Creates a file of external data with this name in the folder of the copy.
pub type Create<'a> = dyn FnMut(&str) -> io::Result<Box<dyn Write>> + 'a;

/// Names and sizes of the external data of a copy.
#[derive(Clone, Debug)]
pub struct Sharding {
    /// Name of the first file. Those after it have a number at their ends.
    pub name: String,
    /// Maximum number of bytes of a file, unless it contains a single tensor.
    pub most: u64,
}

/// A file of external data that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    pub name: String,
    pub bytes: u64,
    pub tensors: usize,
}

/// A copy whose external data are written.
#[derive(Debug)]
pub struct Copy {
    /// Bytes of the model file.
    pub model: Vec<u8>,
    pub shards: Vec<Shard>,
}

/// Reason why there is no copy.
#[derive(Debug)]
pub enum Failure {
    /// The file cannot be read, or its copy cannot be written as a model.
    Model(Diagnostics),
    /// External data cannot be written.
    Write(io::Error),
}

/// Maximum number of bytes of a protobuf message.
const LARGEST_MESSAGE: usize = i32::MAX as usize;

/// Returns the paths of the model and of its external data, relative to the folder of the model.
pub fn sources(path: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
    let files = Files::open(path, None)?;
    let model = read::decode(files.model())?;
    storage::locations(&model, &files)?;
    Ok(files.list().into_iter().map(|(name, _)| name).collect())
}

/// Fails if the model file is too large for a message.
fn message(model: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if model.len() <= LARGEST_MESSAGE {
        return Ok(model);
    }
    let problem =
        Problem::new(format!("the copy has {} bytes, the limit of ONNX files is 2 GiB", model.len()));
    Err(problem.help("move the weights to other files first, with `cargo onnx-embed externalize`").into())
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Model(problem.into())
    }
}

impl From<Diagnostics> for Failure {
    fn from(problems: Diagnostics) -> Self {
        Failure::Model(problems)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Write(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Model(problems) => f.write_str(&problems.messages().join("; ")),
            Failure::Write(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
