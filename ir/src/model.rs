//! A model and the facts about its file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::files::Files;
use crate::graph::Graph;
use crate::metadata::Metadata;
use crate::names::Names;

/// A model: the graph with typed values, and the facts about its file.
#[derive(Debug)]
pub struct Model {
    pub graph: Graph,
    pub facts: Facts,
    pub files: Rc<Files>,
    pub names: Names,
}

/// Versions, metadata and operators of a file.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub ir_version: i64,
    /// Opset versions by domain. The empty domain is `ai.onnx`.
    pub opsets: BTreeMap<String, i64>,
    pub producer: String,
    pub metadata: Metadata,
    /// Names of classes by their number.
    pub labels: Vec<String>,
    /// Names of the outputs. Inputs and constants may have the same names.
    pub outputs: Vec<String>,
    /// Declared ranks of the outputs.
    pub ranks: Vec<Option<usize>>,
    /// Number of nodes of each operator, by domain and name, and whether it is supported.
    pub operators: BTreeMap<(String, String), Count>,
}

/// Number of nodes of an operator.
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
            producer => write!(f, ", produced by {producer}"),
        }
    }
}

/// Returns the file name of a path, for messages.
pub fn display_name(path: &Path) -> String {
    let name = path.file_name().map(PathBuf::from);
    name.unwrap_or_else(|| path.to_owned()).display().to_string()
}
