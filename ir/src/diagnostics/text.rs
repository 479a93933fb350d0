//! Text of a file, made safe to display, and counts.

use std::fmt::Display;

/// Maximum number of characters of a name. Only the ends of longer names are shown.
const MAX_NAME_LEN: usize = 160;
const BEGINNING: usize = 110;
const END: usize = 30;
/// Maximum length of a message, in characters.
const MAX_MESSAGE_LEN: usize = 4000;

/// Formats a name in one line, without characters that control a terminal or the direction of writing. Very long names
/// are shortened.
pub fn shown(name: &str) -> String {
    plain(&shortened(name)).replace('\n', "\\n")
}

/// Returns a name, or the beginning and the end of a very long one.
pub fn shortened(name: &str) -> String {
    if name.len() <= MAX_NAME_LEN {
        return name.to_owned();
    }
    let count = name.chars().count();
    if count <= MAX_NAME_LEN {
        return name.to_owned();
    }
    let beginning: String = name.chars().take(BEGINNING).collect();
    let end: String = name.chars().skip(count - END).collect();
    format!("{beginning}…{end}")
}

/// Formats text of several lines, without characters that control a terminal or the direction of writing.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\r' => plain.push_str("\\r"),
            '\t' => plain.push_str("\\t"),
            '\n' => plain.push('\n'),
            _ if is_hidden(letter) => plain.extend(letter.escape_unicode()),
            _ => plain.push(letter),
        }
    }
    plain
}

/// Formats a count of things whose plural is given: `1 row` or `7 rows`.
pub fn counted(count: impl Display, things: &str) -> String {
    match count.to_string().as_str() {
        "1" => format!("1 {}", singular(things)),
        count => format!("{count} {things}"),
    }
}

/// Returns the singular of `channels`, `classes` or `elements along axis 1`.
fn singular(things: &str) -> String {
    let end = [" along ", " in ", " of "].iter().filter_map(|word| things.find(word)).min();
    let (noun, rest) = things.split_at(end.unwrap_or(things.len()));
    let noun = match noun.strip_suffix("es") {
        Some(stem) if stem.ends_with("ss") || stem.ends_with('x') => stem,
        _ => noun.strip_suffix('s').unwrap_or(noun),
    };
    format!("{noun}{rest}")
}

/// Formats a message, in which text in backticks is a name.
pub fn message(text: String) -> String {
    let is_plain = |letter: char| letter == '\n' || !letter.is_control() && !is_hidden(letter);
    if text.len() <= MAX_NAME_LEN && !text.contains('\n') && text.chars().all(is_plain) {
        return text;
    }
    let mut message = String::new();
    for (at, part) in text.split('`').enumerate() {
        let name = at % 2 == 1;
        if at > 0 {
            message.push('`');
        }
        message.push_str(&if name { shown(part) } else { plain(part) });
    }
    match message.char_indices().nth(MAX_MESSAGE_LEN) {
        Some((end, _)) => message.get(..end).unwrap_or_default().to_owned() + "…",
        None => message,
    }
}

/// Returns `true` for control characters, marks that change the direction of writing, line separators, and characters
/// without width that do not join others.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_control_no_terminal() {
        assert_eq!(shown("a\u{1b}[2Jb\u{7}"), "a\\u{1b}[2Jb\\u{7}");
        assert_eq!(shown("x\u{202e}y\r\nz"), "x\\u{202e}y\\r\\nz");
        assert_eq!(shown("größe/加"), "größe/加");
    }

    #[test]
    fn one_thing_is_singular() {
        let things = ["classes", "boxes", "elements along axis 1", "groups of offsets"].map(singular);
        assert_eq!(things, ["class", "box", "element along axis 1", "group of offsets"]);
    }

    #[test]
    fn very_long_names_are_shown_by_their_ends() {
        let name = "n".repeat(70_000) + "last";
        assert_eq!(shown(&name).chars().count(), BEGINNING + 1 + END);
        assert!(shown(&name).ends_with("nlast"));
    }

    #[test]
    fn lines_of_a_message_stay() {
        let text = message(format!("first `{}`\nsecond `a\nb`", "w".repeat(500)));
        let expected = format!("first `{}…{}`\nsecond `a\\nb`", "w".repeat(BEGINNING), "w".repeat(END));
        assert_eq!(text, expected);
        assert!(message("a ".repeat(5000)).chars().count() == MAX_MESSAGE_LEN + 1);
    }
}
