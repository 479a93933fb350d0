//! Tokens of strings as rows of equal length.
//!
//! Used by `com.microsoft.Tokenizer`.

use crate::Array;
use alloc::{string::String, string::ToString, vec::Vec};
use onnx_embed_kernels::sizes::elements;

/// Layout of the tokens of a string in a row.
#[derive(Clone, Copy, Debug)]
pub struct TokenRows<'a> {
    /// Padding of rows that are shorter than the longest one.
    pub pad: &'a str,
    /// Whether U+0002 and U+0003 enclose the tokens of each row.
    pub marked: bool,
}

const START: &str = "\u{2}";
const END: &str = "\u{3}";

/// Returns the characters of each string along a new last axis.
pub fn characters(x: &Array<String>, rows: TokenRows<'_>) -> Array<String> {
    let mut bounds = Vec::new();
    rows.fill(x, |text| {
        bounds.clear();
        bounds.extend(text.char_indices().map(|(at, _)| at));
        bounds.push(text.len());
        bounds.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
    })
}

impl TokenRows<'_> {
    /// Returns the tokens of each string along a new last axis.
    ///
    /// The axis has size 0, without marks, if no string has a token.
    ///
    /// # Panics
    ///
    /// If the result exceeds the memory limit.
    pub(crate) fn fill<'t>(
        self,
        x: &'t Array<String>,
        tokens: impl FnMut(&'t String) -> Vec<&'t str>,
    ) -> Array<String> {
        let found: Vec<Vec<&str>> = x.data().iter().map(tokens).collect();
        let longest = found.iter().map(Vec::len).max().unwrap_or(0);
        let width = match (longest, self.marked) {
            (0, _) | (_, false) => longest,
            (_, true) => longest + 2,
        };
        let shape = [x.shape(), &[width]].concat();
        let count = elements(&shape, size_of::<String>() + self.pad.len());
        let mut data = Vec::with_capacity(count);
        if width > 0 {
            let mark = |text| self.marked.then_some(text);
            for row in found {
                let pads = core::iter::repeat_n(self.pad, longest - row.len());
                let row = mark(START).into_iter().chain(row).chain(mark(END));
                data.extend(row.chain(pads).map(ToString::to_string));
            }
        }
        Array::new(shape, data)
    }
}

#[cfg(test)]
mod tests {
    use onnx_embed_kernels::{attempt::attempt, memory_limit::with_memory_limit};

    use super::*;

    const PLAIN: TokenRows<'static> = TokenRows { pad: "#", marked: false };
    const MARKED: TokenRows<'static> = TokenRows { pad: "#", marked: true };

    fn texts<const N: usize>(texts: [&str; N]) -> Array<String> {
        Array::vector(texts.map(ToString::to_string))
    }

    #[test]
    fn characters_are_code_points() {
        let found = characters(&texts(["ab", "é\n𝄞", ""]), PLAIN);
        assert_eq!(found.shape(), [3, 3]);
        assert_eq!(found.data(), ["a", "b", "#", "é", "\n", "𝄞", "#", "#", "#"]);
        let column = Array::new([2, 1], texts(["a", "bc"]).into_data());
        assert_eq!(characters(&column, PLAIN).shape(), [2, 1, 2]);
    }

    #[test]
    fn pads_follow_the_end_mark() {
        let found = characters(&texts(["ab", ""]), MARKED);
        assert_eq!(found.shape(), [2, 4]);
        assert_eq!(found.data(), [START, "a", "b", END, START, END, "#", "#"]);
    }

    /// One long string determines the length of all rows.
    #[test]
    fn rows_are_within_the_memory_limit() {
        let mut all = vec![String::new(); 1000];
        all[0] = "a".repeat(1000);
        let all = Array::vector(all);
        let run = |limit| with_memory_limit(limit, || attempt(|| characters(&all, PLAIN)));
        assert_eq!(run(25_000_000).unwrap().shape(), [1000, 1000]);
        let reason = run(24_999_999).unwrap_err().reason;
        assert_eq!(reason, "shape [1000, 1000] requires 23.8 MiB, the memory limit is 23.8 MiB");
    }

    #[test]
    fn without_tokens_there_are_no_marks() {
        assert_eq!(characters(&texts(["", ""]), MARKED).shape(), [2, 0]);
        let none = Array::new([0, 3], Vec::new());
        assert_eq!(characters(&none, MARKED).shape(), [0, 3, 0]);
    }
}
