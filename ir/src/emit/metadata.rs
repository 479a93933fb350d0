//! Metadata of the file as constants of the model.

use proc_macro2::Literal;

use crate::model::Facts;
use crate::rust::{Code, code};

/// Returns `METADATA`, and `LABELS` if there are any.
pub fn constants(facts: &Facts) -> Code {
    let metadata = &facts.metadata;
    let text = |text: &str, field: fn(&str) -> Code| (!text.is_empty()).then(|| field(text));
    let number = |number: i64, field: fn(Literal) -> Code| {
        (number != 0).then(|| field(Literal::i64_unsuffixed(number)))
    };
    let entries = metadata.entries.iter().map(|(key, value)| code!((#key, #value)));
    let entries: Vec<Code> = entries.collect();
    let fields = [
        text(&metadata.producer, |text| code!(producer: #text,)),
        text(&metadata.producer_version, |text| code!(producer_version: #text,)),
        text(&metadata.domain, |text| code!(domain: #text,)),
        number(metadata.version, |number| code!(version: #number,)),
        text(&metadata.doc, |text| code!(doc: #text,)),
        text(&metadata.graph, |text| code!(graph: #text,)),
        number(facts.opsets.get("").copied().unwrap_or(0), |number| code!(opset: #number,)),
        (!entries.is_empty()).then(|| code!(entries: &[#(#entries),*],)),
    ];
    let fields = fields.into_iter().flatten();
    let labels = &facts.labels;
    let labels =
        (!labels.is_empty()).then(|| code!(const LABELS: &'static [&'static str] = &[#(#labels),*];));
    code! {
        const METADATA: Metadata = Metadata { #(#fields)* ..Metadata::EMPTY };

        #labels
    }
}
