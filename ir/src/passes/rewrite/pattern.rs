//! Patterns and right sides of rules, parsed from text.
//!
//! They are written like the mathematics: `x * Sigmoid(#a * x)`. A word matches any value, and the same value wherever
//! it is repeated; `#a` is a constant whose elements all equal one number; `$w` is a constant; `Name:label(..)` is an
//! operator that the rule's functions refer to by its label; `A|B(..)` is either of two operators; `[activation](..)` is
//! any operator with this fact (`ops::class`); `Name(x, ..)` may have further inputs; `_` is an omitted input; `either(x, y)` is one of two or more patterns, tried in order. A right
//! side specifies attributes as `<alpha = 1.5, axis = @axis, epsilon = #e, mode = tanh>`, where a function of the rule
//! sets `@axis`.

use std::collections::BTreeSet;

use crate::ops;

/// A part of a pattern or of a right side.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    Any(&'static str),
    Number(f64),
    /// A constant whose elements all equal one number.
    Scalar(&'static str),
    /// A constant, whose elements may be unknown until the model is loaded.
    Constant(&'static str),
    /// An omitted input.
    Absent,
    Sum(Vec<Pattern>),
    Product(Vec<Pattern>),
    Difference(Box<[Pattern; 2]>),
    Inverse(Box<Pattern>),
    Power(Box<Pattern>, i32),
    /// Any of these patterns.
    Either(Vec<Pattern>),
    Call(Call),
}

/// An operator and its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Names of the operators that match.
    pub kinds: Vec<&'static str>,
    pub label: Option<&'static str>,
    pub attributes: Vec<(&'static str, AttributeValue)>,
    pub arguments: Vec<Pattern>,
    /// Whether further inputs are allowed.
    pub open: bool,
    /// Whether the operator is commutative, so that its two inputs match in both orders.
    pub commutative: bool,
}

/// An attribute of a right side.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Int(i64),
    Float(f64),
    Text(&'static str),
    /// The number of a scalar.
    Scalar(&'static str),
    /// A value that a function of the rule sets.
    Set(&'static str),
}

/// Parses a pattern. An error contains the text that cannot be parsed.
pub fn parse(text: &'static str) -> Result<Pattern, &'static str> {
    let mut parser = Parser { rest: text };
    let pattern = parser.sum()?;
    parser.spaces();
    if parser.rest.is_empty() { Ok(pattern) } else { Err(parser.rest) }
}

struct Parser {
    rest: &'static str,
}

impl Parser {
    fn sum(&mut self) -> Result<Pattern, &'static str> {
        let mut terms = vec![self.product()?];
        loop {
            if self.accept('+') {
                terms.push(self.product()?);
            } else if self.accept('-') {
                let less = self.product()?;
                let left = joined(std::mem::take(&mut terms), Pattern::Sum);
                terms.push(Pattern::Difference(Box::new([left, less])));
            } else {
                return Ok(joined(terms, Pattern::Sum));
            }
        }
    }

    fn product(&mut self) -> Result<Pattern, &'static str> {
        let mut factors = vec![self.power()?];
        loop {
            if self.accept('*') {
                factors.push(self.power()?);
            } else if self.accept('/') {
                // `1 / x` is only the inverse.
                if factors == [Pattern::Number(1.0)] {
                    factors.clear();
                }
                factors.push(match self.power()? {
                    Pattern::Number(number) => Pattern::Number(1.0 / number),
                    divisor => Pattern::Inverse(Box::new(divisor)),
                });
            } else {
                return Ok(joined(factors, Pattern::Product));
            }
        }
    }

    fn power(&mut self) -> Result<Pattern, &'static str> {
        let base = self.atom()?;
        if !self.accept('^') {
            return Ok(base);
        }
        let at = self.rest;
        let exponent = self.word(|c| c.is_ascii_digit()).parse();
        Ok(Pattern::Power(Box::new(base), exponent.map_err(|_| at)?))
    }

    fn atom(&mut self) -> Result<Pattern, &'static str> {
        self.spaces();
        let at = self.rest;
        if self.accept('(') {
            let inner = self.sum()?;
            return self.expect(')').map(|()| inner);
        }
        if self.accept('#') {
            return Ok(Pattern::Scalar(self.name()?));
        }
        if self.accept('$') {
            return Ok(Pattern::Constant(self.name()?));
        }
        if at.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Pattern::Number(self.number()?));
        }
        let word = self.word(|c| c.is_alphanumeric() || "._|[]".contains(c));
        match word.chars().next() {
            Some('_') => Ok(Pattern::Absent),
            Some(first) if first.is_uppercase() || word.contains(['.', '[']) => self.call(word),
            Some(_) if word == "either" => Ok(Pattern::Either(self.arguments()?.0)),
            Some(_) => Ok(Pattern::Any(word)),
            None => Err(at),
        }
    }

    fn call(&mut self, kinds: &'static str) -> Result<Pattern, &'static str> {
        let label = if self.accept(':') { Some(self.name()?) } else { None };
        let mut attributes = Vec::new();
        if self.accept('<') {
            while !self.accept('>') {
                let name = self.name()?;
                self.expect('=')?;
                attributes.push((name, self.attribute_value()?));
                self.accept(',');
            }
        }
        let (arguments, open) = self.arguments()?;
        let mut named = Vec::new();
        for kind in kinds.split('|') {
            match kind.strip_prefix('[').and_then(|class| class.strip_suffix(']')) {
                Some(class) => named.extend(ops::class(class).ok_or(kind)?),
                None => named.push(kind),
            }
        }
        let commutative = arguments.len() == 2 && named.iter().all(|kind| ops::facts(kind).commutative);
        Ok(Pattern::Call(Call { kinds: named, label, attributes, arguments, open, commutative }))
    }

    /// Parses arguments in parentheses. The flag specifies whether further inputs are allowed.
    fn arguments(&mut self) -> Result<(Vec<Pattern>, bool), &'static str> {
        let (mut arguments, mut open) = (Vec::new(), false);
        self.expect('(')?;
        while !self.accept(')') {
            if self.rest.trim_start().starts_with("..") {
                open = self.accept('.') && self.accept('.');
            } else {
                arguments.push(self.sum()?);
            }
            self.accept(',');
        }
        Ok((arguments, open))
    }

    fn attribute_value(&mut self) -> Result<AttributeValue, &'static str> {
        self.spaces();
        if self.accept('#') {
            return Ok(AttributeValue::Scalar(self.name()?));
        }
        if self.accept('@') {
            return Ok(AttributeValue::Set(self.name()?));
        }
        if self.rest.starts_with(char::is_alphabetic) {
            return Ok(AttributeValue::Text(self.name()?));
        }
        let at = self.rest;
        let text = self.word(|c| c.is_ascii_digit() || "-.e".contains(c));
        match text.parse() {
            Ok(int) => Ok(AttributeValue::Int(int)),
            Err(_) => text.parse().map(AttributeValue::Float).map_err(|_| at),
        }
    }

    fn number(&mut self) -> Result<f64, &'static str> {
        let at = self.rest;
        let text = self.word(|c| c.is_ascii_digit() || c == '.');
        text.parse().map_err(|_| at)
    }

    fn name(&mut self) -> Result<&'static str, &'static str> {
        self.spaces();
        let at = self.rest;
        match self.word(|c| c.is_alphanumeric() || c == '_') {
            "" => Err(at),
            name => Ok(name),
        }
    }

    fn expect(&mut self, sign: char) -> Result<(), &'static str> {
        if self.accept(sign) { Ok(()) } else { Err(self.rest) }
    }

    fn accept(&mut self, sign: char) -> bool {
        self.spaces();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'static str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

/// Joins several patterns. A single one is returned unchanged.
fn joined(mut all: Vec<Pattern>, several: fn(Vec<Pattern>) -> Pattern) -> Pattern {
    match (all.len(), all.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            all.extend(last);
            several(all)
        }
    }
}

impl Pattern {
    /// Returns the operators of the nodes at which the pattern may match.
    pub fn kinds(&self) -> Vec<&'static str> {
        match self {
            Pattern::Sum(_) | Pattern::Difference(_) => vec!["Add", "Sub"],
            Pattern::Product(_) => vec!["Mul", "Div"],
            Pattern::Inverse(_) => vec!["Reciprocal", "Div", "Pow"],
            Pattern::Power(..) => vec!["Pow", "Mul"],
            Pattern::Either(all) => {
                let kinds: BTreeSet<_> = all.iter().flat_map(Pattern::kinds).collect();
                kinds.into_iter().collect()
            }
            Pattern::Call(call) if call.kinds == ["Sqrt"] => vec!["Sqrt", "Pow"],
            Pattern::Call(call) => call.kinds.clone(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_inverted_factors() {
        let x = || Pattern::Any("x");
        let inverse = Pattern::Inverse(Box::new(Pattern::Any("y")));
        let product = Pattern::Product(vec![x(), inverse, Pattern::Number(0.5)]);
        assert_eq!(parse("x / y / 2"), Ok(product));
    }

    #[test]
    fn operators_have_labels_attributes_and_further_inputs() {
        let call = Call {
            kinds: vec!["Reshape", "Flatten"],
            label: Some("inner"),
            attributes: vec![("axis", AttributeValue::Int(-1)), ("mode", AttributeValue::Text("tanh"))],
            arguments: vec![Pattern::Any("x"), Pattern::Absent],
            open: true,
            commutative: false,
        };
        let text = "Reshape|Flatten:inner<axis = -1, mode = tanh>(x, _, ..)";
        assert_eq!(parse(text), Ok(Pattern::Call(call)));
    }

    #[test]
    fn alternatives_match_the_operators_of_any() {
        let text = "either(Relu(x), x * y)";
        let Ok(Pattern::Either(all)) = parse(text) else {
            panic!("`{text}` has alternatives");
        };
        let product = Pattern::Product(vec![Pattern::Any("x"), Pattern::Any("y")]);
        assert_eq!(all.last(), Some(&product));
        assert_eq!(Pattern::Either(all).kinds(), ["Div", "Mul", "Relu"]);
    }

    #[test]
    fn invalid_patterns_are_refused() {
        assert_eq!(parse("x * )"), Err(")"));
        assert_eq!(parse("Relu(x) y"), Err("y"));
    }
}
