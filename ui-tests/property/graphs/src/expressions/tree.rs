//! Nodes of expressions.

use crate::random::Random;

/// Number of axes of the tensor.
pub const SIZES: usize = 3;

/// An integer expression.
#[derive(Clone, Debug)]
pub enum Expression {
    Size(usize),
    Number(i64),
    Unary(&'static str, Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// Remainder of a division, with the sign of the dividend.
    Remainder(Box<Expression>, Box<Expression>),
    Where(Box<Condition>, Box<Expression>, Box<Expression>),
    /// 1 if the condition is true, else 0.
    Truth(Box<Condition>),
    /// Conversion to a 32-bit integer and back.
    Narrow(Box<Expression>),
    /// Division rounded down, as TorchScript writes it.
    FloorDivide(Box<Expression>, Box<Expression>),
    /// An element of joined expressions.
    Gather(Vec<Expression>, i64),
    /// Sum or another reduction of a range of joined expressions.
    Reduce(&'static str, Vec<Expression>, [i64; 2]),
    Power(Box<Expression>, i64),
}

/// A boolean expression.
#[derive(Clone, Debug)]
pub enum Condition {
    Compare(&'static str, Expression, Expression),
    Both(&'static str, Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    /// `true` if the expression is not 0.
    Cast(Expression),
}

const BINARY: &[&str] = &["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"];
const UNARY: &[&str] = &["Neg", "Abs", "Sign", "Identity"];
const COMPARE: &[&str] = &["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"];
const LOGIC: &[&str] = &["And", "Or", "Xor"];
const REDUCE: &[&str] = &["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean"];
const NUMBERS: &[i64] =
    &[0, 1, -1, 2, -2, 3, 4, -5, 7, 8, -10, 16, 32, 100, -1000, i32::MAX as i64, i64::MAX, i64::MIN];

impl Expression {
    /// Grows a random expression of at most `levels` levels.
    pub fn grow(random: &mut Random, levels: usize) -> Self {
        let Some(less) = levels.checked_sub(1) else {
            return Self::leaf(random);
        };
        let mut part = || Box::new(Self::grow(random, less));
        let (a, b) = (part(), part());
        match random.below(20) {
            0..=7 => Self::Binary(random.pick::<&str>(BINARY), a, b),
            8 => Self::Unary(random.pick::<&str>(UNARY), a),
            9 => Self::Remainder(a, b),
            10 => Self::Where(Box::new(Condition::grow(random, less)), a, b),
            11 => Self::Truth(Box::new(Condition::grow(random, less))),
            12 => Self::Narrow(a),
            // Floor division by a constant, as in computations of sizes.
            13 | 14 => {
                let divisor = Self::Number(*random.pick(&[2, 3, 4, 7, 32, -2, -3]));
                Self::FloorDivide(a, Box::new(divisor))
            }
            15 => {
                let divisor = Self::Number(*random.pick(&[2, 3, 4, 7, 32, -2, -3]));
                let operator = random.pick(&["Div", "Mod"]);
                Self::Binary(operator, a, Box::new(divisor))
            }
            16 => {
                let some = vec![*a, *b, Self::leaf(random)];
                Self::Gather(some, random.below(6) as i64 - 3)
            }
            17 => {
                let some = vec![*a, *b, Self::leaf(random)];
                let start = random.below(2) as i64;
                let end = random.pick(&[2, 3, -1, i64::MAX]);
                Self::Reduce(random.pick::<&str>(REDUCE), some, [start, *end])
            }
            18 => Self::Power(a, random.below(4) as i64),
            _ => Self::leaf(random),
        }
    }

    fn leaf(random: &mut Random) -> Self {
        match random.below(3) {
            0 => Self::Number(*random.pick(NUMBERS)),
            _ => Self::Size(random.below(SIZES)),
        }
    }
}

impl Condition {
    fn grow(random: &mut Random, levels: usize) -> Self {
        let less = levels.saturating_sub(1);
        match random.below(6) {
            0 if levels > 0 => {
                let (a, b) = (Self::grow(random, less), Self::grow(random, less));
                Self::Both(random.pick::<&str>(LOGIC), a.into(), b.into())
            }
            1 if levels > 0 => Self::Not(Self::grow(random, less).into()),
            2 => Self::Cast(Expression::grow(random, less)),
            _ => {
                let (a, b) = (Expression::grow(random, less), Expression::grow(random, less));
                Self::Compare(random.pick::<&str>(COMPARE), a, b)
            }
        }
    }
}
