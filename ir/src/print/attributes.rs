//! Formats the attributes of an operator.

use std::fmt::Write;

use crate::attributes::Attribute;

/// Maximum length of the text. Longer text is not shown.
const MAX_TEXT_LEN: usize = 240;

/// Returns the fields of an operator, except rows of tables and absent, false or empty ones.
pub fn text(operator: &Attribute) -> String {
    let mut text = String::new();
    if let Attribute::Fields(_, fields) = operator {
        write_fields(fields, &mut text);
    }
    if text.len() > MAX_TEXT_LEN { "..".to_owned() } else { text }
}

fn write_fields(fields: &[(&str, Attribute)], text: &mut String) {
    let start = text.len();
    for (name, field) in fields.iter().filter(|(_, field)| says(field)) {
        if text.len() > start {
            text.push_str(", ");
        }
        if !name.is_empty() {
            text.push_str(name);
            text.push_str(": ");
        }
        write_attribute(field, text);
    }
}

/// Returns `true` if the attribute is to be shown.
fn says(attribute: &Attribute) -> bool {
    match attribute {
        Attribute::Nothing | Attribute::Flag(false) | Attribute::Row(_) => false,
        Attribute::List(items) => items.iter().any(|item| match item {
            Attribute::Fields(..) => says(item),
            // In a list, the position of a false item has a meaning.
            _ => true,
        }),
        Attribute::Fields(_, fields) => fields.iter().any(|(_, field)| says(field)),
        _ => true,
    }
}

fn write_attribute(attribute: &Attribute, text: &mut String) {
    if text.len() > MAX_TEXT_LEN {
        return;
    }
    let written = match attribute {
        Attribute::Nothing => write!(text, "none"),
        Attribute::Flag(flag) => write!(text, "{flag}"),
        Attribute::Int(number) => write!(text, "{number}"),
        Attribute::Single(bits) => write!(text, "{:?}", f32::from_bits(*bits)),
        Attribute::Double(bits) => write!(text, "{:?}", f64::from_bits(*bits)),
        Attribute::Size(size) => write!(text, "{size}"),
        Attribute::Type(dtype) => write!(text, "{dtype:?}"),
        Attribute::Letter(letter) => write!(text, "{letter:?}"),
        Attribute::Word(word) => write!(text, "{word}"),
        Attribute::Text(inner) => write!(text, "{inner:?}"),
        Attribute::Kept(input) => write!(text, "#{input}"),
        Attribute::Row(_) => Ok(()),
        Attribute::List(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                write_attribute(item, text);
            }
            write!(text, "]")
        }
        Attribute::Fields(_, fields) => {
            text.push('{');
            write_fields(fields, text);
            write!(text, "}}")
        }
    };
    // Writing to a string does not fail.
    let _ = written;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{Described, attributes};

    struct Pool {
        sizes: Option<Vec<i64>>,
        flags: [bool; 2],
        text: &'static str,
        table: Option<&'static Row>,
        kind: Option<ElementClass>,
        inner: Option<Box<Pool>>,
        old: bool,
    }

    attributes!(struct Pool { sizes, flags, text, table, kind, inner, old });

    struct Row {
        name: &'static str,
        compute: fn(f64) -> f64,
    }

    attributes!(struct Row { name; compute });

    enum ElementClass {
        Max(bool),
        Average,
    }

    attributes!(
        enum ElementClass {
            Max(strict),
            Average,
        }
    );

    static ROW: Row = Row { name: "sine", compute: f64::sin };

    fn pool() -> Pool {
        Pool {
            sizes: Some(vec![2, -3]),
            flags: [false, true],
            text: "a, \"b}",
            table: Some(&ROW),
            kind: None,
            inner: None,
            old: false,
        }
    }

    #[test]
    fn fields_stand_without_what_says_nothing() {
        let expected = r#"sizes: [2, -3], flags: [false, true], text: "a, \"b}""#;
        assert_eq!(text(&pool().attributes()), expected);
        assert!((ROW.compute)(0.0) == 0.0);
    }

    #[test]
    fn fields_nest() {
        let outer = Pool {
            sizes: None,
            text: "",
            kind: Some(ElementClass::Average),
            inner: Some(Box::new(pool())),
            ..pool()
        };
        let expected = r#"flags: [false, true], text: "", kind: Average, inner: {sizes: [2, -3], flags: [false, true], text: "a, \"b}"}"#;
        assert_eq!(text(&outer.attributes()), expected);
        assert_eq!(text(&ElementClass::Max(true).attributes()), "true");
    }

    #[test]
    fn an_operator_without_fields_has_no_text() {
        assert_eq!(text(&ElementClass::Average.attributes()), "");
        assert_eq!(text(&ElementClass::Max(false).attributes()), "");
    }

    #[test]
    fn what_is_not_shown_is_compared() {
        let without = Pool { table: None, ..pool() };
        assert_eq!(text(&without.attributes()), text(&pool().attributes()));
        assert_ne!(without.attributes(), pool().attributes());
        assert_ne!((0.0f32).attributes(), (-0.0f32).attributes());
        assert_eq!(f32::NAN.attributes(), f32::NAN.attributes());
    }

    #[test]
    fn a_long_text_is_cut() {
        let long = (vec![1.5f64; 4000], true);
        assert_eq!(text(&long.attributes()), "..");
    }
}
