//! What an operator's debug text says of attributes.

use std::fmt::{self, Debug, Write};

/// No more characters than this are shown.
const LONGEST: usize = 240;

/// The fields of an operator, without the tables of functions that it points to and without
/// fields that are `None` or `false`.
pub fn text(operator: &dyn Debug) -> String {
    let mut debug = Bounded::default();
    if write!(debug, "{operator:?}").is_err() {
        return "..".to_owned();
    }
    let telling = |field: &&str| {
        let value = field.split_once(": ").map_or(*field, |(_, value)| value);
        !["None", "false", "[]"].contains(&value) && !has_address(field)
    };
    let fields: Vec<&str> = fields(&debug.text).into_iter().filter(telling).collect();
    fields.join(", ")
}

/// A text that ends the writing when it grows too long.
#[derive(Default)]
struct Bounded {
    text: String,
}

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        // Tables of functions are long but fall away.
        if self.text.len() + more.len() > 4 * LONGEST {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

/// What stands between the outermost braces or parentheses, at its commas.
fn fields(debug: &str) -> Vec<&str> {
    let Some(open) = debug.find(['{', '(']) else {
        return Vec::new();
    };
    let inner = debug.get(open + 1..debug.len().saturating_sub(1));
    let inner = inner.unwrap_or_default();
    let (mut depth, mut start, mut string, mut escaped) = (0i32, 0, false, false);
    let mut parts = Vec::new();
    for (at, character) in inner.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' => string = !string,
            _ if string => {}
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(inner.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(inner.get(start..));
    let parts = parts.into_iter().map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}

fn has_address(field: &str) -> bool {
    field.contains("0x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[allow(dead_code)]
    struct Window {
        sizes: Vec<i64>,
        text: &'static str,
        table: Option<fn(f64) -> f64>,
        axis: Option<i64>,
        old: bool,
    }

    fn window(table: Option<fn(f64) -> f64>) -> Window {
        Window {
            sizes: vec![2, 3],
            text: "a, \"b",
            table,
            axis: None,
            old: false,
        }
    }

    #[test]
    fn fields_stand_without_what_says_nothing() {
        let expected = r#"sizes: [2, 3], text: "a, \"b""#;
        assert_eq!(text(&window(Some(f64::sin))), expected);
    }

    #[test]
    fn an_operator_without_fields_has_no_text() {
        #[derive(Debug)]
        struct Identity;
        assert_eq!(text(&Identity), "");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(text(&vec![1.5f64; 4000]), "..");
    }
}
