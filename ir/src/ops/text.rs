//! Strings: concatenation, splitting and matching.

pub mod hash;
mod regular;
pub mod tf_idf;
pub mod tokenizer;
pub mod word_conv;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::{Operator, Row, broadcast, row};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::TensorType;
use regular::regular;

pub const FAMILIES: &[&[Row]] = &[ROWS, hash::ROWS, tf_idf::ROWS, tokenizer::ROWS, word_conv::ROWS];

pub const ROWS: &[Row] = &[
    row("RegexFullMatch", &[20], |a| {
        let pattern = regular(&a.required("pattern", Attributes::string)?)?;
        Ok(Rc::new(FullMatch { pattern }))
    }),
    row("StringConcat", &[20], |_| Ok(Rc::new(StringConcat))).arity("rr", "r"),
    row("StringNormalizer", &[10], normalizer),
    row("StringSplit", &[20], |a| {
        Ok(Rc::new(StringSplit {
            delimiter: a.string_or("delimiter", "")?,
            // A negative `maxsplit` means no limit.
            most: a.int("maxsplit")?.and_then(|most| usize::try_from(most).ok()),
        }))
    })
    .arity("r", "rr"),
];

/// Tests if a regular expression matches all of each string.
#[derive(Debug)]
struct FullMatch {
    pattern: String,
}

attributes!(struct FullMatch { pattern });

/// Concatenation of the strings of input 0 and input 1.
#[derive(Debug)]
struct StringConcat;

attributes!(struct StringConcat);

/// The substrings of each string along a new axis, and their number.
#[derive(Debug)]
struct StringSplit {
    delimiter: String,
    most: Option<usize>,
}

attributes!(struct StringSplit { delimiter, most });

/// A row of strings without stop words and with converted case.
#[derive(Debug)]
struct StringNormalizer {
    stop_words: Vec<String>,
    sensitive: bool,
    /// A variant of the run-time crate's conversion of case.
    case: &'static str,
}

attributes!(struct StringNormalizer { stop_words, sensitive, case });

fn normalizer(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let locale = a.string_or("locale", "")?;
    let language = locale.split(['_', '-', '.']).next();
    let cases = if matches!(language, Some("tr" | "az")) {
        [("LOWER", "TurkicLower"), ("UPPER", "TurkicUpper"), ("NONE", "Keep")]
    } else {
        [("LOWER", "Lower"), ("UPPER", "Upper"), ("NONE", "Keep")]
    };
    let case = a.choice("case_change_action", "NONE", &cases)?;
    Ok(Rc::new(StringNormalizer {
        stop_words: a.strings("stopwords")?.unwrap_or_default(),
        sensitive: a.flag("is_case_sensitive", false)?,
        case,
    }))
}

impl Operator for FullMatch {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = strings(cx, 0)?;
        cx.output(0, DType::Bool, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, pattern) = (cx.host(0)?, &self.pattern);
        Ok(code!(host::regex_full_match!(#x, #pattern)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

impl Operator for StringConcat {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let shapes = [strings(cx, 0)?.shape, strings(cx, 1)?.shape];
        let shape = broadcast::shape(cx, &shapes)?;
        cx.output(0, DType::String, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (a, b) = (cx.host(0)?, cx.host(1)?);
        Ok(code!(host::string_concat(#a, #b)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

impl Operator for StringSplit {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = strings(cx, 0)?;
        let mut parts = x.shape.clone();
        parts.push(cx.fresh("parts"));
        cx.output(0, DType::String, parts);
        cx.output(1, DType::I64, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let most = match self.most {
            Some(most) => {
                let most = Literal::usize_unsuffixed(most);
                code!(Some(#most))
            }
            None => code!(None),
        };
        // All rows are as long as the longest, so that one long string may exceed the memory limit.
        cx.may_fail();
        let (x, delimiter) = (cx.host(0)?, &self.delimiter);
        let split = code!(host::string_split(#x, #delimiter, #most));
        Ok(match cx.outputs() {
            1 => code!(#split.0),
            _ => split,
        })
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

impl Operator for StringNormalizer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = strings(cx, 0)?;
        let one = Dim::from(1);
        match x.shape.as_slice() {
            [_] => {}
            [rows, _] if rows.number().is_none_or(|rows| rows == 1) => {}
            _ => {
                return Err(Problem::expected("the input", x, "strings of shape [C] or [1, C]"));
            }
        }
        let left = cx.fresh("words");
        let shape = match x.rank() {
            1 => vec![left],
            _ => vec![one, left],
        };
        cx.output(0, DType::String, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (words, sensitive) = (&self.stop_words, self.sensitive);
        if let [rows, _] = cx.tensor_type(0)?.shape.as_slice()
            && rows.number().is_none()
        {
            cx.may_fail();
        }
        let (x, case) = (cx.host(0)?, format_ident!("{}", self.case));
        Ok(code!(host::string_normalizer(#x, &[#(#words),*], #sensitive, host::Case::#case)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

fn strings(cx: &Infer<'_>, input: usize) -> Result<TensorType, Problem> {
    let operand = cx.tensor(input)?;
    match operand.dtype {
        DType::String => Ok(operand),
        _ => Err(Problem::expected(format_args!("input {input}"), operand, "strings")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn parts_are_a_new_axis() {
        check(
            r#"g (string[n, 1] a, string[3] b) => (string[p, q, r] y, int64[s, t] z, bool[u] m) {
                c = StringConcat(a, b)
                y, z = StringSplit<delimiter: string = ",", maxsplit: int = 2>(c)
                m = RegexFullMatch<pattern: string = "a+">(b)
            }"#,
            expect![[r#"
                g (host string[n, 1] a, host string[3] b) => (host string[n, 3, parts] y, host int64[n, 3] z, host bool[3] m)
                {
                    host string[n, 3] c = StringConcat (a, b)
                    host string[n, 3, parts] y, host int64[n, 3] z = StringSplit <delimiter: ",", most: 2> (c)
                    host bool[3] m = RegexFullMatch <pattern: "a+"> (b)
                }
            "#]],
        );
    }

    #[test]
    fn rows_are_normalized() {
        check(
            r#"g (string[1, n] a, string[3] b, string[2, 2] c) => (string[p, q] y, string[r] z, string[s, t] w) {
                y = StringNormalizer<case_change_action: string = "UPPER", locale: string = "tr_TR">(a)
                z = StringNormalizer<stopwords: strings = ["a"], is_case_sensitive: int = 1>(b)
                w = StringNormalizer(c)
            }"#,
            expect![[r#"
                cannot compile `model`

                  the input is string[2, 2], expected strings of shape [C] or [1, C]
                    at node `w` (StringNormalizer version 10)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
