//! Text in JSON.

/// Returns a string with its quotation marks.
pub fn text(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            _ if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

pub fn list(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

pub fn object(fields: &[(&str, String)]) -> String {
    format!("{{{}}}", self::fields(fields))
}

/// Returns the fields of an object without its braces.
pub fn fields(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{}: {value}", text(name))).collect();
    fields.join(", ")
}
