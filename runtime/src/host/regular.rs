//! ONNX's `RegexFullMatch`.

use std::sync::OnceLock;

use regex::Regex;

use crate::Array;

/// A regular expression that is compiled once.
pub struct Pattern {
    text: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// A regular expression in the syntax of the crate `regex`.
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
        }
    }

    /// # Panics
    ///
    /// If the text is no regular expression, or one that takes too much memory.
    #[track_caller]
    fn regex(&self) -> &Regex {
        let whole = || format!(r"\A(?:{})\z", self.text);
        self.compiled.get_or_init(|| match Regex::new(&whole()) {
            Ok(regex) => regex,
            Err(error) => panic!(
                "the regular expression `{}` cannot be compiled: {error}",
                self.text
            ),
        })
    }
}

/// Whether the whole of each string matches.
pub fn full_match(x: &Array<String>, pattern: &Pattern) -> Array<bool> {
    let regex = pattern.regex();
    x.map(|text| regex.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &'static str, text: &str) -> bool {
        full_match(&Array::scalar(text.to_owned()), &Pattern::new(pattern)).item()
    }

    #[test]
    fn the_whole_string_matches() {
        assert!(matches("a|ab", "ab"));
        assert!(!matches("a", "ab") && !matches("b", "ab") && matches("", ""));
        assert!(!matches(".", "\n") && matches("(?s).", "\n"));
    }
}
