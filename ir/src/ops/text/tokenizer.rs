//! Tokenizer: strings divided into tokens.

use std::rc::Rc;

use proc_macro2::Literal;

use super::regular::regular;
use super::strings;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("Tokenizer", &[1], tokenizer)
    .of(MICROSOFT)
    .noted("the rank of the output is the same for empty inputs")];

/// The tokens of each string along a new axis, padded to the longest row.
#[derive(Debug)]
struct Tokenizer {
    by: Division,
    pad: String,
    /// Whether the tokens are enclosed in U+0002 and U+0003, which mark start and end of the text.
    marked: bool,
}

attributes!(struct Tokenizer { by, pad, marked });

/// Division into tokens. Expressions have the syntax of the crate `regex`. Tokens with fewer than `least` characters
/// are omitted.
#[derive(Debug)]
enum Division {
    Characters,
    Between { separators: Vec<String>, least: usize },
    Matching { pattern: String, least: usize },
}

attributes!(
    enum Division {
        Characters,
        Between { separators, least },
        Matching { pattern, least },
    }
);

fn tokenizer(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let marked = a.required("mark", Attributes::int)? != 0;
    let pad = a.required("pad_value", Attributes::string)?;
    let least = a.positive("mincharnum")?;
    let (separators, pattern) = (a.strings("separators")?, a.string("tokenexp")?);
    let by = match (separators.as_deref(), pattern.as_deref()) {
        // As in ONNX Runtime, separators take precedence, and a dot also matches line feeds.
        (Some([one]), _) if one.is_empty() => Division::Characters,
        (Some(separators @ [_, ..]), _) => {
            let separators = separators.iter().map(|text| regular(text));
            let separators = separators.collect::<Result<_, _>>()?;
            Division::Between { separators, least }
        }
        (None, Some(".")) => Division::Characters,
        (None, Some(pattern)) if !pattern.is_empty() => {
            let pattern = regular(pattern)?;
            Division::Matching { pattern, least }
        }
        _ => {
            return Err(Problem::new("expected `separators` or `tokenexp`, found neither")
                .help("use one empty separator to split strings into characters"));
        }
    };
    match by {
        Division::Characters if least > 1 => {
            Err(Problem::expected("`mincharnum`", least, "1, because tokens are single characters"))
        }
        _ => Ok(Rc::new(Tokenizer { by, pad, marked })),
    }
}

impl Operator for Tokenizer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = strings(cx, 0)?;
        if !matches!(x.rank(), 1 | 2) {
            return Err(Problem::expected("the input", x, "strings of rank 1 or 2"));
        }
        let mut shape = x.shape;
        shape.push(cx.fresh("tokens"));
        cx.output(0, DType::String, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        // All rows are as long as the longest, so that one long string may exceed the memory limit.
        cx.may_fail();
        let (x, pad, marked) = (cx.host(0)?, &self.pad, self.marked);
        let rows = code!(host::TokenRows { pad: #pad, marked: #marked });
        Ok(match &self.by {
            Division::Characters => code!(host::characters(#x, #rows)),
            Division::Between { separators, least } => {
                let least = Literal::usize_unsuffixed(*least);
                code!(host::tokenizer!([#(#separators),*], #x, #least, #rows))
            }
            Division::Matching { pattern, least } => {
                let least = Literal::usize_unsuffixed(*least);
                code!(host::tokenizer!(#pattern, #x, #least, #rows))
            }
        })
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    const HEADER: &str = r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>"#;

    #[test]
    fn tokens_are_a_new_axis() {
        check(
            &format!(
                r##"{HEADER} g (string[n] a, string[n, 2] b) => (string[n, p] x, string[n, 2, q] y, string[n, r] z) {{
                x = com.microsoft.Tokenizer<mark: int = 1, mincharnum: int = 1, pad_value: string = "#", separators: strings = [""]>(a)
                y = com.microsoft.Tokenizer<mark: int = 0, mincharnum: int = 2, pad_value: string = "", separators: strings = ["\\s", "[.]"]>(b)
                z = com.microsoft.Tokenizer<mark: int = 0, mincharnum: int = 1, pad_value: string = "#", tokenexp: string = "\\w+">(a)
            }}"##
            ),
            expect![[r##"
                g (host string[n] a, host string[n_2, 2] b) => (host string[n, tokens] x, host string[n_2, 2, tokens_2] y, host string[n, tokens_3] z)
                {
                    host string[n, tokens] x = com.microsoft.Tokenizer <by: Characters, pad: "#", marked: true> (a)
                    host string[n_2, 2, tokens_2] y = com.microsoft.Tokenizer <by: {separators: ["[\\t\\n\\f\\r ]", "[.]"], least: 2}, pad: ""> (b)
                    host string[n, tokens_3] z = com.microsoft.Tokenizer <by: {pattern: "[0-9A-Za-z_]+", least: 1}, pad: "#"> (a)
                }
            "##]],
        );
    }

    #[test]
    fn what_onnx_runtime_refuses_is_refused() {
        let graph = |attributes: &str| {
            format!(
                r##"(string[n] a) => (string[n, p] x) {{ x = com.microsoft.Tokenizer<pad_value: string = "#", {attributes}>(a) }}"##
            )
        };
        let graphs = [
            r#"mark: int = 0, mincharnum: int = 0, separators: strings = [""]"#,
            r#"mark: int = 0, mincharnum: int = 2, separators: strings = [""]"#,
            r#"mark: int = 0, mincharnum: int = 2, tokenexp: string = ".""#,
            r#"mark: int = 0, mincharnum: int = 1"#,
            r#"mark: int = 0, mincharnum: int = 1, tokenexp: string = """#,
            r#"mark: int = 0, mincharnum: int = 1, separators: strings = ["a", "("]"#,
            r#"mark: int = 0, mincharnum: int = 1, tokenexp: string = "\\C""#,
            r#"mark: int = 0, separators: strings = ["a"]"#,
            r#"mincharnum: int = 1, separators: strings = ["a"]"#,
        ]
        .map(graph);
        problems(
            &graphs.each_ref().map(String::as_str),
            expect![[r#"
                `mincharnum` is 0, expected a positive integer
                `mincharnum` is 2, expected 1, because tokens are single characters
                `mincharnum` is 2, expected 1, because tokens are single characters
                expected `separators` or `tokenexp`, found neither
                expected `separators` or `tokenexp`, found neither
                `(` is not a valid regular expression: unclosed group
                `\C`, which matches a byte, is not supported in `\C`
                attribute `mincharnum` is missing
                attribute `mark` is missing
            "#]],
        );
    }
}
