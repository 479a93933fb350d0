//! What an operator's debug text says of attributes.

use std::fmt::{self, Debug, Write};

/// A longer debug text is not read, a longer result not shown.
const LONGEST_DEBUG: usize = 4000;
const LONGEST: usize = 240;

/// The fields of an operator, without tables that hold functions and without what is absent, off or
/// empty.
pub fn text(operator: &dyn Debug) -> String {
    let mut debug = Bounded::default();
    if write!(debug, "{operator:?}").is_err() {
        return "..".to_owned();
    }
    let mut reader = Reader { rest: &debug.text };
    let text = match reader.term() {
        Term::Fields(fields) | Term::Table(fields) => fields.join(", "),
        _ => String::new(),
    };
    if text.len() > LONGEST {
        "..".to_owned()
    } else {
        text
    }
}

/// A text that ends the writing when it grows too long.
#[derive(Default)]
struct Bounded {
    text: String,
}

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.text.len() + more.len() > LONGEST_DEBUG {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

/// A part of a debug text.
enum Term {
    /// Absent, off or empty.
    Nothing,
    Text(String),
    /// What a struct or a tuple holds.
    Fields(Vec<String>),
    /// The same of one that holds the address of a function, or that address.
    Table(Vec<String>),
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// `Name { a: 1 }`, `Name(1)`, `[1, 2]`, `"text"` or a word.
    fn term(&mut self) -> Term {
        self.spaces();
        if self.rest.starts_with('"') {
            return Term::Text(self.string().to_owned());
        }
        let word = self.until(|character| "{}()[],: \"".contains(character));
        if self.rest.starts_with(" {") {
            self.advance();
        }
        let Some(open) = self
            .rest
            .chars()
            .next()
            .filter(|open| "{([".contains(*open))
        else {
            return match word {
                "None" | "false" | "" => Term::Nothing,
                word if word.starts_with("0x") => Term::Table(Vec::new()),
                word => Term::Text(word.to_owned()),
            };
        };
        self.advance();
        let (fields, table) = self.list(open);
        match (open, word) {
            _ if table => Term::Table(fields),
            ('[', _) if fields.is_empty() => Term::Nothing,
            ('[', _) => Term::Text(format!("[{}]", fields.join(", "))),
            ('(', "Some") => Term::Text(fields.join(", ")),
            _ => Term::Fields(fields),
        }
    }

    /// The items up to the closing bracket, and whether a function is among them.
    fn list(&mut self, open: char) -> (Vec<String>, bool) {
        let (mut items, mut table) = (Vec::new(), false);
        loop {
            self.spaces();
            match self.rest.chars().next() {
                None => return (items, table),
                Some('}' | ')' | ']') => {
                    self.advance();
                    return (items, table);
                }
                Some(',') => self.advance(),
                Some(_) => self.item(open, &mut items, &mut table),
            }
        }
    }

    fn item(&mut self, open: char, items: &mut Vec<String>, table: &mut bool) {
        let before = self.rest;
        let name = self.until(|character| !(character.is_alphanumeric() || character == '_'));
        let named = open == '{' && self.rest.starts_with(": ");
        if named {
            self.advance()
        } else {
            self.rest = before
        }
        let text = match self.term() {
            // Elements of lists say something even when they are false.
            Term::Nothing if open == '[' => "false".to_owned(),
            Term::Text(text) if !text.is_empty() => text,
            Term::Fields(fields) if !fields.is_empty() => format!("{{{}}}", fields.join(", ")),
            Term::Table(_) => return *table = true,
            _ => String::new(),
        };
        if self.rest.len() == before.len() {
            // Nothing begins with this character: passing over it lets the reading end.
            self.advance();
        }
        match named {
            _ if text.is_empty() => {}
            true => items.push(format!("{name}: {text}")),
            false => items.push(text),
        }
    }

    fn string(&mut self) -> &'t str {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, character)| {
            let ends = *character == '"' && !escaped;
            escaped = *character == '\\' && !escaped;
            ends
        });
        let end = end.map_or(self.rest.len(), |(at, _)| at + 1);
        self.take(end)
    }

    fn until(&mut self, stop: impl Fn(char) -> bool) -> &'t str {
        self.take(self.rest.find(stop).unwrap_or(self.rest.len()))
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn advance(&mut self) {
        let length = self.rest.chars().next().map_or(0, char::len_utf8);
        self.take(length);
    }

    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[allow(dead_code)]
    enum Kind {
        Max(bool),
        Average,
    }

    #[derive(Debug, Default)]
    #[allow(dead_code)]
    struct Pool {
        sizes: Option<Vec<i64>>,
        flags: [bool; 2],
        text: &'static str,
        table: Option<fn(f64) -> f64>,
        kind: Option<Kind>,
        inner: Option<Box<Pool>>,
        old: bool,
    }

    fn pool() -> Pool {
        Pool {
            sizes: Some(vec![2, -3]),
            flags: [false, true],
            text: "a, \"b}",
            table: Some(f64::sin),
            ..Pool::default()
        }
    }

    #[test]
    fn fields_stand_without_what_says_nothing() {
        let expected = r#"sizes: [2, -3], flags: [false, true], text: "a, \"b}""#;
        assert_eq!(text(&pool()), expected);
    }

    #[test]
    fn fields_nest() {
        let outer = Pool {
            kind: Some(Kind::Average),
            inner: Some(Box::new(Pool {
                table: None,
                ..pool()
            })),
            text: "",
            ..Pool::default()
        };
        let expected = r#"flags: [false, false], text: "", kind: Average, inner: {sizes: [2, -3], flags: [false, true], text: "a, \"b}"}"#;
        assert_eq!(text(&outer), expected);
        assert_eq!(text(&Kind::Max(true)), "true");
    }

    #[test]
    fn tables_of_functions_fall_away() {
        let outer = Pool {
            inner: Some(Box::new(pool())),
            text: "a",
            ..Pool::default()
        };
        assert_eq!(text(&outer), r#"flags: [false, false], text: "a""#);
    }

    #[test]
    fn an_operator_without_fields_has_no_text() {
        assert_eq!(text(&Kind::Average), "");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(text(&Some(vec![1.5f64; 4000])), "..");
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        struct Raw(&'static str);
        impl Debug for Raw {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0)
            }
        }
        for raw in [
            "{:",
            "A { ] : } (",
            "[\"",
            "((((",
            "A(: :)",
            "}",
            "A { a: }",
        ] {
            text(&Raw(raw));
        }
    }
}
