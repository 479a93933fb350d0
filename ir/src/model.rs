//! A model, and what its file says of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::files::Files;
use crate::graph::Graph;
use crate::metadata::Metadata;
use crate::names::Names;

/// A model: the graph, its values typed, and what the file says of itself.
#[derive(Debug)]
pub struct Model {
    pub graph: Graph,
    pub facts: Facts,
    pub files: Rc<Files>,
    pub names: Names,
}

/// What the file says of itself.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub ir_version: i64,
    /// Opset versions by domain; `ai.onnx` is the empty domain.
    pub opsets: BTreeMap<String, i64>,
    pub producer: String,
    pub metadata: Metadata,
    /// The names of classes by their number.
    pub labels: Vec<String>,
    /// The names of the outputs, which several may share with inputs or constants.
    pub outputs: Vec<String>,
    /// The ranks that the file gives them.
    pub ranks: Vec<Option<usize>>,
    /// How often each operator occurs, with its domain, and whether it is supported.
    pub operators: BTreeMap<(String, String), Count>,
}

/// How often an operator occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub nodes: usize,
    pub supported: bool,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IR version {}", self.ir_version)?;
        for (domain, version) in &self.opsets {
            let name = if domain.is_empty() { "ai.onnx" } else { domain };
            write!(f, ", {name} {version}")?;
        }
        match self.producer.as_str() {
            "" => Ok(()),
            producer => write!(f, ", made by {producer}"),
        }
    }
}

/// A path in the model's folder for a file name in messages.
pub fn display_name(path: &Path) -> String {
    let name = path.file_name().map(PathBuf::from);
    name.unwrap_or_else(|| path.to_owned()).display().to_string()
}
