//! Documentation and metadata of a file.

use bytes::Bytes;
use prost::Message;

use crate::proto::StringStringEntryProto;

/// Documentation and properties, as the exporter wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Name of the graph.
    pub graph: String,
    pub domain: String,
    /// 0 if the file does not specify it.
    pub version: i64,
    /// Documentation of the model or, if it has none, of its graph.
    pub doc: String,
    /// `metadata_props`, in the order of the file.
    pub metadata: Vec<(String, String)>,
}

/// Maximum length of documentation, in bytes. Longer text is truncated.
const MAX_DOCUMENTATION_LEN: usize = 4000;

/// The fields of a `ModelProto` that are read here. All others are skipped.
#[derive(Clone, PartialEq, Message)]
struct ModelWords {
    #[prost(string, tag = "4")]
    domain: String,
    #[prost(int64, tag = "5")]
    model_version: i64,
    /// Text, which may not be UTF-8.
    #[prost(bytes = "bytes", tag = "6")]
    doc_string: Bytes,
    #[prost(message, optional, tag = "7")]
    graph: Option<GraphWords>,
    #[prost(message, repeated, tag = "14")]
    metadata_props: Vec<StringStringEntryProto>,
}

/// The fields of a `GraphProto`.
#[derive(Clone, PartialEq, Message)]
struct GraphWords {
    #[prost(string, tag = "2")]
    name: String,
    #[prost(bytes = "bytes", tag = "10")]
    doc_string: Bytes,
}

impl About {
    /// Reads the documentation of a model file. The result is empty if the file is not a model.
    pub fn of(bytes: Bytes) -> Self {
        let words = ModelWords::decode(bytes).unwrap_or_default();
        let graph = words.graph.unwrap_or_default();
        let doc = match words.doc_string.is_empty() {
            true => graph.doc_string,
            false => words.doc_string,
        };
        let metadata = words.metadata_props.into_iter();
        About {
            graph: graph.name,
            domain: words.domain,
            version: words.model_version,
            doc: text(&doc),
            metadata: metadata.map(|entry| (entry.key, entry.value)).collect(),
        }
    }
}

/// Returns the beginning of documentation.
fn text(bytes: &Bytes) -> String {
    let beginning = bytes.get(..MAX_DOCUMENTATION_LEN).unwrap_or(bytes);
    String::from_utf8_lossy(beginning).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_and_properties_are_read_and_the_rest_is_passed_over() {
        let model = ModelWords {
            domain: "org.example".to_owned(),
            model_version: 3,
            graph: Some(GraphWords {
                name: "main".to_owned(),
                doc_string: Bytes::from_static(b"finds digits"),
            }),
            metadata_props: vec![StringStringEntryProto {
                key: "names".to_owned(),
                value: "{0: 'cat'}".to_owned(),
            }],
            ..ModelWords::default()
        };
        let about = About::of(model.encode_to_vec().into());
        assert_eq!((about.doc.as_str(), about.version), ("finds digits", 3));
        assert_eq!(about.metadata, [("names".to_owned(), "{0: 'cat'}".to_owned())]);
        assert_eq!(About::of(Bytes::from_static(b"\xff\xff")), About::default());
    }
}
