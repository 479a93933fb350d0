//! How the scores of attention come from products of queries with keys.

/// The steps between these products and the softmax, for tensors of one dtype.
#[derive(Clone, Copy, Debug)]
pub struct Scores {
    /// The factor on the products.
    pub scale: f64,
    /// The bound that `tanh` puts on them before bias and mask; 0 for none.
    pub softcap: f64,
    /// The score of a hidden key.
    pub hidden: f64,
    /// Whether the bias is added to the scores of hidden keys too.
    pub bias_last: bool,
    pub undefined: Undefined,
}

/// What a query without probabilities gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Undefined {
    /// There is no such query.
    Never,
    /// No number.
    NotANumber,
    /// 0 where all its scores are negative infinity.
    ZeroIfHidden,
    /// 0.
    Zero,
}

impl Scores {
    /// The scaled products; hidden keys have none.
    pub fn scaled(scale: f64) -> Self {
        Self {
            scale,
            softcap: 0.0,
            hidden: f64::NEG_INFINITY,
            bias_last: false,
            undefined: Undefined::NotANumber,
        }
    }

    /// Whether a hidden key has no part in the result, whatever its bias is.
    pub fn removes_hidden(&self) -> bool {
        self.hidden == f64::NEG_INFINITY
    }
}
