//! ONNX's `RegexFullMatch`: regular expressions of RE2.

use std::sync::OnceLock;

use regex::Regex;

use crate::Array;

/// A regular expression that is compiled once.
pub struct Pattern {
    text: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// A regular expression in the syntax of RE2.
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
        }
    }

    /// # Panics
    ///
    /// If the text is no regular expression.
    #[track_caller]
    fn regex(&self) -> &Regex {
        let whole = || format!(r"\A(?:{})\z", translated(self.text));
        self.compiled.get_or_init(|| match Regex::new(&whole()) {
            Ok(regex) => regex,
            Err(error) => panic!("`{}` is no regular expression: {error}", self.text),
        })
    }
}

/// Whether the whole of each string matches.
pub fn full_match(x: &Array<String>, pattern: &Pattern) -> Array<bool> {
    let regex = pattern.regex();
    x.map(|text| regex.is_match(text))
}

/// RE2's classes are of ASCII, and it takes for letters some of what means more to the crate
/// `regex`: sets in sets, `&&` and the like in classes, braces that count nothing, `\<` and `\>`.
fn translated(pattern: &str) -> String {
    let mut to = String::new();
    let mut rest = pattern.chars();
    let mut class = false;
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => match rest.next() {
                Some('Q') => {
                    let (quoted, behind) = rest
                        .as_str()
                        .split_once(r"\E")
                        .unwrap_or((rest.as_str(), ""));
                    to.push_str(&regex::escape(quoted));
                    rest = behind.chars();
                }
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
                // First in a class, a bracket is a letter.
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

/// Whether what stands behind a brace says how often.
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
    use super::*;

    fn matches(pattern: &'static str, text: &str) -> bool {
        *full_match(&Array::scalar(text.to_owned()), &Pattern::new(pattern)).item()
    }

    #[test]
    fn the_whole_string_matches() {
        assert!(matches("a|ab", "ab"));
        assert!(!matches("a", "ab") && !matches("b", "ab") && matches("", ""));
        assert!(!matches(".", "\n") && matches("(?s).", "\n"));
    }

    #[test]
    fn classes_are_of_ascii() {
        assert!(matches(r"\d\w\s", "7_ ") && !matches(r"\d", "٣") && !matches(r"\w", "é"));
        assert!(matches(r"[\d.]+", "1.5") && matches(r"[\D]", "é") && matches(r"\W", "é"));
        assert!(matches(r"[[:alpha:]]+", "ab") && matches(r"\bé?a\b", "a"));
    }

    #[test]
    fn letters_of_re2_stay_letters() {
        assert!(matches(r"[[a]+", "[a") && matches("[]a]", "]") && matches("[a&&b]", "&"));
        assert!(matches("a{,2}", "a{,2}") && matches("a{2}", "aa") && matches("{", "{"));
        assert!(matches(r"\<a\>", "<a>") && matches(r"\Qa.b\E+", "a.bb"));
    }
}
