//! Code as text, with a line for each statement and field.

use std::fmt::Display;
use std::io::{self, Write};

use proc_macro2::Literal;

use super::text::Token;
use super::{Bracket, Code};

impl Code {
    /// Writes the text without creating tokens for a parser or formatter, which take hundreds of bytes each. Each part
    /// of the tree is dropped after it is written.
    pub fn write_lines(self, out: &mut impl Write) -> io::Result<()> {
        let mut lines = Lines { out, brackets: Vec::new(), before: Before::Line };
        self.each_token(&mut |token| lines.add(token))?;
        lines.end()
    }
}

/// Context of the next token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The start of a line.
    Line,
    /// No space before the next token.
    Close,
    Word,
    Name,
    /// A closing brace.
    Brace,
}

struct Lines<'o, W> {
    out: &'o mut W,
    /// Open brackets, each with the number of braces that are open inside it.
    brackets: Vec<(Bracket, usize)>,
    before: Before,
}

impl<W: Write> Lines<'_, W> {
    fn add(&mut self, token: Token<'_>) -> io::Result<()> {
        match token {
            Token::Word(name) => {
                self.text(name)?;
                self.before = Before::Name;
                Ok(())
            }
            Token::Sign(sign) => self.sign(sign),
            Token::Lifetime(name) => self.text(name),
            Token::Literal(text) => self.text(text),
            Token::Text(text) => self.text(Literal::string(text)),
            Token::Foreign(tokens) if tokens.is_empty() => Ok(()),
            Token::Foreign(tokens) => self.text(tokens),
            Token::Open(bracket) => self.open(bracket),
            Token::Close(bracket) => self.close(bracket),
        }
    }

    fn sign(&mut self, sign: &str) -> io::Result<()> {
        let follows = matches!(sign, "," | ";" | "." | ":" | "::" | "?" | "..");
        if follows && self.before != Before::Line {
            self.before = Before::Close;
        }
        self.text(sign)?;
        let in_braces = !matches!(self.brackets.last(), Some((Bracket::Round | Bracket::Square, _)));
        match sign {
            "." | ".." | "::" | "&" | "#" | "!" => self.before = Before::Close,
            ";" => self.end()?,
            "," if in_braces => self.end()?,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, bracket: Bracket) -> io::Result<()> {
        let depth = self.depth();
        if bracket == Bracket::Curly {
            self.text("{")?;
            self.end()?;
            self.brackets.push((bracket, depth + 1));
            return Ok(());
        }
        if self.before == Before::Name {
            self.before = Before::Close;
        }
        self.text(if bracket == Bracket::Round { "(" } else { "[" })?;
        self.before = Before::Close;
        self.brackets.push((bracket, depth));
        Ok(())
    }

    fn close(&mut self, bracket: Bracket) -> io::Result<()> {
        let text = match bracket {
            Bracket::Round => ")",
            Bracket::Square => "]",
            Bracket::Curly => {
                self.end()?;
                self.brackets.pop();
                self.text("}")?;
                self.before = Before::Brace;
                return Ok(());
            }
        };
        self.brackets.pop();
        self.before = Before::Close;
        self.text(text)
    }

    /// Returns the number of open braces.
    fn depth(&self) -> usize {
        self.brackets.last().map_or(0, |(_, depth)| *depth)
    }

    fn text(&mut self, text: impl Display) -> io::Result<()> {
        if self.before == Before::Brace {
            self.end()?;
        }
        match self.before {
            Before::Line => write!(self.out, "{:1$}", "", self.depth() * 4)?,
            Before::Word | Before::Name => self.out.write_all(b" ")?,
            Before::Close | Before::Brace => {}
        }
        self.before = Before::Word;
        write!(self.out, "{text}")
    }

    /// Ends the line unless it is empty.
    fn end(&mut self) -> io::Result<()> {
        if self.before != Before::Line {
            self.before = Before::Line;
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proc_macro2::TokenStream;

    use super::super::code;

    #[test]
    fn each_statement_has_a_line() {
        let code = code! {
            #[doc = " A struct."]
            pub struct S<'a> { a: &'a [f32], b: Vec<usize>, }
            impl S<'_> {
                fn f(&mut self, x: f32) -> Option<f32> {
                    let y = if x >= -1.0 { g(&x, |z| !z) } else { self.a[0] * 2.0 };
                    for at in 0..4 { y += self.b[at]; }
                    Some(y?.max(Self::LEAST))
                }
            }
        };
        let mut text = Vec::new();
        code.clone().write_lines(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let read: TokenStream = text.parse().unwrap();
        let dense = |tokens: &TokenStream| tokens.to_string().replace(' ', "");
        assert_eq!(dense(&read), dense(&code.tokens()));
        expect![[r##"
            #[doc = " A struct."] pub struct S < 'a > {
                a: &'a [f32],
                b: Vec < usize >,
            }
            impl S < '_ > {
                fn f(&mut self, x: f32) -> Option < f32 > {
                    let y = if x >= - 1.0 {
                        g(&x, | z | !z)
                    }
                    else {
                        self.a[0] * 2.0
                    };
                    for at in 0..4 {
                        y += self.b[at];
                    }
                    Some(y?.max(Self::LEAST))
                }
            }
        "##]]
        .assert_eq(&text);
    }
}
