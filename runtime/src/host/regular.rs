//! Regular expressions in `RegexFullMatch` and `Tokenizer`.
//!
//! `com.microsoft.Tokenizer` uses them for separators or for tokens.

use core::ops::Range;
use std::sync::OnceLock;

use regex::Regex;
use regex_automata::{Anchored, Input, MatchKind, meta};

use super::text::TokenRows;
use crate::Array;

/// A regular expression that is compiled once and matches whole strings.
pub struct Pattern {
    text: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// Creates a pattern in the syntax of the crate `regex`.
    pub const fn new(text: &'static str) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// Returns the compiled expression.
    ///
    /// # Panics
    ///
    /// If the text is not a regular expression, or needs too much memory.
    #[track_caller]
    fn regex(&self) -> &Regex {
        let whole = || format!(r"\A(?:{})\z", self.text);
        self.compiled.get_or_init(|| compiled(self.text, Regex::new(&whole())))
    }
}

/// Returns `true` for each string that matches entirely.
pub fn full_match(x: &Array<String>, pattern: &Pattern) -> Array<bool> {
    let regex = pattern.regex();
    x.map(|text| regex.is_match(text))
}

/// A regular expression that is compiled once and finds the leftmost longest match, as in POSIX.
pub struct Longest {
    text: &'static str,
    compiled: OnceLock<Finder>,
}

/// Pair of expressions: the match of `first`, which prefers the first alternative, starts where the longest one does.
struct Finder {
    first: Regex,
    longest: meta::Regex,
}

impl Longest {
    /// Creates a pattern in the syntax of the crate `regex`.
    pub const fn new(text: &'static str) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// Returns the compiled expressions.
    ///
    /// # Panics
    ///
    /// If the text is not a regular expression, or needs too much memory.
    #[track_caller]
    fn finder(&self) -> &Finder {
        self.compiled.get_or_init(|| Finder {
            first: compiled(self.text, Regex::new(self.text)),
            longest: compiled(
                self.text,
                meta::Builder::new()
                    .configure(meta::Config::new().match_kind(MatchKind::All))
                    .build(self.text),
            ),
        })
    }
}

#[track_caller]
fn compiled<R, E: core::fmt::Display>(text: &str, built: Result<R, E>) -> R {
    match built {
        Ok(regex) => regex,
        Err(error) => panic!("cannot compile the regular expression `{text}`: {error}"),
    }
}

impl Finder {
    /// Returns the next match from `start` on, which is at most the length of the text.
    fn find(&self, text: &str, start: usize) -> Option<Range<usize>> {
        let start = self.first.find_at(text, start)?.start();
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        let end = self.longest.search_half(&input)?.offset();
        Some(start..end)
    }

    /// Returns the parts between matches that have at least `least` characters.
    ///
    /// After an empty match, the next character is part of the separator, as in ONNX Runtime.
    fn split<'t>(&self, text: &'t str, least: usize) -> Vec<&'t str> {
        let mut parts = Vec::new();
        let mut start = Some(0);
        while let Some(from) = start {
            let found = self.find(text, from);
            let part = &text[from..found.as_ref().map_or(text.len(), |found| found.start)];
            parts.extend(has(part, least).then_some(part));
            start = found.and_then(|found| match found.is_empty() {
                true => after(text, found.start),
                false => Some(found.end),
            });
        }
        parts
    }

    /// Returns the matches of at least `least` characters.
    ///
    /// After a shorter match, the search continues at its second character, as in ONNX Runtime.
    fn matches<'t>(&self, text: &'t str, least: usize) -> Vec<&'t str> {
        let mut tokens = Vec::new();
        let mut start = Some(0);
        while let Some(found) = start.and_then(|start| self.find(text, start)) {
            let token = &text[found.clone()];
            start = if has(token, least) {
                tokens.push(token);
                Some(found.end)
            } else {
                after(text, found.start)
            };
        }
        tokens
    }
}

/// Returns `true` if a text has at least `least` characters, and is not empty.
fn has(text: &str, least: usize) -> bool {
    text.chars().nth(least.max(1) - 1).is_some()
}

/// Returns the offset of the end of the character at `at`, if there is one.
fn after(text: &str, at: usize) -> Option<usize> {
    text[at..].chars().next().map(|letter| at + letter.len_utf8())
}

/// Splits each string by every separator in turn, and drops parts of less than `least` characters.
pub fn tokens_between(
    x: &Array<String>,
    separators: &[Longest],
    least: usize,
    rows: TokenRows<'_>,
) -> Array<String> {
    let finders: Vec<&Finder> = separators.iter().map(Longest::finder).collect();
    rows.fill(x, |text| {
        finders.iter().fold(vec![text.as_str()], |parts, finder| {
            let parts = parts.into_iter();
            parts.flat_map(|part| finder.split(part, least)).collect()
        })
    })
}

/// Returns the matches in each string that have at least `least` characters.
pub fn tokens_matching(
    x: &Array<String>,
    pattern: &Longest,
    least: usize,
    rows: TokenRows<'_>,
) -> Array<String> {
    let finder = pattern.finder();
    rows.fill(x, |text| finder.matches(text, least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &'static str, text: &str) -> bool {
        full_match(&Array::scalar(text.to_owned()), &Pattern::new(pattern)).item()
    }

    const ROWS: TokenRows<'static> = TokenRows { pad: "#", marked: false };

    fn between(separators: &[&'static str], least: usize, text: &str) -> Vec<String> {
        let separators: Vec<Longest> = separators.iter().copied().map(Longest::new).collect();
        let x = Array::vector([text.to_owned()]);
        tokens_between(&x, &separators, least, ROWS).into_data()
    }

    fn matching(pattern: &'static str, least: usize, text: &str) -> Vec<String> {
        let x = Array::vector([text.to_owned()]);
        tokens_matching(&x, &Longest::new(pattern), least, ROWS).into_data()
    }

    #[test]
    fn the_whole_string_matches() {
        assert!(matches("a|ab", "ab"));
        assert!(!matches("a", "ab") && !matches("b", "ab") && matches("", ""));
        assert!(!matches(".", "\n") && matches("(?s).", "\n"));
    }

    // Results of ONNX Runtime 1.32.
    #[test]
    fn separators_split_one_after_the_other() {
        assert_eq!(between(&["XY", "YZ"], 1, "aXYZb"), ["a", "Zb"]);
        assert_eq!(between(&["YZ", "XY"], 1, "aXYZb"), ["aX", "b"]);
        assert_eq!(between(&["Y", "XYZ"], 1, "aXYZb"), ["aX", "Zb"]);
        assert_eq!(between(&["[0-9]+", "b"], 1, "a1b22"), ["a"]);
        // The next separator treats each part as a separate string.
        assert_eq!(between(&[" ", "^a"], 1, "ab ac"), ["b", "c"]);
        assert_eq!(between(&["aa"], 1, "aaa"), ["a"]);
    }

    #[test]
    fn an_empty_separator_takes_the_next_character() {
        assert_eq!(between(&["(?-u:\\b)"], 1, "ab ab"), ["b", "b"]);
        assert_eq!(between(&["x*"], 1, "axxb"), [""; 0]);
        assert_eq!(between(&["x*"], 1, "é"), [""; 0]);
    }

    #[test]
    fn short_tokens_are_left_out() {
        assert_eq!(between(&[" "], 2, "é é日 ab c"), ["é日", "ab"]);
        assert_eq!(matching("[a-z]+", 2, "a bc def"), ["bc", "def"]);
        // There is another match from the second character on.
        assert_eq!(matching("a?b|bcd", 3, "abcd"), ["bcd"]);
    }

    #[test]
    fn the_longest_match_counts() {
        assert_eq!(matching("a|aa|aab", 1, "aab"), ["aab"]);
        assert_eq!(matching("a+?", 1, "aab"), ["aa"]);
        assert_eq!(matching("(a|ab)(c|bcd)", 1, "abcd"), ["abcd"]);
        assert_eq!(between(&["b|bc"], 1, "abcd"), ["a", "d"]);
    }

    #[test]
    fn matches_see_what_is_before_them() {
        assert_eq!(matching("^.", 1, "abc"), ["a"]);
        assert_eq!(matching(r"(?-u:\b)[a-z]+", 1, "1ab cd"), ["cd"]);
        assert_eq!(matching("(?m)^.", 1, "ab\ncd"), ["a", "c"]);
        assert_eq!(matching(".$", 1, "abc"), ["c"]);
        assert_eq!(matching("x*", 1, "axxb"), ["xx"]);
    }
}
