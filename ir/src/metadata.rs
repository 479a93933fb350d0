//! Metadata of a file.

use crate::proto::ModelProto;

/// Maximum number of bytes of all texts.
const TEXT: usize = 64 << 10;
/// Maximum number of properties.
const ENTRIES: usize = 256;

/// Metadata of a file, unchanged.
///
/// It becomes constants of the program, so its size is limited: a text that would exceed the limit is omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The program that wrote the file.
    pub producer: String,
    pub producer_version: String,
    /// Organization that the model belongs to, a reverse DNS name.
    pub domain: String,
    /// Version of the model, 0 if none.
    pub version: i64,
    /// Documentation of the model.
    pub doc: String,
    /// Name of the main graph.
    pub graph: String,
    /// Properties by name, in the order of the file.
    pub entries: Vec<(String, String)>,
    /// Number of omitted texts.
    pub omitted: usize,
}

impl Metadata {
    /// Reads the metadata of a file.
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

    /// Returns `true` if the file has no metadata.
    pub fn is_empty(&self) -> bool {
        *self == Metadata::default()
    }
}

/// Size of the texts so far.
#[derive(Default)]
struct Kept {
    bytes: usize,
    omitted: usize,
}

impl Kept {
    /// Reserves space for a text, in bytes. Returns `false` if it exceeds the limit.
    fn takes(&mut self, bytes: usize) -> bool {
        let bytes = self.bytes.saturating_add(bytes);
        let fits = bytes <= TEXT;
        if fits {
            self.bytes = bytes;
        }
        fits
    }

    /// Returns the text, or an empty one if it exceeds the limit.
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
