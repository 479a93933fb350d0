//! What a file says of itself in words.

use crate::proto::ModelProto;

/// All texts that are kept have no more bytes than this.
const TEXT: usize = 64 << 10;
/// No more properties are kept.
const ENTRIES: usize = 256;

/// What a file says of itself in words, as it stands there.
///
/// The program has it as constants, so it is bounded: a text that would exceed the bound is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The program that wrote the file.
    pub producer: String,
    pub producer_version: String,
    /// Whom the model is of, a reverse DNS name.
    pub domain: String,
    /// The model's own version, 0 where there is none.
    pub version: i64,
    /// What the model does.
    pub doc: String,
    /// The name of the main graph.
    pub graph: String,
    /// Properties by name, in the order of the file.
    pub entries: Vec<(String, String)>,
    /// How many texts were left out.
    pub omitted: usize,
}

impl Metadata {
    /// That of a whole file.
    pub fn new(message: &ModelProto) -> Self {
        let mut text = Kept::default();
        let graph = message.graph.as_ref();
        let mut metadata = Metadata {
            producer: text.kept(&message.producer_name),
            producer_version: text.kept(&message.producer_version),
            domain: text.kept(&message.domain),
            version: message.model_version.unwrap_or(0),
            graph: text.kept(graph.map_or("", |graph| &graph.name)),
            doc: text.kept(&String::from_utf8_lossy(&message.doc_string)),
            ..Metadata::default()
        };
        for entry in &message.metadata_props {
            if metadata.entries.len() < ENTRIES && text.takes(entry.key.len() + entry.value.len()) {
                let entry = (entry.key.clone(), entry.value.clone());
                metadata.entries.push(entry);
            } else {
                text.omitted += 1;
            }
        }
        metadata.omitted = text.omitted;
        metadata
    }

    /// Whether the file says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Metadata::default()
    }
}

/// How much is kept.
#[derive(Default)]
struct Kept {
    bytes: usize,
    omitted: usize,
}

impl Kept {
    /// Whether there is room for a text of so many bytes, which it takes.
    fn takes(&mut self, bytes: usize) -> bool {
        let bytes = self.bytes.saturating_add(bytes);
        let fits = bytes <= TEXT;
        if fits {
            self.bytes = bytes;
        }
        fits
    }

    /// The text, or none where there is no room.
    fn kept(&mut self, text: &str) -> String {
        if self.takes(text.len()) {
            text.to_owned()
        } else {
            self.omitted += 1;
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::StringStringEntryProto;

    fn entry(key: &str, value: &str) -> StringStringEntryProto {
        StringStringEntryProto { key: key.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn texts_are_kept_as_they_are() {
        let message = ModelProto {
            producer_name: "hand".to_owned(),
            model_version: Some(3),
            doc_string: bytes::Bytes::from_static(b"says \xff\n`it`"),
            metadata_props: vec![entry("b", "1\u{202e}"), entry("a", "")],
            ..ModelProto::default()
        };
        let metadata = Metadata::new(&message);
        assert_eq!((&*metadata.producer, metadata.version), ("hand", 3));
        assert_eq!(metadata.doc, "says \u{fffd}\n`it`");
        let entries = [("b", "1\u{202e}"), ("a", "")].map(|(key, value)| (key.into(), value.into()));
        assert_eq!(metadata.entries, entries);
        assert_eq!(metadata.omitted, 0);
    }

    #[test]
    fn what_is_too_long_is_left_out() {
        let long = "x".repeat(TEXT);
        let mut message = ModelProto {
            domain: "acme".to_owned(),
            metadata_props: vec![entry("long", &long), entry("short", "y")],
            ..ModelProto::default()
        };
        let metadata = Metadata::new(&message);
        assert_eq!(metadata.entries, [("short".to_owned(), "y".to_owned())]);
        assert_eq!(metadata.omitted, 1);
        message.metadata_props = vec![entry("k", "v"); 1000];
        let metadata = Metadata::new(&message);
        assert_eq!((metadata.entries.len(), metadata.omitted), (ENTRIES, 744));
    }
}
