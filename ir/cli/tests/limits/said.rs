//! Files with hostile metadata.

use onnx_embed_ir::proto::{ModelProto, StringStringEntryProto};
use prost::Message;

const TEXT: &str = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[n] x) => (float[n] y) { y = Relu (x) }"#;

/// Text that is dangerous in code and documentation: ends of comments, strings and fences, examples, links, cells of
/// tables, marks of the direction of writing.
const HOSTILE: &str =
    "*/ \"#} \\ `a` [b](c) | d\n```\npanic!();\n```\n~~~\n    panic!();\n\n# e\n\u{202e}\u{1b}[2J\0<script>";

pub fn files() -> Vec<(&'static str, Vec<u8>)> {
    let quoted = |count: usize| (0..count).map(|at| format!("{at}: 'class {at}'"));
    let labels = |count| format!("{{{}}}", quoted(count).collect::<Vec<_>>().join(", "));
    let long = "x".repeat(8 << 20);
    vec![
        ("metadata_hostile", said(HOSTILE, &[("names", "['`|\\n```', '\\u202e']"), (HOSTILE, HOSTILE)])),
        ("metadata_long", said(&long, &[("names", &long), ("long", &long)])),
        ("metadata_many", said("", &vec![("key", "value"); 100_000])),
        ("labels_many", said("", &[("names", &labels(30_000))])),
        ("labels_too_many", said("", &[("names", &labels(200_000))])),
        ("labels_deep", said("", &[("names", &"[".repeat(3 << 20))])),
        ("labels_sparse", said("", &[("names", "{0: 'a', 18446744073709551615: 'b'}")])),
    ]
}

/// Returns a model with this documentation and these properties.
fn said(doc: &str, entries: &[(&str, &str)]) -> Vec<u8> {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
    };
    let model = ModelProto {
        producer_name: doc.to_owned(),
        doc_string: doc.to_owned().into_bytes().into(),
        metadata_props: entries.iter().map(entry).collect(),
        ..onnx_embed_ir::text::model(TEXT).unwrap()
    };
    model.encode_to_vec()
}
