//! What the caller of the compiler may choose.

use std::collections::BTreeMap;

use crate::dtype::DType;

/// The arguments of `onnx_model!`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sizes by the names that the file gives them.
    pub dims: BTreeMap<String, i64>,
    /// Shapes of inputs that the file leaves open.
    pub inputs: BTreeMap<String, Vec<Size>>,
    /// Names that sizes of inputs get in place of those of the file, by input and axis.
    pub names: BTreeMap<(String, usize), String>,
    pub weights: Weights,
    /// Whether the program may train the model.
    pub training: bool,
    /// Whether graphs are rewritten as a person would have written them.
    pub simplify: bool,
    pub precision: Precision,
    /// Functions of the caller's that compute operators, by the names of these, as [`operator_name`] has them.
    pub operators: BTreeMap<String, Binding>,
    pub outputs: Outputs,
    /// Whether the program may look at every value of a run.
    pub trace: bool,
    /// Bytes that one tensor may take, where data or inputs give its sizes; the caller of the model may set others.
    pub memory_limit: Option<u64>,
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
        }
    }
}

impl Options {
    /// Whether weights have the values of the file in every run, so that simplification may use them.
    /// Otherwise initializers of floats of rank 1 and more are parameters, whose values no inference, pass or
    /// emission reads.
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

/// A function of the caller's that computes an operator.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Its path as text, for the module of the model. An item may have it with spans.
    pub function: String,
    /// What it returns; nothing stands for one tensor of the type of the first input.
    pub results: Vec<Declared>,
}

/// What is declared of a tensor that a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The element type, where it is not that of the input.
    pub element: Option<DType>,
    pub shape: DeclaredShape,
}

/// The shape of a tensor that a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredShape {
    /// That of an input.
    Like(usize),
    /// Its sizes, `None` for that of the first input along the same axis.
    Sizes(Vec<Option<Size>>),
}

/// An operator as the compiler names it: `Relu` for `ai.onnx.Relu`, else with its domain.
pub fn operator_name(written: &str) -> &str {
    let standard = written.strip_prefix("ai.onnx.");
    standard.filter(|name| !name.contains('.')).unwrap_or(written)
}

/// Outputs in place of those that the file lists; none are named where these stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Values of the main graph, by the names that the file gives them.
    pub names: Vec<String>,
    /// Whether the outputs of the file follow.
    pub rest: bool,
}

/// Where the weights are when the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// In the binary.
    #[default]
    Embed,
    /// In the model file, which the program opens.
    File,
}

/// In what floats of single precision are computed, and their weights kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// In the types that the file has.
    #[default]
    AsIs,
    F16,
    Bf16,
}

impl Precision {
    /// Each as options spell it.
    pub const ALL: [(&str, Precision); 3] =
        [("as-is", Precision::AsIs), ("f16", Precision::F16), ("bf16", Precision::Bf16)];

    /// The type of 16 bits that takes the place of single precision.
    pub fn half(self) -> Option<DType> {
        match self {
            Precision::AsIs => None,
            Precision::F16 => Some(DType::F16),
            Precision::Bf16 => Some(DType::Bf16),
        }
    }
}
