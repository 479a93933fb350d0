//! Rust names from ONNX names, and unique names.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use unicode_normalization::UnicodeNormalization;

/// Words that are not valid names of variables, fields or functions.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Approximate maximum length of a name, in bytes.
const MAX_NAME_LEN: usize = 120;

/// Returns a snake-case identifier: `onnx_conv_23` for `onnx::Conv_23`, `a_b` for `/a/b`.
pub fn snake(name: &str) -> String {
    let mut words = String::new();
    let mut lower = false;
    for letter in name.chars() {
        if letter.is_alphanumeric() && (letter.is_ascii() || is_identifier("a", letter)) {
            if letter.is_uppercase() && lower {
                words.push('_');
            }
            lower = letter.is_lowercase();
            words.extend(letter.to_lowercase());
            if words.len() >= MAX_NAME_LEN {
                break;
            }
        } else {
            lower = false;
            if !words.is_empty() && !words.ends_with('_') {
                words.push('_');
            }
        }
    }
    let words = composed(words.trim_end_matches('_'));
    match words.chars().next() {
        None => "unnamed".to_owned(),
        Some(first) if !is_identifier("", first) => format!("n{words}"),
        _ if KEYWORDS.contains(&&*words) => format!("{words}_"),
        _ => words,
    }
}

/// Converts letters to normal form C, in which rustc compares identifiers.
fn composed(name: &str) -> String {
    if name.is_ascii() { name.to_owned() } else { name.nfc().collect() }
}

/// Returns the name of a type: `EncoderLayer` for `encoder_layer`.
pub fn camel(name: &str) -> String {
    let words = snake(name);
    let mut camel = String::new();
    for word in words.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        camel.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        camel.extend(letters);
    }
    if camel.is_empty() { "Unnamed".to_owned() } else { composed(&camel) }
}

/// A set of unique names.
#[derive(Clone, Debug, Default)]
pub struct Unique {
    taken: BTreeSet<String>,
    /// Number that was appended to each name last.
    counts: BTreeMap<String, usize>,
}

impl Unique {
    /// Reserves a name.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Returns `wanted`, with a number appended if it is taken.
    pub fn name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        if self.taken.insert(name.clone()) {
            return name;
        }
        let count = self.counts.entry(name.clone()).or_insert(1);
        while !self.taken.insert(name.clone()) {
            *count += 1;
            name = if wanted.ends_with(|end: char| end.is_ascii_digit()) {
                format!("{wanted}_{count}")
            } else {
                format!("{wanted}{count}")
            };
        }
        name
    }
}

/// Returns the names, with numbers appended to repeated ones.
pub fn distinct(names: &[String]) -> Vec<String> {
    let mut unique = Unique::default();
    names.iter().map(|name| unique.name(name)).collect()
}

/// Returns the name of a node without the suffix that exporters append: `/a/Constant` for `/a/Constant_3_output_0`.
pub fn plain(name: &str) -> &str {
    let Some(node) = name.strip_suffix("_output_0") else {
        return name;
    };
    match node.rsplit_once('_') {
        Some((kind, number)) if !kind.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => kind,
        _ => node,
    }
}

/// Returns the name of an operator without its domain: `FusedConv` for `com.microsoft.FusedConv`.
pub fn operator(kind: &str) -> &str {
    kind.rsplit('.').next().unwrap_or(kind)
}

/// Returns `true` if Rust's tokenizer accepts a letter after `before` in a name.
fn is_identifier(before: &str, letter: char) -> bool {
    format!("{before}{letter}").parse::<TokenStream>().is_ok_and(|tokens| {
        let mut tokens = tokens.into_iter();
        matches!(tokens.next(), Some(TokenTree::Ident(_))) && tokens.next().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, snake_case: &str, camel_case: &str) {
        assert_eq!(snake(name), snake_case);
        assert_eq!(camel(name), camel_case);
        assert!(snake(name).parse::<TokenStream>().is_ok());
    }

    #[test]
    fn any_name_becomes_a_rust_name() {
        check("onnx::Conv_23", "onnx_conv_23", "OnnxConv23");
        check("/a/b.weight", "a_b_weight", "ABWeight");
        check("input.1", "input_1", "Input1");
        check("123", "n123", "N123");
        check("", "unnamed", "Unnamed");
        check("type", "type_", "Type");
        check("batchSize", "batch_size", "BatchSize");
        check("输入", "输入", "输入");
        check("\u{903}क", "n\u{903}क", "N\u{903}क");
        check("👍 1", "n1", "N1");
    }

    #[test]
    fn what_exporters_add_to_names_is_left_out() {
        assert_eq!(plain("/a/Constant_3_output_0"), "/a/Constant");
        assert_eq!(plain("/a/Constant_output_0"), "/a/Constant");
        assert_eq!(plain("conv_3"), "conv_3");
    }

    #[test]
    fn a_name_is_given_once() {
        let mut names = Unique::default();
        assert_eq!(names.name("conv"), "conv");
        assert_eq!(names.name("conv"), "conv2");
        assert_eq!(names.name("conv1"), "conv1");
        assert_eq!(names.name("conv1"), "conv1_2");
    }
}
