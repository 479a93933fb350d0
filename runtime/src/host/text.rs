//! Operators on strings.

mod cast;
mod hash;
mod tf_idf;
mod tokens;

use super::{texts, zip};
use crate::Array;
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use onnx_embed_kernels::{fault::fail, sizes::elements};

pub use cast::{parse, parse_number, print};
pub use hash::murmur_hash_3;
pub use tf_idf::{Grams, tf_idf};
pub use tokens::{TokenRows, characters};

/// Conversion of letter case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Keep,
    Lower,
    Upper,
    /// Lower case with the dotless i of Turkish and Azerbaijani.
    TurkicLower,
    TurkicUpper,
}

/// Computes ONNX's `StringConcat`: `a` followed by `b`.
pub fn string_concat(a: &Array<String>, b: &Array<String>) -> Array<String> {
    zip(a, b, |a, b| format!("{a}{b}"))
}

/// Computes ONNX's `StringSplit`: the parts of each string along a new last axis, padded with empty strings, and their
/// number.
///
/// A missing or empty delimiter means any white space. An empty string has no parts.
pub fn string_split(x: &Array<String>, delimiter: &str, most: Option<usize>) -> (Array<String>, Array<i64>) {
    let most = most.map_or(usize::MAX, |most| most.saturating_add(1));
    let parts = texts(x).map(|&text| match delimiter {
        _ if text.is_empty() => Vec::new(),
        "" => words(text, most),
        _ => text.splitn(most, delimiter).collect(),
    });
    let counts = parts.map(|parts| parts.len() as i64);
    let longest = parts.data().iter().map(Vec::len).max().unwrap_or(0);
    let shape = [x.shape(), &[longest]].concat();
    elements(&shape, size_of::<String>());
    let filled = Array::from_fn(shape, |index| {
        let (last, before) = index.split_last().expect("the parts have an axis");
        parts[before].get(*last).copied().unwrap_or("").to_owned()
    });
    (filled, counts)
}

/// Computes ONNX's `StringNormalizer` of one row: removes stop words and converts the case of the others.
///
/// If no strings remain, the result is one empty string. If `sensitive`, the comparison with stop words is
/// case-sensitive.
///
/// # Panics
/// If the strings have more rows than one, or none.
pub fn string_normalizer(
    x: &Array<String>,
    stop_words: &[&str],
    sensitive: bool,
    case: Case,
) -> Array<String> {
    if let &[rows, columns] = x.shape()
        && rows != 1
    {
        fail(format_args!("expected strings of shape [C] or [1, C], found [{rows}, {columns}]"));
    }
    let compared = match (sensitive, case) {
        (true, _) => Case::Keep,
        (false, Case::Keep) => Case::Lower,
        (false, case) => case,
    };
    let stops: Vec<String> = stop_words.iter().map(|word| compared.of(word)).collect();
    let stays = |text: &&String| stops.is_empty() || !stops.contains(&compared.of(text));
    let kept = x.data().iter().filter(stays);
    let mut kept: Vec<String> = kept.map(|text| case.of(text)).collect();
    if kept.is_empty() {
        kept.push(String::new());
    }
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = kept.len();
    }
    Array::new(shape, kept)
}

/// Returns `true` for each string that is not empty, as `NonZero` requires.
pub fn not_empty(x: &Array<String>) -> Array<bool> {
    x.map(|text| !text.is_empty())
}

impl Case {
    fn of(self, text: &str) -> String {
        match self {
            Case::Keep => text.to_owned(),
            Case::Lower => text.to_lowercase(),
            Case::Upper => text.to_uppercase(),
            Case::TurkicLower => text.replace('I', "ı").replace('İ', "i").to_lowercase(),
            Case::TurkicUpper => text.replace('i', "İ").to_uppercase(),
        }
    }
}

/// Splits a text into at most `most` words; the last one contains the rest.
fn words(text: &str, most: usize) -> Vec<&str> {
    let mut rest = text.trim();
    let mut words = Vec::new();
    while !rest.is_empty() && words.len() + 1 < most {
        let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        words.push(word);
        rest = behind.trim_start();
    }
    if !rest.is_empty() {
        words.push(rest);
    }
    words
}

#[cfg(test)]
mod tests {
    use onnx_embed_kernels::attempt::attempt;

    use super::*;

    fn texts<const N: usize>(texts: [&str; N]) -> Array<String> {
        Array::vector(texts.map(str::to_owned))
    }

    #[test]
    fn strings_are_joined_with_broadcasting() {
        let column = Array::new([2, 1], vec!["a".to_owned(), "é".to_owned()]);
        let joined = string_concat(&column, &texts(["", "x"]));
        assert_eq!(joined.shape(), [2, 2]);
        assert_eq!(joined.data(), ["a", "ax", "é", "éx"]);
    }

    #[test]
    fn parts_are_filled_up_to_the_longest() {
        let (parts, counts) = string_split(&texts(["a,,b", "", "c"]), ",", None);
        assert_eq!(parts.shape(), [3, 3]);
        assert_eq!(parts.data(), ["a", "", "b", "", "", "", "c", "", ""]);
        assert_eq!(counts.data(), [3, 0, 1]);
    }

    #[test]
    fn white_space_is_one_separator() {
        let (parts, counts) = string_split(&texts([" a \t b  c ", "  "]), "", None);
        assert_eq!(parts.data(), ["a", "b", "c", "", "", ""]);
        assert_eq!(counts.data(), [3, 0]);
    }

    #[test]
    fn the_last_part_holds_the_rest() {
        let (parts, _) = string_split(&texts([" a  b  c "]), "", Some(1));
        assert_eq!(parts.data(), ["a", "b  c"]);
        let (parts, _) = string_split(&texts(["a,b,c"]), ",", Some(1));
        assert_eq!(parts.data(), ["a", "b,c"]);
        let (parts, counts) = string_split(&texts(["a b"]), "", Some(0));
        assert_eq!((parts.data()[0].as_str(), counts.data()), ("a b", &[1][..]));
    }

    #[test]
    fn a_scalar_and_nothing_are_split_too() {
        let (parts, counts) = string_split(&Array::scalar("a b".to_owned()), "", None);
        assert_eq!((parts.shape(), counts.shape()), (&[2][..], &[][..]));
        let none = Array::new([2, 0], Vec::new());
        let (parts, counts) = string_split(&none, "", None);
        assert_eq!((parts.shape(), counts.shape()), (&[2, 0, 0][..], &[2, 0][..]));
    }

    #[test]
    fn stop_words_are_whole_strings() {
        let x = texts(["The", "the", "then", "Ä"]);
        let lower = string_normalizer(&x, &["THE"], false, Case::Lower);
        assert_eq!(lower.data(), ["then", "ä"]);
        let upper = string_normalizer(&x, &["the"], true, Case::Upper);
        assert_eq!(upper.data(), ["THE", "THEN", "Ä"]);
        for rows in [0, 2] {
            let x = Array::new([rows, 1], vec![String::new(); rows]);
            let failed = attempt(|| string_normalizer(&x, &[], true, Case::Keep)).unwrap_err();
            assert_eq!(failed.reason, format!("expected strings of shape [C] or [1, C], found [{rows}, 1]"));
        }
    }

    #[test]
    fn where_nothing_is_left_one_empty_string_is() {
        let row = Array::new([1, 2], vec!["a".to_owned(), "A".to_owned()]);
        let left = string_normalizer(&row, &["a"], false, Case::Keep);
        assert_eq!(left, Array::new([1, 1], vec![String::new()]));
    }

    #[test]
    fn the_turkish_i_keeps_its_dot() {
        assert_eq!(Case::TurkicUpper.of("iı"), "İI");
        assert_eq!(Case::TurkicLower.of("İI"), "iı");
    }
}
