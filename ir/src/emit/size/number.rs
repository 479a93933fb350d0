//! Integer expressions with the parentheses that Rust's precedence requires.

use proc_macro2::Literal;

use crate::rust::{Builder, Code, code};

/// An expression of type `i64` or `usize`.
#[derive(Debug)]
pub enum Number {
    Literal(i64),
    /// Variable of a size, a `usize`.
    Size(Code),
    Sum(Box<Number>, Box<Number>),
    Difference(Box<Number>, Box<Number>),
    Negative(Box<Number>),
    Product(Box<Number>, Box<Number>),
    Quotient(Box<Number>, Box<Number>),
    /// A method call. A literal receiver gets a suffix for this type.
    Call(Box<Number>, &'static str, Vec<Number>, Width),
    Cast(Box<Number>, Width),
}

/// Integer types of expressions with sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    I64,
    Usize,
}

/// Precedence of an expression. A cast is always parenthesized as an operand: before `<` it would start a list of type
/// arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Cast,
    Sum,
    Product,
    Sign,
    Call,
}

impl Number {
    pub fn add(self, other: Number) -> Number {
        Number::Sum(self.into(), other.into())
    }

    pub fn sub(self, other: Number) -> Number {
        Number::Difference(self.into(), other.into())
    }

    pub fn mul(self, other: Number) -> Number {
        Number::Product(self.into(), other.into())
    }

    pub fn div(self, other: Number) -> Number {
        Number::Quotient(self.into(), other.into())
    }

    pub fn call(self, method: &'static str, argument: Number, width: Width) -> Number {
        Number::Call(self.into(), method, vec![argument], width)
    }

    pub fn cast(self, width: Width) -> Number {
        Number::Cast(self.into(), width)
    }

    /// Returns the expression without parentheses, for an argument or an element of a list.
    pub fn code(&self) -> Code {
        match self {
            Number::Literal(number) => {
                let literal = Literal::i64_unsuffixed(*number);
                code!(#literal)
            }
            Number::Size(variable) => variable.clone(),
            Number::Sum(a, b) => {
                let (a, b) = (a.within(Level::Sum), b.within(Level::Product));
                code!(#a + #b)
            }
            Number::Difference(a, b) => {
                let (a, b) = (a.within(Level::Sum), b.within(Level::Product));
                code!(#a - #b)
            }
            Number::Negative(amount) => {
                let amount = amount.within(Level::Sign);
                code!(-#amount)
            }
            Number::Product(a, b) => {
                let (a, b) = (a.within(Level::Product), b.within(Level::Sign));
                code!(#a * #b)
            }
            Number::Quotient(a, b) => {
                let (a, b) = (a.within(Level::Product), b.within(Level::Sign));
                code!(#a / #b)
            }
            Number::Call(receiver, method, arguments, width) => {
                let mut call = Builder::default();
                call.add(&receiver.receiver(*width));
                let arguments = arguments.iter().map(Number::code);
                call.method(method, code!(#(#arguments),*));
                call.finish()
            }
            Number::Cast(inner, width) => {
                let inner = inner.within(Level::Sign);
                match width {
                    Width::I64 => code!(#inner as i64),
                    Width::Usize => code!(#inner as usize),
                }
            }
        }
    }

    /// Returns the expression as an operand of a sum.
    pub fn operand(&self) -> Code {
        self.within(Level::Sum)
    }

    /// Returns the expression as an operand that needs at least this precedence.
    fn within(&self, level: Level) -> Code {
        let code = self.code();
        if self.level() < level { code!((#code)) } else { code }
    }

    /// Returns the expression as the receiver of a method. A literal gets a type suffix.
    fn receiver(&self, width: Width) -> Code {
        let Number::Literal(number) = self else {
            return self.within(Level::Call);
        };
        let literal = match (width, usize::try_from(*number)) {
            (Width::Usize, Ok(number)) => Literal::usize_suffixed(number),
            _ => Literal::i64_suffixed(*number),
        };
        if *number < 0 { code!((#literal)) } else { code!(#literal) }
    }

    fn level(&self) -> Level {
        match self {
            Number::Cast(..) => Level::Cast,
            Number::Sum(..) | Number::Difference(..) => Level::Sum,
            Number::Product(..) | Number::Quotient(..) => Level::Product,
            Number::Literal(..0) | Number::Negative(_) => Level::Sign,
            Number::Literal(_) | Number::Size(_) | Number::Call(..) => Level::Call,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: &Number, expected: &str) {
        assert_eq!(number.code().tokens().to_string(), expected);
    }

    fn n() -> Number {
        Number::Size(code!(n))
    }

    fn int(number: i64) -> Number {
        Number::Literal(number)
    }

    #[test]
    fn brackets_stand_where_precedence_needs_them() {
        check(&n().add(int(1)).mul(n().mul(n())), "(n + 1) * (n * n)");
        check(&n().sub(n().sub(int(1))), "n - (n - 1)");
        check(&n().mul(int(2)).sub(n().div(int(2))), "n * 2 - n / 2");
        check(&n().cast(Width::I64).sub(int(3)), "(n as i64) - 3");
        check(&n().add(int(1)).cast(Width::I64), "(n + 1) as i64");
    }

    #[test]
    fn methods_are_called_on_whole_numbers() {
        let most = |number: Number| number.call("max", n().cast(Width::I64), Width::I64);
        check(&most(int(-1)), "(- 1i64) . max (n as i64)");
        check(&most(n().cast(Width::I64)), "(n as i64) . max (n as i64)");
        check(&int(0).sub(most(int(7))), "0 - 7i64 . max (n as i64)");
        let less = int(3).call("saturating_sub", n(), Width::Usize);
        check(&less, "3usize . saturating_sub (n)");
    }

    #[test]
    fn the_least_number_is_a_literal() {
        let least = int(i64::MIN);
        check(&n().cast(Width::I64).add(least), "(n as i64) + - 9223372036854775808");
    }
}
