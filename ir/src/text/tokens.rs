//! Tokens of the textual form.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Identifier(&'a str),
    Integer(&'a str),
    Float(&'a str),
    /// The text between the quotes, with its escapes.
    Quoted(&'a str),
    Unterminated,
    Arrow,
    Mark(char),
    End,
}

/// Returns the text after white space and comments.
pub(super) fn skip_space(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        if !rest.starts_with('#') {
            return rest;
        }
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
}

/// Returns the token at the start of a text without leading white space, and its length.
pub(super) fn first(rest: &str) -> (Token<'_>, usize) {
    match rest.chars().next() {
        None => (Token::End, 0),
        Some('"') => quoted(rest),
        Some('=') if rest.starts_with("=>") => (Token::Arrow, 2),
        Some('0'..='9' | '-') => number(rest),
        Some(first) if first.is_ascii_alphabetic() || first == '_' => {
            let word = span(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            (Token::Identifier(word), word.len())
        }
        Some(first) => (Token::Mark(first), first.len_utf8()),
    }
}

fn quoted(rest: &str) -> (Token<'_>, usize) {
    let mut escaped = false;
    for (offset, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                return (Token::Quoted(rest.get(1..offset).unwrap_or_default()), offset + 1);
            }
            _ => {}
        }
    }
    (Token::Unterminated, rest.len())
}

/// Parses `-?digits(.digits?)?(e[+-]?digits)?`, or a minus before `inf` or `nan`.
fn number(rest: &str) -> (Token<'_>, usize) {
    let tail = |length| rest.get(length..).unwrap_or_default();
    let digits = |length| span(tail(length), |c| c.is_ascii_digit()).len();
    let written = |length| rest.get(..length).unwrap_or_default();

    let sign = usize::from(rest.starts_with('-'));
    let mut length = sign + digits(sign);
    if length == sign {
        let word = span(tail(sign), |c| c.is_ascii_alphabetic());
        let special = ["inf", "infinity", "nan"].iter().any(|s| word.eq_ignore_ascii_case(s));
        let length = sign + word.len();
        return if special { (Token::Float(written(length)), length) } else { (Token::Mark('-'), 1) };
    }
    let whole = length;
    if tail(length).starts_with('.') {
        length += 1;
        length += digits(length);
    }
    if tail(length).starts_with(['e', 'E']) {
        length += 1;
        length += usize::from(tail(length).starts_with(['+', '-']));
        length += digits(length);
    }
    let token = if length == whole { Token::Integer } else { Token::Float };
    (token(written(length)), length)
}

fn span(text: &str, matches: impl Fn(char) -> bool) -> &str {
    text.split_once(|c| !matches(c)).map_or(text, |(head, _)| head)
}

#[cfg(test)]
mod tests {
    use super::Token::{self, *};
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut rest = text;
        let next = || {
            rest = skip_space(rest);
            let (token, length) = first(rest);
            rest = &rest[length..];
            Some(token).filter(|token| *token != End)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn numbers_have_a_sign_a_point_and_an_exponent() {
        let expected = [Integer("0"), Integer("-7"), Float("1."), Float("-1.5e-3"), Float("2E+8")];
        assert_eq!(tokens("0 -7 1. -1.5e-3 2E+8"), expected);
    }

    #[test]
    fn a_minus_belongs_to_infinity_and_nan_alone() {
        assert_eq!(tokens("-inf -NaN"), [Float("-inf"), Float("-NaN")]);
        assert_eq!(tokens("-x"), [Mark('-'), Identifier("x")]);
    }

    #[test]
    fn comments_reach_to_the_end_of_the_line() {
        assert_eq!(tokens("a # b => c\n # d\n=> e # f"), [Identifier("a"), Arrow, Identifier("e")]);
    }

    #[test]
    fn strings_end_at_a_quote_without_a_backslash() {
        assert_eq!(tokens(r#""a\"b" c"#), [Quoted(r#"a\"b"#), Identifier("c")]);
        assert_eq!(tokens(r#""a\""#), [Unterminated]);
    }
}
