//! Lists and dictionaries in the syntax of JSON and Python.

use std::iter::Peekable;
use std::str::Chars;

/// A flat list or dictionary of strings and integers, all as text.
#[derive(Debug, PartialEq)]
pub enum Literal {
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

/// Parses a text that contains only one literal.
pub fn parse(text: &str) -> Option<Literal> {
    let mut letters = text.chars().peekable();
    let close = match letters.next()? {
        '[' => ']',
        '(' => ')',
        '{' => '}',
        _ => return None,
    };
    let mut parser = Parser { letters };
    let literal = match close {
        '}' => Literal::Map(parser.items(close, |parser| {
            let key = parser.scalar()?;
            parser.expect(':')?;
            Some((key, parser.scalar()?))
        })?),
        _ => Literal::List(parser.items(close, Parser::scalar)?),
    };
    parser.space();
    parser.letters.next().is_none().then_some(literal)
}

struct Parser<'a> {
    letters: Peekable<Chars<'a>>,
}

impl Parser<'_> {
    /// Parses items that are separated by commas, with an optional comma after the last one, and the bracket.
    fn items<T>(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        loop {
            self.space();
            if self.letters.next_if_eq(&close).is_some() {
                return Some(items);
            }
            items.push(item(self)?);
            self.space();
            if self.letters.peek() != Some(&close) {
                self.expect(',')?;
            }
        }
    }

    fn scalar(&mut self) -> Option<String> {
        self.space();
        match *self.letters.peek()? {
            quote @ ('\'' | '"') => {
                self.letters.next();
                self.string(quote)
            }
            _ => self.integer(),
        }
    }

    fn string(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.letters.next()? {
                '\\' => text.push(self.escape()?),
                letter if letter == quote => return Some(text),
                letter => text.push(letter),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.letters.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'x' => char::from_u32(self.code(2)?)?,
            'u' => {
                let code = self.code(4)?;
                match code {
                    // JSON writes characters beyond 16 bits as two escapes.
                    0xd800..0xdc00 => {
                        self.exactly('\\')?;
                        self.exactly('u')?;
                        let low = self.code(4)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                        char::from_u32(0x10000 + ((code - 0xd800) << 10) + low)?
                    }
                    _ => char::from_u32(code)?,
                }
            }
            letter @ ('\\' | '\'' | '"' | '/') => letter,
            _ => return None,
        })
    }

    fn code(&mut self, digits: usize) -> Option<u32> {
        let mut code = 0;
        for _ in 0..digits {
            code = code * 16 + self.letters.next()?.to_digit(16)?;
        }
        Some(code)
    }

    fn integer(&mut self) -> Option<String> {
        let mut text = String::new();
        text.extend(self.letters.next_if_eq(&'-'));
        while let Some(digit) = self.letters.next_if(char::is_ascii_digit) {
            text.push(digit);
        }
        text.ends_with(|last: char| last.is_ascii_digit()).then_some(text)
    }

    fn space(&mut self) {
        while self.letters.next_if(|letter| letter.is_whitespace()).is_some() {}
    }

    fn expect(&mut self, sign: char) -> Option<()> {
        self.space();
        self.exactly(sign)
    }

    fn exactly(&mut self, letter: char) -> Option<()> {
        self.letters.next_if_eq(&letter).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Option<Vec<String>> {
        match parse(text)? {
            Literal::List(items) => Some(items),
            Literal::Map(_) => None,
        }
    }

    #[test]
    fn escapes_are_letters() {
        let found = list(r#"['a\'b', "\u00e9\n", "\ud83d\ude00", '\x41']"#);
        assert_eq!(found.unwrap(), ["a'b", "é\n", "😀", "A"]);
    }

    #[test]
    fn a_list_may_be_empty_and_end_with_a_comma() {
        assert_eq!(list(" [ ]".trim()).unwrap(), [""; 0]);
        assert_eq!(list("[ -1 , 2, ]").unwrap(), ["-1", "2"]);
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "[",
            "['a",
            "['a' 'b']",
            "[a]",
            "[1.5]",
            "[[1]]",
            "{1}",
            "[1] 2",
            "[,]",
            "['\\q']",
            "[\"\\ud83d\"]",
            "[-]",
            "(1]",
            r#"["\udfff\udfff"]"#,
            r#"["\ud800\uffff"]"#,
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
