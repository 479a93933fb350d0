//! Names of classes, as exporters write them into a file's properties.

/// Properties in which exporters put them.
const KEYS: [&str; 5] = ["names", "labels", "classes", "class_names", "id2label"];
/// More are no labels that one would print.
const MOST: usize = 2000;

/// The labels among the properties of a file: a list or a map of Python or JSON, or words with commas or in lines.
pub fn labels(metadata: &[(String, String)]) -> Vec<String> {
    let found = metadata
        .iter()
        .find(|(key, _)| KEYS.contains(&key.as_str()));
    let Some((_, text)) = found else {
        return Vec::new();
    };
    let text = text.trim();
    let labels = if text.starts_with(['{', '[', '(']) {
        quoted(text)
    } else {
        let separator = if text.contains('\n') { '\n' } else { ',' };
        text.split(separator)
            .map(|label| label.trim().to_owned())
            .collect()
    };
    let is_some = labels.len() > 1 && labels.len() <= MOST;
    if is_some { labels } else { Vec::new() }
}

/// What stands in quotes, but for keys of a map.
fn quoted(text: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '"' && letter != '\'' {
            continue;
        }
        let mut label = String::new();
        while let Some(next) = letters.next() {
            match next {
                '\\' => label.extend(letters.next()),
                next if next == letter => break,
                next => label.push(next),
            }
        }
        while letters.next_if(|next| next.is_whitespace()).is_some() {}
        if letters.peek() != Some(&':') {
            labels.push(label);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_exporters_write_them() {
        let read = |text: &str| labels(&[("names".to_owned(), text.to_owned())]);
        assert_eq!(read("{0: 'person', 1: \"dog's\"}"), ["person", "dog's"]);
        assert_eq!(read("{\"0\": \"cat\", \"1\": \"dog\"}"), ["cat", "dog"]);
        assert_eq!(read("[\"a\", \"b\"]"), ["a", "b"]);
        assert_eq!(read("setosa, versicolor"), ["setosa", "versicolor"]);
        assert_eq!(read("one\ntwo, or three"), ["one", "two, or three"]);
        assert!(read("").is_empty());
    }
}
