//! Options of the caller of the compiler.

mod kept;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dtype::DType;
use crate::files::signed::Key;
pub use kept::{Kept, Step};

/// Arguments of `onnx_model!`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sizes by their names in the file.
    pub dims: BTreeMap<String, i64>,
    /// Shapes of inputs that the file does not specify.
    pub inputs: BTreeMap<String, Vec<Size>>,
    /// Names of sizes of inputs that replace those of the file, by input and axis.
    pub names: BTreeMap<(String, usize), String>,
    pub weights: Weights,
    /// Whether the program may train the model.
    pub training: bool,
    /// Whether graphs are simplified by rewrite rules.
    pub simplify: bool,
    pub precision: Precision,
    /// Functions of the caller that compute operators, by operator, in the form of [`operator_name`].
    pub operators: BTreeMap<String, Binding>,
    pub outputs: Outputs,
    /// Whether the program may observe all values of a run.
    pub trace: bool,
    /// Maximum size of a tensor whose sizes depend on data or inputs, in bytes. The program may set another limit.
    pub memory_limit: Option<u64>,
    /// Whether results have the same bits on every CPU.
    pub deterministic: bool,
    /// Key of the signatures that the files of the model must have.
    pub signature: Option<Arc<Key>>,
    /// Inputs that a step gets from an earlier step.
    pub states: Vec<Kept>,
    /// Whether programs also load files of other exporters that have the same structure.
    pub structure: bool,
    /// Licenses that the file may declare. Otherwise the license is not checked.
    pub licenses: Option<Arc<Vec<String>>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dims: BTreeMap::new(),
            inputs: BTreeMap::new(),
            names: BTreeMap::new(),
            weights: Weights::default(),
            training: false,
            simplify: true,
            precision: Precision::default(),
            operators: BTreeMap::new(),
            outputs: Outputs::default(),
            trace: false,
            memory_limit: None,
            deterministic: false,
            signature: None,
            states: Vec::new(),
            structure: false,
            licenses: None,
        }
    }
}

impl Options {
    /// Returns `true` if weights have the values of the file in every run, so that simplification may use them.
    /// Otherwise float initializers of rank 1 or more are parameters, whose elements inference, passes and emission do
    /// not read.
    pub fn final_weights(&self) -> bool {
        self.weights == Weights::Embed && !self.training
    }
}

/// One size of an input's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    Fixed(i64),
    Named(String),
}

/// A function of the caller that computes an operator.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Path as text, for the module of the model. An item may contain the path with spans.
    pub function: String,
    /// Declared results. If empty, the function returns one tensor with the type of the first input.
    pub results: Vec<Declared>,
}

/// Declaration of a tensor that a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Element type, if it differs from that of the input.
    pub element: Option<DType>,
    pub shape: DeclaredShape,
}

/// The shape of a tensor that a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredShape {
    /// The shape of an input.
    Like(usize),
    /// Sizes, `None` for the size of the first input along the same axis.
    Sizes(Vec<Option<Size>>),
}

/// Returns the name of an operator in the compiler: `Relu` for `ai.onnx.Relu`, otherwise with its domain.
pub fn operator_name(written: &str) -> &str {
    let standard = written.strip_prefix("ai.onnx.");
    standard.filter(|name| !name.contains('.')).unwrap_or(written)
}

/// Outputs that replace those of the file. If `names` is empty, those of the file remain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Names of values of the main graph in the file.
    pub names: Vec<String>,
    /// Whether the outputs of the file follow.
    pub rest: bool,
}

/// Location of the weights when the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// In the binary.
    #[default]
    Embed,
    /// In the model file, which the program opens.
    File,
}

/// Precision in which single-precision floats and their weights are computed and stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// As in the file.
    #[default]
    AsIs,
    F16,
    Bf16,
}

impl Precision {
    /// All precisions, with their names in options.
    pub const ALL: [(&str, Precision); 3] =
        [("as-is", Precision::AsIs), ("f16", Precision::F16), ("bf16", Precision::Bf16)];

    /// Returns the 16-bit type that replaces single precision.
    pub fn half(self) -> Option<DType> {
        match self {
            Precision::AsIs => None,
            Precision::F16 => Some(DType::F16),
            Precision::Bf16 => Some(DType::Bf16),
        }
    }
}
