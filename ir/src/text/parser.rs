//! The parts of the parser that all rules use.

use super::Error;
use super::tokens::{self, Token};

/// Maximum depth of nested bodies and types, which keeps the recursion within a small stack.
const MAX_NESTING: usize = 32;

pub(super) struct Parser<'a> {
    text: &'a str,
    offset: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Parser { text, offset: 0, depth: 0 }
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.token().0
    }

    pub(super) fn take(&mut self) -> Token<'a> {
        let (token, end) = self.token();
        self.offset = end;
        token
    }

    pub(super) fn at(&self, mark: char) -> bool {
        self.peek() == Token::Mark(mark)
    }

    pub(super) fn accept(&mut self, mark: char) -> bool {
        let found = self.at(mark);
        if found {
            self.take();
        }
        found
    }

    pub(super) fn expect(&mut self, mark: char) -> Result<(), Error> {
        if self.accept(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    pub(super) fn expect_arrow(&mut self) -> Result<(), Error> {
        if self.peek() != Token::Arrow {
            return Err(self.expected("`=>`"));
        }
        self.take();
        Ok(())
    }

    pub(super) fn identifier(&mut self) -> Result<&'a str, Error> {
        let Token::Identifier(identifier) = self.peek() else {
            return Err(self.expected("an identifier"));
        };
        self.take();
        Ok(identifier)
    }

    /// Parses an identifier or any text in quotes.
    pub(super) fn name(&mut self) -> Result<String, Error> {
        match self.peek() {
            Token::Identifier(_) => self.identifier().map(str::to_owned),
            Token::Quoted(_) => self.quoted(),
            _ => Err(self.expected("a name")),
        }
    }

    /// Parses text in quotes. A backslash precedes a character that is taken literally.
    pub(super) fn quoted(&mut self) -> Result<String, Error> {
        let Token::Quoted(escaped) = self.peek() else {
            return Err(self.expected("a quoted string"));
        };
        self.take();
        let mut characters = escaped.chars();
        let mut text = String::with_capacity(escaped.len());
        while let Some(character) = characters.next() {
            match character {
                '\\' => text.extend(characters.next()),
                _ => text.push(character),
            }
        }
        Ok(text)
    }

    pub(super) fn integer(&mut self) -> Result<i64, Error> {
        let Token::Integer(digits) = self.peek() else {
            return Err(self.expected("an integer"));
        };
        let value = digits.parse();
        let value = value.map_err(|_| self.error(format!("`{digits}` is out of range for int64")))?;
        self.take();
        Ok(value)
    }

    /// Parses a number with or without a point, or `inf`, `infinity` or `nan` in any case.
    pub(super) fn float<F>(&mut self) -> Result<F, Error>
    where
        F: std::str::FromStr + Copy + Into<f64>,
    {
        let (Token::Integer(digits) | Token::Float(digits) | Token::Identifier(digits)) = self.peek() else {
            return Err(self.expected("a number"));
        };
        let Ok(value) = digits.parse::<F>() else {
            return Err(self.expected("a number"));
        };
        let word = digits.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic());
        if value.into().is_infinite() && !word {
            return Err(self.error(format!("`{digits}` is out of range")));
        }
        self.take();
        Ok(value)
    }

    /// Parses items that are separated by commas, up to `close`. There may be none.
    pub(super) fn list(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.accept(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.accept(close) {
                return Ok(());
            }
            if !self.accept(',') {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// Runs a rule that may be recursive.
    pub(super) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == MAX_NESTING {
            return Err(self.error(format!("nested more than {MAX_NESTING} levels deep")));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    pub(super) fn end(&self) -> Result<(), Error> {
        if self.peek() == Token::End { Ok(()) } else { Err(self.expected("the end of the text")) }
    }

    /// Returns an error that names the next token.
    pub(super) fn expected(&self, what: &str) -> Error {
        let start = self.start();
        let (token, end) = self.token();
        let found = match token {
            Token::End => "the end of the text".to_owned(),
            Token::Unterminated => "a string without a closing quote".to_owned(),
            _ => {
                let written = self.text.get(start..end).unwrap_or_default();
                let mut short: String = written.chars().take(40).collect();
                if short.len() < written.len() {
                    short.push('…');
                }
                format!("`{short}`")
            }
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Returns an error at the next token.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        self.error_at(self.start(), message)
    }

    pub(super) fn error_at(&self, offset: usize, message: impl Into<String>) -> Error {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Error {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            message: message.into(),
        }
    }

    /// Returns the offset of the next token, after white space and comments.
    pub(super) fn start(&self) -> usize {
        self.text.len() - tokens::skip_space(self.rest(self.offset)).len()
    }

    fn rest(&self, offset: usize) -> &'a str {
        self.text.get(offset..).unwrap_or_default()
    }

    /// Returns the next token and the offset after it.
    fn token(&self) -> (Token<'a>, usize) {
        let start = self.start();
        let (token, length) = tokens::first(self.rest(start));
        (token, start + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_makes_the_next_character_mean_itself() {
        assert_eq!(Parser::new(r#""a\"b\\c\n""#).quoted().unwrap(), r#"a"b\cn"#);
    }

    #[test]
    fn numbers_that_do_not_fit_are_errors() {
        assert!(Parser::new("9223372036854775808").integer().is_err());
        assert!(Parser::new("1e39").float::<f32>().is_err());
        assert_eq!(Parser::new("-inf").float::<f32>(), Ok(f32::NEG_INFINITY));
        assert_eq!(Parser::new("1e-60").float::<f32>(), Ok(0.0));
    }
}
