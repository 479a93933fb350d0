//! Width and escaping of text in pictures.

/// Returns the width of a text in the widest of the common fonts, in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let width = |letter: char| match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '[' | ']' | ' ' => 0.4,
        'f' | 't' | 'r' | '/' | '-' => 0.43,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        'A'..='Z' => 0.74,
        '×' => 0.84,
        letter if letter.is_ascii() => 0.64,
        _ => 1.05,
    };
    text.chars().map(width).sum::<f64>() * size
}

/// Escapes text between tags or in an attribute.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Escapes JSON in a script element, which no text may end.
pub fn script(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

/// Escapes text in quotes for Graphviz.
pub fn dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Escapes text in quotes for Mermaid, which has no backslash escapes and interprets Markdown and tags.
pub fn mermaid(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\n' => escaped.push_str("<br>"),
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' | '[' | ']' | '{' | '}' | '|' => {
                escaped.push_str(&format!("#{};", u32::from(letter)));
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(xml("<script>'&\""), "&lt;script&gt;&#39;&amp;&quot;");
        assert_eq!(script("\"</script>\""), "\"\\u003c/script\\u003e\"");
        assert_eq!(dot("a\"\\"), "a\\\"\\\\");
        assert_eq!(mermaid("a\"]\nb"), "a#34;#93;<br>b");
    }
}
