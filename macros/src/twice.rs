//! Detection of several short forms in one module.
//!
//! Their items would have the same names.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;

use onnx_embed_ir::emit::camel;
use proc_macro2::Span;

/// Returns the error message for a short form if an earlier one is in the same module.
pub fn complaint(call: Span, written: &str) -> Option<String> {
    let call = call.unwrap();
    let text = std::fs::read_to_string(call.local_file()?).ok()?;
    let first = first_in_scope(text, call.line())?;
    let stem = Path::new(written).file_stem()?.to_string_lossy();
    let name = camel(&stem);
    Some(format!(
        "`Model` is already defined in this module, on line {first}\n\n  \
         help: name the second model, as in onnx_model! {{ pub struct {name} = {written:?}; }}"
    ))
}

/// A source file and the calls in it that repeat the name `Model`.
struct Source {
    text: String,
    repeated: Vec<Repeated>,
}

/// A call of the short form after another one in the same scope.
#[derive(Debug, PartialEq)]
struct Repeated {
    lines: RangeInclusive<usize>,
    /// Line of the first call in the scope.
    first: usize,
}

thread_local! {
    /// The last file that was read, so that a file with a thousand models is searched once, not a thousand times.
    static LAST: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// Returns the line of the first short form in a scope if `line` of `text` has a later one.
fn first_in_scope(text: String, line: usize) -> Option<usize> {
    LAST.with_borrow_mut(|last| {
        let known = last.take().filter(|last| last.text == text);
        let source = last.insert(known.unwrap_or_else(|| Source { repeated: repeated(&text), text }));
        let mut repeated = source.repeated.iter();
        Some(repeated.find(|call| call.lines.contains(&line))?.first)
    })
}

/// Returns the short forms that follow another one in the same scope.
fn repeated(text: &str) -> Vec<Repeated> {
    let mut repeated = Vec::new();
    // Line of the first short form in each open scope.
    let mut scopes: Vec<Option<usize>> = vec![None];
    let mut tokens = Tokens::new(text);
    while let Some(token) = tokens.next() {
        match token {
            "{" => scopes.push(None),
            "}" if scopes.len() > 1 => _ = scopes.pop(),
            "onnx_model" => {
                let mut ahead = tokens.clone();
                let start = tokens.line;
                let called = ahead.next() == Some("!");
                let opened = ahead.next().is_some_and(|token| ["(", "[", "{"].contains(&token));
                let path = ahead.next().filter(|token| token.contains('"') || *token == "concat");
                let lines = start..=ahead.line;
                let (true, true, Some(_), Some(first)) = (called, opened, path, scopes.last_mut()) else {
                    continue;
                };
                match *first {
                    Some(first) => repeated.push(Repeated { lines, first }),
                    None => *first = Some(start),
                }
            }
            _ => {}
        }
    }
    repeated
}

/// Iterator over the tokens of Rust code, as far as it is necessary to find code: words, strings and single characters.
#[derive(Clone)]
struct Tokens<'t> {
    rest: &'t str,
    /// Line in which the last token starts.
    line: usize,
    /// Number of line breaks within the last token.
    within: usize,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Self {
        Tokens { rest: text, line: 1, within: 0 }
    }

    fn take(&mut self, length: usize) -> &'t str {
        let (token, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.line += self.within;
        self.within = token.matches('\n').count();
        token
    }

    /// Returns the length of white space or of a comment at the current position.
    fn space(&self) -> usize {
        let rest = self.rest;
        if rest.starts_with("//") {
            return rest.find('\n').unwrap_or(rest.len());
        }
        if !rest.starts_with("/*") {
            return rest.len() - rest.trim_start().len();
        }
        let mut depth = 0usize;
        let bytes = rest.as_bytes();
        for (at, pair) in bytes.windows(2).enumerate() {
            match pair {
                b"/*" => depth += 1,
                b"*/" => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return at + 2;
            }
        }
        rest.len()
    }

    fn length(&self) -> usize {
        let rest = self.rest;
        if let Some(length) = string(rest) {
            return length;
        }
        let word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = rest.find(|letter| !word(letter)).unwrap_or(rest.len());
        if end > 0 {
            return end;
        }
        if let Some(behind) = rest.strip_prefix('\'') {
            // A character literal, or the quote of a lifetime.
            let mut letters = behind.char_indices();
            let length = match (letters.next(), letters.next()) {
                (Some((_, '\\')), Some((at, escaped))) => {
                    let end = behind.get(at + escaped.len_utf8()..).and_then(|rest| rest.find('\''));
                    end.map(|end| at + escaped.len_utf8() + end + 1)
                }
                (Some(_), Some((at, '\''))) => Some(at + 1),
                _ => None,
            };
            return 1 + length.unwrap_or(0);
        }
        rest.chars().next().map_or(0, char::len_utf8)
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            match self.space() {
                0 => break,
                length => _ = self.take(length),
            }
        }
        match self.length() {
            0 => None,
            length => Some(self.take(length)),
        }
    }
}

/// Returns the length of a string literal at the beginning of a text.
fn string(text: &str) -> Option<usize> {
    let plain = text.trim_start_matches(['b', 'c']);
    if text.len() - plain.len() > 1 {
        return None;
    }
    let raw = plain.strip_prefix('r').filter(|rest| rest.starts_with(['"', '#']));
    if let Some(rest) = raw {
        let signs = rest.len() - rest.trim_start_matches('#').len();
        let inside = rest.get(signs..)?.strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(signs));
        let end = inside.find(&close).map_or(inside.len(), |end| end + close.len());
        return Some(text.len() - inside.len() + end);
    }
    let inside = plain.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.find(|letter| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    });
    Some(text.len() - inside.len() + end.map_or(inside.len(), |end| end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_short_form_of_a_module_is_found() {
        let text = "onnx_model!(\"a.onnx\");\n\nonnx_embed::onnx_model! {\n    \"b.onnx\"\n}\n";
        let lines = 3..=4;
        assert_eq!(repeated(text), [Repeated { lines, first: 1 }]);
    }

    #[test]
    fn other_modules_and_named_models_do_not_count() {
        let text = "mod a { onnx_model!(\"a.onnx\"); }\nmod b { onnx_model!(\"b.onnx\"); }\n\
                    onnx_model! { pub struct C = \"c.onnx\"; }\nonnx_model!(\"d.onnx\");";
        assert_eq!(repeated(text), []);
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        let text = "// onnx_model!(\"a\")\n/* { /* */ onnx_model!(\"a\") */\n\
                    const A: &str = r#\"onnx_model!(\"a\")\"#;\nfn f<'a>(x: &'a str) -> char { '{' }\n\
                    fn g() { \"}\\\"{\"; '\\''; onnx_model!(\"b\"); }\nonnx_model!(\"c\");";
        assert_eq!(repeated(text), []);
    }

    #[test]
    fn a_file_that_changes_is_read_anew() {
        let one = "onnx_model!(\"a.onnx\");\n";
        let two = format!("{one}onnx_model!(\"b.onnx\");");
        assert_eq!(first_in_scope(one.to_owned(), 2), None);
        assert_eq!(first_in_scope(two, 2), Some(1));
        assert_eq!(first_in_scope(one.to_owned(), 2), None);
    }
}
