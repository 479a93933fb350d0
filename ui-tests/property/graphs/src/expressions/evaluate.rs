//! Values of expressions by ONNX's specification, in 64-bit integers.

use super::{Condition, Expression};

impl Expression {
    /// Returns the number for these sizes, or `None` if it overflows or divides by 0, which the specification leaves
    /// undefined.
    pub fn value(&self, sizes: &[i64]) -> Option<i64> {
        let all = |some: &[Expression]| {
            let values = some.iter().map(|expression| expression.value(sizes));
            values.collect::<Option<Vec<i64>>>()
        };
        match self {
            Self::Size(axis) => sizes.get(*axis).copied(),
            Self::Number(number) => Some(*number),
            Self::Unary(operator, a) => {
                let a = a.value(sizes)?;
                match *operator {
                    "Neg" => a.checked_neg(),
                    "Abs" => a.checked_abs(),
                    "Sign" => Some(a.signum()),
                    _ => Some(a),
                }
            }
            Self::Binary(operator, a, b) => {
                let (a, b) = (a.value(sizes)?, b.value(sizes)?);
                match *operator {
                    "Add" => a.checked_add(b),
                    "Sub" => a.checked_sub(b),
                    "Mul" => a.checked_mul(b),
                    "Div" => quotient(a, b),
                    "Mod" => Some(a - floor(a, b)? * b),
                    "Min" => Some(a.min(b)),
                    _ => Some(a.max(b)),
                }
            }
            Self::Remainder(a, b) => {
                let (a, b) = (a.value(sizes)?, b.value(sizes)?);
                (b != 0).then(|| a.wrapping_rem(b))
            }
            Self::Where(condition, a, b) => {
                let (a, b) = (a.value(sizes)?, b.value(sizes)?);
                Some(if condition.value(sizes)? { a } else { b })
            }
            Self::Truth(condition) => Some(condition.value(sizes)?.into()),
            Self::Narrow(a) => Some((a.value(sizes)? as i32).into()),
            Self::FloorDivide(a, b) => floor(a.value(sizes)?, b.value(sizes)?),
            Self::Gather(some, at) => {
                let values = all(some)?;
                let count = values.len() as i64;
                let at = if *at < 0 { at + count } else { *at };
                values.get(at as usize).copied()
            }
            Self::Reduce(operator, some, [start, end]) => {
                let values = all(some)?;
                let count = values.len() as i64;
                let end = if *end < 0 { end + count } else { *end };
                let part = &values[*start as usize..end.min(count) as usize];
                let mut part = part.iter().copied();
                match *operator {
                    "ReduceSum" => part.try_fold(0i64, i64::checked_add),
                    "ReduceProd" => part.try_fold(1i64, i64::checked_mul),
                    "ReduceMax" => part.max(),
                    "ReduceMin" => part.min(),
                    _ => {
                        let count = part.len() as i128;
                        let sum: i128 = part.map(i128::from).sum();
                        (count > 0).then(|| (sum / count) as i64)
                    }
                }
            }
            Self::Power(a, exponent) => a.value(sizes)?.checked_pow(*exponent as u32),
        }
    }
}

/// Maximum size.
const LARGEST: f64 = 64.0;

/// Limit of the results of arithmetic.
const LIMIT: f64 = (1u64 << 62) as f64;

impl Expression {
    /// Returns a bound of the absolute value, or `None` if a computation may overflow.
    pub fn amount(&self) -> Option<f64> {
        let fits = |amount: f64| (amount < LIMIT).then_some(amount);
        let all = |some: &[Expression]| some.iter().map(Self::amount).collect::<Option<Vec<_>>>();
        match self {
            Self::Size(_) => Some(LARGEST),
            Self::Number(number) => Some((*number as f64).abs()),
            Self::Unary("Identity" | "Sign", a) => a.amount(),
            Self::Unary(_, a) => fits(a.amount()?),
            Self::Binary(operator, a, b) => {
                let (a, b) = (a.amount()?, b.amount()?);
                match *operator {
                    "Add" | "Sub" => fits(a + b),
                    "Mul" => fits(a * b),
                    "Div" | "Mod" => fits(a.max(b)),
                    _ => Some(a.max(b)),
                }
            }
            Self::Remainder(a, b) => fits(a.amount()?.max(b.amount()?)),
            Self::Where(condition, a, b) => {
                condition.amount()?;
                Some(a.amount()?.max(b.amount()?))
            }
            Self::Truth(condition) => condition.amount(),
            Self::Narrow(a) => Some(a.amount()?.min((1u64 << 31) as f64)),
            Self::FloorDivide(a, b) => fits(a.amount()? + b.amount()? + 1.0),
            Self::Gather(some, _) => Some(all(some)?.into_iter().fold(0.0, f64::max)),
            Self::Reduce("ReduceSum", some, _) => fits(all(some)?.iter().sum()),
            Self::Reduce("ReduceProd", some, _) => {
                fits(all(some)?.iter().map(|amount| amount.max(1.0)).product())
            }
            Self::Reduce(_, some, _) => Some(all(some)?.into_iter().fold(0.0, f64::max)),
            Self::Power(a, exponent) => fits(a.amount()?.max(1.0).powi(*exponent as i32)),
        }
    }
}

impl Condition {
    fn amount(&self) -> Option<f64> {
        match self {
            Self::Compare(_, a, b) => a.amount().and(b.amount()).and(Some(1.0)),
            Self::Both(_, a, b) => a.amount().and(b.amount()),
            Self::Not(a) => a.amount(),
            Self::Cast(a) => a.amount().and(Some(1.0)),
        }
    }

    fn value(&self, sizes: &[i64]) -> Option<bool> {
        Some(match self {
            Self::Compare(operator, a, b) => {
                let (a, b) = (a.value(sizes)?, b.value(sizes)?);
                match *operator {
                    "Less" => a < b,
                    "LessOrEqual" => a <= b,
                    "Greater" => a > b,
                    "GreaterOrEqual" => a >= b,
                    _ => a == b,
                }
            }
            Self::Both(operator, a, b) => {
                let (a, b) = (a.value(sizes)?, b.value(sizes)?);
                match *operator {
                    "And" => a && b,
                    "Or" => a || b,
                    _ => a != b,
                }
            }
            Self::Not(a) => !a.value(sizes)?,
            Self::Cast(a) => a.value(sizes)? != 0,
        })
    }
}

/// Divides and rounds toward zero.
fn quotient(a: i64, b: i64) -> Option<i64> {
    (b != 0).then(|| a.wrapping_div(b))
}

/// Divides and rounds down. Returns `None` if the nodes that exporters write overflow, for example for the least
/// number divided by -1.
fn floor(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let is_less = a % b != 0 && (a < 0) != (b < 0);
    quotient.checked_sub(is_less.into())?.checked_mul(b)?;
    Some(quotient - i64::from(is_less))
}
