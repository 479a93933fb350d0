//! Conversion of RE2's regular expressions to the crate `regex`.

use std::str::Chars;

use regex_syntax::{Error, Parser};

use crate::diagnostics::Problem;

/// Maximum number of bytes of an expression.
const LONGEST: usize = 16 << 10;
/// Maximum number of Unicode classes. A class takes three bytes in the expression and up to hundreds of ranges in memory.
const MOST_CLASSES: usize = 256;

/// Converts the expression to the syntax of the crate `regex`, if it is valid there.
pub fn regular(pattern: &str) -> Result<String, Problem> {
    let classes = [r"\p", r"\P"].map(|class| pattern.matches(class).count()).iter().sum();
    for (what, found, most) in
        [("bytes", pattern.len(), LONGEST), ("classes of Unicode", classes, MOST_CLASSES)]
    {
        if found > most {
            let message = format!("the regular expression has {found} {what}, at most {most} are supported");
            return Err(Problem::new(message));
        }
    }
    let found = translated(pattern);
    let reason = match Parser::new().parse(&found) {
        Ok(_) => return Ok(found),
        Err(_) if has_byte(pattern) => {
            return Err(Problem::new(format!(
                "`\\C`, which matches a byte, is not supported in `{pattern}`"
            ))
            .help("use `(?s:.)` to match a character"));
        }
        Err(Error::Parse(error)) => error.kind().to_string(),
        Err(Error::Translate(error)) => error.kind().to_string(),
        Err(error) => error.to_string(),
    };
    let message = format!("`{pattern}` is not a valid regular expression: {reason}");
    Err(Problem::new(message).help("use the syntax of RE2, which has no look-around and no backreferences"))
}

/// Returns `true` if the pattern contains RE2's escape for any byte.
fn has_byte(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' && letters.next() == Some('C') {
            return true;
        }
    }
    false
}

/// Translates differences of syntax. RE2's classes are ASCII, and it reads as literals some characters that are syntax
/// in the crate `regex`: nested sets, `&&` and similar operators in classes, braces that are no repetition, `\<` and
/// `\>`.
fn translated(pattern: &str) -> String {
    let mut to = String::new();
    let mut rest = pattern.chars();
    let mut class = false;
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => match rest.next() {
                Some('Q') => {
                    let (quoted, behind) = rest.as_str().split_once(r"\E").unwrap_or((rest.as_str(), ""));
                    to.push_str(&regex_syntax::escape(quoted));
                    rest = behind.chars();
                }
                // The name of a class, or a number.
                Some(letter @ ('p' | 'P' | 'x')) if rest.as_str().starts_with('{') => {
                    let end = rest.as_str().find('}').map_or(0, |end| end + 1);
                    let (name, behind) = rest.as_str().split_at(end);
                    to.extend(['\\', letter]);
                    to.push_str(name);
                    rest = behind.chars();
                }
                Some(letter @ '0'..='7') => octal(letter, &mut rest, &mut to),
                Some(letter) => escape(letter, class, &mut to),
                None => to.push('\\'),
            },
            '[' if !class => {
                class = true;
                to.push('[');
                if rest.as_str().starts_with('^') {
                    rest.next();
                    to.push('^');
                }
                // A bracket is a literal if it is first in a class.
                if rest.as_str().starts_with(']') {
                    rest.next();
                    to.push_str(r"\]");
                }
            }
            '[' if !rest.as_str().starts_with(':') => to.push_str(r"\["),
            '[' => {
                let end = rest.as_str().find(":]").map_or(0, |end| end + 2);
                let (name, behind) = rest.as_str().split_at(end);
                to.push('[');
                to.push_str(name);
                rest = behind.chars();
            }
            ']' if class => {
                class = false;
                to.push(']');
            }
            '&' | '~' if class => to.extend(['\\', letter]),
            '-' if class && rest.as_str().starts_with('-') => to.push_str(r"\-"),
            '{' if !class && !counts(rest.as_str()) => to.push_str(r"\{"),
            _ => to.push(letter),
        }
    }
    to
}

fn escape(letter: char, class: bool, to: &mut String) {
    let inside = match letter.to_ascii_lowercase() {
        'd' => "0-9",
        'w' => "0-9A-Za-z_",
        's' => r"\t\n\f\r ",
        'b' if !class => return to.push_str(&format!(r"(?-u:\{letter})")),
        _ if matches!(letter, '<' | '>') => return to.push(letter),
        _ => return to.extend(['\\', letter]),
    };
    match (letter.is_lowercase(), class) {
        (true, true) => to.push_str(inside),
        (true, false) => to.push_str(&format!("[{inside}]")),
        (false, _) => to.push_str(&format!("[^{inside}]")),
    }
}

/// Translates a character with an octal number of at most three digits. A single digit other than 0 is a backreference.
fn octal(first: char, rest: &mut Chars<'_>, to: &mut String) {
    let digits = rest.as_str().bytes().take(2);
    let more = digits.take_while(|digit| matches!(digit, b'0'..=b'7')).count();
    let mut number = first.to_digit(8).unwrap_or(0);
    for digit in rest.by_ref().take(more) {
        number = number * 8 + digit.to_digit(8).unwrap_or(0);
    }
    match (first, more) {
        ('1'..='7', 0) => to.extend(['\\', first]),
        _ => to.push_str(&format!(r"\x{{{number:x}}}")),
    }
}

/// Returns `true` if the text after an opening brace is a repetition.
fn counts(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else {
        return false;
    };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(patterns: &[&str], expected: Expect) {
        let found = patterns.iter().map(|pattern| regular(pattern).unwrap());
        expected.assert_eq(&found.collect::<Vec<_>>().join("  "));
    }

    #[test]
    fn classes_are_of_ascii() {
        check(
            &[
                r"\d\w\s",
                r"\D\W",
                r"[\d.]+",
                r"[\D]",
                r"\bé?a\b",
                r"[[:alpha:]]+",
                r"\pL\p{Greek}[\P{L}]{2}\x{61}",
            ],
            expect![[
                r#"[0-9][0-9A-Za-z_][\t\n\f\r ]  [^0-9][^0-9A-Za-z_]  [0-9.]+  [[^0-9]]  (?-u:\b)é?a(?-u:\b)  [[:alpha:]]+  \pL\p{Greek}[\P{L}]{2}\x{61}"#
            ]],
        );
    }

    #[test]
    fn letters_of_re2_stay_letters() {
        check(
            &[
                "[[a]+",
                "[]a]",
                "[^]a]",
                "[a&&b~~c]",
                "[a--b]",
                "a{,2}",
                "a{2}",
                "a{2,3}",
                "{",
                r"\<a\>",
                r"\Qa.b\E+",
                r"\Q(",
            ],
            expect![[
                r#"[\[a]+  [\]a]  [^\]a]  [a\&\&b\~\~c]  [a\--b]  a\{,2}  a{2}  a{2,3}  \{  <a>  a\.b+  \("#
            ]],
        );
    }

    #[test]
    fn numbers_of_characters_are_octal() {
        check(
            &[r"\0", r"\101\07", r"[\060-\071]", r"\1234", r"\08", r"\12"],
            expect![[r#"\x{0}  \x{41}\x{7}  [\x{30}-\x{39}]  \x{53}4  \x{0}8  \x{a}"#]],
        );
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let problems =
            ["(", "a)(b", "[", r"\1", "(?=a)", "*", r"a\", r"\C", r"a\\\C", r"\p{Elvish}", "a{3,2}"];
        let problems = problems.map(|pattern| regular(pattern).unwrap_err().to_string());
        expect![[r#"
            `(` is not a valid regular expression: unclosed group
            `a)(b` is not a valid regular expression: unopened group
            `[` is not a valid regular expression: unclosed character class
            `\1` is not a valid regular expression: backreferences are not supported
            `(?=a)` is not a valid regular expression: look-around, including look-ahead and look-behind, is not supported
            `*` is not a valid regular expression: repetition operator missing expression
            `a\` is not a valid regular expression: incomplete escape sequence, reached end of pattern prematurely
            `\C`, which matches a byte, is not supported in `\C`
            `\C`, which matches a byte, is not supported in `a\\\C`
            `\p{Elvish}` is not a valid regular expression: Unicode property not found
            `a{3,2}` is not a valid regular expression: invalid repetition count range, the start must be <= the end"#]].assert_eq(&problems.join("\n"));
    }

    #[test]
    fn nests_end_somewhere() {
        let deep = format!("{}{}", "(?:".repeat(4000), ")".repeat(4000));
        assert!(regular(&deep).is_err());
    }

    #[test]
    fn long_expressions_are_refused() {
        let problem = |pattern: &str| regular(pattern).unwrap_err().to_string();
        assert_eq!(
            problem(&"a".repeat(20_000)),
            "the regular expression has 20000 bytes, at most 16384 are supported"
        );
        let expected = "the regular expression has 300 classes of Unicode, at most 256 are supported";
        assert_eq!(problem(&r"\pL\PL".repeat(150)), expected);
        let harmless = "{".repeat(LONGEST);
        assert!(regular(&harmless).is_ok());
    }
}
