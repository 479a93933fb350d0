//! Scores of attention.

/// Operations between the products of queries with keys and the softmax, for tensors of one dtype.
#[derive(Clone, Copy, Debug)]
pub struct Scores {
    /// Factor on the products.
    pub scale: f64,
    /// Bound of the scaled products, by `tanh`, before bias and mask; 0 for none.
    pub softcap: f64,
    /// Score of a masked key.
    pub hidden: f64,
    /// The bias is added to the scores of masked keys too.
    pub bias_last: bool,
    pub undefined: Undefined,
}

/// The result of a query whose keys are all masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Undefined {
    /// There is no such query.
    Never,
    /// NaN.
    NotANumber,
    /// 0 if all its scores are negative infinity.
    ZeroIfHidden,
    /// 0.
    Zero,
}

impl Scores {
    /// Returns scaled products, with negative infinity for masked keys.
    pub fn scaled(scale: f64) -> Self {
        Self {
            scale,
            softcap: 0.0,
            hidden: f64::NEG_INFINITY,
            bias_last: false,
            undefined: Undefined::NotANumber,
        }
    }

    /// Returns `true` if masked keys do not influence the result, whatever their bias.
    pub fn removes_hidden(&self) -> bool {
        self.hidden == f64::NEG_INFINITY
    }
}
