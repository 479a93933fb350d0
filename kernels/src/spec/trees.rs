//! Ensembles of decision trees.

use burn::tensor::DType;

use super::types::TensorType;

/// Comparison of a node, numbered as in TreeEnsemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    LessOrEqual = 0,
    Less = 1,
    GreaterOrEqual = 2,
    Greater = 3,
    Equal = 4,
    NotEqual = 5,
    /// The feature is one of a list.
    Member = 6,
    Leaf = 7,
}

impl Mode {
    /// Returns the mode of this name in TreeEnsembleClassifier and TreeEnsembleRegressor.
    pub fn named(name: &str) -> Option<Mode> {
        Some(match name {
            "BRANCH_LEQ" => Mode::LessOrEqual,
            "BRANCH_LT" => Mode::Less,
            "BRANCH_GTE" => Mode::GreaterOrEqual,
            "BRANCH_GT" => Mode::Greater,
            "BRANCH_EQ" => Mode::Equal,
            "BRANCH_NEQ" => Mode::NotEqual,
            "LEAF" => Mode::Leaf,
            _ => return None,
        })
    }

    /// Returns the mode of this number in TreeEnsemble.
    pub fn numbered(number: u8) -> Option<Mode> {
        Some(match number {
            0 => Mode::LessOrEqual,
            1 => Mode::Less,
            2 => Mode::GreaterOrEqual,
            3 => Mode::Greater,
            4 => Mode::Equal,
            5 => Mode::NotEqual,
            6 => Mode::Member,
            _ => return None,
        })
    }
}

/// Reduction of the weights of several trees to one score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Aggregate {
    Average,
    #[default]
    Sum,
    Min,
    Max,
}

/// Parameters of a forest on a device.
#[derive(Clone, Copy, Debug)]
pub struct Election {
    pub targets: usize,
    pub aggregate: Aggregate,
    /// The mode of all nodes, if they have the same.
    pub mode: Option<Mode>,
}

/// Bit of an index that marks a leaf.
pub const LEAF: u32 = 1 << 31;

/// Bits of the feature of a test.
pub const FEATURE: u32 = (1 << 28) - 1;

/// Bit of a test that selects its true branch for NaN.
pub const MISSING: u32 = 1 << 31;

/// Mode of a comparison with NaN that is always false, on devices.
pub const NEVER: u32 = 6;

/// Mode of a comparison with NaN that is always true, on devices.
pub const ALWAYS: u32 = 7;

impl Election {
    /// Returns the types of the scores of rows, and of the number of leaves in each.
    pub fn result(&self, rows: &TensorType, weights: &TensorType) -> [TensorType; 2] {
        let scores = TensorType::new([rows.shape[0], self.targets], weights.dtype);
        let votes = scores.with_dtype(DType::I32);
        [scores, votes]
    }
}
