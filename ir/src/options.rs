//! What the caller of the compiler may choose.

use std::collections::BTreeMap;

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
        }
    }
}

impl Options {
    /// Whether weights have the values of the file in every run, so that simplification may use
    /// them. Otherwise initializers of floats of rank 1 and more are parameters, whose values no
    /// inference, pass or emission reads.
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

/// Where the weights are when the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// In the binary.
    #[default]
    Embed,
    /// In the model file, which the program opens.
    File,
}
