//! The textual form of ONNX models.
//!
//! This reads the syntax of `onnx/docs/Syntax.md` as `onnx.parser` does and `onnx.printer` writes. It is stricter if
//! `onnx.parser` would build a model that differs from the text: the number of values of a tensor must match its shape,
//! each value must fit its type, a list must have elements of one type, and no text may follow the last function.
//!
//! ```
//! let model = onnx_embed_ir::text::model(
//!     r#"
//!     <ir_version: 8, opset_import: ["": 18]>
//!     g (float[N, 3] x) => (float[N, 3] y) <float[3] bias = {1, 2, 3}> {
//!         y = Add (x, bias)
//!     }
//!     "#,
//! )?;
//! assert_eq!(model.graph.map(|graph| graph.name).as_deref(), Some("g"));
//! # Ok::<(), onnx_embed_ir::text::Error>(())
//! ```

mod attributes;
mod graphs;
mod models;
mod parser;
mod tensors;
mod tokens;
mod types;

use crate::proto::{GraphProto, ModelProto};
use parser::Parser;

/// The first syntax error of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub message: String,
}

/// Reads a header, a graph and the functions after it. The values of tensors become `raw_data`.
pub fn model(text: &str) -> Result<ModelProto, Error> {
    Parser::new(text).model()
}

/// Reads a single graph.
pub fn graph(text: &str) -> Result<GraphProto, Error> {
    let mut parser = Parser::new(text);
    let graph = parser.graph()?;
    parser.end()?;
    Ok(graph)
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Error { line, column, message } = self;
        write!(formatter, "line {line}, column {column}: {message}")
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = r#"
        <ir_version: 10, opset_import: ["": 21, "f": 1], metadata_props: ["k": "v"]>
        main (float[N, 3] x, seq(optional(int64[])) s, float[1] d = {-1.5e3}) => (float y)
        <int4[3] w = {1, -2, 3}, float[2] e = ["location": "w.bin"], float[?, "a b"] t>
        {   # a comment
            [label] t, = If (c) <then_branch = a () => (float p) { p = Neg (x) }, k: ints = []>
            y = f.Op:o <a = [1.5, inf], b = "ü\"", c = string[1] {"x"}, d = map(int64, float)> (,t)
        }
        <domain: "f", overload: "o", opset_import: ["": 21]>
        Op <a, b: int = 1> (x, float y) => (z) { z = Add <a: int = @a> (x, y) }
    "#;

    #[test]
    fn nothing_may_follow_a_graph() {
        let error = graph("g () => () {} more").unwrap_err();
        let expected = "line 1, column 15: expected the end of the text, found `more`";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn lines_and_columns_count_characters() {
        let error = graph("g () => () { # ü\n  \"üü\" = 1 }").unwrap_err();
        assert_eq!((error.line, error.column), (2, 10));
    }

    #[test]
    fn no_cut_of_a_text_panics() {
        assert!(model(EVERYTHING).is_ok());
        for (end, _) in EVERYTHING.char_indices() {
            let _ = model(&EVERYTHING[..end]);
            let _ = model(&EVERYTHING[end..]);
        }
    }

    #[test]
    fn no_change_of_one_character_panics() {
        for (start, old) in EVERYTHING.char_indices() {
            for new in ["", "\"", "\\", "é", "-", "9", "<", "{", "[", "(", "=", ".", "@", "\0"] {
                let end = start + old.len_utf8();
                let _ = model(&[&EVERYTHING[..start], new, &EVERYTHING[end..]].concat());
            }
        }
    }

    #[test]
    fn graphs_nest_within_a_small_stack() {
        let nested = |depth| {
            let open = "b () => () { = If () <g = ".repeat(depth);
            let close = "> }".repeat(depth);
            format!("{open} b () => () {{}} {close}")
        };
        let parse = move |depth| {
            let thread = std::thread::Builder::new().stack_size(2 << 20);
            thread.spawn(move || graph(&nested(depth))).unwrap().join().unwrap()
        };
        assert!(parse(32).is_ok());
        assert!(parse(100_000).unwrap_err().message.contains("nested more than"));
    }
}
