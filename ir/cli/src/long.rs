//! Code that is too long to be formatted.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The words of code that the parser and the formatter should see at most: they take 250 bytes for each.
const LONGEST: usize = 150_000;

/// Whether code has more words than the formatter should see.
pub fn is_long(tokens: &TokenStream) -> bool {
    let mut words = Words { left: LONGEST };
    // Writing fails where no word is left.
    write!(words, "{tokens}").is_err()
}

/// Counts words of what is written: tokens that are asked for one by one would be copied.
struct Words {
    left: usize,
}

impl fmt::Write for Words {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let words = text.bytes().filter(|byte| *byte == b' ').count();
        self.left = self.left.checked_sub(words).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Writes code with a line for each statement and field, token by token.
pub fn write(tokens: TokenStream, out: &mut impl Write) -> io::Result<()> {
    let mut lines = Lines {
        out,
        depth: 0,
        before: Before::Line,
    };
    lines.all(tokens, true)?;
    lines.end()
}

/// What stands before the next token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The start of a line.
    Line,
    /// What the token follows without a space.
    Close,
    Word,
    Name,
    /// The end of braces.
    Brace,
}

struct Lines<'o, W> {
    out: &'o mut W,
    depth: usize,
    before: Before,
}

impl<W: Write> Lines<'_, W> {
    /// Tokens that stand in braces, or in others.
    fn all(&mut self, tokens: TokenStream, braces: bool) -> io::Result<()> {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (delimiter, inside) = (group.delimiter(), group.stream());
                    // What is shared would be copied to be taken apart.
                    drop(group);
                    self.group(delimiter, inside)?;
                }
                TokenTree::Punct(punct) => {
                    let letter = punct.as_char();
                    if matches!(letter, ',' | ';' | '.' | ':' | '?') && self.before != Before::Line
                    {
                        self.before = Before::Close;
                    }
                    self.text(letter)?;
                    let joint = punct.spacing() == proc_macro2::Spacing::Joint;
                    if joint || matches!(letter, '.' | '&' | '#' | '!') {
                        self.before = Before::Close;
                    } else if letter == ';' || letter == ',' && braces {
                        self.end()?;
                    }
                }
                other => {
                    let is_name = matches!(other, TokenTree::Ident(_));
                    self.text(other)?;
                    if is_name {
                        self.before = Before::Name;
                    }
                }
            }
        }
        Ok(())
    }

    fn group(&mut self, delimiter: Delimiter, inner: TokenStream) -> io::Result<()> {
        let (open, close) = match delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
            Delimiter::Brace => {
                self.text("{")?;
                self.end()?;
                self.depth += 1;
                self.all(inner, true)?;
                self.end()?;
                self.depth = self.depth.saturating_sub(1);
                self.text("}")?;
                self.before = Before::Brace;
                return Ok(());
            }
        };
        if self.before == Before::Name {
            self.before = Before::Close;
        }
        self.text(open)?;
        self.before = Before::Close;
        self.all(inner, false)?;
        self.before = Before::Close;
        self.text(close)
    }

    fn text(&mut self, text: impl std::fmt::Display) -> io::Result<()> {
        match self.before {
            Before::Line => write!(self.out, "{:1$}", "", self.depth * 4)?,
            Before::Brace => {
                self.end()?;
                return self.text(text);
            }
            Before::Word | Before::Name => self.out.write_all(b" ")?,
            Before::Close => {}
        }
        self.before = Before::Word;
        write!(self.out, "{text}")
    }

    /// Ends the line, if there is one.
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
    use quote::quote;

    use super::*;

    #[test]
    fn each_statement_has_a_line() {
        let tokens = quote! {
            #[doc = " A struct."]
            pub struct S<'a> { a: &'a [f32], b: Vec<usize>, }
            impl S<'_> {
                fn f(&mut self, x: f32) -> Option<f32> {
                    let y = if x >= -1.0 { g(&x, |z| !z) } else { self.a[0] * 2.0 };
                    Some(y?.max(Self::LEAST))
                }
            }
        };
        let mut text = Vec::new();
        write(tokens.clone(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let read: TokenStream = text.parse().unwrap();
        let dense = |tokens: &TokenStream| tokens.to_string().replace(' ', "");
        assert_eq!(dense(&read), dense(&tokens));
        expect![[r##"
            #[doc = " A struct."] pub struct S < 'a > {
                a: &'a[f32],
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
                    Some(y?.max(Self:: LEAST))
                }
            }
        "##]]
        .assert_eq(&text);
    }

    #[test]
    fn much_code_is_long() {
        let tokens = |count: usize| (0..count).map(|_| quote!({ a })).collect();
        assert!(!is_long(&tokens(LONGEST / 4)));
        assert!(is_long(&tokens(LONGEST)));
    }
}
